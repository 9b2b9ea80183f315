//! `[metrics]` and `[log]`.

use rp_settings::{Key, Kind, Reader, read_by, section, text, values, word, words};

section! {
    /// The statsd sink; Prometheus reads the admin listener.
    "metrics" pub struct Metrics {
        /// `udp:host:port` or `unix:path`; empty: no statsd.
        statsd_socket: Option<String> = read_by(Kind::Text, "", statsd_socket).also("MDM_STATSD_SOCKET"),
        /// Account on every line.
        statsd_account: String = text("").also("MDM_ACCOUNT"),
        /// Namespace on every line.
        statsd_namespace: String = text("").also("MDM_NAMESPACE"),
        /// Account on every line about a cluster.
        cluster_account: String = text("").also("CLUSTER_MDM_ACCOUNT"),
        /// Namespace on every line about a cluster.
        cluster_namespace: String = text("").also("CLUSTER_MDM_NAMESPACE"),
        /// What Prometheus is shown of each cluster: all, what is not as it should be, or sums over the fleet only.
        detail: MetricsDetail = word("all"),
        /// The dimension `Environment`.
        environment: String = text("").also("ENVIRONMENT"),
    }
}

section! {
    /// What is logged and how.
    "log" pub struct Log {
        /// A level, or a filter such as `info,rp_net=debug`.
        level: String = text("info").also("ARO_LOG_LEVEL"),
        /// One JSON object or one line of text per event.
        format: LogFormat = word("json"),
    }
}

words! {
    /// What Prometheus is shown of each cluster.
    pub enum MetricsDetail {
        All = "all",
        /// What is not as it should be.
        Unhealthy = "unhealthy",
        /// Sums over the fleet only.
        Fleet = "fleet",
    }
}

words! {
    /// How events are logged.
    pub enum LogFormat {
        Json = "json",
        Text = "text",
    }
}

/// The form of the contract (`contract/monitor.md` §13); whether it can be reached shows later.
fn statsd_socket(r: &mut Reader, key: &'static Key) -> Option<String> {
    let socket = r.text(key)?;
    let good = match socket.split_once(':') {
        Some((network, address)) if network.eq_ignore_ascii_case("udp") => values::dial(address).is_some(),
        Some((network, path)) => network.eq_ignore_ascii_case("unix") && !path.is_empty(),
        None => false,
    };
    if !good {
        r.mistake(key.path, "expected udp:<host>:<port> or unix:<path>");
    }
    Some(socket)
}
