//! No detour: an elevation leads on to where the person was going, refusals name who can help, and what waits is told on
//! every page.

use rp_audit::EntryFilter;
use rp_base::{Id, Timestamp};
use rp_documents::{Actor, Entry, GrantKind, Phase, Role};

use super::kit::{Kit, RES, get};
use crate::route::AuditClass;
use crate::routes::table;

const REASON: &str = "delete a stuck volume attachment";

fn dialog() -> String {
    format!("{RES}/kubeconfig?rights=write&reason=&ticket=")
}

/// Posts the form of an elevation; where it leads.
async fn elevate(kit: &Kit, back: &str, way: &str) -> String {
    let fields = [
        ("cluster", "harbor-01"),
        ("reason", REASON),
        ("ticket", "INC-7"),
        ("back", back),
        ("way", way),
        ("understood", "yes"),
    ];
    let answer = kit.form(Role::Elevated, "/elevate", &fields).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    answer.header("location").to_owned()
}

#[tokio::test]
async fn an_elevation_leads_back_to_the_dialog_with_reason_and_ticket_filled_in() {
    let kit = Kit::new().await;
    let first = kit.page(Role::Elevated, &format!("{RES}/kubeconfig")).await;
    let back = web::text::encode(&dialog()).replace('&', "&amp;");
    assert!(
        first.body.contains(&format!("back={back}")),
        "the way to elevate knows the dialog: {}",
        first.body
    );
    let form = kit.page(Role::Elevated, &format!("/elevate?back={}", web::text::encode(&dialog()))).await;
    assert!(form.body.contains("name=\"back\""), "{}", form.body);

    let to = elevate(&kit, &dialog(), "break-glass").await;
    assert!(to.starts_with(&format!("{RES}/kubeconfig?rights=write&reason=delete%20a")), "{to}");
    let dialog = kit.page(Role::Elevated, &to).await;
    for kept in [&format!(">{REASON}</textarea>"), "value=\"INC-7\"", "value=\"write\" checked"] {
        assert!(dialog.body.contains(kept), "{kept}: {}", dialog.body);
    }
    for path in ["ssh", "tunnel"] {
        let page = kit.page(Role::Elevated, &format!("{RES}/{path}?reason=why+not+now&ticket=INC-8")).await;
        assert!(page.status != 500, "{path}: {}", page.body);
    }
}

#[tokio::test]
async fn an_elevation_never_leads_to_another_site() {
    let kit = Kit::new().await;
    for back in ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"] {
        assert_eq!(elevate(&kit, back, "").await, "/elevations", "{back}");
        let list = kit.page(Role::Elevated, &format!("/elevations?back={}", web::text::encode(back))).await;
        assert!(list.status == 200 && !list.body.contains(">Continue</a>"), "{}", list.body);
        let id = kit.page(Role::Elevated, "/api/v1/elevations").await.json()["items"][0]["id"].to_string();
        let end = format!("/elevations/{}/end", id.trim_matches('"'));
        assert_eq!(kit.form(Role::Elevated, &end, &[]).await.status, 303);
    }
}

#[tokio::test]
async fn a_request_leads_on_once_it_is_approved_and_every_page_tells_the_approver() {
    let kit = Kit::new().await;
    assert!(!kit.page(Role::Approver, "/keys").await.body.contains("<title>("), "nothing waits");
    let to = elevate(&kit, &dialog(), "").await;
    assert!(
        to.starts_with("/elevations?back=/subscriptions") || to.starts_with("/elevations?back=%2F"),
        "{to}"
    );
    let list = kit.page(Role::Elevated, &to).await;
    assert!(list.body.contains(">Continue</a>") && list.body.contains("reason=delete%20a"), "{}", list.body);
    super::kit::until("the index has the request", async || {
        kit.page(Role::Approver, "/keys").await.body.contains("<title>(1) Keys")
    })
    .await;
    let cookie = kit.cookie(Some(Role::Approver)).await;
    let part =
        get("/elevations").header("cookie", &cookie).header("hx-request", "true").header("hx-target", "main");
    let part = kit.send(part.body(axum::body::Body::empty()).unwrap()).await;
    assert!(part.body.starts_with("<title>(1) Elevations"), "{}", part.body);
    assert!(!kit.page(Role::Elevated, "/keys").await.body.contains("<title>("), "of those who decide alone");
}

#[tokio::test]
async fn who_may_not_is_told_which_group_gives_it() {
    let kit = Kit::new().await;
    let dialog = kit.page(Role::Sre, &format!("{RES}/kubeconfig")).await;
    assert!(dialog.body.contains("Ask for the group g-elevated, then sign in again."), "{}", dialog.body);
    for (role, path, group) in [
        (Role::Sre, format!("{RES}/terminal?namespace=a&pod=b"), "g-elevated"),
        (Role::Viewer, format!("{RES}/kubeconfig"), "g-sre"),
        (Role::Viewer, format!("{RES}/terminal"), "g-sre"),
        (Role::Viewer, "/access?view=all".to_owned(), "g-auditor"),
        (Role::Viewer, "/elevate".to_owned(), "g-elevated"),
        (Role::Viewer, format!("{RES}/explore"), "g-sre"),
        (Role::Viewer, "/fleet".to_owned(), "g-sre"),
    ] {
        let page = kit.page(role, &path).await;
        assert!(page.body.contains(group), "{path} names no group: {}", page.body);
    }
    let terminal = kit.page(Role::Sre, &format!("{RES}/terminal?namespace=a&pod=b")).await;
    assert!(!terminal.body.contains("disabled"), "a form that cannot be sent: {}", terminal.body);
    let refused = kit.unsafe_call(Role::Sre, "POST", "/api/v1/elevations", "{}").await;
    assert!(refused.status == 403 && refused.body.contains("g-elevated"), "{refused:?}");
}

#[tokio::test]
async fn an_address_of_no_cluster_says_what_to_do() {
    let kit = Kit::new().await;
    let path =
        "/subscriptions/nowhere/resourcegroups/a/providers/microsoft.redhatopenshift/openshiftclusters/b";
    let page = kit.form(Role::Sre, &format!("{path}/kubeconfig/new"), &[]).await;
    assert_eq!(page.status, 400);
    assert!(page.body.contains("This is not the address of a cluster"), "{}", page.body);
    assert!(!page.body.contains("invalid resourceId"), "{}", page.body);
    let script = kit.unsafe_call(Role::Sre, "POST", &format!("{path}/kubeconfig/new"), "").await;
    assert!(
        script.status == 400 && script.body.contains("invalid resourceId"),
        "the contract's words: {script:?}"
    );
}

#[tokio::test]
async fn the_audit_shows_changes_or_refusals_alone_by_page_and_json() {
    let kit = Kit::new().await;
    kit.page(Role::Auditor, "/api/v1/audit").await;
    kit.token(Role::Sre, GrantKind::Kubeconfig).await;
    kit.page(Role::Viewer, "/api/v1/audit").await;
    kit.audited("grant.issue").await;
    let verbs = async |show: &str| -> Vec<(String, String)> {
        let found = kit.page(Role::Auditor, &format!("/api/v1/audit?show={show}")).await.json();
        let items = found["items"].as_array().unwrap().iter();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        items.map(|each| (text(&each["verb"]), text(&each["result"]["word"]))).collect()
    };
    super::kit::until("the refusal is in the audit", async || !verbs("refused").await.is_empty()).await;
    assert!(verbs("refused").await.iter().all(|(_, word)| word == "refused"));
    let changes = verbs("changes").await;
    assert!(changes.iter().any(|(verb, _)| verb == "grant.issue"), "{changes:?}");
    assert!(changes.iter().all(|(verb, _)| verb != "audit.search"), "{changes:?}");
    assert!(verbs("").await.iter().any(|(verb, _)| verb == "audit.search"));
    assert_eq!(kit.page(Role::Auditor, "/api/v1/audit?show=reads").await.status, 400);

    let page = kit.page(Role::Auditor, "/audit?show=changes&verb=audit.search").await;
    assert!(page.body.contains("data-testid=\"nothing-found\""), "{}", page.body);
    let page = kit.page(Role::Auditor, "/audit?show=changes").await;
    assert!(page.body.contains("grant.issue") && page.body.contains("data-testid=\"show-refused\""));
    assert_eq!(kit.page(Role::Auditor, "/audit?show=reads").await.status, 400);
}

#[test]
fn what_the_table_of_routes_calls_a_read_or_a_change_is_one_in_the_audit() {
    let EntryFilter { takes, .. } = portal_model::audit_kinds::CHANGES;
    let id = Id::parse("0123456789abcdef0123456789abcdef").unwrap();
    let is_change = |verb: &str| {
        takes(&Entry::new(Timestamp::from_seconds(1), Phase::Single, id.clone(), Actor::default(), verb))
    };
    for route in table() {
        match route.audit {
            AuditClass::Read(verb) => assert!(!is_change(verb), "{verb} of {}", route.path),
            AuditClass::Change("sign-out") | AuditClass::None => {}
            AuditClass::Change(verb) => assert!(is_change(verb), "{verb} of {}", route.path),
        }
    }
}
