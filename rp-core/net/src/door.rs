//! The one place where a connection's life, progress and share of a listener are decided, for HTTPS, the resource provider
//! and SSH alike.
//!
//! Who enters is a stranger until the listener's protocol has found out who it is ([`Visitor::known`]). Strangers have a
//! share of the whole, and each address has a share of that; when a share is used up, the stranger that has been quiet for
//! the longest goes. A sweep ends connections on which nothing happens, and those whose peer takes nothing of what was
//! answered. No deadline depends on what the peer reads or sends.

mod answer;
mod metrics;
mod paced;
mod share;
mod visitor;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use parking_lot::Mutex;
use rp_metrics::{Gauge, Registry};
use tokio::time::Instant;

pub(crate) use answer::Answer;
pub use metrics::register_metrics;
use metrics::{DoorMetrics, EndLabels, FullLabels, ListenerLabels};
pub use paced::Paced;
use share::Shares;
use visitor::Life;
pub use visitor::{End, Place, Visitor};

use crate::rate::{Rate, network};

/// The longest and the shortest time between two sweeps.
const SWEEP_EVERY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Connections of health checks beyond the whole.
const CHECKS: usize = 64;
/// From the question to leave until a connection is cut.
pub(crate) const LEAVE_WITHIN: Duration = Duration::from_secs(10);

/// What the connections of one listener may cost.
#[derive(Debug, Clone)]
pub struct DoorLimits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once of one address; of an IPv6 address, of its /64 network.
    pub per_address: usize,
    /// New connections of one address in a minute; 0: no limit.
    pub new_per_minute: u32,
    /// Bounds of peers that have not shown who they are; `None`: everybody who enters is known.
    pub strangers: Option<StrangerLimits>,
    /// A connection without a request is asked to leave after so long; `None`: never.
    pub idle: Option<Duration>,
    /// A connection whose peer takes nothing of what waits for it is cut after so long; `None`: never.
    pub stalled: Option<Duration>,
    /// Networks of health checks: they are let in when every place is taken, up to 64 at once.
    pub checks_from: Vec<IpNet>,
}

/// What peers may cost that have not shown who they are.
#[derive(Debug, Clone)]
pub struct StrangerLimits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once of one address, as [`DoorLimits::per_address`].
    pub per_address: usize,
    /// Answers at once on one connection that the peer has not taken yet; requests beyond are refused unread.
    pub answers: usize,
    /// How long a connection may be without a request, and how long an answer may take to be taken in whole.
    pub time: Duration,
}

impl Default for DoorLimits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            per_address: 16_384,
            new_per_minute: 0,
            strangers: None,
            idle: None,
            stalled: None,
            checks_from: Vec::new(),
        }
    }
}

/// Why a connection is turned away at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// Every place is taken by somebody who is known or has a request.
    Connections,
    /// The same, of the places of this address.
    Address,
    /// The same, of the places of strangers.
    Strangers,
    /// This address opens connections too often.
    TooOften,
}

impl Full {
    /// A label of metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Address => "address",
            Self::Strangers => "strangers",
            Self::TooOften => "rate",
        }
    }
}

/// The door of one listener.
#[derive(Debug)]
pub struct Door {
    limits: DoorLimits,
    rate: Rate,
    shares: Mutex<Shares>,
    listener: &'static str,
    metrics: DoorMetrics,
    /// Of this listener: all, and strangers.
    open: (Gauge, Gauge),
}

impl Door {
    /// A door that counts into `registry` under the name of its listener.
    pub fn new(limits: DoorLimits, listener: &'static str, registry: &Registry) -> Arc<Self> {
        let rate = Rate::per_minute(limits.new_per_minute);
        let metrics = DoorMetrics::register(registry);
        let labels = ListenerLabels { listener };
        let open = (metrics.connections.with(&labels), metrics.strangers.with(&labels));
        Arc::new(Self { limits, rate, shares: Mutex::default(), listener, metrics, open })
    }

    /// A door that nobody reads the counts of.
    pub fn uncounted(limits: DoorLimits) -> Arc<Self> {
        Self::new(limits, "other", &Registry::new())
    }

    /// Lets a connection of this address in. With `speaks_for` the peer is a balancer that is about to say for whom it
    /// speaks: it has no share of its own, and [`Place::comes_from`] gives the connection its address.
    ///
    /// # Errors
    /// [`Full`]: there is no place.
    pub fn enter(self: &Arc<Self>, peer: IpAddr, speaks_for: bool) -> Result<Place, Full> {
        let address = (!speaks_for).then(|| network(peer));
        self.admit(peer, address).inspect_err(|full| self.turned_away(*full))
    }

    fn admit(self: &Arc<Self>, peer: IpAddr, address: Option<IpAddr>) -> Result<Place, Full> {
        let checks = self.checks(peer);
        if let Some(address) = address.filter(|_| !checks) {
            self.rate.check(address).map_err(|_| Full::TooOften)?;
        }
        let mut shares = self.shares.lock();
        match address {
            _ if checks => self.make_room(&mut shares, CHECKS)?,
            Some(address) => {
                self.share_of(&mut shares, address).and_then(|()| self.make_room(&mut shares, 0))?;
            }
            None => self.make_room(&mut shares, 0)?,
        }
        let life = Life::new(shares.next_number(), address, self.limits.strangers.is_none());
        let visitor = Visitor::new(Arc::clone(self), life);
        shares.insert(&visitor);
        self.publish(&shares);
        Ok(Place::new(visitor))
    }

    /// Whether this is who asks for health.
    fn checks(&self, peer: IpAddr) -> bool {
        self.limits.checks_from.iter().any(|net| net.contains(&peer.to_canonical()))
    }

    /// Finds a place, by the end of a quiet stranger where there is no other, and at last among `extra` ones.
    fn make_room(&self, shares: &mut Shares, extra: usize) -> Result<(), Full> {
        let most_strangers = self.limits.strangers.as_ref().map_or(usize::MAX, |limits| limits.connections);
        let full = match (shares.all(), shares.strangers()) {
            (all, _) if all >= self.limits.connections => Full::Connections,
            (_, strangers) if strangers >= most_strangers => Full::Strangers,
            _ => return Ok(()),
        };
        let room =
            self.end_quietest(shares, None) || extra > 0 && shares.all() < self.limits.connections + extra;
        if room { Ok(()) } else { Err(full) }
    }

    /// Finds a place among those of an address.
    fn share_of(&self, shares: &mut Shares, address: IpAddr) -> Result<(), Full> {
        let (all, strangers) = shares.of(address);
        let most = self.limits.strangers.as_ref().map_or(usize::MAX, |limits| limits.per_address);
        if all < self.limits.per_address && strangers < most || self.end_quietest(shares, Some(address)) {
            return Ok(());
        }
        Err(Full::Address)
    }

    /// Ends the stranger without a request that has been quiet for the longest.
    fn end_quietest(&self, shares: &mut Shares, of: Option<IpAddr>) -> bool {
        let Some(quietest) = shares.quietest(of) else { return false };
        shares.remove(&quietest);
        self.end(&quietest, End::Evicted);
        true
    }

    /// The address of a connection that a balancer opened.
    fn settle(&self, visitor: &Visitor, origin: SocketAddr) -> Result<(), Full> {
        let address = network(origin.ip());
        let settle = || {
            if !self.checks(origin.ip()) {
                self.rate.check(address).map_err(|_| Full::TooOften)?;
            }
            let mut shares = self.shares.lock();
            // Its place went to somebody else meanwhile.
            if !shares.holds(visitor) {
                return Err(Full::Strangers);
            }
            self.share_of(&mut shares, address)?;
            shares.settle(visitor, address);
            Ok(())
        };
        settle().inspect_err(|full| self.turned_away(*full))
    }

    fn known(&self, visitor: &Visitor) {
        let mut shares = self.shares.lock();
        shares.known(visitor);
        self.publish(&shares);
    }

    fn leave(&self, visitor: &Visitor) {
        let mut shares = self.shares.lock();
        shares.remove(visitor);
        self.publish(&shares);
    }

    /// How often [`Door::sweep`] is to be called: a fraction of the shortest deadline.
    pub fn sweep_every(&self) -> Duration {
        let strangers = self.limits.strangers.as_ref().map(|limits| limits.time);
        let shortest = [strangers, self.limits.idle, self.limits.stalled].into_iter().flatten().min();
        (shortest.unwrap_or(SWEEP_EVERY.1) / 8).clamp(SWEEP_EVERY.0, SWEEP_EVERY.1)
    }

    /// Ends what is over: to be called as often as [`Door::sweep_every`] says while the listener serves.
    pub fn sweep(&self) {
        let now = Instant::now();
        let due: Vec<(Visitor, End)> = {
            let shares = self.shares.lock();
            let visitors = shares.visitors();
            visitors.filter_map(|each| each.due(&self.limits, now).map(|end| (each.clone(), end))).collect()
        };
        for (visitor, end) in due {
            self.end(&visitor, end);
        }
    }

    fn end(&self, visitor: &Visitor, end: End) {
        if visitor.end(end) {
            let whose = if visitor.is_known() { "known" } else { "stranger" };
            self.metrics.ended.with(&EndLabels { listener: self.listener, why: end.name(), whose }).inc();
        }
    }

    fn turned_away(&self, full: Full) {
        self.metrics.turned_away.with(&FullLabels { listener: self.listener, why: full.name() }).inc();
    }

    fn publish(&self, shares: &Shares) {
        self.open.0.set_count(shares.all());
        self.open.1.set_count(shares.strangers());
    }

    pub(crate) const fn limits(&self) -> &DoorLimits {
        &self.limits
    }
}

#[cfg(test)]
mod tests;
