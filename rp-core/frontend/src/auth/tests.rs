//! Authentication against fake servers: ARM's published certificates, a token issuer, a token check.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{Request, request};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, PublicKeyData as _,
};
use rp_base::{ManualClock, Timestamp};
use rp_net::tls::ClientChain;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

use super::{
    ArmCertificates, ArmError, ArmOptions, Callers, CertificateCheck, Mise, NamedClient, TokenCheck,
    TokenIssuer, TokenRules,
};
use crate::admin::AdminRole;
use crate::dependencies::{AuthorizedCaller, Authorizer as _, Caller};
use crate::not_ready::NotReady;

const NOW: i64 = 1_795_230_720;

/// The canned response of a path.
type CannedResponse = (&'static str, StatusCode, Value);

/// A fake server with canned responses; it counts the requests.
#[derive(Clone)]
struct FakeServer {
    url: Url,
    answers: Arc<Mutex<Vec<CannedResponse>>>,
    asked: Arc<AtomicUsize>,
    seen: Arc<Mutex<HeaderMap>>,
}

impl FakeServer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let told = Self { url, answers: Arc::default(), asked: Arc::default(), seen: Arc::default() };
        let app = Router::new().fallback(answer).with_state(told.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        told
    }

    fn set(&self, path: &'static str, status: StatusCode, body: Value) {
        let mut answers = self.answers.lock();
        answers.retain(|(known, ..)| *known != path);
        answers.push((path, status, body));
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

async fn answer(State(told): State<FakeServer>, uri: Uri, headers: HeaderMap) -> (StatusCode, Json<Value>) {
    told.asked.fetch_add(1, Ordering::Relaxed);
    *told.seen.lock() = headers;
    let answers = told.answers.lock();
    let found = answers.iter().find(|(path, ..)| *path == uri.path());
    found
        .map_or((StatusCode::NOT_FOUND, Json(Value::Null)), |(_, status, body)| (*status, Json(body.clone())))
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_seconds(NOW)))
}

fn certificate(name: &str) -> ClientChain {
    let key = KeyPair::generate().unwrap();
    let made = CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
    ClientChain(vec![made.der().clone()].into())
}

fn head(headers: &[(&str, &str)], chain: Option<ClientChain>) -> request::Parts {
    let mut request = Request::builder().method("PUT").uri("/subscriptions/x").header("host", "rp.example");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(()).unwrap();
    if let Some(chain) = chain {
        request.extensions_mut().insert(chain);
    }
    request.into_parts().0
}

fn entry(chain: &ClientChain, from: i64, to: i64) -> Value {
    json!({
        "thumbprint": "0",
        "notBefore": Timestamp::from_seconds(from).to_string(),
        "notAfter": Timestamp::from_seconds(to).to_string(),
        "certificate": STANDARD.encode(chain.leaf().unwrap()),
    })
}

#[tokio::test]
async fn arms_published_certificates_are_matched_byte_for_byte_and_kept_when_a_reading_fails() {
    const PATH: &str = "/metadata/authentication";
    let (told, clock) = (FakeServer::start().await, clock());
    let options = ArmOptions {
        endpoint: told.url.clone(),
        ca_pem: None,
        refresh: Duration::from_secs(3600),
        clock: clock.clone(),
    };
    let arm = ArmCertificates::new(options).unwrap();
    let now = Timestamp::from_seconds(NOW);
    let (ours, old, theirs) = (certificate("arm"), certificate("arm"), certificate("arm"));
    assert!(arm.refresh().await.is_err() && arm.ready(now).is_err() && !arm.trusts(&ours, now));

    let past = json!({"clientCertificates": [entry(&old, NOW - 20, NOW - 10)]});
    told.set(PATH, StatusCode::OK, past.clone());
    assert!(matches!(arm.refresh().await, Err(ArmError::NoneValid)));
    let good = json!({"clientCertificates": [entry(&old, NOW - 20, NOW - 10), entry(&ours, NOW - 20, NOW + 90_000)]});
    told.set(PATH, StatusCode::OK, good);
    arm.refresh().await.unwrap();
    assert!(arm.trusts(&ours, now) && !arm.trusts(&theirs, now) && !arm.trusts(&old, now));
    arm.ready(now).unwrap();

    for (status, body) in [
        (StatusCode::OK, past),
        (StatusCode::OK, json!({"clientCertificates": [{"certificate": "?"}]})),
        (StatusCode::FOUND, json!({})),
        (StatusCode::INTERNAL_SERVER_ERROR, json!({})),
    ] {
        told.set(PATH, status, body);
        assert!(arm.refresh().await.is_err());
        assert!(arm.trusts(&ours, now), "the old list stays");
    }
    let later = Timestamp::from_seconds(NOW + 24 * 3600 + 1);
    assert!(arm.trusts(&ours, later) && arm.ready(later).is_err(), "a day without news");
}

/// An issuer's key, its public half as a JWK.
struct Key(KeyPair, Value);

impl Key {
    fn new(kid: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let point = key.der_bytes();
        let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..65]));
        Self(
            key,
            json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "alg": "ES256", "x": x, "y": y}),
        )
    }

    fn token(&self, claims: &Value) -> String {
        let header =
            Header { kid: self.1["kid"].as_str().map(str::to_owned), ..Header::new(Algorithm::ES256) };
        let key = EncodingKey::from_ec_pem(self.0.serialize_pem().as_bytes()).unwrap();
        format!("Bearer {}", jsonwebtoken::encode(&header, claims, &key).unwrap())
    }
}

fn claims(issuer: &Url) -> Value {
    json!({"iss": issuer.as_str().trim_end_matches('/'), "aud": "rp", "exp": NOW + 600, "nbf": NOW - 600,
        "appid": "arm", "roles": ["other", "Arm.Call"]})
}

fn publish(told: &FakeServer, keys: &[&Key]) {
    let issuer = told.url.as_str().trim_end_matches('/');
    let jwks = format!("{issuer}/keys");
    told.set(
        "/.well-known/openid-configuration",
        StatusCode::OK,
        json!({"issuer": issuer, "jwks_uri": jwks}),
    );
    let keys: Vec<&Value> = keys.iter().map(|key| &key.1).collect();
    told.set("/keys", StatusCode::OK, json!({"keys": keys}));
}

#[tokio::test]
async fn tokens_are_taken_by_signature_issuer_audience_life_application_and_role() {
    let (told, clock) = (FakeServer::start().await, clock());
    let (key, other, rolled) = (Key::new("one"), Key::new("one"), Key::new("two"));
    let rules = TokenRules {
        issuer: told.url.to_string(),
        audience: "rp".to_owned(),
        applications: vec!["arm".to_owned()],
        roles: vec!["Arm.Call".to_owned()],
    };
    let issuer = TokenIssuer::new(rules, None, clock.clone()).unwrap();
    let authorize = async |token: &str| issuer.accepts(&head(&[("authorization", token)], None)).await;
    let good = claims(&told.url);
    assert!(!authorize(&key.token(&good)).await, "the issuer is away");
    assert!(issuer.ready().await.is_err());
    clock.advance(Duration::from_secs(6));
    publish(&told, &[&key]);
    assert!(authorize(&key.token(&good)).await);
    issuer.ready().await.unwrap();

    let changed = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        key.token(&claims)
    };
    for (name, value) in [
        ("iss", json!("https://other.example")),
        ("aud", json!("other")),
        ("exp", json!(NOW - 300)),
        ("exp", Value::Null),
        ("nbf", json!(NOW + 600)),
        ("appid", json!("other")),
        ("roles", json!(["other"])),
        ("roles", Value::Null),
    ] {
        let text = format!("{name} {value}");
        assert!(!authorize(&changed(name, value)).await, "{text}");
    }
    assert!(authorize(&changed("aud", json!(["x", "rp"]))).await);
    assert!(!authorize(&other.token(&good)).await, "a forged signature");
    let none = format!(
        "Bearer {}.{}.",
        URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#),
        URL_SAFE_NO_PAD.encode(good.to_string())
    );
    for token in
        [none.as_str(), "Bearer ", "Bearer x", "Basic eDp5", &format!("Bearer {}", "x".repeat(20_000))]
    {
        assert!(!authorize(token).await, "{}", &token[..token.len().min(40)]);
    }

    // A new key is found; an unknown key id does not cause unlimited requests.
    let before = told.asked();
    for _ in 0..20 {
        assert!(!authorize(&rolled.token(&good)).await);
    }
    assert!(told.asked() <= before + 2, "asked {} times", told.asked() - before);
    publish(&told, &[&rolled]);
    clock.advance(Duration::from_secs(6));
    assert!(authorize(&rolled.token(&good)).await);
    assert!(!authorize(&key.token(&good)).await, "a key that was withdrawn");
}

#[tokio::test]
async fn the_token_check_beside_us_is_asked_again_only_when_that_may_help() {
    const PATH: &str = "/ValidateRequest";
    let told = FakeServer::start().await;
    let mise = Mise::new(told.url.clone()).unwrap();
    let sent = head(&[("authorization", "Bearer t")], None);
    for (status, taken, asked) in [
        (StatusCode::OK, true, 1),
        (StatusCode::UNAUTHORIZED, false, 1),
        (StatusCode::TOO_MANY_REQUESTS, false, 3),
        (StatusCode::INTERNAL_SERVER_ERROR, false, 3),
    ] {
        told.set(PATH, status, Value::Null);
        let before = told.asked();
        assert_eq!((mise.accepts(&sent).await, told.asked() - before), (taken, asked), "{status}");
    }
    let seen = told.seen.lock().clone();
    assert_eq!(seen["authorization"], "Bearer t");
    assert_eq!(seen["original-uri"], "http://rp.example/subscriptions/x");
    assert_eq!(seen["original-method"], "PUT");
    assert!(mise.ready().await.is_err());
    told.set("/readyz", StatusCode::OK, Value::Null);
    mise.ready().await.unwrap();
}

/// One certificate.
#[derive(Debug)]
struct OneCertificate(ClientChain);

impl CertificateCheck for OneCertificate {
    fn trusts(&self, chain: &ClientChain, _: Timestamp) -> bool {
        chain.0 == self.0.0
    }

    fn ready(&self, _: Timestamp) -> Result<(), NotReady> {
        Err(NotReady::ArmUnread)
    }
}

/// Accepts one fixed header value.
#[derive(Debug)]
struct FixedToken;

#[async_trait]
impl TokenCheck for FixedToken {
    async fn accepts(&self, head: &request::Parts) -> bool {
        head.headers.get("authorization").is_some_and(|value| value == "good")
    }

    async fn ready(&self) -> Result<(), NotReady> {
        Ok(())
    }
}

#[tokio::test]
async fn each_side_has_its_own_callers() {
    let (arm, admin) = (certificate("arm"), certificate("admin"));
    let callers = |tokens: Option<bool>| Callers {
        arm: Arc::new(OneCertificate(arm.clone())),
        admin: Some(Arc::new(OneCertificate(admin.clone()))),
        tokens: tokens.map(|_| Arc::new(FixedToken) as _),
        tokens_required: tokens == Some(true),
        clock: clock(),
    };
    let none = None::<&ClientChain>;
    for (required, chain, word, as_arm, as_admin) in [
        (None, Some(&arm), "good", true, false),
        (None, Some(&admin), "", false, true),
        (None, none, "good", false, false),
        (Some(false), none, "good", true, false),
        (Some(false), Some(&arm), "bad", true, false),
        (Some(false), none, "bad", false, false),
        (Some(true), Some(&arm), "bad", false, false),
        (Some(true), Some(&admin), "good", true, true),
    ] {
        let callers = callers(required);
        let head = head(&[("authorization", word)], chain.cloned());
        let allows = async |admin| callers.authorize(&Caller { head: &head, admin }).await.is_some();
        assert_eq!((allows(false).await, allows(true).await), (as_arm, as_admin), "{required:?} {word}");
    }
    let neither = Callers { tokens_required: true, ..callers(None) };
    let shown = head(&[("authorization", "Bearer hush")], Some(arm.clone()));
    assert!(!format!("{:?}", Caller { head: &shown, admin: false }).contains("hush"));
    assert!(neither.authorize(&Caller { head: &shown, admin: false }).await.is_none(), "a token is required");
    let nobody = Callers { admin: None, ..callers(None) };
    let head = head(&[], Some(admin.clone()));
    assert!(nobody.authorize(&Caller { head: &head, admin: true }).await.is_none());
    assert!(callers(Some(false)).ready().await.is_err(), "admin is not ready");
}

#[test]
fn each_tools_certificate_has_a_role() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let chain = |name: &str| {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let made = params.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();
        ClientChain(vec![made.der().clone()].into())
    };
    let named = NamedClient::new(&ca, "tool")
        .unwrap()
        .and("board", AdminRole::Reader)
        .and("hands", AdminRole::Operator)
        .and("hands", AdminRole::Elevated)
        .and("tool", AdminRole::Operator);
    let now = Timestamp::from_seconds(NOW);
    for (name, most) in
        [("tool", AdminRole::Operator), ("board", AdminRole::Reader), ("hands", AdminRole::Operator)]
    {
        let chain = chain(name);
        assert!(named.trusts(&chain, now), "{name}");
        assert_eq!(named.identify(&chain), AuthorizedCaller { tool: name.to_owned(), most });
    }
    let stranger = chain("stranger");
    assert!(!named.trusts(&stranger, now));
    assert_eq!(named.identify(&stranger).most, AdminRole::Reader);
    assert!(!named.trusts(&certificate("board"), now), "of another authority");
}
