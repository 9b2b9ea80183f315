//! `POST {RES}/kubeconfig/new`.

use axum::body::Body;
use rp_documents::Role;

use super::kit::{Kit, PORTAL, RES, script};

fn new() -> String {
    format!("{RES}/kubeconfig/new")
}

#[tokio::test]
async fn the_empty_request_gives_the_contracts_file() {
    let kit = Kit::new().await;
    let answer = kit.unsafe_call(Role::Sre, "POST", &new(), "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"harbor-01.kubeconfig\"");
    assert_eq!(answer.header("cache-control"), "no-store");
    let file = answer.json();
    let token = file["users"][0]["user"]["token"].as_str().unwrap().to_owned();
    let golden = format!(
        r#"{{
    "kind": "Config",
    "apiVersion": "v1",
    "preferences": {{}},
    "clusters": [
        {{
            "name": "cluster",
            "cluster": {{
                "server": "https://proxy.example:8444{RES}/kubeconfig/proxy",
                "certificate-authority-data": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="
            }}
        }}
    ],
    "users": [
        {{
            "name": "user",
            "user": {{
                "token": "{token}"
            }}
        }}
    ],
    "contexts": [
        {{
            "name": "context",
            "context": {{
                "cluster": "cluster",
                "user": "user",
                "namespace": "default"
            }}
        }}
    ],
    "current-context": "context"
}}"#
    );
    assert_eq!(answer.body, golden);
    let live = kit.state.session.access.authenticate(&token, [192, 0, 2, 7].into()).await.unwrap();
    assert_eq!(live.grant.rights, rp_documents::Rights::Read);
    assert_eq!((live.grant.not_after.seconds() - kit.now()), 6 * 3600);
    let entry = kit.audited("grant.issue").await;
    assert!(!format!("{entry:?}").contains(&token));
}

#[tokio::test]
async fn more_rights_need_the_role_and_show_in_the_name() {
    let kit = Kit::new().await;
    let body = r#"{"rights": "admin", "reason": "restart a stuck pod", "life": 3600, "ticket": "T-1"}"#;
    let first = kit.unsafe_call(Role::Elevated, "POST", &new(), body).await;
    assert_eq!((first.status.as_u16(), first.json()["code"].as_str()), (403, Some("elevation_needed")));
    kit.elevated(Role::Elevated, "admin").await;
    let answer = kit.unsafe_call(Role::Elevated, "POST", &new(), body).await;
    assert_eq!(
        answer.header("content-disposition"),
        "attachment; filename=\"harbor-01-elevated.kubeconfig\""
    );
    let refused = kit.unsafe_call(Role::Sre, "POST", &new(), body).await;
    assert_eq!((refused.status.as_u16(), refused.json()["code"].as_str()), (403, Some("role_missing")));
    assert_eq!(kit.unsafe_call(Role::Viewer, "POST", &new(), "").await.status, 403);
}

#[tokio::test]
async fn mistakes_say_which_field_and_give_nothing() {
    let kit = Kit::new().await;
    for body in [
        r#"{"reason": "short"}"#,
        r#"{"reason": "a reason long enough", "rights": "root"}"#,
        r#"{"reason": "a reason long enough", "life": 1}"#,
        r#"{"reason": "a reason long enough", "life": "soon"}"#,
    ] {
        let answer = kit.unsafe_call(Role::Sre, "POST", &new(), body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["code"].as_str()),
            (422, Some("invalid")),
            "{body}"
        );
    }
    for body in ["[", "null x", "\"\""] {
        assert_eq!(kit.unsafe_call(Role::Sre, "POST", &new(), body).await.status, 400, "{body}");
    }
    let elsewhere = new().replace("harbor-01", "nowhere");
    let answer = kit.unsafe_call(Role::Sre, "POST", &elsewhere, "").await;
    assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (404, Some("cluster_not_found")));
    let malformed = new().replace("0000aaaa", "zzzz");
    assert_eq!(kit.unsafe_call(Role::Sre, "POST", &malformed, "").await.status, 400);
}

#[tokio::test]
async fn fields_of_other_dialogs_leave_a_request_empty() {
    let kit = Kit::new().await;
    let answer = kit.form(Role::Sre, &new(), &[("machine", "master-0"), ("to", "a.example:443")]).await;
    assert_eq!(answer.status, 200, "the contract's empty request has no reason: {answer:?}");
}

#[tokio::test]
async fn the_dialog_posts_a_form_and_gets_the_file_or_itself() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let csrf = kit.csrf(&cookie).await;
    let post = |reason: &str| {
        script("POST", &new())
            .header("cookie", &cookie)
            .header("origin", PORTAL)
            .header("hx-request", "true")
            .header("hx-target", "dialog")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(format!("rights=read&life=3600&reason={reason}&ticket=&csrf_token={csrf}")))
            .unwrap()
    };
    let answer = kit.send(post("%3Cimg%20src%3Dx%3E")).await;
    assert_eq!(answer.status, 200, "ten characters and more are enough: {answer:?}");
    let answer = kit.send(post("%3Cb%3E")).await;
    assert_eq!(answer.status, 422);
    assert!(answer.body.contains("&lt;b&gt;") && !answer.body.contains("<html"), "{}", answer.body);
    assert!(answer.header("vary").contains("HX-Request"));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413() {
    let kit = Kit::new().await;
    let answer = kit.unsafe_call(Role::Sre, "POST", &new(), &"x".repeat(300 * 1024)).await;
    assert_eq!(answer.status, 413, "{answer:?}");
}

#[tokio::test]
async fn every_dialog_says_alike_why_an_access_is_not_for_somebody() {
    let kit = Kit::new().await;
    for name in ["kubeconfig", "ssh", "metrics", "tunnel"] {
        let page = kit.page(Role::Viewer, &format!("{RES}/{name}")).await;
        let dialog = page.body.contains(&format!("data-testid=\"dialog-{name}\""));
        assert!(dialog && page.body.contains("This needs the role sre"), "{name}: {page:?}");
        assert!(!page.body.contains("name=\"reason\""), "{name}: {page:?}");
    }
    for path in ["tunnel", "terminal?namespace=a&pod=b"] {
        let page = kit.page(Role::Elevated, &format!("{RES}/{path}")).await;
        let name = path.split('?').next().unwrap();
        let barred = page.body.contains(&format!("data-testid=\"{name}-barred\""));
        assert!(barred && page.body.contains("You are not elevated to write on this cluster."), "{page:?}");
        assert!(page.body.contains("Elevate first"), "{name}: {page:?}");
    }
}
