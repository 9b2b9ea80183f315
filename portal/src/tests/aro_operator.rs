//! Flags of a cluster's operator, by JSON and by form; the cluster of these tests cannot be reached.

use rp_database::Typed;
use rp_documents::{ClusterDocument, ManifestDocument, Role};
use serde_json::json;

use super::kit::{Kit, RES, TestResponse};

const FLAG: &str = "aro.banner.enabled";
const REASON: &str = "the customer is to call";

async fn set(kit: &Kit, flags: &serde_json::Value) -> TestResponse {
    let body = json!({"flags": flags, "reason": REASON}).to_string();
    kit.unsafe_call(Role::Elevated, "POST", &format!("/api/v1/clusters{RES}/operator/flags"), &body).await
}

/// The flag as the document has it.
async fn stored(kit: &Kit) -> Option<String> {
    let found = Typed::<ClusterDocument>::new(kit.store.clone()).get_by_key(RES).await.unwrap().unwrap();
    let properties = serde_json::to_value(&found.value.cluster.properties).unwrap();
    properties["operatorFlags"][FLAG].as_str().map(str::to_owned)
}

async fn ordered(kit: &Kit) -> u64 {
    Typed::<ManifestDocument>::new(kit.store.clone()).count().await.unwrap()
}

#[tokio::test]
async fn flags_that_are_set_are_stored_recorded_and_written_by_maintenance() {
    let kit = Kit::new().await;
    let refused = set(&kit, &json!({FLAG: "true"})).await;
    assert_eq!((refused.status.as_u16(), refused.json()["code"].as_str()), (403, Some("elevation_needed")));
    kit.elevated(Role::Elevated, "write").await;
    let wrong = set(&kit, &json!({FLAG: "yes", "no.such": null})).await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.body.contains("true or false") && wrong.body.contains("no.such"), "{}", wrong.body);
    assert_eq!((stored(&kit).await, ordered(&kit).await), (None, 0), "nothing was stored");

    let done = set(&kit, &json!({FLAG: "TRUE"})).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(
        (&done.json()["flags"][FLAG], &done.json()["manifest"]["state"]),
        (&json!("true"), &json!("Pending"))
    );
    assert_eq!((stored(&kit).await.as_deref(), ordered(&kit).await), (Some("true"), 1));
    let entry = kit.audited("operator.flags").await;
    assert_eq!((entry.name.as_str(), entry.query.as_str()), ("aro.banner.enabled=true", REASON));
}

#[tokio::test]
async fn the_page_shows_flags_of_a_cluster_that_is_away_and_its_form_sets_them() {
    let kit = Kit::new().await;
    let home = format!("{RES}/aro-operator");
    let path = format!("{home}/flag");
    let viewer = kit.page(Role::Viewer, &home).await;
    assert!(viewer.body.contains(FLAG) && !viewer.body.contains(&path), "{}", viewer.body);
    assert!(viewer.body.contains("worked out from the cluster"), "{}", viewer.body);
    assert!(kit.page(Role::Elevated, &home).await.body.contains(&format!("{path}?flag={FLAG}")));

    let asked = kit.page(Role::Elevated, &format!("{path}?flag={FLAG}")).await;
    assert!(asked.status == 403 && asked.body.contains("/elevate"), "{}", asked.body);
    kit.elevated(Role::Elevated, "write").await;
    let asked = kit.page(Role::Elevated, &format!("{path}?flag={FLAG}")).await;
    assert!(asked.status == 200 && asked.body.contains("Default (false)"), "{}", asked.body);
    assert_eq!(kit.page(Role::Elevated, &format!("{path}?flag=no.such")).await.status, 404);

    let short = kit.form(Role::Elevated, &path, &[("flag", FLAG), ("value", "=true"), ("why", "no")]).await;
    assert!(short.status == 422 && short.body.contains("id=\"d-why-e\""), "{}", short.body);
    assert_eq!(stored(&kit).await, None);
    let done = kit.form(Role::Elevated, &path, &[("flag", FLAG), ("value", "=true"), ("why", REASON)]).await;
    assert_eq!((done.status.as_u16(), done.header("location")), (303, home.as_str()), "{done:?}");
    assert_eq!(stored(&kit).await.as_deref(), Some("true"));
}
