//! Admission control of connections, for HTTPS, the resource provider and SSH alike: the one place where it is decided
//! how many connections a listener takes, how long they live and how slow they may be.
//!
//! A peer is a stranger (unauthenticated) until the listener's protocol has authenticated it
//! ([`ConnectionHandle::known`]). Strangers may use a part of all connections, and each address a part of that; when a
//! part is used up, the stranger that has been idle for the longest is closed. A sweep ends idle connections and those
//! whose peer does not read the responses. No deadline depends on what the peer reads or sends. The connections of all
//! doors of a process leave half of its file descriptors to what connections lead to.

mod connection;
mod connection_table;
mod descriptors;
mod metrics;
mod monitored_stream;
mod tracked_body;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use parking_lot::Mutex;
use rp_metrics::{Gauge, Registry};
use tokio::time::Instant;

use connection::ConnectionState;
pub use connection::{CloseReason, ConnectionHandle, ConnectionPermit};
use connection_table::ConnectionTable;
use descriptors::DescriptorShare;
pub use metrics::register_metrics;
use metrics::{DoorMetrics, EndLabels, FullLabels, ListenerLabels};
pub use monitored_stream::MonitoredStream;
pub(crate) use tracked_body::TrackedBody;

use crate::rate::{Rate, network};

/// The longest and the shortest time between two sweeps.
const SWEEP_EVERY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Connections of health checks beyond [`DoorLimits::connections`].
const CHECKS: usize = 64;
/// ENFILE and EMFILE (`errno.h`): no descriptor is left on the host, or for this process.
const NO_DESCRIPTORS: [i32; 2] = [23, 24];
/// Connections that are ended at once then: some descriptors are needed for what requests lead to.
const RELIEVE: usize = 16;
/// The time from a graceful shutdown of a connection until it is cut.
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

/// Limits of peers that are not authenticated.
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
    /// Bytes that the peer may send after a request has begun until the next one does.
    pub input: u64,
}

impl StrangerLimits {
    /// Twice the largest body that a listener of ours reads: much of one may come before a request has shown whose it is.
    pub const INPUT: u64 = 2 << 20;
    /// Of that, what is read as fast as it comes. The rest is read at [`Self::PER_SECOND`], so that a flood of frames
    /// costs little more than its handshake.
    pub const READ_AT_ONCE: u64 = 256 << 10;
    /// Bytes a second that are read of a stranger who sends more than that without a request.
    pub const PER_SECOND: u64 = 1 << 20;
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

/// Why a connection is refused at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionRefusal {
    /// Every place is taken by somebody who is known or has a request; or connections use their share of the process's
    /// descriptors.
    Connections,
    /// The same, of the places of this address.
    Address,
    /// The same, of the places of strangers.
    Strangers,
    /// This address opens connections too often.
    TooOften,
}

impl AdmissionRefusal {
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
    table: Mutex<ConnectionTable>,
    descriptors: Arc<DescriptorShare>,
    listener: &'static str,
    metrics: DoorMetrics,
    /// Of this listener: all, and strangers.
    open: (Gauge, Gauge),
}

impl Door {
    /// A door that counts into `registry` under the name of its listener.
    pub fn new(limits: DoorLimits, listener: &'static str, registry: &Registry) -> Arc<Self> {
        Self::sharing(limits, listener, registry, DescriptorShare::process_wide())
    }

    /// A door whose connections use descriptors of this share.
    fn sharing(
        limits: DoorLimits,
        listener: &'static str,
        registry: &Registry,
        descriptors: Arc<DescriptorShare>,
    ) -> Arc<Self> {
        let rate = Rate::per_minute(limits.new_per_minute);
        let metrics = DoorMetrics::register(registry);
        let labels = ListenerLabels { listener };
        let open = (metrics.connections.with(&labels), metrics.strangers.with(&labels));
        let table = Mutex::new(ConnectionTable::new(Arc::clone(&descriptors)));
        let door = Arc::new(Self { limits, rate, table, descriptors, listener, metrics, open });
        door.descriptors.add(&door);
        door
    }

    /// A door whose metrics are not exported.
    pub fn uncounted(limits: DoorLimits) -> Arc<Self> {
        Self::new(limits, "other", &Registry::new())
    }

    /// Admits a connection of this address. With `speaks_for` the peer is a balancer that is about to say for whom it
    /// speaks: it has no share of its own, and [`ConnectionPermit::comes_from`] gives the connection its address.
    ///
    /// # Errors
    /// [`AdmissionRefusal`]: there is no place.
    pub fn enter(
        self: &Arc<Self>,
        peer: IpAddr,
        speaks_for: bool,
    ) -> Result<ConnectionPermit, AdmissionRefusal> {
        let address = (!speaks_for).then(|| network(peer));
        self.admit(peer, address).inspect_err(|full| self.turned_away(*full))
    }

    fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        address: Option<IpAddr>,
    ) -> Result<ConnectionPermit, AdmissionRefusal> {
        let checks = self.checks(peer);
        if let Some(address) = address.filter(|_| !checks) {
            self.rate.check(address).map_err(|_| AdmissionRefusal::TooOften)?;
        }
        let mut table = self.table.lock();
        match address {
            _ if checks => self.make_room(&mut table, CHECKS)?,
            Some(address) => {
                self.share_of(&mut table, address).and_then(|()| self.make_room(&mut table, 0))?;
            }
            None => self.make_room(&mut table, 0)?,
        }
        // Health checks may use some of the others, but not all: a balancer's own address may be one of theirs.
        if !self.has_descriptor(&mut table, if checks { CHECKS } else { 0 }) {
            return Err(AdmissionRefusal::Connections);
        }
        let life = ConnectionState::new(table.next_number(), address, self.limits.strangers.is_none());
        let connection = ConnectionHandle::new(Arc::clone(self), life);
        table.insert(&connection);
        self.publish(&table);
        Ok(ConnectionPermit::new(connection))
    }

    /// Whether the peer is a health check.
    fn checks(&self, peer: IpAddr) -> bool {
        self.limits.checks_from.iter().any(|net| net.contains(&peer.to_canonical()))
    }

    /// Makes room for one connection: closes an idle stranger if the listener is full, or uses one of `extra` places.
    fn make_room(&self, table: &mut ConnectionTable, extra: usize) -> Result<(), AdmissionRefusal> {
        let most_strangers = self.limits.strangers.as_ref().map_or(usize::MAX, |limits| limits.connections);
        let full = match (table.all(), table.strangers()) {
            (all, _) if all >= self.limits.connections => AdmissionRefusal::Connections,
            (_, strangers) if strangers >= most_strangers => AdmissionRefusal::Strangers,
            _ => return Ok(()),
        };
        let room =
            self.end_quietest(table, None) || extra > 0 && table.all() < self.limits.connections + extra;
        if room { Ok(()) } else { Err(full) }
    }

    /// Whether connections leave a descriptor of their share and `extra` more, or do so after an idle stranger was closed:
    /// at this door, else at another one.
    fn has_descriptor(&self, table: &mut ConnectionTable, extra: usize) -> bool {
        if !self.descriptors.is_used_up(extra) {
            return true;
        }
        self.metrics.short_of_descriptors.with(&ListenerLabels { listener: self.listener }).inc();
        self.end_quietest(table, None)
            || self.descriptors.doors().iter().any(|door| {
                // Never waits: this door's table is locked, and so is one that is in use.
                door.table.try_lock().is_some_and(|mut table| door.end_quietest(&mut table, None))
            })
    }

    /// Makes room for one connection among those of an address.
    fn share_of(&self, table: &mut ConnectionTable, address: IpAddr) -> Result<(), AdmissionRefusal> {
        let (all, strangers) = table.counts_for(address);
        let most = self.limits.strangers.as_ref().map_or(usize::MAX, |limits| limits.per_address);
        if all < self.limits.per_address && strangers < most || self.end_quietest(table, Some(address)) {
            return Ok(());
        }
        Err(AdmissionRefusal::Address)
    }

    /// Ends the stranger without a request that has been quiet for the longest.
    fn end_quietest(&self, table: &mut ConnectionTable, of: Option<IpAddr>) -> bool {
        let Some(quietest) = table.quietest(of) else { return false };
        table.remove(&quietest);
        self.end(&quietest, CloseReason::Evicted);
        true
    }

    /// After an error of accepting: when the process has no descriptor left, idle strangers give theirs back, though
    /// there are places for more. That happens when what is no connection uses more than its half.
    pub fn relieve(&self, error: &std::io::Error) {
        let none_left = error.raw_os_error().is_some_and(|code| NO_DESCRIPTORS.contains(&code));
        if !none_left {
            return;
        }
        let mut table = self.table.lock();
        for _ in 0..RELIEVE {
            if !self.end_quietest(&mut table, None) {
                break;
            }
        }
    }

    /// The address of a connection that a balancer opened.
    fn settle(&self, connection: &ConnectionHandle, origin: SocketAddr) -> Result<(), AdmissionRefusal> {
        let address = network(origin.ip());
        let settle = || {
            if !self.checks(origin.ip()) {
                self.rate.check(address).map_err(|_| AdmissionRefusal::TooOften)?;
            }
            let mut table = self.table.lock();
            // It was evicted for another connection meanwhile.
            if !table.holds(connection) {
                return Err(AdmissionRefusal::Strangers);
            }
            self.share_of(&mut table, address)?;
            table.settle(connection, address);
            Ok(())
        };
        settle().inspect_err(|full| self.turned_away(*full))
    }

    fn known(&self, connection: &ConnectionHandle) {
        let mut table = self.table.lock();
        table.known(connection);
        self.publish(&table);
    }

    fn leave(&self, connection: &ConnectionHandle) {
        let mut table = self.table.lock();
        table.remove(connection);
        self.publish(&table);
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
        let due: Vec<(ConnectionHandle, CloseReason)> = {
            let table = self.table.lock();
            let connections = table.connections();
            connections
                .filter_map(|each| each.due(&self.limits, now).map(|end| (each.clone(), end)))
                .collect()
        };
        for (connection, end) in due {
            self.end(&connection, end);
        }
    }

    fn end(&self, connection: &ConnectionHandle, end: CloseReason) {
        if connection.end(end) {
            let whose = if connection.is_known() { "known" } else { "stranger" };
            self.metrics.ended.with(&EndLabels { listener: self.listener, why: end.name(), whose }).inc();
        }
    }

    fn turned_away(&self, full: AdmissionRefusal) {
        self.metrics.turned_away.with(&FullLabels { listener: self.listener, why: full.name() }).inc();
    }

    fn publish(&self, table: &ConnectionTable) {
        self.open.0.set_count(table.all());
        self.open.1.set_count(table.strangers());
    }

    pub(crate) const fn limits(&self) -> &DoorLimits {
        &self.limits
    }
}

#[cfg(test)]
mod tests;
