//! One channel from its opening to its end.

use std::sync::Arc;

use russh::server::{self, ChannelOpenHandle};
use russh::{ChannelOpenFailure, ChannelWriteHalf};
use tokio_util::sync::CancellationToken;

use super::connect::ConnectError;
use super::{ConnectedMachine, Connection};
use crate::ssh::audit::AuditedAction;
use crate::ssh::banner;
pub(in crate::ssh) use crate::ssh::leg::ChannelTarget;
use crate::ssh::leg::MachineChannel;
use crate::ssh::program::{ForwardGate, SessionGate, settle};
use crate::ssh::relay::{ChannelOutcome, Outlet, Relay, StartedProgram};

/// A channel that the client asked for.
pub(in crate::ssh) struct ChannelOpening {
    pub(in crate::ssh) way: ChannelTarget,
    pub(in crate::ssh) person: ChannelWriteHalf<server::Msg>,
    pub(in crate::ssh) outlet: Outlet,
    pub(in crate::ssh) handle: server::Handle,
    pub(in crate::ssh) reply: ChannelOpenHandle,
    pub(in crate::ssh) cut: CancellationToken,
}

impl Connection {
    /// Carries a channel from its opening to its end.
    pub(in crate::ssh) async fn carry(self: Arc<Self>, opening: ChannelOpening) {
        let ChannelOpening { way, person, outlet, handle, reply, cut } = opening;
        tokio::select! {
            () = self.is_reached.cancelled() => {}
            () = cut.cancelled() => return,
        }
        let Some(reached) = self.reached.get() else { return };
        let opened = tokio::select! {
            opened = self.open(reached, &way) => opened,
            () = cut.cancelled() => return,
        };
        let (mut channel, begun) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.count(way.name(), "failed");
                cut.cancel();
                let why = ChannelOpenFailure::Other { code: 2, reason: banner::reason(&error.to_string()) };
                return reply.reject(why).await;
            }
        };
        let Some(far) = channel.take() else { return };
        reply.accept().await;
        let _open = self.bastion.metrics().channels.track();
        self.count(way.name(), "ok");
        reached.trail.log("opened", way.name(), None);
        let began = self.bastion.clock().now();
        let (total, stalled) = (Arc::clone(&self.bytes), channel.stalled());
        let (end, begun) = match &way {
            ChannelTarget::Session => {
                let gate = SessionGate::new(Arc::clone(&self), reached.trail.clone());
                let news = Some(channel.leg().loss_reason());
                let relay = Relay { outlet, person, handle, far, gate, cut, total, begun, news, stalled };
                Box::pin(relay.run()).await
            }
            ChannelTarget::Forward { .. } => {
                let (gate, news) = (ForwardGate, None::<std::future::Ready<String>>);
                let relay = Relay { outlet, person, handle, far, gate, cut, total, begun, news, stalled };
                Box::pin(relay.run()).await
            }
        };
        if let ChannelOutcome::Unrecorded(words) = &end {
            self.end(words);
        }
        drop(channel);
        settle(&self, end, begun).await;
        let took = self.bastion.clock().now().since(began);
        reached.trail.log("closed", way.name(), Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)));
    }

    /// The machine's end of a channel. What leads elsewhere than to the machine is audited before.
    async fn open(
        &self,
        reached: &ConnectedMachine,
        way: &ChannelTarget,
    ) -> Result<(MachineChannel, Option<StartedProgram>), ConnectError> {
        let settle = match way {
            ChannelTarget::Session => None,
            ChannelTarget::Forward { host, port } => {
                let what = AuditedAction::named("ssh.forward", format!("{host}:{port}"));
                let started = reached.trail.start(what).await;
                Some(started.map_err(ConnectError::Audit)?)
            }
        };
        match (self.bastion.legs().open(&reached.legs, way).await, settle) {
            (Ok(channel), settle) => {
                let begun = settle.map(|settle| StartedProgram {
                    counted: Arc::clone(&settle.bytes),
                    settle: Some(settle),
                    recorder: None,
                });
                Ok((channel, begun))
            }
            (Err(error), settle) => {
                if let Some(mut settle) = settle {
                    settle.outcome("failed", 0, Some(error.side()));
                }
                Err(ConnectError::Leg(error))
            }
        }
    }
}
