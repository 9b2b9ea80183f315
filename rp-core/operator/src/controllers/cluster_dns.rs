//! The DNS of the cluster (`contract/operator.md` §8.5): a server for the zone `.` would take every name away from it.

use rp_operator_api::conditions::Check;
use serde_json::Value;

use crate::controller::{Outcome, Reconciled, Run};
use crate::kinds::{DNS, ObjectName};

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let check = Check::DefaultClusterDns;
    if !run.enabled {
        return Ok(Outcome::unknown(check));
    }
    let read = run.api().get(ObjectName::of_cluster(&DNS, "default")).await;
    Ok(match read {
        Ok(Some(dns)) => {
            let (status, message) = result(&dns);
            Outcome::check(check, status, "CheckDone", &message)
        }
        Ok(None) => failed(check, "DNS default is not there"),
        Err(error) => failed(check, &rp_base::chain(&error).to_string()),
    })
}

fn failed(check: Check, error: &str) -> Outcome {
    Outcome::check(check, "False", "CheckFailed", error).retried(error)
}

fn result(dns: &Value) -> (&'static str, String) {
    let list =
        |value: &Value, at: &str| value.pointer(at).and_then(Value::as_array).cloned().unwrap_or_default();
    let servers = list(dns, "/spec/servers");
    if servers.iter().any(|server| list(server, "/zones").iter().any(|zone| zone == ".")) {
        return ("False", "malformed config: \".\" in zones".to_owned());
    }
    let upstreams: Vec<_> =
        servers.iter().flat_map(|server| list(server, "/forwardPlugin/upstreams")).collect();
    let upstreams: Vec<_> = upstreams.iter().filter_map(Value::as_str).collect();
    if upstreams.is_empty() {
        return ("True", "no in-cluster upstream DNS servers".to_owned());
    }
    ("True", format!("custom upstream DNS servers in use: {}", upstreams.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_may_take_zones_but_not_all_names() {
        let dns = |zone: &str| json!({ "spec": { "servers": [{ "zones": [zone], "forwardPlugin": { "upstreams": ["10.0.0.1", "10.0.0.2"] } }] } });
        assert_eq!(result(&json!({ "spec": {} })), ("True", "no in-cluster upstream DNS servers".to_owned()));
        assert_eq!(
            result(&dns("example.com")),
            ("True", "custom upstream DNS servers in use: 10.0.0.1, 10.0.0.2".to_owned())
        );
        assert_eq!(result(&dns(".")), ("False", "malformed config: \".\" in zones".to_owned()));
    }
}
