//! What the life of accesses counts.

use rp_metrics::{Counter, Family, Gauge, Histogram, buckets, labels, metrics};

labels! {
    /// Kind and rights of a grant.
    pub(crate) struct GrantLabels { kind: &'static str, rights: &'static str }
}

labels! {
    /// How an elevation came into force, and its rights.
    pub(crate) struct ElevationLabels { way: &'static str, rights: &'static str }
}

metrics! {
    /// Grants and elevations.
    pub(crate) struct AccessMetrics("aro") {
        /// Elevations without an approver or self-service: each is an alarm until it is reviewed.
        pub(crate) break_glass: Counter = "break_glass_total";
        /// Grants given, by kind and rights; renewed tokens are not counted.
        pub(crate) issued: Family<GrantLabels, Counter> = "grants_issued_total";
        /// Grants revoked.
        pub(crate) revoked: Counter = "grants_revoked_total";
        /// Seconds from the revocation of a grant in use, by the clock of the process that revoked it, until this process
        /// had ended what used it.
        pub(crate) revocation: Histogram = "revocation_seconds", buckets::REQUESTS;
        /// 1 while the store is away and accesses in use live on unseen.
        pub(crate) blind: Gauge = "access_blind";
        /// Elevations that came into force, by way and rights.
        pub(crate) elevations: Family<ElevationLabels, Counter> = "elevations_total";
    }
}
