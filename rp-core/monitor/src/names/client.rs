//! Calls of the monitor's clients (`contract/metrics.md` §2 "clients").

use super::{Account, Dim, Kind, Metric, Scope, Wire, exposed, label, same, text};

const fn call(
    kind: Kind,
    name: &'static str,
    prometheus: Option<&'static str>,
    dims: &'static [Dim],
    help: &'static str,
) -> Metric {
    let exposed = match prometheus {
        Some(name) => exposed(name, &[]),
        None => None,
    };
    Metric { name, wire: Wire::Int, kind, account: Account::Service, scope: Scope::None, dims, exposed, help }
}

const MILLIS: Kind = Kind::Duration { millis: true };

/// Its Prometheus form is the `_count` of the duration.
pub static AZURE_COUNT: Metric = call(
    Kind::Count,
    "client.azure.count",
    None,
    &[same("client"), same("code")],
    "Calls to Azure; code -1: no answer.",
);
/// In Prometheus `aro_client_azure_request_duration_seconds`, which the client registers by itself.
pub static AZURE_DURATION: Metric = call(
    MILLIS,
    "client.azure.duration",
    None,
    &[same("client"), same("code")],
    "Calls to Azure; code -1: no answer. In statsd the client is `package/Client.Operation`.",
);
/// In Prometheus `aro_client_azure_errors_total`.
pub static AZURE_ERRORS: Metric = call(
    Kind::Count,
    "client.azure.errors",
    None,
    &[same("client"), same("code")],
    "Calls to Azure that failed.",
);
/// Its Prometheus form is the `_count` of the duration.
pub static KUBERNETES_COUNT: Metric = call(
    Kind::Count,
    "client.k8s.count",
    None,
    &[same("verb"), same("code")],
    "Calls to API servers; code <error>: no answer.",
);
pub static KUBERNETES_DURATION: Metric = call(
    MILLIS,
    "client.k8s.duration",
    Some("aro_client_kubernetes_request_duration_seconds"),
    &[dim_verb(), same("path"), label("code")],
    "Calls to API servers until the answer begins; the path has {namespace} and {name} in place of values.",
);
pub static KUBERNETES_ERRORS: Metric = call(
    Kind::Count,
    "client.k8s.errors",
    Some("aro_client_kubernetes_errors_total"),
    &[dim_verb(), text("code")],
    "Calls to API servers that had no answer.",
);

const fn dim_verb() -> Dim {
    super::dim("verb", "method")
}
