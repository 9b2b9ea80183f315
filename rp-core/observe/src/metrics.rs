//! The metrics of this crate.

use rp_metrics::{Counter, Family, Gauge, Histogram, Registry, buckets, labels, metrics};

use crate::kinds::Kind;

labels! {
    /// A kind of objects.
    pub(crate) struct KindLabels { kind: Kind }
}

labels! {
    /// Why a list was made.
    pub(crate) struct ListLabels { kind: Kind, why: &'static str }
}

metrics! {
    /// Watches of clusters that somebody looks at.
    pub(crate) struct ObserveMetrics("aro_observe") {
        /// Watches that run, by kind; a kind of a cluster has one, however many look.
        pub(crate) watches: Family<KindLabels, Gauge> = "watches";
        /// Kinds that are looked at, summed over everybody who looks.
        pub(crate) viewers: Family<KindLabels, Gauge> = "viewers";
        /// Objects held, by kind, of clusters that are looked at and of those last looked at.
        pub(crate) objects: Family<KindLabels, Gauge> = "objects";
        /// Clusters of which something is held.
        pub(crate) clusters: Gauge = "clusters";
        /// Changes that watches brought, by kind.
        pub(crate) events: Family<KindLabels, Counter> = "events_total";
        /// Lists, by kind and why they were made: first, expired, broken.
        pub(crate) lists: Family<ListLabels, Counter> = "lists_total";
        /// Watches that ended by a fault, by kind and fault.
        pub(crate) faults: Family<ListLabels, Counter> = "faults_total";
        /// Seconds that a whole list took.
        pub(crate) list_seconds: Histogram = "list_seconds", buckets::REQUESTS;
    }
}

/// Registers the metrics of this crate.
pub fn register_metrics(registry: &Registry) {
    ObserveMetrics::register(registry);
}
