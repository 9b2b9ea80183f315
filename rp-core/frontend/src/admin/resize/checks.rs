//! Whether the cluster bears that its masters are replaced one after the other.

use rp_actions::control_plane::{self, MASTERS, Operator};
use rp_api::CloudError;
use rp_openshift::{AroCluster, ClusterOperator, ControlPlaneMachineSet, Pod, Whole, condition};

use super::at;
use super::control_plane::Health;

/// The result of each check, in the contract's order.
pub(super) fn health(health: Health) -> Vec<Result<(), CloudError>> {
    let Health { api_server, api_pods, etcd, aro, set } = health;
    let read = |target: &'static str| move |error: CloudError| at(target, error);
    vec![
        api_server
            .map_err(read("kube-apiserver"))
            .and_then(|operator| operator_check(&operator, control_plane::API_SERVER)),
        api_pods.map_err(read("kube-apiserver-pods")).and_then(|pods| api_server_pods(&pods)),
        etcd.map_err(read("etcd")).and_then(|operator| operator_check(&operator, control_plane::ETCD)),
        aro.map_err(read("servicePrincipal")).and_then(|aro| service_principal(&aro)),
        set.map_err(read("controlPlaneMachineSet")).and_then(|set| machine_set(set.as_ref())),
    ]
}

fn refused(target: &str, message: impl Into<String>) -> CloudError {
    CloudError::new(409, "RequestNotAllowed", target, message)
}

fn operator_check(operator: &ClusterOperator<Whole>, rule: Operator) -> Result<(), CloudError> {
    rule.check(operator).map_err(|message| refused(rule.name, message))
}

fn api_server_pods(pods: &[Pod<Whole>]) -> Result<(), CloudError> {
    const WHY: &str = "Resize is not safe without full API server redundancy.";
    let target = "kube-apiserver-pods";
    if pods.len() != MASTERS {
        let found = pods.len();
        return Err(refused(target, format!("Expected {MASTERS} kube-apiserver pods, found {found}. {WHY}")));
    }
    let good = |pod: &&Pod<Whole>| pod.status.phase.as_str() == "Running" && pod.ready().is_true();
    let bad: Vec<&str> = pods.iter().filter(|pod| !good(pod)).map(|pod| pod.metadata.name.as_str()).collect();
    match bad.is_empty() {
        true => Ok(()),
        false => Err(refused(target, format!("Unhealthy kube-apiserver pods: [{}]. {WHY}", bad.join(" ")))),
    }
}

fn service_principal(aro: &AroCluster<Whole>) -> Result<(), CloudError> {
    let message = match condition(&aro.status.conditions, "ServicePrincipalValid") {
        Some(condition) if condition.status.as_str() == "True" => return Ok(()),
        Some(condition) => format!("Cluster Service Principal is invalid: {}", condition.message.as_str()),
        None => "ServicePrincipalValid condition not found on the ARO Cluster resource. The ARO operator may not have reconciled yet.".to_owned(),
    };
    Err(CloudError::new(409, "InvalidServicePrincipalCredentials", "servicePrincipal", message))
}

fn machine_set(set: Option<&ControlPlaneMachineSet<Whole>>) -> Result<(), CloudError> {
    control_plane::check_machine_set(set).map_err(|message| refused("", message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    fn conditions(all: &[(&str, &str)]) -> Value {
        let condition =
            |(kind, status): &(&str, &str)| json!({"type": kind, "status": status, "message": "why"});
        json!({"status": {"conditions": all.iter().map(condition).collect::<Vec<_>>()}})
    }

    fn message(result: Result<(), CloudError>) -> (u16, String, String) {
        let error = result.unwrap_err();
        (error.status, error.body.target, error.body.message)
    }

    #[test]
    fn an_operator_is_available_does_not_progress_and_is_not_degraded() {
        let check = |all: &[(&str, &str)]| {
            let rule = Operator { name: "etcd", why: "Wait." };
            operator_check(&read(conditions(all)), rule)
        };
        assert_eq!(check(&[("Available", "True"), ("Progressing", "False")]), Ok(()), "degraded is not said");
        let told = message(check(&[("Available", "True"), ("Progressing", "True"), ("Degraded", "False")]));
        let text = "etcd is not healthy: etcd Available=True, Progressing=True, Degraded=False. Wait.";
        assert_eq!(told, (409, "etcd".to_owned(), text.to_owned()));
        for bad in [
            [("Available", "False"), ("Progressing", "False"), ("Degraded", "False")],
            [("Available", "True"), ("Progressing", "Unknown"), ("Degraded", "False")],
            [("Available", "True"), ("Progressing", "False"), ("Degraded", "True")],
        ] {
            assert!(check(&bad).is_err(), "{bad:?}");
        }
        assert!(check(&[]).is_err(), "an operator that says nothing is not healthy");
    }

    #[test]
    fn three_pods_serve_the_api() {
        let pod = |name: &str, phase: &str, ready: &str| {
            read::<Pod<Whole>>(json!({"metadata": {"name": name},
                "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}}))
        };
        let good = |name: &str| pod(name, "Running", "True");
        assert_eq!(api_server_pods(&[good("a"), good("b"), good("c")]), Ok(()));
        let (status, target, text) = message(api_server_pods(&[good("a"), good("b")]));
        assert_eq!((status, target.as_str()), (409, "kube-apiserver-pods"));
        assert!(text.starts_with("Expected 3 kube-apiserver pods, found 2. "), "{text}");
        let three = [good("a"), pod("b", "Pending", "True"), pod("c", "Running", "False")];
        let (.., text) = message(api_server_pods(&three));
        assert!(text.starts_with("Unhealthy kube-apiserver pods: [b c]. "), "{text}");
    }

    #[test]
    fn the_service_principal_is_valid_and_no_set_replaces_masters() {
        let aro = |all: &[(&str, &str)]| service_principal(&read(conditions(all)));
        assert_eq!(aro(&[("ServicePrincipalValid", "True")]), Ok(()));
        let told = message(aro(&[("ServicePrincipalValid", "False")]));
        assert_eq!(told.2, "Cluster Service Principal is invalid: why");
        assert!(message(aro(&[])).2.starts_with("ServicePrincipalValid condition not found"));
        let set = |state: &str| read::<ControlPlaneMachineSet<Whole>>(json!({"spec": {"state": state}}));
        assert_eq!((machine_set(None), machine_set(Some(&set("Inactive")))), (Ok(()), Ok(())));
        assert_eq!(message(machine_set(Some(&set("Active")))).0, 409);
    }
}
