//! The provider says that sessions have ended.

use axum::body::Body;
use rp_documents::Role;
use serde_json::{Value, json};

use super::kit::{Kit, TestResponse, script, until};
use super::provider::ISSUER;
use super::signin::sign_in;

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

fn logout(kit: &Kit, changed: &Value) -> Value {
    let now = kit.now();
    let mut claims = json!({"iss": ISSUER, "aud": "client", "iat": now, "exp": now + 120, "jti": "j-1",
        "sub": "sub-sre", "events": { EVENT: {} }});
    for (name, value) in changed.as_object().unwrap() {
        claims[name] = value.clone();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        }
    }
    claims
}

async fn send(kit: &Kit, token: &str) -> TestResponse {
    let request = http::Request::post("/backchannel-logout")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(format!("logout_token={token}")));
    kit.send(request.unwrap()).await
}

async fn status(kit: &Kit, cookie: &str) -> u16 {
    let answer =
        kit.send(script("GET", "/api/info").header("cookie", cookie).body(Body::empty()).unwrap()).await;
    answer.status.as_u16()
}

#[tokio::test]
async fn a_session_or_all_of_a_person_end_and_nobody_elses() {
    let kit = Kit::new().await;
    let first = sign_in(&kit, "/").await.cookie("__Host-aro").unwrap();
    kit.provider.with.lock().claims = json!({"sid": "s-2"});
    let second = sign_in(&kit, "/").await.cookie("__Host-aro").unwrap();
    let other = kit.cookie(Some(Role::Admin)).await;

    let one = kit.provider.sign("logout+jwt", &logout(&kit, &json!({"sid": "s-1", "sub": null})));
    let answer = send(&kit, &one).await;
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, "no-store"), "{answer:?}");
    until("the first session ends", async || status(&kit, &first).await == 401).await;
    assert_eq!((status(&kit, &second).await, status(&kit, &other).await), (200, 200));
    assert_eq!(send(&kit, &one).await.status, 400, "it works once");
    kit.audited("sign-out").await;

    let all = kit.provider.sign("logout+jwt", &logout(&kit, &json!({"jti": "j-2"})));
    assert_eq!(send(&kit, &all).await.status, 200);
    until("the second session ends", async || status(&kit, &second).await == 401).await;
    assert_eq!(status(&kit, &other).await, 200);
}

#[tokio::test]
async fn grants_end_where_the_settings_say() {
    for ends in [false, true] {
        let kit = Kit::with(|parts| parts.sign_in.sessions.backchannel_ends_grants = ends).await;
        let token = kit.token(Role::Sre, rp_documents::GrantKind::Cli).await;
        let call = async || {
            let request = script("GET", "/api/info").header("authorization", format!("Bearer {token}"));
            kit.send(request.body(Body::empty()).unwrap()).await.status.as_u16()
        };
        assert_eq!(call().await, 200);
        let all = kit.provider.sign("logout+jwt", &logout(&kit, &json!({})));
        assert_eq!(send(&kit, &all).await.status, 200);
        if ends {
            until("the grant ends", async || call().await == 401).await;
        } else {
            assert_eq!(call().await, 200);
        }
    }
}

#[tokio::test]
async fn bad_logout_tokens_end_nothing() {
    let kit = Kit::new().await;
    let cookie = sign_in(&kit, "/").await.cookie("__Host-aro").unwrap();
    let now = kit.now();
    let bad = [
        json!({"iss": "https://evil.example"}),
        json!({"aud": "another"}),
        json!({"iat": now - 3600, "exp": null}),
        json!({"iat": now + 600}),
        json!({"exp": now - 300}),
        json!({"iat": null}),
        json!({"jti": null}),
        json!({"events": null}),
        json!({"events": {"other": {}}}),
        json!({"events": { EVENT: "text" }}),
        json!({"nonce": "n"}),
        json!({"sub": null}),
    ];
    for changed in bad {
        let answer = send(&kit, &kit.provider.sign("logout+jwt", &logout(&kit, &changed))).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["code"]),
            (400, &json!("invalid_request")),
            "{changed}"
        );
    }
    let good = logout(&kit, &json!({}));
    let parts: Vec<String> = kit.provider.sign("logout+jwt", &good).split('.').map(str::to_owned).collect();
    let none = format!("eyJhbGciOiJub25lIn0.{}.", parts[1]);
    let cut = format!("{}.{}.AAAA", parts[0], parts[1]);
    for token in ["", "x", "a.b.c", none.as_str(), cut.as_str()] {
        assert_eq!(send(&kit, token).await.status, 400, "{token}");
    }
    assert_eq!(send(&kit, &kit.provider.sign("at+jwt", &good)).await.status, 400, "a token of another type");
    assert_eq!(status(&kit, &cookie).await, 200);

    // A minute's worth of tries, then a wait.
    let bad = kit.provider.sign("logout+jwt", &logout(&kit, &json!({"nonce": "n"})));
    for tried in 0.. {
        let answer = send(&kit, &bad).await;
        if answer.status == 429 {
            assert!(!answer.header("retry-after").is_empty());
            break;
        }
        assert!(answer.status == 400 && tried < 1000, "{answer:?}");
    }
}

#[tokio::test]
async fn a_new_key_of_the_provider_is_fetched_for_it() {
    let kit = Kit::new().await;
    let cookie = sign_in(&kit, "/").await.cookie("__Host-aro").unwrap();
    kit.provider.roll_over();
    kit.clock.advance(std::time::Duration::from_secs(6));
    let token = kit.provider.sign("logout+jwt", &logout(&kit, &json!({})));
    assert_eq!(send(&kit, &token).await.status, 200);
    until("the session ends", async || status(&kit, &cookie).await == 401).await;
}
