//! Certificate signing requests: approved and denied.

use http::Method;
use rp_base::Timestamp;
use serde_json::{Value, json};

use crate::{ActionError, Change, ClusterApi, Mode, Resource, rules, shown_at, text_at};

/// Most requests that are approved at once; a cluster has a handful for each node.
const MOST: usize = 500;

/// The resource of certificate signing requests.
pub fn csr_resource() -> Resource {
    Resource::v1("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest")
}

/// What is decided about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Deny,
}

impl Decision {
    /// The type of the condition.
    const fn condition(self) -> &'static str {
        match self {
            Self::Approve => "Approved",
            Self::Deny => "Denied",
        }
    }

    const fn reason_and_message(self) -> (&'static str, &'static str) {
        match self {
            Self::Approve => ("AROSupportApprove", "This CSR was approved by ARO support personnel."),
            Self::Deny => ("AROSupportDeny", "This CSR was denied by ARO support personnel."),
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Approve => Self::Deny,
            Self::Deny => Self::Approve,
        }
    }
}

/// What people are shown of a request before they decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsrFacts {
    /// `pending`, `Approved` or `Denied`.
    pub state: String,
    /// Who signs it: `kubernetes.io/kubelet-serving`.
    pub signer: String,
    /// Who asks for the certificate: `system:node:worker-1`.
    pub requestor: String,
    /// What the certificate is for: `server auth`.
    pub usages: String,
}

/// Decides about one request; one that was decided so already is not changed.
///
/// # Errors
/// The name is none, there is no such request, it was decided otherwise, or the API server's.
pub async fn decide<A: ClusterApi>(
    api: &A,
    name: &str,
    decision: Decision,
    now: Timestamp,
    mode: Mode,
) -> Result<Change, ActionError<A::Error>> {
    let csr = read(api, name).await?;
    if has(&csr, decision.other()) {
        let decided = decision.other().condition();
        let message = format!("certificate signing request {name:?} is already {decided}");
        return Err(ActionError::Conflict(message));
    }
    let change = Change::new(state(&csr), decision.condition());
    if change.changes() {
        put(api, csr, decision, now, mode).await?;
    }
    Ok(change)
}

/// Approves all requests that are neither approved nor denied; gives how many.
///
/// # Errors
/// The API server's; some may be approved.
pub async fn approve_all<A: ClusterApi>(api: &A, now: Timestamp) -> Result<usize, ActionError<A::Error>> {
    let path = csr_resource().path("", "");
    let list = api.call(Method::GET, &format!("{path}?limit={MOST}"), None).await?;
    let mut approved = 0;
    for csr in list["items"].as_array().into_iter().flatten() {
        let pending = !has(csr, Decision::Approve) && !has(csr, Decision::Deny);
        // The names of requests that kubelets make may have any form, so the one of a list is checked like a caller's.
        if pending && rules::is_name(text_at(csr, "/metadata/name")) {
            put(api, csr.clone(), Decision::Approve, now, Mode::Change).await?;
            approved += 1;
        }
    }
    Ok(approved)
}

/// What a request asks for.
///
/// # Errors
/// The name is none, there is no such request, or the API server's.
pub async fn csr_facts<A: ClusterApi>(api: &A, name: &str) -> Result<CsrFacts, ActionError<A::Error>> {
    let csr = read(api, name).await?;
    let usages = csr["spec"]["usages"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(CsrFacts {
        state: state(&csr).to_owned(),
        signer: shown_at(&csr, "/spec/signerName"),
        requestor: shown_at(&csr, "/spec/username"),
        usages: rp_base::text::clean(&usages.collect::<Vec<_>>().join(", "), 256),
    })
}

async fn read<A: ClusterApi>(api: &A, name: &str) -> Result<Value, ActionError<A::Error>> {
    let resource = csr_resource();
    rules::write(&resource, "", name)?;
    match api.call(Method::GET, &resource.path("", name), None).await {
        Err(error) if error.status == Some(404) => {
            let message = format!("certificate signing request '{name}' was not found.");
            Err(ActionError::Missing(message))
        }
        told => Ok(told?),
    }
}

fn state(csr: &Value) -> &'static str {
    let decided = [Decision::Approve, Decision::Deny].into_iter().find(|decision| has(csr, *decision));
    decided.map_or("pending", Decision::condition)
}

fn has(csr: &Value, decision: Decision) -> bool {
    let mut conditions = csr["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == decision.condition())
}

/// Adds the condition. A request that somebody else changed since it was read is refused by its version.
async fn put<A: ClusterApi>(
    api: &A,
    mut csr: Value,
    decision: Decision,
    now: Timestamp,
    mode: Mode,
) -> Result<(), ActionError<A::Error>> {
    let resource = csr_resource();
    // Of such a list an API server leaves these out of the items.
    csr["apiVersion"] = json!(resource.api_version());
    csr["kind"] = json!(resource.kind);
    let path = resource.path("", text_at(&csr, "/metadata/name"));
    let kept = csr["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let (reason, message) = decision.reason_and_message();
    let new = json!({"type": decision.condition(), "status": "True", "reason": reason, "message": message,
        "lastUpdateTime": now});
    csr["status"]["conditions"] = kept.into_iter().chain([new]).collect();
    api.call(Method::PUT, &mode.path(&format!("{path}/approval")), Some(&csr)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_api::TestApi;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

    fn csr(name: &str, condition: Option<&str>) -> Value {
        let conditions: Vec<Value> = condition.into_iter().map(|kind| json!({"type": kind})).collect();
        json!({"metadata": {"name": name}, "spec": {"signerName": "kubernetes.io/kubelet-serving",
            "username": "system:node:w", "usages": ["server auth", "digital signature"]},
            "status": {"conditions": conditions}})
    }

    #[tokio::test]
    async fn a_request_is_decided_once_and_not_turned_over() {
        let api = TestApi::new().with(&format!("{PATH}/a"), csr("a", None));
        let change = decide(&api, "a", Decision::Deny, NOW, Mode::Change).await.unwrap();
        assert_eq!(change, Change::new("pending", "Denied"));
        assert_eq!(api.writes(), [format!("PUT {PATH}/a/approval")]);
        let sent = &api.bodies()[0]["status"]["conditions"][0];
        assert_eq!(
            (&sent["type"], &sent["reason"], &sent["lastUpdateTime"]),
            (&json!("Denied"), &json!("AROSupportDeny"), &json!("2027-01-15T08:00:00Z"))
        );
        let api = TestApi::new().with(&format!("{PATH}/a"), csr("a", Some("Approved")));
        let same = decide(&api, "a", Decision::Approve, NOW, Mode::Change).await.unwrap();
        assert!(!same.changes() && api.writes().is_empty());
        let turned = decide(&api, "a", Decision::Deny, NOW, Mode::Change).await;
        assert!(
            matches!(&turned, Err(ActionError::Conflict(why)) if why.ends_with("already Approved")),
            "{turned:?}"
        );
        let missing = decide(&api, "b", Decision::Deny, NOW, Mode::Change).await;
        assert!(matches!(missing, Err(ActionError::Missing(_))), "{missing:?}");
    }

    #[tokio::test]
    async fn all_that_wait_are_approved_but_for_names_that_leave_their_segment() {
        let items = [csr("a", None), csr("b", Some("Denied")), csr("../c", None), csr("d", Some("Approved"))];
        let api = TestApi::new().with(&format!("{PATH}?limit=500"), json!({"items": items}));
        assert_eq!(approve_all(&api, NOW).await.unwrap(), 1);
        assert_eq!(api.writes(), [format!("PUT {PATH}/a/approval")]);
    }

    #[tokio::test]
    async fn people_see_who_asks_for_what() {
        let api = TestApi::new().with(&format!("{PATH}/a"), csr("a", None));
        let facts = csr_facts(&api, "a").await.unwrap();
        assert_eq!((facts.state.as_str(), facts.requestor.as_str()), ("pending", "system:node:w"));
        assert_eq!(facts.usages, "server auth, digital signature");
    }
}
