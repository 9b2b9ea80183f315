//! One channel from its opening to its end.

use std::sync::Arc;

use rp_documents::Side;
use russh::server::{self, ChannelOpenHandle};
use russh::{Channel, ChannelOpenFailure, ChannelWriteHalf, client};
use tokio_util::sync::CancellationToken;

use super::connect::ConnectError;
use super::{ConnectedMachine, Connection};
use crate::ssh::audit::AuditedAction;
use crate::ssh::banner;
use crate::ssh::leg::{Leg, LegError};
use crate::ssh::program::{ForwardGate, SessionGate, settle};
use crate::ssh::relay::{ChannelOutcome, Outlet, Relay, StartedProgram};

/// Legs that are kept for the next channel.
const MOST_SPARES: usize = 4;

/// Where a channel leads.
#[derive(Debug, Clone)]
pub(in crate::ssh) enum ChannelTarget {
    Session,
    Forward { host: String, port: u16 },
}

impl ChannelTarget {
    /// The channel's type, as in the access log (`contract/portal.md` §17.2).
    const fn name(&self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Forward { .. } => "direct-tcpip",
        }
    }
}

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
    /// A leg that no channel uses.
    async fn leg(&self, reached: &ConnectedMachine) -> Result<Leg, LegError> {
        loop {
            let Some(spare) = self.spares.lock().pop() else { break };
            if !spare.closed().is_cancelled() {
                return Ok(spare);
            }
        }
        self.connect(&reached.target, &reached.machine, &reached.trail).await
    }

    fn give_back(&self, leg: Leg) {
        let mut spares = self.spares.lock();
        if !leg.closed().is_cancelled() && !self.over.is_cancelled() && spares.len() < MOST_SPARES {
            spares.push(leg);
        }
    }

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
        let (leg, far, begun) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.count(way.name(), "failed");
                cut.cancel();
                let why = ChannelOpenFailure::Other { code: 2, reason: banner::reason(&error.to_string()) };
                return reply.reject(why).await;
            }
        };
        reply.accept().await;
        let _open = self.bastion.metrics().channels.track();
        self.count(way.name(), "ok");
        reached.trail.log("opened", way.name(), None);
        let began = self.bastion.clock().now();
        let total = Arc::clone(&self.bytes);
        let (end, begun) = match &way {
            ChannelTarget::Session => {
                let gate = SessionGate::new(Arc::clone(&self), reached.trail.clone());
                let news = Some(leg.loss_reason());
                let relay = Relay { outlet, person, handle, far, gate, cut, total, begun, news };
                Box::pin(relay.run()).await
            }
            ChannelTarget::Forward { .. } => {
                let (gate, news) = (ForwardGate, None::<std::future::Ready<String>>);
                let relay = Relay { outlet, person, handle, far, gate, cut, total, begun, news };
                Box::pin(relay.run()).await
            }
        };
        if let ChannelOutcome::Unrecorded(words) = &end {
            self.end(words);
        }
        self.give_back(leg);
        settle(&self, end, begun).await;
        let took = self.bastion.clock().now().since(began);
        reached.trail.log("closed", way.name(), Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)));
    }

    /// The machine's end of a channel. What leads elsewhere than to the machine is audited before.
    async fn open(
        &self,
        reached: &ConnectedMachine,
        way: &ChannelTarget,
    ) -> Result<(Leg, Channel<client::Msg>, Option<StartedProgram>), ConnectError> {
        let settle = match way {
            ChannelTarget::Session => None,
            ChannelTarget::Forward { host, port } => {
                let what = AuditedAction::named("ssh.forward", format!("{host}:{port}"));
                let started = reached.trail.start(what).await;
                Some(started.map_err(ConnectError::Audit)?)
            }
        };
        let leg = self.leg(reached).await.map_err(ConnectError::Leg)?;
        let opened = match way {
            ChannelTarget::Session => leg.session().await,
            ChannelTarget::Forward { host, port } => leg.direct_tcpip(host, *port).await,
        };
        match (opened, settle) {
            (Ok(channel), settle) => {
                let begun = settle.map(|settle| StartedProgram {
                    counted: Arc::clone(&settle.bytes),
                    settle: Some(settle),
                    recorder: None,
                });
                Ok((leg, channel, begun))
            }
            (Err(error), settle) => {
                self.give_back(leg);
                if let Some(mut settle) = settle {
                    settle.outcome("failed", 0, Some(Side::Cluster));
                }
                Err(ConnectError::Leg(error))
            }
        }
    }
}
