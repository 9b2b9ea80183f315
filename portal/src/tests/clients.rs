//! Applications with a token of the provider are robots of ours.

use axum::body::Body;
use serde_json::{Value, json};

use super::kit::{Kit, TestResponse, script};
use super::provider::ISSUER;

const AUDIENCE: &str = "api://aro";

async fn kit() -> Kit {
    Kit::with(|parts| parts.sign_in.oidc.options.api_audience = Some(AUDIENCE.to_owned())).await
}

fn token(kit: &Kit, kind: &str, changed: &Value) -> String {
    let now = kit.now();
    let mut claims = json!({"iss": ISSUER, "aud": AUDIENCE, "iat": now, "nbf": now, "exp": now + 300,
        "client_id": "app-1", "sub": "app-1"});
    for (name, value) in changed.as_object().unwrap() {
        claims[name] = value.clone();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        }
    }
    kit.provider.sign(kind, &claims)
}

async fn call(kit: &Kit, token: &str) -> TestResponse {
    let request = script("GET", "/api/v1/clusters").header("authorization", format!("Bearer {token}"));
    kit.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn an_application_is_the_robot_that_the_settings_name() {
    let kit = kit().await;
    let refused = call(&kit, &token(&kit, "at+jwt", &json!({}))).await;
    assert_eq!(refused.status, 401, "no such robot yet: {refused:?}");
    kit.robot("deployer").await;
    for changed in
        [json!({}), json!({"client_id": null, "azp": "app-1"}), json!({"sub": "o-1", "oid": "o-1"})]
    {
        let answer = call(&kit, &token(&kit, "at+jwt", &changed)).await;
        assert_eq!(answer.status, 200, "{changed}: {answer:?}");
    }
    let info = script("GET", "/api/info")
        .header("authorization", format!("Bearer {}", token(&kit, "JWT", &json!({}))))
        .body(Body::empty());
    assert_eq!(kit.send(info.unwrap()).await.json()["username"], "robot deployer");
    let entry = kit.audited("clusters.list").await;
    assert_eq!(entry.actor.sub, "robot:deployer");
}

#[tokio::test]
async fn other_tokens_of_the_provider_open_nothing() {
    let kit = kit().await;
    kit.robot("deployer").await;
    let now = kit.now();
    for changed in [
        json!({"aud": "client"}),
        json!({"aud": ["another"]}),
        json!({"iss": "https://evil.example"}),
        json!({"exp": now - 200}),
        json!({"exp": null}),
        json!({"nbf": now + 600}),
        json!({"client_id": "app-2", "sub": "app-2"}),
        json!({"client_id": null}),
        json!({"sub": "a-person"}),
        json!({"scp": "user_impersonation"}),
        json!({"nonce": "n"}),
    ] {
        let answer = call(&kit, &token(&kit, "at+jwt", &changed)).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["code"]),
            (401, &json!("token_refused")),
            "{changed}"
        );
    }
    let answer = call(&kit, &token(&kit, "logout+jwt", &json!({}))).await;
    assert_eq!(answer.status, 401);
    // Clocks may differ by two minutes.
    assert_eq!(call(&kit, &token(&kit, "at+jwt", &json!({"exp": now - 60}))).await.status, 200);
    let closed = Kit::new().await;
    closed.robot("deployer").await;
    assert_eq!(call(&closed, &token(&closed, "at+jwt", &json!({}))).await.status, 401, "not set, not taken");
}
