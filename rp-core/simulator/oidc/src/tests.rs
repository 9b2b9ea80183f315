//! The flow as a client and a browser see it, over TLS.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, StatusCode};
use rp_base::{ManualClock, SystemClock, SystemRandom, Timestamp};
use rp_net::tls::{ClientAuth, ServerFiles};
use rp_simulator_region::RegionIdentity;
use serde_json::Value;
use tempfile::TempDir;

use super::*;

const REDIRECT: &str = "https://portal.invalid/api/callback";
const AFTER: &str = "https://portal.invalid/signed-out";
const VERIFIER: &str = "a-verifier-of-forty-three-characters-or-more-0";

struct Bench {
    provider: OidcProvider,
    client: Client,
    clock: ManualClock,
    _folder: TempDir,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let identity =
            RegionIdentity::open_or_create(folder.path(), rp_base::Clock::now(&SystemClock)).unwrap();
        let files =
            ServerFiles { certificate: folder.path().join("api.crt"), key: folder.path().join("api.key") };
        let tls = ServerTls::load(files, &[b"h2", b"http/1.1"], ClientAuth::None).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let clock = ManualClock::at(Timestamp::from_seconds(1_795_000_000));
        let provider = OidcProvider::start(OidcOptions {
            listener,
            tls: Some(tls),
            issuer: Url::parse(&issuer).unwrap(),
            client_id: "portal".to_owned(),
            client_secret: Secret::new("s:e/c".to_owned()),
            redirect_uris: vec![REDIRECT.to_owned()],
            post_logout_redirect_uris: vec![AFTER.to_owned()],
            backchannel: None,
            accounts: vec![Account {
                name: "sre".to_owned(),
                password: Secret::new("right".to_owned()),
                groups: vec!["aro-sre".to_owned()],
                sub: "sub-1".to_owned(),
            }],
            clock: Arc::new(clock.clone()),
            random: Arc::new(SystemRandom),
            stop: Stop::default(),
        })
        .unwrap();
        let client = rp_net::http::client(Some(&identity.ca), Duration::from_secs(30)).unwrap();
        Self { provider, client, clock, _folder: folder }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.provider.issuer())
    }

    fn ask(&self, changed: &[(&str, &str)]) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(rp_base::sha256(VERIFIER.as_bytes()).0);
        let mut url = Url::parse(&self.url("/authorize")).unwrap();
        let usual = [
            ("client_id", "portal"),
            ("redirect_uri", REDIRECT),
            ("response_type", "code"),
            ("scope", "openid groups offline_access"),
            ("state", "st<&"),
            ("nonce", "n-1"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let kept = usual.iter().filter(|(name, _)| !changed.iter().any(|(other, _)| other == name));
        url.query_pairs_mut().extend_pairs(kept.chain(changed));
        url.into()
    }

    /// Opens the sign-in page and sends its form; gives the answer.
    async fn sign_in(&self, ask: &str, password: &str) -> reqwest::Response {
        let page = self.client.get(ask).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("https://portal.invalid"),
            "{policy}"
        );
        let cookie = cookie_of(&page, "__Host-idp-form");
        let html = page.text().await.unwrap();
        assert!(!html.contains("<script"));
        let form = html.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let query = ask.split_once('?').unwrap().1;
        let fields = [("name", "sre"), ("password", password), ("form", form), ("request", query)];
        self.client.post(self.url("/login")).header(COOKIE, cookie).form(&fields).send().await.unwrap()
    }

    async fn exchange(&self, fields: &[(&str, &str)]) -> (StatusCode, Value) {
        let request = self.client.post(self.url("/token")).basic_auth("portal", Some("s%3Ae%2Fc"));
        let answer = request.form(fields).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    async fn exchange_code(&self, code: &str, verifier: &str) -> (StatusCode, Value) {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", verifier),
        ];
        self.exchange(&fields).await
    }
}

fn cookie_of(response: &reqwest::Response, name: &str) -> String {
    let mut set = response.headers().get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap());
    let found = set.find(|cookie| cookie.starts_with(name)).unwrap();
    assert!(found.contains("HttpOnly") && found.contains("Secure") && found.contains("SameSite=Lax"));
    found.split(';').next().unwrap().to_owned()
}

fn back(response: &reqwest::Response) -> Url {
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    Url::parse(response.headers()[LOCATION].to_str().unwrap()).unwrap()
}

fn parameter(url: &Url, name: &str) -> String {
    url.query_pairs()
        .find(|(found, _)| found == name)
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

fn claims(tokens: &Value) -> Value {
    let payload = tokens["id_token"].as_str().unwrap().split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

#[tokio::test]
async fn signs_in_refreshes_and_signs_out() {
    let bench = Bench::new().await;
    let discovery: Value = bench
        .client
        .get(bench.url("/.well-known/openid-configuration"))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(discovery["issuer"], bench.provider.issuer());
    let ask = bench.ask(&[]);
    let answer = bench.sign_in(&ask, "right").await;
    let session = cookie_of(&answer, "__Host-idp-session");
    let url = back(&answer);
    assert_eq!(url.as_str().split('?').next(), Some(REDIRECT));
    assert_eq!(
        (parameter(&url, "state").as_str(), parameter(&url, "iss").as_str()),
        ("st<&", bench.provider.issuer())
    );
    let (status, tokens) = bench.exchange_code(&parameter(&url, "code"), VERIFIER).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let told = claims(&tokens);
    assert_eq!(told["groups"][0], "aro-sre");
    assert_eq!(
        (&told["sub"], &told["nonce"], &told["aud"]),
        (&"sub-1".into(), &"n-1".into(), &"portal".into())
    );
    let keys: jsonwebtoken::jwk::JwkSet =
        bench.client.get(bench.url("/jwks")).send().await.unwrap().json().await.unwrap();
    let key = jsonwebtoken::DecodingKey::from_jwk(&keys.keys[0]).unwrap();
    let mut validation = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::RS256);
    validation.set_audience(&["portal"]);
    validation.validate_exp = false;
    jsonwebtoken::decode::<Value>(tokens["id_token"].as_str().unwrap(), &key, &validation).unwrap();

    // A user with a session is not asked again, unless the client requests it.
    let again =
        bench.client.get(bench.ask(&[("prompt", "none")])).header(COOKIE, &session).send().await.unwrap();
    assert!(!parameter(&back(&again), "code").is_empty());
    let forced =
        bench.client.get(bench.ask(&[("prompt", "login")])).header(COOKIE, &session).send().await.unwrap();
    assert_eq!(forced.status(), StatusCode::OK);
    bench.clock.advance(Duration::from_secs(100));
    let old =
        bench.client.get(bench.ask(&[("max_age", "60")])).header(COOKIE, &session).send().await.unwrap();
    assert_eq!(old.status(), StatusCode::OK);

    // Groups are the current ones; a reused refresh token revokes its family.
    bench.provider.set_groups("sre", vec!["aro-elevated".to_owned()]);
    let first = tokens["refresh_token"].as_str().unwrap();
    let (status, renewed) =
        bench.exchange(&[("grant_type", "refresh_token"), ("refresh_token", first)]).await;
    assert_eq!((status, &claims(&renewed)["groups"][0]), (StatusCode::OK, &"aro-elevated".into()));
    let second = renewed["refresh_token"].as_str().unwrap();
    let (status, _) = bench.exchange(&[("grant_type", "refresh_token"), ("refresh_token", first)]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let (status, error) = bench.exchange(&[("grant_type", "refresh_token"), ("refresh_token", second)]).await;
    assert_eq!((status, &error["error"]), (StatusCode::BAD_REQUEST, &"invalid_grant".into()));

    let mut out = Url::parse(&bench.url("/logout")).unwrap();
    let hint = tokens["id_token"].as_str().unwrap();
    out.query_pairs_mut().extend_pairs([
        ("id_token_hint", hint),
        ("post_logout_redirect_uri", AFTER),
        ("state", "x"),
    ]);
    let gone = bench.client.get(out.as_str()).header(COOKIE, &session).send().await.unwrap();
    assert_eq!(back(&gone).as_str(), format!("{AFTER}?state=x"));
    let none =
        bench.client.get(bench.ask(&[("prompt", "none")])).header(COOKIE, &session).send().await.unwrap();
    assert_eq!(parameter(&back(&none), "error"), "login_required");
}

#[tokio::test]
async fn refuses_wrong_passwords_and_then_waits() {
    let bench = Bench::new().await;
    let ask = bench.ask(&[]);
    for _ in 0..5 {
        assert_eq!(bench.sign_in(&ask, "wrong").await.status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(bench.sign_in(&ask, "right").await.status(), StatusCode::TOO_MANY_REQUESTS);
    bench.clock.advance(Duration::from_secs(61));
    assert_eq!(bench.sign_in(&ask, "right").await.status(), StatusCode::SEE_OTHER);
    // A form that was issued to another browser is refused.
    let query = ask.split_once('?').unwrap().1;
    let fields = [("name", "sre"), ("password", "right"), ("form", "x"), ("request", query)];
    let foreign = bench.client.post(bench.url("/login")).form(&fields).send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn sends_nobody_to_an_address_that_is_not_registered() {
    let bench = Bench::new().await;
    for uri in [
        "https://evil.invalid/",
        "https://portal.invalid/api/callback/",
        "HTTPS://portal.invalid/api/callback",
    ] {
        let answer = bench.client.get(bench.ask(&[("redirect_uri", uri)])).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{uri}");
        assert!(answer.headers().get(LOCATION).is_none());
    }
    for (changed, error) in [
        (("code_challenge_method", "plain"), "invalid_request"),
        (("response_type", "token"), "unsupported_response_type"),
        (("scope", "groups"), "invalid_scope"),
        (("request", "x.y.z"), "request_not_supported"),
    ] {
        let answer = bench.client.get(bench.ask(&[changed])).send().await.unwrap();
        assert_eq!(parameter(&back(&answer), "error"), error, "{changed:?}");
    }
    let foreign = bench.client.get(bench.url("/logout?post_logout_redirect_uri=https://evil.invalid/"));
    assert_eq!(foreign.send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn a_code_is_used_once_in_time_and_with_its_verifier() {
    let bench = Bench::new().await;
    let ask = bench.ask(&[]);
    let code = async || parameter(&back(&bench.sign_in(&ask, "right").await), "code");
    let (status, error) = bench.exchange_code(&code().await, "another-verifier").await;
    assert_eq!((status, &error["error"]), (StatusCode::BAD_REQUEST, &"invalid_grant".into()));

    let used = code().await;
    let (status, tokens) = bench.exchange_code(&used, VERIFIER).await;
    assert_eq!(status, StatusCode::OK);
    let bearer = tokens["access_token"].as_str().unwrap();
    let about = || bench.client.get(bench.url("/userinfo")).bearer_auth(bearer).send();
    assert_eq!(about().await.unwrap().status(), StatusCode::OK);
    let (status, _) = bench.exchange_code(&used, VERIFIER).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    // The second use ended what the first had given.
    assert_eq!(about().await.unwrap().status(), StatusCode::UNAUTHORIZED);

    let late = code().await;
    bench.clock.advance(Duration::from_secs(61));
    assert_eq!(bench.exchange_code(&late, VERIFIER).await.0, StatusCode::BAD_REQUEST);

    let gone = code().await;
    assert!(bench.provider.remove("sre"));
    assert_eq!(bench.exchange_code(&gone, VERIFIER).await.0, StatusCode::BAD_REQUEST);
    let wrong = bench.client.post(bench.url("/token")).basic_auth("portal", Some("x")).form(&[("a", "b")]);
    assert_eq!(wrong.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn whoever_is_disabled_comes_in_no_more_and_loses_what_they_hold() {
    let bench = Bench::new().await;
    let ask = bench.ask(&[]);
    let answer = bench.sign_in(&ask, "right").await;
    let session = cookie_of(&answer, "__Host-idp-session");
    let (_, tokens) = bench.exchange_code(&parameter(&back(&answer), "code"), VERIFIER).await;
    assert!(claims(&tokens)["sid"].as_str().is_some_and(|sid| !sid.is_empty()));
    let refresh = tokens["refresh_token"].as_str().unwrap();

    assert!(bench.provider.set_disabled("sre", true) && !bench.provider.set_disabled("none", true));
    let (status, error) =
        bench.exchange(&[("grant_type", "refresh_token"), ("refresh_token", refresh)]).await;
    assert_eq!((status, &error["error"]), (StatusCode::BAD_REQUEST, &"invalid_grant".into()));
    assert_eq!(bench.sign_in(&ask, "right").await.status(), StatusCode::FORBIDDEN);
    let none =
        bench.client.get(bench.ask(&[("prompt", "none")])).header(COOKIE, &session).send().await.unwrap();
    assert_eq!(parameter(&back(&none), "error"), "login_required");

    // After re-enabling, the user can sign in again; ended sessions stay ended.
    assert!(bench.provider.set_disabled("sre", false));
    let (status, _) = bench.exchange(&[("grant_type", "refresh_token"), ("refresh_token", refresh)]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(bench.sign_in(&ask, "right").await.status(), StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_revoked_token_is_none() {
    let bench = Bench::new().await;
    let answer = bench.sign_in(&bench.ask(&[]), "right").await;
    let (_, tokens) = bench.exchange_code(&parameter(&back(&answer), "code"), VERIFIER).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let revoke = async |secret: &str, token: &str| {
        let request = bench.client.post(bench.url("/revoke")).basic_auth("portal", Some(secret));
        request.form(&[("token", token)]).send().await.unwrap().status()
    };
    assert_eq!(revoke("wrong", refresh).await, StatusCode::UNAUTHORIZED);
    assert_eq!(revoke("s%3Ae%2Fc", "unknown").await, StatusCode::OK);
    assert_eq!(revoke("s%3Ae%2Fc", refresh).await, StatusCode::OK);
    let (status, _) = bench.exchange(&[("grant_type", "refresh_token"), ("refresh_token", refresh)]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}
