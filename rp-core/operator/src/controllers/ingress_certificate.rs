//! The certificate of the default ingress (`contract/operator.md` §8.6).

use rp_operator_api::conditions::Check;
use serde_json::Value;

use crate::controller::{Outcome, Reconciled, Run};
use crate::gate::cluster_version;
use crate::kinds::{INGRESS_CONTROLLER, ObjectName};

/// Domains whose certificate the service issues.
const MANAGED: [&str; 2] = [".aroapp.io", ".aroapp.azure.us"];

/// What was found.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    InUse,
    /// It is the customer's choice: reported, and not repeated sooner.
    Missing(&'static str),
    Wrong(&'static str),
}

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let check = Check::DefaultIngressCertificate;
    if !run.enabled {
        return Ok(Outcome::unknown(check));
    }
    let found = match find(run).await {
        Ok(found) => found,
        Err(error) => return Ok(Outcome::check(check, "False", "CheckFailed", &error).retried(error)),
    };
    Ok(match found {
        Finding::InUse => Outcome::check(check, "True", "CheckDone", "Default ingress certificate is in use"),
        Finding::Missing(message) => Outcome::check(check, "False", "CheckFailed", message),
        Finding::Wrong(message) => Outcome::check(check, "False", "CheckFailed", message).retried(message),
    })
}

async fn find(run: &Run<'_>) -> Result<Finding, String> {
    let text = |error: &dyn std::error::Error| rp_base::chain(error).to_string();
    let version = cluster_version(run.api()).await.map_err(|error| text(&error))?;
    let name = ObjectName::in_namespace(&INGRESS_CONTROLLER, "openshift-ingress-operator", "default");
    let ingress = run.api().get(name).await.map_err(|error| text(&error))?;
    let ingress = ingress.ok_or("IngressController default is not there")?;
    let certificate = ingress.pointer("/spec/defaultCertificate/name").and_then(Value::as_str);
    Ok(finding(certificate, version.spec.cluster_id.as_str(), &run.cluster.spec.domain))
}

fn finding(certificate: Option<&str>, cluster_id: &str, domain: &str) -> Finding {
    let managed = MANAGED.iter().any(|suffix| domain.ends_with(suffix));
    match (certificate, managed) {
        (None, true) => Finding::Wrong("missing ingress certificate for cluster with managed domain"),
        (None, false) => Finding::Missing("missing ingress certificate for cluster with custom domain"),
        (Some(name), true) if name != format!("{cluster_id}-ingress") => {
            Finding::Wrong("invalid ingress certificate name for cluster with managed domain")
        }
        (Some(_), _) => Finding::InUse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_s_own_domains_need_the_service_s_certificate() {
        let managed = "a.eastus.aroapp.io";
        assert_eq!(finding(Some("id-ingress"), "id", managed), Finding::InUse);
        assert!(matches!(finding(Some("other"), "id", managed), Finding::Wrong(_)));
        assert!(matches!(finding(None, "id", managed), Finding::Wrong(_)));
        assert_eq!(finding(Some("other"), "id", "example.com"), Finding::InUse);
        assert!(matches!(finding(None, "id", "example.com"), Finding::Missing(_)));
    }
}
