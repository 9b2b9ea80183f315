//! What the bastion counts.

use rp_metrics::{Counter, Family, Gauge, Histogram, buckets, labels, metrics};

labels! {
    /// How somebody signed in, and what came of it.
    pub(super) struct LoginLabels { way: &'static str, result: &'static str }
}

labels! {
    /// What was opened: shell, exec, subsystem, forward, agent.
    pub(super) struct ChannelLabels { kind: &'static str, result: &'static str }
}

metrics! {
    /// The SSH bastion.
    pub(super) struct SshMetrics("aro_ssh") {
        /// Connections open now at the SSH listener.
        pub(super) connections: Gauge = "connections_open";
        /// Shells, commands, subsystems and forwarded connections open now.
        pub(super) channels: Gauge = "channels_open";
        /// Sign-ins at the SSH listener, by way and result.
        pub(super) logins: Family<LoginLabels, Counter> = "logins_total";
        /// Channels by kind and result.
        pub(super) opened: Family<ChannelLabels, Counter> = "channels_total";
        /// Seconds from a sign-in until the machine was reached.
        pub(super) reach: Histogram = "reach_seconds", buckets::REQUESTS;
        /// Machines that could not be reached.
        pub(super) unreached: Counter = "unreached_total";
        /// Bytes that people's clients sent.
        pub(super) received: Counter = "received_bytes_total";
        /// Bytes that people's clients were sent.
        pub(super) sent: Counter = "sent_bytes_total";
    }
}
