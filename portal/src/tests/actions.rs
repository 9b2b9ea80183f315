//! Actions on objects of a cluster, by JSON and by form; the cluster of these tests cannot be reached.

use rp_documents::{Entry, Phase, Role, Side};
use serde_json::{Value, json};

use super::kit::{Kit, RES, TestResponse};

const REASON: &str = "the disk of the node fails";

async fn act(kit: &Kit, place: &str, body: &Value) -> TestResponse {
    let path = format!("/api/v1/clusters{RES}/{place}");
    kit.unsafe_call(Role::Elevated, "POST", &path, &body.to_string()).await
}

fn refusal(answer: &TestResponse) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

/// The entry of the end of an action; the gate writes others of refusals.
async fn ended(kit: &Kit, verb: &str) -> Entry {
    let asked = rp_audit::Query { verb: Some(verb.to_owned()), ..rp_audit::Query::default() };
    let find = async {
        loop {
            let found = kit.state.session.audit.search(&asked).await.unwrap().entries;
            if let Some(entry) = found.into_iter().find(|entry| entry.phase == Phase::End) {
                return entry;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), find).await.expect("an entry of the end")
}

#[tokio::test]
async fn an_action_needs_an_elevation_and_a_reason_and_is_on_the_record_before_it_begins() {
    let kit = Kit::new().await;
    let body = json!({"reason": REASON});
    assert_eq!(refusal(&act(&kit, "nodes/n/cordon", &body).await), (403, "elevation_needed".to_owned()));
    kit.elevated(Role::Elevated, "write").await;
    let silent = act(&kit, "nodes/n/cordon", &json!({})).await;
    assert_eq!(refusal(&silent), (422, "invalid".to_owned()));
    let csr = act(&kit, "csrs/c/approve", &body).await;
    assert_eq!(refusal(&csr), (403, "elevation_needed".to_owned()), "an approval needs admin rights");
    let kind = act(&kit, "workloads/job/openshift-dns/w/restart", &body).await;
    assert_eq!(kind.status, 404);

    // The cluster cannot be asked: what was meant to be done is on the record all the same.
    assert_eq!(refusal(&act(&kit, "nodes/n/cordon", &body).await), (404, "no_cluster".to_owned()));
    let entry = ended(&kit, "node.cordon").await;
    assert_eq!((entry.name.as_str(), entry.resource.as_str()), ("n", "Node"));
    assert_eq!(entry.reason, REASON);
    assert_eq!(entry.result.status, 404, "{entry:?}");
    let begun = |entry: &Entry| entry.phase == Phase::Start && entry.reason == REASON;
    let asked = rp_audit::Query { verb: Some("node.cordon".to_owned()), ..rp_audit::Query::default() };
    let all = kit.state.session.audit.search(&asked).await.unwrap().entries;
    assert!(all.iter().any(begun), "{all:?}");
}

#[tokio::test]
async fn objects_of_customers_are_refused_before_the_cluster_is_asked() {
    let kit = Kit::new().await;
    kit.elevated(Role::Elevated, "write").await;
    let body = json!({"reason": REASON});
    let customers = act(&kit, "pods/shop/p/delete", &body).await;
    assert_eq!(refusal(&customers), (403, "protected".to_owned()));
    let entry = ended(&kit, "pod.delete").await;
    assert_eq!((entry.namespace.as_str(), entry.result.word.as_str()), ("shop", "refused"));
    assert_eq!(entry.result.side, Some(Side::You));
    let many = json!({"reason": REASON, "replicas": 5_000});
    let many = act(&kit, "workloads/deployment/openshift-dns/w/scale", &many).await;
    assert_eq!(refusal(&many), (422, "invalid".to_owned()));
}

#[tokio::test]
async fn the_dialog_says_what_is_missing_and_how_to_get_it() {
    let kit = Kit::new().await;
    let path = format!("{RES}/act?do=cordon&name=n");
    let asked = kit.page(Role::Elevated, &path).await;
    assert!(asked.status == 403 && asked.body.contains("/elevate"), "{}", asked.body);
    assert_eq!(kit.page(Role::Elevated, &format!("{RES}/act?do=format&name=n")).await.status, 404);
    kit.elevated(Role::Elevated, "write").await;
    let dialog = kit.page(Role::Elevated, &path).await;
    assert!(dialog.status == 200 && dialog.body.contains("Cordon n?"), "{}", dialog.body);
    assert!(dialog.body.contains("aro node cordon"), "{}", dialog.body);
    let home = format!("{RES}/act");
    let short = kit.form(Role::Elevated, &home, &[("do", "cordon"), ("name", "n"), ("why", "no")]).await;
    assert!(short.status == 422 && short.body.contains("id=\"d-why-e\""), "{}", short.body);
    let away = kit.form(Role::Elevated, &home, &[("do", "cordon"), ("name", "n"), ("why", REASON)]).await;
    assert!(away.status == 404 && away.body.contains("No cluster has this resource id"), "{}", away.body);
}
