//! The connections that the channels of one access to one machine share.
//!
//! An access is a grant, so two people never share a connection, and neither do two grants of one person. Where the grant asks for
//! an agent each client connection has connections of its own, for a use of the agent is audited with the client's address.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rp_access::ActiveGrant;
use rp_net::Target;
use russh::Channel;
use russh::client::Msg;
use tokio_util::sync::CancellationToken;

use super::pool::{ChannelSlot, NoRoom, Pool, SharedConnection};
use super::{Leg, LegError, LegOptions, Legs};
use crate::ssh::agent::Witness;
use crate::ssh::machines::Machine;

/// How often connections that no channel uses are looked for; the second time they are closed.
const SWEEP_EVERY: Duration = Duration::from_secs(30);
/// At the end of an access its channels end by themselves, with words. What is left of them so much later is cut.
const CUT_AFTER: Duration = Duration::from_millis(500);
/// How long a machine may say nothing on an open connection that is asked for a session.
const SESSION_SILENCE: Duration = Duration::from_secs(10);
/// How long it may take to open the session where the output of other channels arrives before its answer.
const SESSION_WITHIN: Duration = Duration::from_secs(60);
/// The same of a forwarded connection, for which the machine has to reach somebody else.
const FORWARD_WITHIN: Duration = Duration::from_secs(150);
/// Connections that are tried for one channel.
const MOST_TRIES: usize = 8;

/// Where a channel leads.
#[derive(Debug, Clone)]
pub(in crate::ssh) enum ChannelTarget {
    Session,
    Forward { host: String, port: u16 },
}

impl ChannelTarget {
    /// The channel's type, as in the access log (`contract/portal.md` §17.2).
    pub(in crate::ssh) const fn name(&self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Forward { .. } => "direct-tcpip",
        }
    }
}

/// Who uses connections to which machine.
#[derive(Debug, Clone)]
pub(in crate::ssh) struct LegUse {
    pub(in crate::ssh) live: Arc<ActiveGrant>,
    pub(in crate::ssh) target: Arc<Target>,
    pub(in crate::ssh) machine: Machine,
    /// The client connection ([`Legs::next_client`]).
    pub(in crate::ssh) client: u64,
    /// Cancelled: that client is gone.
    pub(in crate::ssh) over: CancellationToken,
    /// Told of every use of the cluster's key by the machine; `None`: no agent is offered.
    pub(in crate::ssh) agent: Option<Arc<dyn Witness>>,
}

/// A channel of a machine, with its share of a connection. Dropped before it was taken: closed.
#[derive(Debug)]
pub(in crate::ssh) struct MachineChannel {
    channel: Option<Channel<Msg>>,
    slot: ChannelSlot<Leg>,
}

/// All pools of a process.
#[derive(Debug, Default)]
pub(super) struct SharedLegs(Mutex<HashMap<PoolKey, Arc<Pool<Leg>>>>);

/// What channels must have in common to share connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PoolKey {
    grant: String,
    /// The cached grant's address: one that was read anew is cancelled by itself.
    cached: usize,
    /// The target's fingerprint: keys, host keys and addresses.
    target: u64,
    /// Its name, its UID and the way to it.
    machine: (String, String, String),
    /// With an agent.
    client: Option<u64>,
}

impl PoolKey {
    fn new(wish: &LegUse) -> Self {
        let machine = &wish.machine;
        Self {
            grant: wish.live.grant.primary_id().as_str().to_owned(),
            cached: Arc::as_ptr(&wish.live).addr(),
            target: wish.target.fingerprint,
            machine: (machine.name.clone(), machine.uid.clone(), format!("{:?}", machine.way)),
            client: wish.agent.as_ref().map(|_| wish.client),
        }
    }
}

impl Legs {
    /// A number for a client connection.
    pub(in crate::ssh) fn next_client(&self) -> u64 {
        self.clients.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes sure that there is a connection to the machine, and that it lives.
    ///
    /// # Errors
    /// [`LegError`]: the machine cannot be reached.
    pub(in crate::ssh) async fn prepare(&self, wish: &LegUse) -> Result<(), LegError> {
        let pool = self.pool(wish);
        if let Some(leg) = pool.any() {
            if leg.answers().await {
                return Ok(());
            }
            pool.retire(&leg);
        }
        self.slot(wish).await.map(drop)
    }

    /// Opens a channel on a connection that is shared, or on a new one.
    ///
    /// # Errors
    /// [`LegError`]: no connection can be had, too many channels are open, or the machine refuses.
    pub(in crate::ssh) async fn open(
        self: &Arc<Self>,
        wish: &LegUse,
        to: &ChannelTarget,
    ) -> Result<MachineChannel, LegError> {
        // In a task of its own: a client that goes meanwhile must not leave an open channel to a connection that others share.
        let (legs, wish, to) = (Arc::clone(self), wish.clone(), to.clone());
        let opening = tokio::spawn(async move { Box::pin(legs.open_channel(&wish, &to)).await });
        opening.await.unwrap_or(Err(LegError::Slow))
    }

    async fn open_channel(&self, wish: &LegUse, to: &ChannelTarget) -> Result<MachineChannel, LegError> {
        let mut last = LegError::Full;
        for _ in 0..MOST_TRIES {
            let slot = self.slot(wish).await?;
            let opened = slot.connection().channel(to).await;
            let another_may = match opened {
                Ok(channel) => {
                    slot.opened();
                    return Ok(MachineChannel { channel: Some(channel), slot });
                }
                // Of the destination, not of the connection.
                Err(error @ LegError::ChannelRefused(_)) if matches!(to, ChannelTarget::Forward { .. }) => {
                    return Err(error);
                }
                // Perhaps of the destination: by another connection it would take as long.
                Err(error @ LegError::Slow) if matches!(to, ChannelTarget::Forward { .. }) => {
                    slot.unanswered();
                    return Err(error);
                }
                Err(error) => {
                    let silent = matches!(error, LegError::Slow);
                    last = error;
                    if silent { slot.unanswered() } else { slot.refused() }
                }
            };
            if !another_may {
                break;
            }
        }
        Err(last)
    }

    /// Room for a channel, on a new connection where the pool wants one; in time, for others may be making connections.
    async fn slot(&self, wish: &LegUse) -> Result<ChannelSlot<Leg>, LegError> {
        let found = tokio::time::timeout(self.parts.settings.connect_time, self.find_slot(wish)).await;
        found.unwrap_or(Err(LegError::Slow))
    }

    async fn find_slot(&self, wish: &LegUse) -> Result<ChannelSlot<Leg>, LegError> {
        loop {
            if wish.live.token_for(wish.live.grant.rights).is_cancelled() {
                return Err(LegError::Ended(wish.live.end_reason(self.parts.clock.now())));
            }
            if wish.over.is_cancelled() {
                return Err(LegError::Broken(russh::Error::Disconnect));
            }
            let pool = self.pool(wish);
            let taken = match pool.take(wish.client) {
                Ok(Some(slot)) => Some(slot),
                Ok(None) => self.connect_for(&pool, wish).await?,
                Err(NoRoom::Full) => return Err(LegError::Full),
                Err(NoRoom::Ended) => None,
            };
            if let Some(slot) = taken {
                return Ok(slot);
            }
        }
    }

    /// Makes a connection, unless somebody else has made one meanwhile; `None`: the pool has ended.
    async fn connect_for(
        &self,
        pool: &Arc<Pool<Leg>>,
        wish: &LegUse,
    ) -> Result<Option<ChannelSlot<Leg>>, LegError> {
        let _turn = pool.dialing.lock().await;
        match pool.take(wish.client) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(NoRoom::Full) => return Err(LegError::Full),
            Err(NoRoom::Ended) => return Ok(None),
        }
        let options = LegOptions { agent: wish.agent.clone() };
        let leg = Box::pin(self.connect_with(&wish.live, &wish.target, &wish.machine, options)).await?;
        Ok(pool.add(leg, wish.client))
    }

    fn pool(&self, wish: &LegUse) -> Arc<Pool<Leg>> {
        let key = PoolKey::new(wish);
        let mut pools = self.shared.0.lock();
        if let Some(known) = pools.get(&key).filter(|known| !known.has_ended()) {
            return Arc::clone(known);
        }
        let pool = Pool::new();
        pools.insert(key.clone(), Arc::clone(&pool));
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(attend(shared, key, Arc::clone(&pool), wish.clone()));
        pool
    }
}

/// Closes what is idle, and everything at the end of the access; an agent's also when its client is gone.
async fn attend(shared: Weak<SharedLegs>, key: PoolKey, pool: Arc<Pool<Leg>>, wish: LegUse) {
    let access_over = wish.live.token_for(wish.live.grant.rights);
    let ended = async {
        tokio::select! {
            () = access_over.cancelled() => {}
            () = wish.over.cancelled(), if key.client.is_some() => {}
        }
    };
    let mut ended = std::pin::pin!(ended);
    loop {
        tokio::select! {
            biased;
            () = ended.as_mut() => {
                tokio::time::sleep(CUT_AFTER).await;
                pool.end();
                break;
            }
            () = tokio::time::sleep(SWEEP_EVERY) => {
                if pool.sweep() {
                    break;
                }
            }
        }
    }
    let Some(shared) = shared.upgrade() else { return };
    let mut pools = shared.0.lock();
    if pools.get(&key).is_some_and(|known| Arc::ptr_eq(known, &pool)) {
        pools.remove(&key);
    }
}

impl SharedConnection for Leg {
    fn is_closed(&self) -> bool {
        self.state.gone.is_cancelled() || self.handle.0.is_closed()
    }

    fn cut(&self) {
        self.cut.cancel();
    }
}

impl Leg {
    /// A channel, in time.
    async fn channel(&self, to: &ChannelTarget) -> Result<Channel<Msg>, LegError> {
        let opened = match to {
            ChannelTarget::Session => {
                let opening = unless_silent(self.session(), &self.state.output);
                tokio::time::timeout(SESSION_WITHIN, opening).await
            }
            ChannelTarget::Forward { host, port } => {
                tokio::time::timeout(FORWARD_WITHIN, self.direct_tcpip(host, *port)).await
            }
        };
        opened.unwrap_or(Err(LegError::Slow))
    }
}

/// The answer of a machine, unless its connection brings nothing at all for [`SESSION_SILENCE`].
///
/// # Errors
/// [`LegError::Slow`] then; else those of the answer.
async fn unless_silent<T>(
    answer: impl Future<Output = Result<T, LegError>>,
    output: &AtomicU64,
) -> Result<T, LegError> {
    let mut answer = std::pin::pin!(answer);
    loop {
        let before = output.load(Ordering::Relaxed);
        if let Ok(answer) = tokio::time::timeout(SESSION_SILENCE, answer.as_mut()).await {
            return answer;
        }
        if output.load(Ordering::Relaxed) == before {
            return Err(LegError::Slow);
        }
    }
}

impl MachineChannel {
    /// The channel, once.
    pub(in crate::ssh) fn take(&mut self) -> Option<Channel<Msg>> {
        self.channel.take()
    }

    pub(in crate::ssh) fn leg(&self) -> &Leg {
        self.slot.connection()
    }

    /// To be set while the channel's client takes nothing.
    pub(in crate::ssh) fn stalled(&self) -> Arc<AtomicBool> {
        self.slot.stalled()
    }
}

impl Drop for MachineChannel {
    fn drop(&mut self) {
        if let Some(channel) = self.channel.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // Nobody reads it, and the connection must not wait for that.
            let (_, to_machine) = channel.split();
            // Ends at the latest with the connection.
            runtime.spawn(async move {
                let _ = to_machine.close().await;
            });
        }
    }
}

#[cfg(test)]
mod tests;
