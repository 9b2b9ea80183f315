//! The life of an access by pages and JSON: refusals say what they are, and nothing typed is lost.

use std::time::Duration;

use axum::body::Body;
use rp_documents::{Elevation, GrantKind, Role};

use super::kit::{Kit, RES, TestResponse, get};

const REASON: &str = "delete a stuck volume attachment";

async fn request(kit: &Kit, role: Role, rights: &str) -> String {
    let body = format!(r#"{{"reason": "{REASON}", "rights": "{rights}", "target": "{RES}", "life": 1800}}"#);
    let answer = kit.unsafe_call(role, "POST", "/api/v1/elevations", &body).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["state"].as_str()),
        (200, Some("waiting")),
        "{answer:?}"
    );
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn code(answer: &TestResponse) -> (u16, String) {
    (answer.status.as_u16(), answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_request_is_decided_once_by_somebody_else() {
    let kit = Kit::new().await;
    let id = request(&kit, Role::Elevated, "write").await;
    let path = |step: &str| format!("/api/v1/elevations/{id}/{step}");
    assert_eq!(kit.unsafe_call(Role::Sre, "POST", &path("approve"), "").await.status, 403, "no approver");
    let list = kit.page(Role::Approver, "/elevations").await;
    assert!(list.body.contains(REASON) && list.body.contains("data-testid=\"approve\""), "{}", list.body);

    let approved = kit.unsafe_call(Role::Approver, "POST", &path("approve"), r#"{"why": "go on"}"#).await;
    assert_eq!(approved.json()["decision"]["why"], "go on", "{approved:?}");
    let twice = kit.unsafe_call(Role::Approver, "POST", &path("refuse"), "").await;
    assert_eq!(code(&twice), (409, "already_decided".to_owned()));
    let page = kit.form(Role::Approver, &format!("/elevations/{id}/approve"), &[]).await;
    assert_eq!(page.status, 409);
    assert!(page.body.contains("approver@example.com has approved it already"), "{}", page.body);

    // The banner stands on every page of theirs, and on nobody else's.
    let theirs = kit.page(Role::Elevated, "/keys").await;
    assert!(theirs.body.contains("data-testid=\"elevation\"") && theirs.body.contains("mark-elevated"));
    assert!(!kit.page(Role::Approver, "/keys").await.body.contains("data-testid=\"elevation\""));
    assert_eq!(kit.page(Role::Elevated, &format!("/elevation?seen={id}")).await.status, 204, "nothing new");
    let ended = kit.form(Role::Elevated, &format!("/elevations/{id}/end"), &[("back", "/keys")]).await;
    assert_eq!((ended.status.as_u16(), ended.header("location")), (303, "/keys"));
    let gone = kit.page(Role::Elevated, &format!("/elevation?seen={id}")).await;
    assert!(gone.status == 200 && !gone.body.contains("data-testid=\"elevation\""), "{}", gone.body);
}

#[tokio::test]
async fn nobody_approves_their_own_and_requests_lapse() {
    let kit = Kit::new().await;
    let mut both = super::kit::person(Some(Role::Elevated));
    both.groups.push("g-approver".to_owned());
    let cookie = kit.state.mint_session(both).await.unwrap();
    let id = request(&kit, Role::Elevated, "admin").await;
    let csrf = kit.csrf(&cookie).await;
    let own = super::kit::script("POST", &format!("/api/v1/elevations/{id}/approve"))
        .header("cookie", &cookie)
        .header("x-csrf-token", csrf)
        .header("origin", super::kit::PORTAL);
    let own = kit.send(own.body(Body::empty()).unwrap()).await;
    assert_eq!(code(&own), (403, "own_elevation".to_owned()));
    let dialog = get(&format!("/elevations/{id}/approve")).header("cookie", &cookie);
    let dialog = kit.send(dialog.body(Body::empty()).unwrap()).await;
    assert!(dialog.status == 403 && dialog.body.contains("somebody else must do this"), "{}", dialog.body);

    kit.clock.advance(Elevation::REQUEST_LIFE + Duration::from_secs(1));
    let late = kit.unsafe_call(Role::Approver, "POST", &format!("/api/v1/elevations/{id}/approve"), "").await;
    assert_eq!(code(&late), (409, "lapsed".to_owned()));
}

#[tokio::test]
async fn dangerous_actions_take_a_fresh_sign_in_and_lead_to_it() {
    let kit = Kit::new().await;
    let id = request(&kit, Role::Elevated, "write").await;
    let (approver, elevated, admin) = (
        kit.cookie(Some(Role::Approver)).await,
        kit.cookie(Some(Role::Elevated)).await,
        kit.cookie(Some(Role::Admin)).await,
    );
    kit.clock.advance(Duration::from_secs(16 * 60));
    let page = async |cookie: &str, path: &str| {
        kit.send(get(path).header("cookie", cookie).body(Body::empty()).unwrap()).await.body
    };
    for (cookie, path) in [
        (&approver, format!("/elevations/{id}/approve")),
        (&admin, "/access/revoke?everything=true".to_owned()),
        (&admin, "/robots/none/rotate".to_owned()),
    ] {
        assert!(page(cookie, &path).await.contains("/api/login?fresh=1"), "{path}");
    }
    let form = page(&elevated, "/elevate?way=break-glass&reason=the+API+is+down&cluster=harbor-01").await;
    assert!(form.contains("/api/login?fresh=1&amp;redirect_uri=/elevate%3Fway%3Dbreak-glass"), "{form}");
    let call = super::kit::script("POST", &format!("/api/v1/elevations/{id}/approve"))
        .header("x-csrf-token", kit.csrf(&approver).await)
        .header("cookie", &approver);
    let refused = kit.send(call.body(Body::empty()).unwrap()).await;
    assert_eq!(code(&refused), (403, "sign_in_again".to_owned()));
    assert!(refused.json()["login_url"].as_str().unwrap().starts_with("/api/login?fresh=1"), "{refused:?}");
}

#[tokio::test]
async fn what_was_typed_stays_in_the_form() {
    let kit = Kit::new().await;
    let typed = [
        ("cluster", "harbor-1"),
        ("rights", "admin"),
        ("reason", "short"),
        ("ticket", "INC-7"),
        ("life", "7200"),
    ];
    let answer = kit.form(Role::Elevated, "/elevate", &typed).await;
    assert_eq!(answer.status, 422);
    for kept in ["value=\"harbor-1\"", ">short</textarea>", "value=\"INC-7\"", "Nearest: Harbor-01"] {
        assert!(answer.body.contains(kept), "{kept}: {}", answer.body);
    }
    assert!(
        answer.body.contains("value=\"admin\" checked") && answer.body.contains("value=\"7200\" checked")
    );
    // To the other way of it and back: nothing is sent, nothing lost.
    let turned = kit.form(Role::Elevated, "/elevate", &[("reason", REASON), ("turn", "break-glass")]).await;
    assert!(
        turned.status == 200
            && turned.body.contains(REASON)
            && turned.body.contains("data-testid=\"break-glass\"")
    );
    let unread = [("cluster", "harbor-01"), ("reason", REASON), ("way", "break-glass")];
    let answer = kit.form(Role::Elevated, "/elevate", &unread).await;
    assert!(answer.status == 422 && answer.body.contains(REASON), "break-glass needs its tick");

    let robot = [
        ("name", "Bad Name"),
        ("clusters", "nowhere"),
        ("kinds", "metrics"),
        ("days", "30"),
        ("reason", REASON),
    ];
    let answer = kit.form(Role::Admin, "/robots", &robot).await;
    assert_eq!(answer.status, 422);
    assert!(
        answer.body.contains("value=\"Bad Name\"") && answer.body.contains("called nowhere"),
        "{}",
        answer.body
    );

    let all = [("everything", "true"), ("why", "the signing key has leaked"), ("confirm", "everythin")];
    let answer = kit.form(Role::Admin, "/access/revoke", &all).await;
    assert!(answer.status == 422 && answer.body.contains("the signing key has leaked"), "{}", answer.body);
}

#[tokio::test]
async fn forged_and_foreign_cursors_are_the_askers_mistake() {
    let kit = Kit::new().await;
    kit.token(Role::Sre, GrantKind::Kubeconfig).await;
    for path in [
        "/api/v1/grants?all=true&continue=%00%ff",
        "/api/v1/grants?all=true&continue=../../etc",
        "/api/v1/audit?continue=1.x.y",
        "/api/v1/audit?continue=AAAA",
        "/api/v1/audit?from=yesterday",
        "/api/v1/audit/report?format=exe",
        "/api/v1/grants?state=half",
        "/api/v1/grants?kind=root",
    ] {
        let answer = kit.page(Role::Auditor, path).await;
        assert_eq!(code(&answer).0, 400, "{path}: {answer:?}");
        assert!(!answer.json()["message"].as_str().unwrap().is_empty(), "{path}");
    }
    for path in [
        "/audit?before=forged",
        "/access?view=all&after=..%2F..",
        "/audit?from=x",
        "/audit?grant=%3Cscript%3E",
    ] {
        let answer = kit.page(Role::Auditor, path).await;
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.body.contains("<h1") && !answer.body.contains("<script>"), "{path}");
    }
}

#[tokio::test]
async fn grants_of_others_are_seen_by_auditors_and_ended_by_admins() {
    let kit = Kit::new().await;
    let token = kit.token(Role::Sre, GrantKind::Kubeconfig).await;
    let id = token.split('_').nth(2).unwrap();
    let (page, json) = (format!("/access/{id}"), format!("/api/v1/grants/{id}"));
    for role in [Role::Viewer, Role::Elevated, Role::Approver] {
        assert_eq!(kit.page(role, &page).await.status, 403, "{role:?}");
        assert_eq!(code(&kit.unsafe_call(role, "DELETE", &json, "").await), (403, "not_yours".to_owned()));
        let extend = kit.unsafe_call(role, "POST", &format!("{json}/extend"), r#"{"life": 3600}"#).await;
        assert_eq!(code(&extend), (403, "not_yours".to_owned()));
        let token = kit.unsafe_call(role, "POST", &format!("{json}/token"), "").await;
        assert_eq!(code(&token), (403, "not_yours".to_owned()));
    }
    let shown = kit.page(Role::Auditor, &page).await;
    assert!(shown.status == 200 && !shown.body.contains("data-testid=\"revoke\""), "auditors look");
    let detail = kit.page(Role::Auditor, &json).await.json();
    assert!(detail["streams"].is_array() && detail["rights_now"] == "read", "{detail}");
    let own = kit.unsafe_call(Role::Sre, "POST", "/api/v1/grants/revoke", r#"{"person": "sub-sre"}"#).await;
    assert_eq!(own.json()["revoked"], 1, "{own:?}");
    let others = kit.unsafe_call(Role::Sre, "POST", "/api/v1/grants/revoke", r#"{"everything": true}"#).await;
    assert_eq!(code(&others), (403, "role_missing".to_owned()));
    let ended = kit.page(Role::Sre, &page).await;
    assert!(ended.body.contains("Revoked by you"), "{}", ended.body);
    let again = kit.unsafe_call(Role::Sre, "POST", &format!("{json}/token"), "").await;
    assert_eq!(code(&again), (410, "grant_ended".to_owned()));
}

#[tokio::test]
async fn a_plug_in_gets_a_grant_without_a_token_and_tokens_one_by_one() {
    let kit = Kit::new().await;
    let body =
        format!(r#"{{"target": "{RES}", "kind": "kubeconfig", "reason": "{REASON}", "plugin": true}}"#);
    let given = kit.unsafe_call(Role::Sre, "POST", "/api/v1/grants", &body).await.json();
    assert!(given["token"].is_null() && given["grant"]["kind"] == "kubeconfig", "{given}");
    assert!(given["server"].as_str().unwrap().ends_with(&format!("{RES}/kubeconfig/proxy")), "{given}");
    let path = format!("/api/v1/grants/{}/token", given["grant"]["id"].as_str().unwrap());
    let renewed = kit.unsafe_call(Role::Sre, "POST", &path, "").await.json();
    assert!(renewed["token"].as_str().unwrap().starts_with("aro1_kubeconfig_"), "{renewed}");
    let list = kit.page(Role::Sre, "/api/v1/grants").await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "the tokens are no grants of their own: {list}");
    let metrics = body.replace("kubeconfig", "metrics");
    let given = kit.unsafe_call(Role::Sre, "POST", "/api/v1/grants", &metrics).await.json();
    assert!(
        given["server"].as_str().unwrap().ends_with("/prometheus") && given["token"].is_string(),
        "{given}"
    );
}

#[tokio::test]
async fn no_kind_is_given_with_rights_that_it_does_not_have() {
    let kit = Kit::new().await;
    kit.elevated(Role::Elevated, "admin").await;
    let issue = async |kind: &str, rights: &str| {
        let body = format!(
            r#"{{"target": "{RES}", "kind": "{kind}", "rights": "{rights}", "reason": "{REASON}", "life": 3600}}"#
        );
        kit.unsafe_call(Role::Elevated, "POST", "/api/v1/grants", &body).await
    };
    for kind in ["metrics", "page"] {
        for rights in ["write", "admin"] {
            let refused = issue(kind, rights).await;
            assert_eq!(code(&refused), (422, "invalid".to_owned()), "{kind} {rights}");
            assert!(refused.body.contains("is given with the rights read"), "{}", refused.body);
        }
        assert_eq!(issue(kind, "read").await.json()["grant"]["rights"], "read", "{kind}");
    }
    assert_eq!(issue("tunnel", "root").await.status, issue("tunnel", "write").await.status);
    assert_eq!(issue("kubeconfig", "admin").await.json()["grant"]["rights"], "admin");
}

#[tokio::test]
async fn a_robots_token_is_shown_once() {
    let kit = Kit::new().await;
    let fields = [
        ("name", "capacity-report"),
        ("clusters", "*"),
        ("kinds", "kubeconfig"),
        ("kinds", "metrics"),
        ("days", "30"),
        ("reason", "collects node counts"),
    ];
    let made = kit.form(Role::Admin, "/robots", &fields).await;
    let token =
        |text: &str| text.split("aro1_robot_").nth(1).map(|rest| rest.split('<').next().unwrap().to_owned());
    let first = token(&made.body).expect("shown");
    assert!(made.header("cache-control").contains("no-store"));
    assert_eq!(token(&kit.page(Role::Admin, "/robots").await.body), None, "shown again");
    let use_it = super::kit::script("GET", "/api/v1/clusters")
        .header("authorization", format!("Bearer aro1_robot_{first}"));
    assert_eq!(kit.send(use_it.body(Body::empty()).unwrap()).await.status, 200);
    let rotated = kit.form(Role::Admin, "/robots/capacity-report/rotate", &[("life", "0")]).await;
    assert_ne!(token(&rotated.body).expect("shown"), first);
    let old = super::kit::script("GET", "/api/v1/clusters")
        .header("authorization", format!("Bearer aro1_robot_{first}"));
    assert_eq!(kit.send(old.body(Body::empty()).unwrap()).await.status, 401, "no overlap was asked for");
    let list = kit.page(Role::Admin, "/api/v1/robots").await;
    assert!(list.json()["items"][0]["tokens"].is_array() && !list.body.contains("secret"), "{}", list.body);
    let revoked =
        kit.form(Role::Admin, "/robots/capacity-report/revoke", &[("why", "no longer needed")]).await;
    assert_eq!((revoked.status.as_u16(), revoked.header("location")), (303, "/robots"));
    let told = revoked.cookie("__Host-aro-did").unwrap();
    assert!(told.contains("robot-revoked"), "{told}");
}

#[tokio::test]
async fn who_had_access_is_told_as_page_json_table_and_lines() {
    let kit = Kit::new().await;
    let id = kit.elevated(Role::Elevated, "write").await;
    let body = r#"{"rights": "write", "reason": "=HYPERLINK(evil) restart", "life": 3600}"#;
    let grant = kit.unsafe_call(Role::Elevated, "POST", &format!("{RES}/kubeconfig/new"), body).await;
    let grant = grant.header("x-aro-grant").to_owned();
    kit.audited("grant.issue").await;
    let page = kit.page(Role::Auditor, &format!("{RES}/report")).await;
    for told in ["elevated@example.com", "=HYPERLINK(evil) restart", grant.as_str(), "Who had access to"] {
        assert!(page.body.contains(told), "{told}: {}", page.body);
    }
    let target = web::text::encode(RES);
    let json = kit.page(Role::Auditor, &format!("/api/v1/audit/report?target={target}")).await.json();
    assert_eq!(json["people"][0]["grants"][0]["id"], grant.as_str(), "{json}");
    let csv = kit.page(Role::Auditor, &format!("/api/v1/audit/report?target={target}&format=csv")).await;
    assert!(csv.header("content-disposition").contains("access-harbor-01.csv"), "{csv:?}");
    assert!(csv.body.contains("\"'=HYPERLINK(evil) restart\""), "a formula: {}", csv.body);
    let lines = kit.page(Role::Auditor, "/api/v1/audit/export?verb=grant.issue").await;
    let first: serde_json::Value = serde_json::from_str(lines.body.lines().next().unwrap()).unwrap();
    assert_eq!(
        (first["verb"].as_str(), first["grant"].as_str()),
        (Some("grant.issue"), Some(grant.as_str()))
    );
    // Oldest first, as a chain is checked.
    for path in ["/api/v1/audit/export", "/api/v1/audit/export?person=sub-elevated"] {
        let lines = kit.page(Role::Auditor, path).await.body;
        let entries = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let seqs: Vec<u64> = entries.filter_map(|entry| entry["seq"].as_u64()).collect();
        assert!(seqs.len() > 1 && seqs.is_sorted(), "{path}: {seqs:?}");
    }
    // As a browser asks for it: whole, and as it is, for nothing is packed while it is sent.
    let packed = get("/api/v1/audit/export").header("cookie", kit.cookie(Some(Role::Auditor)).await);
    let packed = packed.header("accept-encoding", "gzip").body(Body::empty()).unwrap();
    let packed = kit.send(packed).await;
    assert_eq!((packed.status.as_u16(), packed.header("content-encoding")), (200, ""), "{packed:?}");
    assert!(packed.body.lines().count() >= lines.body.lines().count(), "{packed:?}");
    let proof = kit.page(Role::Auditor, "/api/v1/audit/proof").await.json();
    assert!(proof["heads"].is_array(), "{proof}");
    let note = r#"{"fine": true, "note": "matches the incident"}"#;
    let own = kit.unsafe_call(Role::Elevated, "POST", &format!("/api/v1/elevations/{id}/review"), note).await;
    assert_eq!(own.status, 403);
    let reviewed =
        kit.unsafe_call(Role::Auditor, "POST", &format!("/api/v1/elevations/{id}/review"), note).await;
    assert_eq!(reviewed.json()["review"]["note"], "matches the incident", "{reviewed:?}");
}

#[tokio::test]
async fn an_elevation_that_ends_leaves_grants_that_only_read() {
    let kit = Kit::new().await;
    let dialog = format!("{RES}/kubeconfig");
    let before = kit.page(Role::Elevated, &dialog).await.body;
    assert!(before.contains("Elevate first") && before.contains("value=\"read\" checked"), "{before}");
    let id = kit.elevated(Role::Elevated, "write").await;
    let during = kit.page(Role::Elevated, &dialog).await.body;
    assert!(during.contains("value=\"read\" checked"), "read-only is the default of the elevated too");
    assert!(during.contains("from then on it only reads"), "{during}");
    let body = format!(r#"{{"rights": "write", "reason": "{REASON}", "life": 3600}}"#);
    let grant = kit.unsafe_call(Role::Elevated, "POST", &format!("{RES}/kubeconfig/new"), &body).await;
    let page = format!("/access/{}", grant.header("x-aro-grant"));
    assert!(!kit.page(Role::Elevated, &page).await.body.contains("data-testid=\"fell\""));
    kit.unsafe_call(Role::Elevated, "POST", &format!("/api/v1/elevations/{id}/end"), "").await;
    let after = kit.page(Role::Elevated, &page).await.body;
    assert!(after.contains("data-testid=\"fell\"") && after.contains("now read-only"), "{after}");
}

#[tokio::test]
async fn an_extension_stays_within_the_policy() {
    let kit = Kit::new().await;
    let body = format!(r#"{{"target": "{RES}", "kind": "kubeconfig", "reason": "{REASON}", "life": 1800}}"#);
    let given = kit.unsafe_call(Role::Sre, "POST", "/api/v1/grants", &body).await.json();
    let id = given["grant"]["id"].as_str().unwrap();
    let path = format!("/access/{id}/extend");
    let dialog = kit.page(Role::Sre, &path).await;
    assert!(
        dialog.body.contains("value=\"3600\" checked") && dialog.body.contains("(maximum)"),
        "{}",
        dialog.body
    );
    let extended = kit.form(Role::Sre, &path, &[("life", "3600"), ("back", "/access")]).await;
    assert_eq!((extended.status.as_u16(), extended.header("location")), (303, "/access"));
    for life in ["60", "999999999", "soon", ""] {
        let answer = kit.form(Role::Sre, &path, &[("life", life)]).await;
        assert!(answer.status == 422 && answer.body.contains("dialog-extend"), "{life}: {answer:?}");
    }
    let far = kit
        .unsafe_call(Role::Sre, "POST", &format!("/api/v1/grants/{id}/extend"), r#"{"life": 999999999}"#)
        .await;
    assert_eq!(code(&far), (422, "invalid".to_owned()));
    kit.clock.advance(Duration::from_secs(24 * 3600));
    assert_eq!(kit.page(Role::Sre, &path).await.status, 409, "it has ended");
}

#[tokio::test]
async fn pages_ask_whether_they_have_changed_and_get_what_has() {
    let kit = Kit::new().await;
    let token = kit.token(Role::Sre, GrantKind::Kubeconfig).await;
    let id = token.split('_').nth(2).unwrap().to_owned();
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let ask = async |path: &str| {
        let request = super::kit::script("GET", path)
            .header("cookie", &cookie)
            .header("hx-request", "true")
            .header("hx-target", "list");
        kit.send(request.body(Body::empty()).unwrap()).await
    };
    for page in ["/access".to_owned(), format!("/access/{id}"), "/elevations".to_owned()] {
        let whole = kit.page(Role::Sre, &page).await.body;
        let live =
            whole.split("hx-get=\"").find(|part| part.contains("seen=") && !part.starts_with("/elevation?"));
        let live = live.and_then(|part| part.split('"').next()).unwrap_or_else(|| panic!("{page}: {whole}"));
        let live = live.replace("&amp;", "&");
        assert_eq!(ask(&live).await.status, 204, "{page}: nothing has changed");
        let other = ask(&live.replace("seen=", "seen=x")).await;
        assert!(
            other.status == 200 && !other.body.contains("<html") && other.body.contains("panel"),
            "{page}"
        );
    }
    let before = ask(&format!("/access/{id}?seen=x")).await.body;
    kit.unsafe_call(Role::Sre, "DELETE", &format!("/api/v1/grants/{id}?why=wrong"), "").await;
    let after = ask(&format!("/access/{id}?seen=x")).await.body;
    assert!(!before.contains("data-testid=\"ended\"") && after.contains("data-testid=\"ended\""), "{after}");
}

#[tokio::test]
async fn exports_of_the_audit_are_bounded_for_a_person_and_in_all() {
    let kit = Kit::new().await;
    let export = async || kit.page(Role::Auditor, "/api/v1/audit/export?verb=none").await;
    let exports = &kit.state.model.exports;
    let own: Vec<_> =
        (0..exports.limits().per_person).map(|_| exports.take("sub-auditor").unwrap()).collect();
    assert_eq!(code(&export().await), (429, "too_many_requests".to_owned()));
    drop(own);
    let take = |person: usize| exports.take(&format!("somebody-{person}"));
    let most = exports.limits().pages / exports.limits().per_person;
    let held: Vec<_> =
        (0..most).flat_map(|person| [take(person), take(person)]).map(Result::unwrap).collect();
    let refused = export().await;
    assert_eq!(code(&refused), (429, "too_many_requests".to_owned()));
    assert_eq!(refused.header("retry-after"), "30");
    drop(held);
    assert!(exports.take("somebody-0").is_ok());
    // One that has ended holds no place.
    for _ in 0..=exports.limits().pages {
        assert_eq!(export().await.status, 200);
    }
}
