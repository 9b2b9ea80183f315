//! What doors count.

use rp_metrics::{Counter, Family, Gauge, Registry, labels, metrics};

labels! {
    /// Which listener.
    pub(super) struct ListenerLabels { listener: &'static str }
}

labels! {
    /// Why a connection was not let in.
    pub(super) struct FullLabels { listener: &'static str, why: &'static str }
}

labels! {
    /// Why a door ended a connection, and whether its peer was known.
    pub(super) struct EndLabels { listener: &'static str, why: &'static str, whose: &'static str }
}

metrics! {
    /// Connections at the listeners.
    pub(super) struct DoorMetrics("aro_door") {
        /// Connections that have a place now, by listener.
        pub(super) connections: Family<ListenerLabels, Gauge> = "connections_open";
        /// Connections of peers that have not shown who they are, by listener.
        pub(super) strangers: Family<ListenerLabels, Gauge> = "strangers_open";
        /// Connections that came when those of all listeners used their half of the process's descriptors, by listener: an
        /// idle stranger was closed for each, or it was turned away.
        pub(super) short_of_descriptors: Family<ListenerLabels, Counter> = "short_of_descriptors_total";
        /// Connections that were turned away, by listener and why: connections, address, strangers, rate.
        pub(super) turned_away: Family<FullLabels, Counter> = "turned_away_total";
        /// Connections that were ended, by listener, why (evicted, flooded, idle, lingered, stalled) and whose.
        pub(super) ended: Family<EndLabels, Counter> = "ended_total";
    }
}

/// Registers what is counted here.
pub fn register_metrics(registry: &Registry) {
    DoorMetrics::register(registry);
}
