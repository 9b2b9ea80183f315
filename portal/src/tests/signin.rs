//! How a login travels, and every way it can go wrong.

use axum::body::Body;
use rp_config::GroupSource;
use rp_documents::Role;
use serde_json::json;
use url::Url;

use super::kit::{Kit, TestResponse, get, script};

/// Begins a sign-in; gives the answer, its cookie and `state`.
async fn begin(kit: &Kit, back: &str) -> (TestResponse, String, String) {
    begin_at(kit, &format!("/api/login?redirect_uri={}", web::text::encode(back))).await
}

pub(super) async fn begin_at(kit: &Kit, path: &str) -> (TestResponse, String, String) {
    let answer = kit.send(get(path).body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 307, "{answer:?}");
    let url = Url::parse(answer.header("location")).unwrap();
    let query = |name: &str| {
        url.query_pairs().find(|(n, _)| n == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let mut with = kit.provider.with.lock();
    with.nonce = query("nonce");
    with.challenge = query("code_challenge");
    assert_eq!((query("code_challenge_method").as_str(), query("response_type").as_str()), ("S256", "code"));
    assert_eq!(query("redirect_uri"), "https://portal.example:8443/callback");
    drop(with);
    let cookie = answer.cookie("__Host-aro-signin").unwrap();
    let state = query("state");
    (answer, cookie, state)
}

pub(super) async fn back(kit: &Kit, cookie: &str, query: &str) -> TestResponse {
    kit.send(get(&format!("/callback?{query}")).header("cookie", cookie).body(Body::empty()).unwrap()).await
}

pub(super) async fn sign_in(kit: &Kit, wanted: &str) -> TestResponse {
    let (_, cookie, state) = begin(kit, wanted).await;
    back(kit, &cookie, &format!("code=good&state={state}")).await
}

#[tokio::test]
async fn a_deep_link_survives_sign_in() {
    let kit = Kit::new().await;
    let wanted = "/?q=harbor&page=2";
    let first = kit.send(get(wanted).body(Body::empty()).unwrap()).await;
    assert_eq!(first.status, 303);
    let login = first.header("location").to_owned();
    let answer = kit.send(get(&login).body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 307, "{answer:?}");
    let answer = sign_in(&kit, wanted).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, wanted), "{answer:?}");
    let set = answer
        .headers
        .get_all("set-cookie")
        .iter()
        .find(|v| v.to_str().unwrap().starts_with("__Host-aro="))
        .unwrap();
    for attribute in ["Secure", "HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(set.to_str().unwrap().contains(attribute), "{set:?}");
    }
    assert_eq!(answer.cookie("__Host-aro-signin").as_deref(), Some("__Host-aro-signin="));
    let cookie = answer.cookie("__Host-aro").unwrap();
    let info = kit
        .send(script("GET", "/api/info").header("cookie", cookie).body(Body::empty()).unwrap())
        .await
        .json();
    assert_eq!(
        (info["username"].as_str(), info["elevated"].as_bool()),
        (Some("sre@example.com"), Some(false))
    );
    assert_eq!(info["roles"], json!(["viewer", "sre"]));
    let entry = kit.audited("sign-in").await;
    assert_eq!((entry.actor.name.as_str(), entry.actor.from.as_str()), ("sre@example.com", "192.0.2.7"));
}

#[tokio::test]
async fn a_planted_session_id_opens_nothing() {
    let kit = Kit::new().await;
    let planted = kit.cookie(Some(Role::Viewer)).await;
    let (_, cookie, state) = begin(&kit, "/").await;
    let answer = back(&kit, &format!("{planted}; {cookie}"), &format!("code=good&state={state}")).await;
    let fresh = answer.cookie("__Host-aro").unwrap();
    assert_ne!(fresh, planted);
    let old =
        kit.send(script("GET", "/api/info").header("cookie", &planted).body(Body::empty()).unwrap()).await;
    assert_eq!(old.status, 401, "{old:?}");
}

#[tokio::test]
async fn a_name_that_a_person_can_take_from_others_is_none() {
    let kit = Kit::new().await;
    let named = async |claims: serde_json::Value| {
        kit.provider.with.lock().claims = claims;
        sign_in(&kit, "/").await
    };
    for name in ["system:masters", "SYSTEM:admin", "kube:admin", "system:serviceaccount:kube-system:default"]
    {
        let answer = named(json!({"preferred_username": name})).await;
        assert!(answer.status == 403 && answer.body.contains("Kubernetes"), "{name}: {answer:?}");
        assert!(answer.cookie("__Host-aro").is_none(), "{name}");
    }
    let long = "a".repeat(300);
    assert_eq!(named(json!({"preferred_username": long})).await.status, 403);
    let whose = async |answer: TestResponse| {
        let info = script("GET", "/api/info").header("cookie", answer.cookie("__Host-aro").unwrap());
        let info = kit.send(info.body(Body::empty()).unwrap()).await.json();
        info["username"].as_str().unwrap_or_default().to_owned()
    };
    let address = json!({"preferred_username": null, "email": "boss@example.com"});
    assert_eq!(whose(named(address.clone()).await).await, "sub-sre", "nobody says that it is theirs");
    let mut verified = address;
    verified["email_verified"] = json!(true);
    assert_eq!(whose(named(verified).await).await, "boss@example.com");
}

#[tokio::test]
async fn sign_in_never_leads_to_another_site() {
    let kit = Kit::new().await;
    for evil in ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"] {
        assert_eq!(sign_in(&kit, evil).await.header("location"), "/", "{evil}");
    }
}

#[tokio::test]
async fn what_does_not_fit_together_is_no_sign_in() {
    let kit = Kit::new().await;
    let (_, cookie, state) = begin(&kit, "/access").await;
    for (cookie, query) in [
        (cookie.as_str(), "code=good&state=other".to_owned()),
        (cookie.as_str(), "code=good".to_owned()),
        (cookie.as_str(), format!("state={state}")),
        ("", format!("code=good&state={state}")),
        ("__Host-aro-signin=v3.k1.AAAA", format!("code=good&state={state}")),
    ] {
        let answer = back(&kit, cookie, &query).await;
        assert_eq!(answer.status, 400, "{query}: {answer:?}");
        assert!(answer.cookie("__Host-aro").is_none());
        assert!(answer.body.contains("/api/login") && answer.body.contains(answer.header("x-request-id")));
    }
    kit.clock.advance(std::time::Duration::from_secs(601));
    assert_eq!(back(&kit, &cookie, &format!("code=good&state={state}")).await.status, 400, "too late");
}

#[tokio::test]
async fn the_providers_refusal_is_shown_and_escaped() {
    let kit = Kit::new().await;
    let (_, cookie, state) = begin(&kit, "/").await;
    let query = format!("state={state}&error=access_denied&error_description=%3Cscript%3Ex");
    let answer = back(&kit, &cookie, &query).await;
    assert_eq!(answer.status, 403);
    assert!(answer.body.contains("access_denied") && !answer.body.contains("<script>x"), "{}", answer.body);
    let answer = back(&kit, &cookie, &format!("state={state}&code=used")).await;
    assert_eq!(answer.status, 403);
    assert!(answer.body.contains("invalid_grant") && !answer.body.contains("<code>x"));
}

#[tokio::test]
async fn bad_tokens_sign_nobody_in() {
    let kit = Kit::new().await;
    let now = kit.now();
    for (claims, status) in [
        (json!({"iss": "https://evil.example"}), 401),
        (json!({"aud": "another"}), 401),
        (json!({"aud": ["client", "another"]}), 401),
        (json!({"nonce": "another"}), 401),
        (json!({"exp": now - 121, "iat": now - 400}), 403),
        (json!({"iat": now + 300}), 403),
    ] {
        kit.provider.with.lock().claims = claims.clone();
        let answer = sign_in(&kit, "/").await;
        assert_eq!(answer.status, status, "{claims}: {answer:?}");
        assert!(answer.cookie("__Host-aro").is_none(), "{claims}");
    }
    // Clocks may differ a little.
    kit.provider.with.lock().claims = json!({"exp": now - 60, "iat": now + 60});
    assert_eq!(sign_in(&kit, "/").await.status, 303);
    kit.provider.with.lock().claims = json!({});
    kit.provider.with.lock().forged = true;
    assert_eq!(sign_in(&kit, "/").await.status, 401);
}

#[tokio::test]
async fn keys_roll_over_without_a_restart() {
    let kit = Kit::new().await;
    assert_eq!(sign_in(&kit, "/").await.status, 303);
    kit.provider.roll_over();
    kit.clock.advance(std::time::Duration::from_secs(6));
    let answer = sign_in(&kit, "/").await;
    assert_eq!(answer.status, 303, "{answer:?}");
}

#[tokio::test]
async fn a_provider_that_is_away_is_a_page_with_a_retry_and_comes_back() {
    let kit = Kit::new().await;
    kit.provider.with.lock().away = true;
    let answer = kit.send(get("/api/login?redirect_uri=/access").body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 502);
    assert!(answer.body.contains("/api/login?redirect_uri=%2Faccess"), "{}", answer.body);
    kit.provider.with.lock().away = false;
    kit.clock.advance(std::time::Duration::from_secs(6));
    assert_eq!(sign_in(&kit, "/").await.status, 303);
}

#[tokio::test]
async fn no_group_and_too_many_groups_are_explained() {
    let kit = Kit::new().await;
    kit.provider.with.lock().claims = json!({"groups": ["other"]});
    let answer = sign_in(&kit, "/").await;
    assert_eq!(answer.status, 403);
    assert!(answer.body.contains("g-elevated") && answer.cookie("__Host-aro").is_none());
    kit.provider.with.lock().claims = json!({"groups": null, "_claim_names": {"groups": "src1"}});
    let answer = sign_in(&kit, "/").await;
    assert_eq!(answer.status, 403);
    assert!(answer.body.contains("too many groups"), "{}", answer.body);
}

#[tokio::test]
async fn signing_out_ends_both_sessions() {
    let kit = Kit::new().await;
    let cookie = sign_in(&kit, "/").await.cookie("__Host-aro").unwrap();
    let csrf = kit.csrf(&cookie).await;
    let form = |token: &str| {
        http::Request::post("/api/logout")
            .header("accept", "text/html")
            .header("origin", super::kit::PORTAL)
            .header("cookie", &cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(format!("csrf_token={token}")))
            .unwrap()
    };
    assert_eq!(kit.send(form("")).await.status, 403);
    let answer = kit.send(form(&csrf)).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let url = Url::parse(answer.header("location")).unwrap();
    assert_eq!(url.host_str(), Some("logout.example"));
    assert!(url.query_pairs().any(|(name, value)| name == "id_token_hint" && value.contains('.')));
    assert!(
        url.query_pairs().any(
            |(name, value)| name == "post_logout_redirect_uri" && value == "https://portal.example:8443/"
        )
    );
    assert!(
        answer
            .header("content-security-policy")
            .contains("form-action 'self' https://login.example https://logout.example")
    );
    let after =
        kit.send(script("GET", "/api/info").header("cookie", &cookie).body(Body::empty()).unwrap()).await;
    assert_eq!(after.status, 401);
    kit.audited("sign-out").await;
}

#[tokio::test]
async fn a_dangerous_action_takes_a_sign_in_of_the_last_minutes() {
    let kit = Kit::new().await;
    let cookie = sign_in(&kit, "/").await.cookie("__Host-aro").unwrap();
    let user = async |cookie: &str| {
        let session = kit.state.session.sign_in.sessions.store();
        let id = cookie.split_once('=').unwrap().1.parse().unwrap();
        let record = tower_sessions::SessionStore::load(&session, &id).await.unwrap().unwrap();
        let auth_time = record.data["user"]["auth_time"].clone();
        serde_json::from_value::<rp_base::Timestamp>(auth_time).unwrap()
    };
    assert_eq!(user(&cookie).await.seconds(), kit.now());
    kit.clock.advance(std::time::Duration::from_secs(16 * 60));

    // The provider is asked to ask, and its word is not taken for it.
    let path = "/api/login?fresh=1&redirect_uri=/elevations";
    let (answer, signin, state) = begin_at(&kit, path).await;
    let url = Url::parse(answer.header("location")).unwrap();
    let query: std::collections::HashMap<_, _> = url.query_pairs().into_owned().collect();
    assert_eq!((query["prompt"].as_str(), query["max_age"].as_str()), ("login", "0"));
    kit.provider.with.lock().claims = json!({"auth_time": kit.now() - 16 * 60});
    let old = back(&kit, &signin, &format!("code=good&state={state}")).await;
    assert_eq!(old.status, 403);
    assert!(old.body.contains("fresh=1") && old.cookie("__Host-aro").is_none(), "{}", old.body);
    kit.provider.with.lock().claims = json!({"auth_time": null});
    let (_, signin, state) = begin_at(&kit, path).await;
    assert_eq!(back(&kit, &signin, &format!("code=good&state={state}")).await.status, 403, "no auth_time");

    kit.provider.with.lock().claims = json!({});
    let (_, signin, state) = begin_at(&kit, path).await;
    let good = back(&kit, &signin, &format!("code=good&state={state}")).await;
    assert_eq!((good.status.as_u16(), good.header("location")), (303, "/elevations"));
    assert_eq!(user(&good.cookie("__Host-aro").unwrap()).await.seconds(), kit.now());
}

#[tokio::test]
async fn groups_that_do_not_fit_are_asked_for_where_the_settings_say() {
    let overage = json!({"groups": null, "_claim_names": {"groups": "src1"},
        "_claim_sources": {"src1": {"endpoint": "https://evil.example/groups"}}});
    let address = || GroupSource::Address("https://login.example/groups".parse().unwrap());
    for (source, userinfo, listed, status) in [
        (GroupSource::Token, json!({"sub": "sub-sre", "groups": ["g-sre"]}), json!(["g-sre"]), 403),
        (GroupSource::Userinfo, json!({"sub": "sub-sre", "groups": ["g-sre"]}), json!([]), 303),
        (GroupSource::Userinfo, json!({"sub": "another", "groups": ["g-sre"]}), json!([]), 403),
        (GroupSource::Userinfo, json!({"sub": "sub-sre"}), json!([]), 403),
        (address(), json!({}), json!(["g-sre"]), 303),
        (address(), json!({}), json!({"groups": ["g-sre"]}), 303),
        (address(), json!({}), json!({"value": [{"id": "other"}, {"id": "g-sre"}]}), 303),
        (address(), json!({}), json!({"value": [{"id": "other"}]}), 403),
        (address(), json!({}), json!({"something": "else"}), 502),
        // Round and round, but not for ever; and never elsewhere.
        (
            address(),
            json!({}),
            json!({"value": ["x"], "@odata.nextLink": "https://login.example/groups"}),
            403,
        ),
        (address(), json!({}), json!({"value": ["g-sre"], "@odata.nextLink": "https://evil.example/"}), 303),
    ] {
        let kit = Kit::with(|parts| parts.sign_in.oidc.options.groups_from = source.clone()).await;
        {
            let mut with = kit.provider.with.lock();
            with.claims = overage.clone();
            (with.userinfo, with.listed) = (userinfo.clone(), listed.clone());
        }
        let answer = sign_in(&kit, "/").await;
        assert_eq!(answer.status, status, "{source:?} {userinfo} {listed}: {}", answer.body);
    }
}
