//! `[monitor]`: how the fleet is shared and looked at (`contract/monitor.md` §1, §2).

use std::time::Duration;

use rp_settings::check::at_most_a_minute;
use rp_settings::{Reader, count, duration, optional_text, section, switch};

section! {
    /// Looking at every cluster: the defaults are the contract's values.
    "monitor" pub struct Monitor {
        /// Whether `aro serve` looks at clusters; `aro monitor` always does.
        enabled: bool = switch(true),
        /// Whether imported clusters are looked at too.
        imported: bool = switch(true),
        /// Whether the Hive monitor runs.
        hive: bool = switch(false).also_as("ARO_ADOPT_BY_HIVE", on),
        /// Hive installs clusters: the Hive monitor runs then too.
        hive_installs: bool = switch(false).also_as("ARO_INSTALL_VIA_HIVE", on),
        /// Name of the imported cluster that Hive runs in.
        hive_cluster: Option<String> = optional_text(),
        /// From one look at a cluster to the next; a look that is missed is dropped.
        interval: Duration = duration("60s"),
        /// The longest wait before the first look at a cluster that became ours; spreads load.
        start_delay: Duration = duration("60s"),
        /// Longest look at one cluster.
        timeout: Duration = duration("50s"),
        /// How long a look may take to end after its time-out.
        grace: Duration = duration("10s"),
        /// Collectors of one cluster at once.
        parallel: usize = count("5", 1..=100),
        /// Objects of one page of a Kubernetes list.
        page: usize = count("500", 1..=5000),
        /// Looks of this process at once; what is due beyond waits. `aro serve` runs at most 16 and one for every 40
        /// clusters.
        looks: usize = count("1000", 1..=100_000),
        /// From one look at a cluster's network security groups to the next.
        nsg_interval: Duration = duration("10m"),
        /// On stop: how long running looks may take to finish.
        drain: Duration = duration("60s"),
        /// How often the change feeds are read when nothing wakes them.
        feed_poll: Duration = duration("10s"),
        /// Documents of one page of a change feed.
        feed_page: u32 = count("50", 1..=1000),
        /// How often the caches are compared with the store.
        verify: Duration = duration("5m"),
        /// How often a worker shows that it lives and reads which buckets are its own; at most 45s and 75 % of
        /// `worker_ttl`.
        bucket_interval: Duration = duration("10s"),
        /// How long a worker counts as living after it showed so; at most 60s.
        worker_ttl: Duration = duration("60s"),
        /// How long a master stays master without renewing; at most 60s.
        lease: Duration = duration("60s"),
        /// A younger process is not ready: a crash loop shows as a gap of the heartbeat.
        ready_delay: Duration = duration("120s"),
        /// Buckets and feeds that were read longer ago are not ready.
        ready_within: Duration = duration("60s"),
        /// Between two emissions of heartbeat and cache sizes.
        emit_interval: Duration = duration("60s"),
        /// Between two writes of when the clusters of a bucket were looked at.
        record_interval: Duration = duration("60s"),
    }
}

fn on(_: &str) -> String {
    "true".to_owned()
}

/// `hive` is on when Hive installs clusters too.
pub(crate) fn read(r: &mut Reader) -> Monitor {
    let mut monitor = Monitor::read(r);
    monitor.hive |= monitor.hive_installs;
    if monitor.hive && monitor.hive_cluster.is_none() {
        r.mistake(
            "monitor.hive_cluster",
            "is needed with monitor.hive: the imported cluster that Hive runs in",
        );
    }
    at_most_a_minute(r, "monitor.worker_ttl", monitor.worker_ttl);
    at_most_a_minute(r, "monitor.lease", monitor.lease);
    monitor
}
