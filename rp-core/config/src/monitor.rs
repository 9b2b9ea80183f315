//! `[monitor]`: how the fleet is shared and looked at (`contract/monitor.md` §1, §2).

use std::time::Duration;

use crate::check;
use crate::reader::Reader;

/// Settings of the monitor; the defaults are the contract's values.
#[derive(Debug, Clone)]
pub struct Monitor {
    /// Whether `aro serve` looks at clusters; `aro monitor` always does.
    pub enabled: bool,
    /// Whether imported clusters are looked at.
    pub imported: bool,
    /// Whether the Hive monitor runs.
    pub hive: bool,
    /// Name of the imported cluster that Hive runs in.
    pub hive_cluster: Option<String>,
    /// From one look at a cluster to the next.
    pub interval: Duration,
    /// The longest wait before the first look of a worker.
    pub start_delay: Duration,
    /// Of one look.
    pub timeout: Duration,
    /// For a look to end after its time-out.
    pub grace: Duration,
    /// Collectors of one cluster at once.
    pub parallel: usize,
    /// Objects of one page of a Kubernetes list.
    pub page: usize,
    /// Looks of this process at once.
    pub looks: usize,
    pub nsg_interval: Duration,
    /// For running looks, on stop.
    pub drain: Duration,
    pub feed_poll: Duration,
    /// Documents.
    pub feed_page: u32,
    /// Between two comparisons of the caches with the store.
    pub verify: Duration,
    pub bucket_interval: Duration,
    pub worker_ttl: Duration,
    pub lease: Duration,
    pub ready_delay: Duration,
    /// Buckets and feeds older than this are not ready.
    pub ready_within: Duration,
    /// Between two emissions of heartbeat and cache sizes.
    pub emit_interval: Duration,
    /// Between two writes of when a bucket's clusters were looked at.
    pub record_interval: Duration,
}

pub(crate) fn monitor(r: &mut Reader<'_>) -> Monitor {
    let monitor = Monitor {
        enabled: r.switch("monitor.enabled"),
        imported: r.switch("monitor.imported"),
        // Both are read, so that both are checked.
        hive: r.switch("monitor.hive") | r.switch("monitor.hive_installs"),
        hive_cluster: r.text("monitor.hive_cluster"),
        interval: r.duration("monitor.interval"),
        start_delay: r.duration("monitor.start_delay"),
        timeout: r.duration("monitor.timeout"),
        grace: r.duration("monitor.grace"),
        parallel: r.count("monitor.parallel"),
        page: r.count("monitor.page"),
        looks: r.count("monitor.looks"),
        nsg_interval: r.duration("monitor.nsg_interval"),
        drain: r.duration("monitor.drain"),
        feed_poll: r.duration("monitor.feed_poll"),
        feed_page: r.count("monitor.feed_page"),
        verify: r.duration("monitor.verify"),
        bucket_interval: r.duration("monitor.bucket_interval"),
        worker_ttl: r.duration("monitor.worker_ttl"),
        lease: r.duration("monitor.lease"),
        ready_delay: r.duration("monitor.ready_delay"),
        ready_within: r.duration("monitor.ready_within"),
        emit_interval: r.duration("monitor.emit_interval"),
        record_interval: r.duration("monitor.record_interval"),
    };
    if monitor.hive && monitor.hive_cluster.is_none() {
        r.mistake(
            "monitor.hive_cluster",
            "is needed with monitor.hive: the imported cluster that Hive runs in",
        );
    }
    check::at_most_a_minute(r, "monitor.worker_ttl", monitor.worker_ttl);
    check::at_most_a_minute(r, "monitor.lease", monitor.lease);
    monitor
}
