//! `aro login`: by redirect, by letters, and what must not work.

use std::time::Duration;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_documents::{Collection, Role};
use serde_json::{Value, json};
use url::Url;

use super::kit::{Kit, PORTAL, TestResponse, get, script};

const VERIFIER: &str = "a-verifier-of-forty-three-characters-or-more-0";
const BACK: &str = "http://127.0.0.1:41873/done";

fn challenge() -> String {
    URL_SAFE_NO_PAD.encode(rp_base::sha256(VERIFIER.as_bytes()).0)
}

fn fields(back: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("redirect_uri", back).append_pair("state", "st-1");
    query.append_pair("code_challenge", &challenge()).finish()
}

async fn post(kit: &Kit, path: &str, body: &Value) -> TestResponse {
    let request = script("POST", path).header("content-type", "application/json");
    kit.send(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn form(kit: &Kit, cookie: &str, path: &str, fields: &str) -> TestResponse {
    let csrf = kit.csrf(cookie).await;
    let request = http::Request::post(path)
        .header("accept", "text/html")
        .header("origin", PORTAL)
        .header("cookie", cookie)
        .header("content-type", "application/x-www-form-urlencoded");
    kit.send(request.body(Body::from(format!("{fields}&csrf_token={csrf}"))).unwrap()).await
}

fn parameter(answer: &TestResponse, name: &str) -> Option<String> {
    let url = Url::parse(answer.header("location")).unwrap();
    url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

/// Agrees in the browser; gives the code.
async fn code(kit: &Kit, cookie: &str) -> String {
    let answer = form(kit, cookie, "/api/cli/login", &format!("{}&answer=yes", fields(BACK))).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    assert!(answer.header("location").starts_with(BACK), "{answer:?}");
    assert_eq!(parameter(&answer, "state").as_deref(), Some("st-1"));
    parameter(&answer, "code").unwrap()
}

async fn bearer(kit: &Kit, method: &str, path: &str, token: &str, body: &str) -> TestResponse {
    let request = script(method, path)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    kit.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

#[tokio::test]
async fn a_browser_on_the_same_machine_lets_the_program_in() {
    let kit = Kit::new().await;
    let path = format!("/api/cli/login?{}", fields(BACK));
    let stranger = kit.send(get(&path).body(Body::empty()).unwrap()).await;
    assert_eq!(stranger.status, 303);
    assert!(
        stranger.header("location").starts_with("/api/login?redirect_uri=/api/cli/login"),
        "{stranger:?}"
    );

    let cookie = kit.cookie(Some(Role::Sre)).await;
    let page = kit.send(get(&path).header("cookie", &cookie).body(Body::empty()).unwrap()).await;
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("127.0.0.1:41873") && page.body.contains("Take access to clusters for you"));
    assert!(page.header("content-security-policy").contains("http://127.0.0.1:41873;"), "{page:?}");

    let code = code(&kit, &cookie).await;
    let stored = format!("{:?}", kit.store.list(Collection::LoginCodes, None, None, 10).await.unwrap());
    assert!(!stored.contains(&code) && !stored.contains("sre@example.com"), "{stored}");
    let answer = post(&kit, "/api/v1/login/token", &json!({"code": code, "code_verifier": VERIFIER})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let given = answer.json();
    assert_eq!(given["person"]["name"], "sre@example.com");
    assert_eq!((&given["person"]["roles"], &given["portal"]), (&json!(["viewer", "sre"]), &json!(PORTAL)));
    let token = given["token"].as_str().unwrap();
    assert!(token.starts_with("aro1_cli_"));
    assert_eq!(bearer(&kit, "GET", "/api/v1/clusters", token, "").await.json()["total"], 1);
    let entry = kit.audited("grant.issue").await;
    assert_eq!(entry.reason, "aro login from 192.0.2.7");
    assert!(kit.audited("login.agree").await.query.contains("127.0.0.1:41873"));

    let again = post(&kit, "/api/v1/login/token", &json!({"code": code, "code_verifier": VERIFIER})).await;
    assert_eq!((again.status.as_u16(), again.json()["code"].as_str()), (400, Some("invalid_grant")));

    let out = bearer(&kit, "POST", "/api/v1/logout", token, "{}").await;
    assert_eq!((out.status.as_u16(), &out.json()["revoked"]), (200, &json!(1)), "{out:?}");
    assert_eq!(bearer(&kit, "GET", "/api/v1/clusters", token, "").await.status, 401);
}

#[tokio::test]
async fn a_code_is_good_once_for_its_verifier_and_for_a_minute() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let tried = async |code: &str, verifier: &str| {
        let answer =
            post(&kit, "/api/v1/login/token", &json!({"code": code, "code_verifier": verifier})).await;
        (answer.status.as_u16(), answer.json()["code"].as_str().unwrap_or_default().to_owned())
    };
    let refused = (400, "invalid_grant".to_owned());
    let guessed = code(&kit, &cookie).await;
    assert_eq!(tried(&guessed, "another-verifier").await, refused);
    assert_eq!(tried(&guessed, VERIFIER).await, refused, "there is no second guess");
    let late = code(&kit, &cookie).await;
    kit.clock.advance(Duration::from_secs(61));
    assert_eq!(tried(&late, VERIFIER).await, refused);
    for bad in ["", "x", "AAAA"] {
        assert_eq!(tried(bad, VERIFIER).await, refused, "{bad}");
    }
    let twice = code(&kit, &cookie).await;
    let both = tokio::join!(tried(&twice, VERIFIER), tried(&twice, VERIFIER));
    assert_eq!([both.0.0, both.1.0].iter().filter(|status| **status == 200).count(), 1, "{both:?}");
}

#[tokio::test]
async fn nobody_is_sent_elsewhere_or_agrees_without_knowing() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Sre)).await;
    for back in ["https://evil.example/", "http://localhost:1/", "http://127.0.0.1.evil.example:1/", ""] {
        let path = format!("/api/cli/login?{}", fields(back));
        let page = kit.send(get(&path).header("cookie", &cookie).body(Body::empty()).unwrap()).await;
        assert_eq!(page.status, 400, "{back}");
        let answer = form(&kit, &cookie, "/api/cli/login", &format!("{}&answer=yes", fields(back))).await;
        assert_eq!(answer.status, 400, "{back}");
        assert!(answer.header("location").is_empty());
    }
    // Another page's form, and a token in place of a person.
    let forged = http::Request::post("/api/cli/login")
        .header("cookie", &cookie)
        .header("origin", "https://evil.example")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(format!("{}&answer=yes", fields(BACK))))
        .unwrap();
    assert_eq!(kit.send(forged).await.status, 403);
    let token = kit.token(Role::Sre, rp_documents::GrantKind::Cli).await;
    let answer = bearer(&kit, "GET", &format!("/api/cli/login?{}", fields(BACK)), &token, "").await;
    assert_eq!(answer.json()["code"], "browser_needed");

    let no = form(&kit, &cookie, "/api/cli/login", &format!("{}&answer=no", fields(BACK))).await;
    assert_eq!((parameter(&no, "error").as_deref(), parameter(&no, "code")), (Some("access_denied"), None));
}

#[tokio::test]
async fn a_browser_anywhere_lets_the_program_in_by_letters() {
    let kit = Kit::new().await;
    let began = post(&kit, "/api/v1/login/device", &json!({"client": "aro on <b>jump</b>"})).await;
    assert_eq!(began.status, 200, "{began:?}");
    let began = began.json();
    let (device, user) = (began["device_code"].as_str().unwrap(), began["user_code"].as_str().unwrap());
    assert_eq!(began["verification_uri"], format!("{PORTAL}/device"));
    let poll = async |wait: u64| {
        kit.clock.advance(Duration::from_secs(wait));
        post(&kit, "/api/v1/login/token", &json!({"device_code": device})).await
    };
    assert_eq!(poll(0).await.json()["code"], "authorization_pending");
    let soon = poll(1).await;
    assert_eq!((&soon.json()["code"], soon.header("retry-after")), (&json!("slow_down"), "5"));
    assert_eq!(poll(5).await.json()["code"], "authorization_pending");

    let cookie = kit.cookie(Some(Role::Viewer)).await;
    let open =
        async |path: &str| kit.send(get(path).header("cookie", &cookie).body(Body::empty()).unwrap()).await;
    assert!(open("/device").await.body.contains("user_code"));
    let wrong = open("/device?user_code=BBBB-BBBB").await;
    assert_eq!(wrong.status, 422);
    let page = open(&format!("/device?user_code={}", user.to_lowercase().replace('-', ""))).await;
    assert_eq!(page.status, 200);
    assert!(
        page.body.contains(user) && page.body.contains("192.0.2.7") && !page.body.contains("<b>jump"),
        "{}",
        page.body
    );
    let done = form(&kit, &cookie, "/device", &format!("user_code={user}&answer=yes")).await;
    assert!(done.status == 200 && done.body.contains("is signed in"), "{done:?}");
    // Decided is decided.
    assert_eq!(form(&kit, &cookie, "/device", &format!("user_code={user}&answer=no")).await.status, 422);

    let given = poll(5).await;
    assert_eq!(given.status, 200, "{given:?}");
    let token = given.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(bearer(&kit, "GET", "/api/v1/clusters", &token, "").await.status, 200, "a viewer may look");
    assert_eq!(poll(5).await.json()["code"], "expired_token", "a decision is told once");
}

/// A device's code that was agreed to, and then the world went on.
async fn agreed(kit: &Kit, cookie: &str) -> Value {
    let began = post(kit, "/api/v1/login/device", &json!({})).await.json();
    let user = began["user_code"].as_str().unwrap();
    assert_eq!(form(kit, cookie, "/device", &format!("user_code={user}&answer=yes")).await.status, 200);
    json!({"device_code": began["device_code"]})
}

#[tokio::test]
async fn a_code_ends_with_the_session_in_which_the_person_agreed() {
    let kit = Kit::new().await;
    let refused = async |ask: &Value| {
        let answer = post(&kit, "/api/v1/login/token", ask).await;
        assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (400, Some("invalid_grant")));
    };
    // Off-boarded by the provider, after the person had agreed.
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let (device, loopback) = (agreed(&kit, &cookie).await, code(&kit, &cookie).await);
    kit.state.end_sessions("sub-sre").await.unwrap();
    refused(&device).await;
    refused(&json!({"code": loopback, "code_verifier": VERIFIER})).await;
    assert_eq!(kit.store.count(Collection::Grants).await.unwrap(), 0);
    // Signed out by themselves.
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let ask = agreed(&kit, &cookie).await;
    let csrf = kit.csrf(&cookie).await;
    let out = script("POST", "/api/logout").header("cookie", &cookie).header("x-csrf-token", csrf);
    let out = kit.send(out.header("origin", PORTAL).body(Body::empty()).unwrap()).await;
    assert_eq!(out.status, 204, "{out:?}");
    refused(&ask).await;
}

#[tokio::test]
async fn a_code_gives_what_the_groups_of_now_give() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let ask = agreed(&kit, &cookie).await;
    kit.state.session.sign_in.sessions.set_groups("sub-sre", &["g-viewer".to_owned()]).await.unwrap();
    let given = post(&kit, "/api/v1/login/token", &ask).await.json();
    assert_eq!(given["person"]["roles"], json!(["viewer"]), "{given}");
    let ask = agreed(&kit, &cookie).await;
    kit.state.session.sign_in.sessions.set_groups("sub-sre", &[]).await.unwrap();
    let answer = post(&kit, "/api/v1/login/token", &ask).await;
    assert_eq!(answer.status, 403, "{answer:?}");
}

#[tokio::test]
async fn waiting_ends_by_a_no_or_in_ten_minutes_and_is_not_for_the_many() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let begin = async || post(&kit, "/api/v1/login/device", &json!({})).await.json();
    let poll = async |began: &Value| {
        post(&kit, "/api/v1/login/token", &json!({"device_code": began["device_code"]})).await.json()["code"]
            .clone()
    };
    let first = begin().await;
    let user = first["user_code"].as_str().unwrap().to_owned();
    let no = form(&kit, &cookie, "/device", &format!("user_code={user}&answer=no")).await;
    assert!(no.body.contains("was refused"), "{no:?}");
    assert_eq!(poll(&first).await, "access_denied");
    let second = begin().await;
    kit.clock.advance(Duration::from_secs(601));
    assert_eq!(poll(&second).await, "expired_token");

    // A stranger's rows, and a person's guesses, are few a minute.
    let mut last = 200;
    for _ in 0..11 {
        last = post(&kit, "/api/v1/login/device", &json!({})).await.status.as_u16();
    }
    assert_eq!(last, 429);
    assert!(kit.store.count(Collection::LoginCodes).await.unwrap() <= 11);
    let mut guess = kit
        .send(get("/device?user_code=BBBB-BBBB").header("cookie", &cookie).body(Body::empty()).unwrap())
        .await;
    for _ in 0..20 {
        guess = kit
            .send(get("/device?user_code=BBBB-BBBB").header("cookie", &cookie).body(Body::empty()).unwrap())
            .await;
    }
    assert_eq!(guess.status, 429);
    assert!(!guess.header("retry-after").is_empty());
}

#[tokio::test]
async fn each_step_may_meet_another_replica() {
    let one = Kit::new().await;
    let two = one.replica().await;
    let cookie = one.cookie(Some(Role::Sre)).await;
    let code = code(&two, &cookie).await;
    let given = post(&one, "/api/v1/login/token", &json!({"code": code, "code_verifier": VERIFIER})).await;
    assert_eq!(given.status, 200, "{given:?}");
    let again = post(&two, "/api/v1/login/token", &json!({"code": code, "code_verifier": VERIFIER})).await;
    assert_eq!(again.json()["code"], "invalid_grant");

    let began = post(&one, "/api/v1/login/device", &json!({})).await.json();
    let user = began["user_code"].as_str().unwrap();
    assert_eq!(form(&two, &cookie, "/device", &format!("user_code={user}&answer=yes")).await.status, 200);
    let ask = json!({"device_code": began["device_code"]});
    let (first, second) =
        tokio::join!(post(&one, "/api/v1/login/token", &ask), post(&two, "/api/v1/login/token", &ask));
    let mut both = [first.status.as_u16(), second.status.as_u16()];
    both.sort_unstable();
    assert_eq!(both, [200, 400], "a decision is told once");
}
