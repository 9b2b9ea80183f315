//! Metrics of the monitor itself (`contract/monitor.md` §6, §8, §12).

use super::{Account, Dim, Kind, Metric, Scope, Wire, exposed, same, text};

/// An event of a cluster's look, of the service: `[D]`.
const fn event(
    name: &'static str,
    prometheus: &'static str,
    fixed: &'static [(&'static str, &'static str)],
    help: &'static str,
) -> Metric {
    Metric {
        name,
        wire: Wire::Int,
        kind: Kind::Count,
        account: Account::Service,
        scope: Scope::Document,
        dims: &[],
        exposed: exposed(prometheus, fixed),
        help,
    }
}

/// A number of the process.
const fn process(
    name: &'static str,
    prometheus: &'static str,
    dims: &'static [Dim],
    help: &'static str,
) -> Metric {
    Metric {
        name,
        wire: Wire::Int,
        kind: Kind::Gauge,
        account: Account::Service,
        scope: Scope::None,
        dims,
        exposed: exposed(prometheus, &[]),
        help,
    }
}

const DURATIONS: &str = "aro_monitor_collector_duration_seconds";
const ERRORS: &str = "aro_monitor_collector_errors_total";
const FAILURES: &str = "aro_monitor_failures_total";
const FAILURES_HELP: &str = "Looks of which a part could not be built, or panicked.";
const TIMEOUTS: &str = "aro_monitor_timeouts_total";
const TIMEOUTS_HELP: &str = "Looks that passed their deadline, and those that had to be abandoned after it.";
const DURATIONS_HELP: &str = "Seconds of one part of a look that went well; collector all: the whole.";
const ERRORS_HELP: &str = "Parts of looks that failed or panicked.";

pub static HEARTBEAT: Metric = process(
    "monitor.heartbeat",
    "aro_service_ready",
    &[text("version")],
    "1 while the monitor is ready: it knows its buckets, both feeds are fresh, and it is older than its ready delay.",
);
pub static CACHE_SIZE: Metric = process(
    "monitor.cache.size",
    "aro_cache_documents",
    &[same("cache")],
    "Documents in a cache of the monitor.",
);
/// The same number as `monitor.cache.size{cache="subscriptions"}`, under the name that dashboards know.
pub static FEED_CACHE_SIZE: Metric = Metric {
    name: "changefeed.caches.size",
    wire: Wire::Int,
    kind: Kind::Gauge,
    account: Account::Service,
    scope: Scope::None,
    dims: &[text("name")],
    exposed: None,
    help: "Documents in the cache of a change feed, after a poll that brought data.",
};
pub static WORKERS_ACTIVE: Metric = process(
    "monitor.workers.active.count",
    "aro_workers_active",
    &[],
    "Workers that are inside a round now.",
);

/// Not in the contract: failed connections, by the stage that failed.
pub static CONNECT_ERROR: Metric = Metric {
    name: "monitor.cluster.connect.error",
    wire: Wire::Int,
    kind: Kind::Count,
    account: Account::Service,
    scope: Scope::Document,
    dims: &[same("stage")],
    exposed: exposed("aro_monitor_connect_errors_total", &[]),
    help: "Looks that found no way to the cluster, by the stage that failed.",
};
pub static CLUSTER_FAILED: Metric =
    event("monitor.cluster.failedworker", FAILURES, &[("monitor", "cluster")], FAILURES_HELP);
pub static HIVE_FAILED: Metric =
    event("monitor.hive.failedworker", FAILURES, &[("monitor", "hive")], FAILURES_HELP);
pub static NSG_FAILED: Metric =
    event("monitor.nsg.failedworker", FAILURES, &[("monitor", "nsg")], FAILURES_HELP);
pub static NOOP_FAILED: Metric =
    event("monitor.noop.failedworker", FAILURES, &[("monitor", "noop")], FAILURES_HELP);
pub static TIMED_OUT: Metric =
    event("monitor.main.timedout", TIMEOUTS, &[("stage", "deadline")], TIMEOUTS_HELP);
pub static FORCED_CLEANUP: Metric =
    event("monitor.main.forcedcleanup", TIMEOUTS, &[("stage", "cleanup")], TIMEOUTS_HELP);

/// A part of a cluster's look.
const fn part(
    kind: Kind,
    name: &'static str,
    scope: Scope,
    dims: &'static [Dim],
    prometheus: (&'static str, &'static [(&'static str, &'static str)]),
    help: &'static str,
) -> Metric {
    let wire = if matches!(kind, Kind::Duration { .. }) { Wire::Float } else { Wire::Int };
    let exposed = exposed(prometheus.0, prometheus.1);
    Metric { name, wire, kind, account: Account::Cluster, scope, dims, exposed, help }
}

const SECONDS: Kind = Kind::Duration { millis: false };

pub static COLLECTOR_DURATION: Metric = part(
    SECONDS,
    "monitor.cluster.collector.duration",
    Scope::Cluster,
    &[same("collector")],
    (DURATIONS, &[("monitor", "cluster")]),
    DURATIONS_HELP,
);
pub static COLLECTOR_ERROR: Metric = part(
    Kind::Count,
    "monitor.cluster.collector.error",
    Scope::Cluster,
    &[same("collector")],
    (ERRORS, &[("monitor", "cluster")]),
    ERRORS_HELP,
);
pub static COLLECTOR_SKIPPED: Metric = part(
    Kind::Count,
    "monitor.cluster.collector.skipped",
    Scope::Cluster,
    &[same("collector")],
    ("aro_monitor_collector_skipped_total", &[("monitor", "cluster")]),
    "Parts of looks that were not begun, for the deadline had passed.",
);
pub static CLUSTER_DURATION: Metric = part(
    SECONDS,
    "monitor.cluster.duration",
    Scope::Cluster,
    &[],
    (DURATIONS, &[("monitor", "cluster"), ("collector", "all")]),
    DURATIONS_HELP,
);
pub static HIVE_COLLECTOR_ERROR: Metric = part(
    Kind::Count,
    "monitor.hive.collector.error",
    Scope::Cluster,
    &[same("collector")],
    (ERRORS, &[("monitor", "hive")]),
    ERRORS_HELP,
);
pub static HIVE_DURATION: Metric = part(
    SECONDS,
    "monitor.hive.duration",
    Scope::Cluster,
    &[],
    (DURATIONS, &[("monitor", "hive"), ("collector", "all")]),
    DURATIONS_HELP,
);
pub static NSG_DURATION: Metric = part(
    SECONDS,
    "monitor.nsg.duration",
    Scope::Document,
    &[],
    (DURATIONS, &[("monitor", "nsg"), ("collector", "all")]),
    DURATIONS_HELP,
);
