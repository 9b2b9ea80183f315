//! From the sign-in to the machine.

use std::sync::Arc;

use rp_base::chain;
use rp_net::TooOften;

use super::{ConnectedMachine, Connection, rights_of};
use crate::ssh::audit::{AgentWitness, AuditedAction};
use crate::ssh::leg::{LegError, LegUse};

/// Why no machine was reached. The text is for the person.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("{0}")]
    TooOften(TooOften),
    #[error(transparent)]
    TooMany(rp_access::TooManyStreams),
    #[error("this access names no cluster")]
    NoTarget,
    #[error("{0}")]
    Directory(#[source] rp_net::DirectoryError),
    #[error("the audit entry could not be written, so nothing was opened")]
    Audit(#[source] rp_audit::AuditError),
    #[error("say which machine: sign in as {user}+MACHINE")]
    NoMachine { user: String },
    #[error("{0}")]
    Leg(#[source] LegError),
    #[error("this access is read-only now; a shell needs more")]
    Fallen,
}

impl Connection {
    /// Connects to the machine as soon as a user has signed in.
    pub(in crate::ssh) async fn reach(self: Arc<Self>) {
        let work = tokio::select! {
            () = self.over.cancelled() => return,
            work = self.try_reach() => work,
        };
        match work {
            Ok(reached) => {
                let took = self.bastion.clock().now().since(self.began);
                self.bastion.metrics().reach.observe_duration(took);
                reached.trail.log("connected", "", None);
                let _ = self.reached.set(reached);
                self.is_reached.cancel();
            }
            Err(error) => {
                self.bastion.metrics().unreached.inc();
                tracing::warn!(
                    target: "proxy.ssh",
                    remote_addr = %self.from,
                    error = %chain(&error),
                    "the machine was not reached"
                );
                if let Some(trail) = self.trail() {
                    trail.refused(&AuditedAction::named("ssh.reach", error.to_string())).await;
                }
                self.end(&error.to_string());
            }
        }
    }

    async fn try_reach(&self) -> Result<ConnectedMachine, ConnectError> {
        let (known, mut trail) = self.known.get().zip(self.trail()).ok_or(ConnectError::NoTarget)?;
        let (access, live) = (&self.authority().access, &known.live);
        if live.rights < rights_of(known) {
            return Err(ConnectError::Fallen);
        }
        access.rates().stream(live.grant.primary_id().as_str()).map_err(ConnectError::TooOften)?;
        let told = known.machine.clone().unwrap_or_default();
        let guard = access.stream(live, || format!("ssh {told}")).map_err(ConnectError::TooMany)?;
        trail.promise(&AuditedAction::named("ssh.login", known.way)).await.map_err(ConnectError::Audit)?;
        trail.log("authentication succeeded", "", None);
        let id = live.grant.target.as_ref().ok_or(ConnectError::NoTarget)?;
        let target = self.bastion.directory().find(id).await.map_err(ConnectError::Directory)?;
        let user = || rp_access::ssh_user(&live.grant.owner.name).to_owned();
        let name = known.machine.as_ref().ok_or_else(|| ConnectError::NoMachine { user: user() })?;
        let machines = self.bastion.legs().machines();
        let machine = machines.find(&target, name).await;
        let machine = machine.map_err(|error| ConnectError::Leg(LegError::Machines(error)))?;
        trail.machine.clone_from(&machine.name);
        trail.identity = target.ssh.as_ref().map(|ssh| ssh.user.clone()).unwrap_or_default();
        let agent = self.may_forward_agent().then(|| Arc::new(AgentWitness(trail.clone())) as _);
        let (client, over) = (self.client, self.over.clone());
        let legs = LegUse { live: Arc::clone(live), target, machine, client, over, agent };
        self.bastion.legs().prepare(&legs).await.map_err(ConnectError::Leg)?;
        Ok(ConnectedMachine { legs, trail, _guard: guard })
    }
}
