//! What the portal counts (`contract/portal.md` "Do better" 38).

use rp_metrics::{Counter, Family, Gauge, Histogram, buckets, labels, metrics};

labels! {
    /// A route of the table and how it ended.
    pub struct RequestLabels { route: &'static str, method: &'static str, code: u16 }
}

labels! {
    /// How a sign-in ended.
    pub struct SignInLabels { result: &'static str }
}

labels! {
    /// What came of asking the provider about a person.
    pub struct LookLabels { result: &'static str }
}

metrics! {
    /// Counters of the portal.
    pub struct PortalMetrics("aro_portal") {
        /// Requests that ended, by route of the table.
        pub requests: Family<RequestLabels, Counter> = "requests_total";
        /// Time from the request's head to the answer's head.
        pub duration: Histogram = "request_duration_seconds", buckets::REQUESTS;
        /// Sign-ins that ended. By the fault of the service or the provider: provider_away, clock_off, bad_id_token,
        /// settings, not_stored.
        pub sign_ins: Family<SignInLabels, Counter> = "sign_ins_total";
        /// Looks at the provider, one per person and period, by what came of them.
        pub looks: Family<LookLabels, Counter> = "sign_in_looks_total";
        /// People whom the provider has not confirmed for longer than the alarm allows.
        pub unconfirmed: Gauge = "sign_ins_unconfirmed";
    }
}
