//! Pages and lists.

use axum::body::Body;
use rp_documents::Role;

use super::kit::{Kit, RES, get, script};

#[tokio::test]
async fn hostile_text_is_only_text() {
    let kit = Kit::new().await;
    for path in [
        "/",
        RES,
        &format!("{RES}/access"),
        &format!("{RES}/kubeconfig"),
        "/access",
        "/keys",
        "/?q=%3Cscript%3E&sort=%22x",
    ] {
        let answer = kit.page(Role::Sre, path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(
            !answer.body.contains("<script>alert")
                && !answer.body.contains("<b>eve")
                && !answer.body.contains('\u{202e}')
        );
        assert!(answer.header("content-type").starts_with("text/html"), "{path}");
        assert!(answer.header("vary").contains("Cookie"), "{path}");
    }
}

#[tokio::test]
async fn fragments_and_history() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let ask = |extra: &[(&str, &str)]| {
        let mut request = get("/?q=harbor").header("cookie", &cookie);
        for (name, value) in extra {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    };
    let list = [("hx-request", "true"), ("hx-target", "list")];
    let part = kit.send(ask(&list)).await;
    assert!(!part.body.contains("<html") && part.body.contains("Harbor-01"), "{}", part.body);
    let restore = [list[0], list[1], ("hx-history-restore-request", "true")];
    assert!(kit.send(ask(&restore)).await.body.contains("<html"));
}

#[tokio::test]
async fn search_finds_by_any_part_and_addresses_lead_to_the_cluster() {
    let kit = Kit::new().await;
    let count = async |q: &str| {
        let path = format!("/api/v1/clusters?{q}");
        let token = kit.token(Role::Sre, rp_documents::GrantKind::Cli).await;
        let request = script("GET", &path).header("authorization", format!("Bearer {token}"));
        kit.send(request.body(Body::empty()).unwrap()).await.json()["total"].as_u64().unwrap()
    };
    for q in [
        "q=",
        "q=HARBOR",
        "q=my.rg+4.18",
        "q=x7k2p",
        "q=alert(1)",
        "q=0000aaaa",
        "q=failed",
        "state=failed",
        "version=4.18",
        "version=%3C4.19",
        "view=failed",
        "api=private",
        "source=aro",
    ] {
        assert_eq!(count(q).await, 1, "{q}");
    }
    for q in [
        "q=harbor+nothing",
        "state=degraded",
        "version=4.1",
        "version=%3C4.18",
        "source=imported",
        "view=imported",
    ] {
        assert_eq!(count(q).await, 0, "{q}");
    }
    for pasted in [
        RES.to_uppercase(),
        format!("https://portal.azure.com/#@tenant/resource{RES}/overview"),
        "https://api.harbor.example:6443".to_owned(),
        "https://console.harbor.example/k8s/nodes".to_owned(),
    ] {
        let answer = kit.page(Role::Sre, &format!("/?q={}", web::text::encode(&pasted))).await;
        assert_eq!((answer.status.as_u16(), answer.header("location")), (303, RES), "{pasted}");
    }
}

#[tokio::test]
async fn resource_paths_match_in_any_casing() {
    let kit = Kit::new().await;
    let shouted = RES.to_uppercase().replace("/SUBSCRIPTIONS", "/Subscriptions");
    assert_eq!(kit.page(Role::Viewer, &format!("{shouted}/overview")).await.status, 200);
    assert_eq!(kit.page(Role::Viewer, &RES.replace("harbor", "other")).await.status, 404);
}

#[tokio::test]
async fn contract_json_of_list_and_detail() {
    let kit = Kit::new().await;
    let answer = kit.page(Role::Viewer, "/api/clusters").await;
    assert!(answer.body.starts_with("[\n    {\n        \"key\": \"11111111-"), "{}", answer.body);
    let list = answer.json();
    assert_eq!(list[0]["resourceGroup"], "My.RG");
    assert_eq!(list[0]["subscription"], "0000aaaa-0000-0000-0000-00000000000F");
    assert_eq!(list[0]["failedprovisioningState"], "Updating");
    assert_eq!(list[0]["createdAt"], "2026-01-02T03:04:05Z");
    let detail = kit.page(Role::Viewer, "/api/0000aaaa-0000-0000-0000-00000000000f/my.rg/harbor-01").await;
    assert!(
        detail.body.contains("\\u003cscript\\u003e") && !detail.body.contains("<script>"),
        "{}",
        detail.body
    );
    let detail = detail.json();
    assert!(detail.as_object().unwrap().values().all(serde_json::Value::is_string), "{detail}");
    assert_eq!(detail["installStatus"], "Installed");
    assert_eq!(detail["resourceId"], RES);
    let gone = kit.page(Role::Viewer, "/api/0000aaaa-0000-0000-0000-00000000000f/my.rg/nothing").await;
    assert_eq!(
        (gone.status.as_u16(), gone.json()["message"].as_str().unwrap().starts_with("Cluster not found")),
        (404, true)
    );
}

#[tokio::test]
async fn what_i_was_given_can_be_ended_by_me_and_not_by_others() {
    let kit = Kit::new().await;
    let new = format!("{RES}/kubeconfig/new");
    let grant = kit.unsafe_call(Role::Sre, "POST", &new, "").await.header("x-aro-grant").to_owned();
    assert!(kit.page(Role::Sre, "/access").await.body.contains(&grant));
    assert!(!kit.page(Role::Elevated, "/access").await.body.contains(&grant));
    let revoke = format!("/access/{grant}/revoke");
    assert_eq!(kit.unsafe_call(Role::Elevated, "POST", &revoke, "").await.status, 403);
    assert_eq!(kit.unsafe_call(Role::Sre, "POST", &revoke, "").await.status, 303);
    assert_eq!(
        kit.unsafe_call(Role::Sre, "DELETE", &format!("/api/v1/grants/{grant}"), "").await.status,
        409
    );
    let list = kit.page(Role::Auditor, "/api/v1/grants?all=true").await.json();
    assert_eq!(
        (list["items"][0]["id"].as_str(), list["items"][0]["state"].as_str()),
        (Some(grant.as_str()), Some("revoked"))
    );
    assert!(!list.to_string().contains("secret"), "{list}");
}

#[tokio::test]
async fn imports_are_checked_sealed_listed_and_removed() {
    let kit = Kit::new().await;
    let ca = {
        // Any certificate will do as an authority: it is parsed, not asked.
        include_str!("ca.pem").lines().collect::<Vec<_>>().join("\n")
    };
    let file = |server: &str| {
        serde_json::json!({
            "kind": "Config", "apiVersion": "v1", "current-context": "c",
            "clusters": [{"name": "k", "cluster": {"server": server, "certificate-authority-data": base64(&ca)}}],
            "users": [{"name": "u", "user": {"token": "canary-token-value"}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        })
        .to_string()
    };
    let post = async |name: &str, server: &str| {
        let body =
            serde_json::json!({"name": name, "kubeconfig": file(server), "as_groups": ["sre"]}).to_string();
        kit.unsafe_call(Role::Admin, "POST", "/api/v1/imports", &body).await
    };
    for (server, code) in [
        ("https://169.254.169.254:443", "address_not_allowed"),
        ("https://192.0.2.1:6443", "address_not_allowed"),
        ("http://127.0.0.1:6443", "kubeconfig_not_https"),
    ] {
        let answer = post("lab", server).await;
        assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (422, Some(code)), "{answer:?}");
    }
    assert_eq!(post("../lab", "https://127.0.0.1:6443").await.json()["code"], "bad_name");
    let answer = post("Lab", "https://127.0.0.1:6443").await;
    assert_eq!((answer.status.as_u16(), answer.json()["name"].as_str()), (201, Some("lab")), "{answer:?}");
    assert_eq!(post("lab", "https://127.0.0.1:6443").await.status, 422);
    let page = async || kit.page(Role::Admin, "/imported").await;
    assert!(page().await.body.contains("127.0.0.1:6443"), "one sees what one has just done");
    let stored = kit.store.list(rp_documents::Collection::ImportedClusters, None, None, 10).await.unwrap();
    assert!(!format!("{stored:?}{:?}", page().await).contains("canary-token-value"));
    let res = "/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters/lab";
    let given = kit.unsafe_call(Role::Sre, "POST", &format!("{res}/kubeconfig/new"), "").await;
    let grant = given.header("x-aro-grant").to_owned();
    assert_eq!((given.status.as_u16(), grant.is_empty()), (200, false), "{given:?}");
    assert_eq!(kit.unsafe_call(Role::Admin, "DELETE", "/api/v1/imports/lab", "").await.status, 204);
    let mine = kit.page(Role::Sre, "/api/v1/grants").await.json();
    assert_eq!(
        (mine["items"][0]["id"].as_str(), mine["items"][0]["state"].as_str()),
        (Some(grant.as_str()), Some("revoked"))
    );
    assert!(!page().await.body.contains("127.0.0.1:6443"), "one sees what one has just done");
    kit.audited("cluster.import").await;
    kit.audited("cluster.remove").await;
}

fn base64(text: &str) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test]
async fn auditors_see_what_was_done() {
    let kit = Kit::new().await;
    kit.page(Role::Sre, RES).await;
    let entry = kit.audited("cluster.view").await;
    assert_eq!(entry.target.as_ref().map(|id| id.key()), Some(RES));
    let page = kit.page(Role::Auditor, "/audit?verb=cluster.view").await;
    assert!(!page.body.contains("{name}"), "a route's pattern tells nobody anything: {}", page.body);
    assert!(page.body.contains("sre@example.com"), "{}", page.body);
    let json = kit.page(Role::Auditor, "/api/v1/audit?target=harbor-01").await.json();
    assert_eq!(json["items"][0]["verb"], "cluster.view");
    assert_eq!(kit.page(Role::Auditor, "/api/v1/audit?continue=x").await.status, 400);
}
