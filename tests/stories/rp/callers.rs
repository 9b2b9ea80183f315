//! Who may call: certificates of the test, what ARM publishes, tokens of an issuer.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use parking_lot::Mutex;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, PublicKeyData as _};
use reqwest::Method;
use rp_base::{Clock as _, SystemClock, Timestamp};
use rp_net::tls::certificates;
use serde_json::{Value, json};
use tests_kit::{Authority, GENEROUS, Pair, until};

use super::site::{ADMIN, ARM, Rp, SQLITE, SUB, Site, VERSION};

const OPERATIONS: &str = "/providers/microsoft.redhatopenshift/operations?api-version=2025-07-25";
const VERSIONS: &str = "/admin/versions";

async fn status(rp: &Rp, pair: Option<&Pair>, path: &str) -> Result<u16> {
    let caller = pair.map_or_else(|| rp.stranger(), |pair| rp.with(pair))?;
    let told = rp.send(&caller, Method::GET, path, &[], None).await?;
    if told.status == 403 {
        ensure!(told.json()? == json!({"error": {"code": "Forbidden", "message": "Forbidden."}}), "{told:?}");
        ensure!(told.headers.contains_key("x-ms-request-id"), "a refusal has its name too: {told:?}");
    }
    Ok(told.status)
}

/// A client's certificate that has expired.
fn expired(authority: &str) -> Result<(String, Pair)> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, authority);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key)?.pem();
    let issuer = rcgen::Issuer::new(params, key);
    let mut leaf = CertificateParams::default();
    leaf.distinguished_name.push(DnType::CommonName, ADMIN);
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let now = SystemClock.now().seconds();
    leaf.not_before = Timestamp::from_seconds(now - 7200).to_datetime();
    leaf.not_after = Timestamp::from_seconds(now - 3600).to_datetime();
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &issuer)?.pem();
    Ok((ca, Pair { certificate, key: key.serialize_pem() }))
}

#[tokio::test]
async fn certificates_decide_and_are_read_again_without_a_restart() -> Result<()> {
    let site = Site::new()?;
    let rp = site.run("rp", SQLITE, &Site::named()).await?;
    let (arm, admin) = (site.arm.client(ARM, &[])?, site.admin.client(ADMIN, &[])?);
    let forged = Authority::new("admin callers")?.client(ADMIN, &[])?;
    let (renamed, server) = (site.admin.client("somebody", &[])?, site.admin.server(&[ADMIN])?);
    let (old_ca, old) = expired("admin callers")?;
    for (who, pair, path, wanted) in [
        ("ARM", Some(&arm), OPERATIONS, 200),
        ("nobody", None, OPERATIONS, 403),
        ("the admin tool as ARM", Some(&admin), OPERATIONS, 403),
        ("the admin tool", Some(&admin), VERSIONS, 200),
        ("ARM as the admin tool", Some(&arm), VERSIONS, 403),
        ("nobody as the admin tool", None, VERSIONS, 403),
        ("a forged certificate", Some(&forged), VERSIONS, 403),
        ("another name", Some(&renamed), VERSIONS, 403),
        ("a server's certificate", Some(&server), VERSIONS, 403),
        ("an expired certificate", Some(&old), VERSIONS, 403),
        ("nobody on a path that is none", None, "/nowhere", 403),
        ("ARM on a path that is none", Some(&arm), "/nowhere", 404),
        ("anybody about health", None, "/healthz/ready", 200),
    ] {
        ensure!(status(&rp, pair, path).await? == wanted, "{who} on {path}: not {wanted}");
    }
    // The version in the query says which side is called.
    let admin_version = OPERATIONS.replace("2025-07-25", "admin");
    ensure!(status(&rp, Some(&arm), &admin_version).await? == 403, "ARM with api-version=admin");
    ensure!(status(&rp, Some(&admin), &admin_version).await? == 200, "the admin tool with api-version=admin");

    // Other authorities take the place of the old ones; an expired certificate of theirs is still none.
    let next = Authority::new("next callers")?;
    let changed = next.client(ADMIN, &[])?;
    site.folder.write("admin-ca.pem", format!("{}\n{old_ca}", next.pem()))?;
    rp.process.signal("HUP")?;
    until("the new authorities are used", GENEROUS, || async {
        ensure!(status(&rp, Some(&changed), VERSIONS).await? == 200, "not yet");
        Ok(())
    })
    .await?;
    ensure!(status(&rp, Some(&admin), VERSIONS).await? == 403, "the old authority is no longer taken");
    ensure!(status(&rp, Some(&old), VERSIONS).await? == 403, "an expired certificate of a known authority");
    // A broken file leaves them in use, and so does a new certificate of the listener.
    site.folder.write("admin-ca.pem", "no certificate")?;
    site.certificate()?;
    rp.process.signal("HUP")?;
    until("the broken file is told", GENEROUS, || async {
        ensure!(rp.process.log().contains("the old authorities of callers stay in use"), "not yet");
        Ok(())
    })
    .await?;
    ensure!(status(&rp, Some(&changed), VERSIONS).await? == 200, "the authorities stay");
    Ok(())
}

/// What a listener of the test says, by path.
type ReceivedBodies = Arc<Mutex<Vec<(&'static str, Value)>>>;

async fn listener() -> Result<(SocketAddr, ReceivedBodies)> {
    let said = ReceivedBodies::default();
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = socket.local_addr()?;
    let app = Router::new().fallback(answer).with_state(Arc::clone(&said));
    tokio::spawn(async move { axum::serve(socket, app).await });
    Ok((address, said))
}

async fn answer(State(said): State<ReceivedBodies>, uri: Uri) -> (StatusCode, Json<Value>) {
    let said = said.lock();
    let found = said.iter().find(|(path, _)| *path == uri.path());
    found.map_or((StatusCode::NOT_FOUND, Json(Value::Null)), |(_, body)| (StatusCode::OK, Json(body.clone())))
}

fn record(said: &ReceivedBodies, path: &'static str, body: Value) {
    let mut said = said.lock();
    said.retain(|(known, _)| *known != path);
    said.push((path, body));
}

fn published(pairs: &[&Pair]) -> Result<Value> {
    let now = SystemClock.now().seconds();
    let mut entries = Vec::new();
    for pair in pairs {
        let chain = certificates(&pair.certificate, "the test's")?;
        let der = chain.first().context("a certificate")?;
        entries.push(json!({"thumbprint": "", "certificate": STANDARD.encode(der),
            "notBefore": Timestamp::from_seconds(now - 60).to_string(),
            "notAfter": Timestamp::from_seconds(now + 3600).to_string()}));
    }
    Ok(json!({"clientCertificates": entries}))
}

#[tokio::test]
async fn arms_certificates_are_those_that_it_publishes() -> Result<()> {
    const PATH: &str = "/metadata/authentication";
    let site = Site::new()?;
    let (address, said) = listener().await?;
    let callers = format!("arm_metadata = \"http://{address}\"\narm_refresh = \"100ms\"\n");
    let rp = site.begin("rp", SQLITE, &callers)?;
    let (first, second) = (site.arm.client(ARM, &[])?, site.arm.client(ARM, &[])?);
    rp.process
        .ready(GENEROUS, || async {
            let told = status(&rp, None, "/healthz/ready").await?;
            ensure!(told == 500, "not ready without ARM's certificates: {told}");
            Ok(())
        })
        .await?;
    ensure!(status(&rp, Some(&first), OPERATIONS).await? == 403, "nothing is published yet");
    record(&said, PATH, published(&[&first])?);
    site.ready(&rp).await?;
    ensure!(status(&rp, Some(&first), OPERATIONS).await? == 200, "a published certificate");
    ensure!(status(&rp, Some(&second), OPERATIONS).await? == 403, "one of the same name and authority");
    record(&said, PATH, published(&[&second])?);
    until("the new list is read", GENEROUS, || async {
        ensure!(status(&rp, Some(&second), OPERATIONS).await? == 200, "not yet");
        Ok(())
    })
    .await?;
    ensure!(status(&rp, Some(&first), OPERATIONS).await? == 403, "no longer published");
    record(&said, PATH, json!({"clientCertificates": []}));
    until("an empty list is told", GENEROUS, || async {
        ensure!(rp.process.log().contains("the old ones stay"), "not yet");
        Ok(())
    })
    .await?;
    ensure!(status(&rp, Some(&second), OPERATIONS).await? == 200, "the last good list stays");
    Ok(())
}

#[tokio::test]
async fn a_token_of_the_issuer_is_needed_where_the_settings_say_so() -> Result<()> {
    let site = Site::new()?;
    let (address, said) = listener().await?;
    let issuer = format!("http://{address}");
    let callers = format!(
        "{}tokens = \"require\"\ntoken_issuer = \"{issuer}\"\ntoken_audience = \"https://rp.test\"\n\
         token_applications = [\"arm-app\"]\ntoken_roles = [\"Arm.Call\"]\n",
        Site::named()
    );
    let key = KeyPair::generate()?;
    let point = key.der_bytes();
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..65]));
    let jwk = json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "k", "x": x, "y": y});
    record(
        &said,
        "/.well-known/openid-configuration",
        json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")}),
    );
    record(&said, "/keys", json!({"keys": [jwk]}));
    let rp = site.run("rp", SQLITE, &callers).await?;
    let token = |key: &KeyPair, audience: &str| -> Result<String> {
        let claims = json!({"iss": issuer, "aud": audience, "exp": SystemClock.now().seconds() + 600,
            "appid": "arm-app", "roles": ["Arm.Call"]});
        let header = Header { kid: Some("k".to_owned()), ..Header::new(Algorithm::ES256) };
        let key = EncodingKey::from_ec_pem(key.serialize_pem().as_bytes())?;
        Ok(format!("Bearer {}", jsonwebtoken::encode(&header, &claims, &key)?))
    };
    let (good, forged) = (token(&key, "https://rp.test")?, token(&KeyPair::generate()?, "https://rp.test")?);
    let elsewhere = token(&key, "https://other.test")?;
    let stranger = rp.stranger()?;
    for (what, caller, token, wanted) in [
        ("a token", &stranger, good.as_str(), 200),
        ("a certificate alone", &rp.arm, "", 403),
        ("a forged token", &stranger, &forged, 403),
        ("a forged token with a certificate", &rp.arm, &forged, 403),
        ("a token for another service", &stranger, &elsewhere, 403),
    ] {
        let told = rp.send(caller, Method::GET, OPERATIONS, &[("authorization", token)], None).await?;
        ensure!(told.status == wanted, "{what}: {told:?}");
    }
    // The admin side knows certificates only.
    let told = rp.send(&stranger, Method::GET, VERSIONS, &[("authorization", &good)], None).await?;
    ensure!(told.status == 403, "a token on the admin side: {told:?}");
    ensure!(status(&rp, Some(&site.admin.client(ADMIN, &[])?), VERSIONS).await? == 200, "the admin tool");
    let log = rp.process.log();
    ensure!(!log.contains(good.trim_start_matches("Bearer ")), "a token in the log");
    ensure!(log.contains(SUB) || log.contains("component"), "{log}");
    Ok(())
}

/// As the tool with this certificate, for that person.
async fn as_tool(rp: &Rp, tool: &Pair, person: &str, method: Method, path: &str) -> Result<(u16, String)> {
    let caller = rp.with(tool)?;
    let headers = [("x-ms-client-principal-name", person)];
    let headers = if person.is_empty() { &[][..] } else { &headers[..] };
    let body = (method == Method::PUT).then(|| "{}".to_owned());
    let told = rp.send(&caller, method, path, headers, body).await?;
    Ok((told.status, told.text))
}

#[tokio::test]
async fn each_tools_certificate_and_each_person_have_their_role() -> Result<()> {
    const UNRESTRICTED: &str = "kubernetesobjects?kind=Node&unrestricted=true";
    let site = Site::new()?;
    let callers = format!(
        "{}admin_certificates = [\"board.test=reader\", \"hands.test=operator\"]\n\
         admin_readers = [\"*\"]\nadmin_operators = [\"Otto@example.org\"]\nadmin_elevated = [\"ella@example.org\"]\n",
        Site::named()
    );
    let rp = site.run("rp", SQLITE, &callers).await?;
    let cluster = super::site::path("none").replace(&format!("?api-version={VERSION}"), "");
    let deep = format!("/admin{cluster}/{UNRESTRICTED}");
    let of = |name: &str| site.admin.client(name, &[]);
    let (tool, board, hands) = (of(ADMIN)?, of("board.test")?, of("hands.test")?);
    // Reader's, operator's and elevated's work: 403, or what comes of it.
    let (read, change, open) =
        ((Method::GET, VERSIONS), (Method::PUT, VERSIONS), (Method::GET, deep.as_str()));
    for (who, tool, person, may) in [
        ("the tool for a stranger", &tool, "rita@example.org", [true, false, false]),
        ("the tool for an operator", &tool, "OTTO@example.org", [true, true, false]),
        ("the tool for an elevated person", &tool, "ella@example.org", [true, true, true]),
        ("the tool for nobody", &tool, "", [false, false, false]),
        ("the board for an elevated person", &board, "ella@example.org", [true, false, false]),
        ("hands for an elevated person", &hands, "ella@example.org", [true, true, false]),
        ("hands for a stranger", &hands, "rita@example.org", [true, false, false]),
    ] {
        for ((method, path), may) in [&read, &change, &open].into_iter().zip(may) {
            let (status, text) = as_tool(&rp, tool, person, method.clone(), path).await?;
            ensure!((status != 403) == may, "{who}: {method} {path}: {status} {text}");
        }
    }
    let (code, text) = as_tool(&rp, &board, "ella@example.org", Method::PUT, VERSIONS).await?;
    ensure!(code == 403 && text.contains("The caller's certificate has no role"), "{code} {text}");
    // It opens nothing on ARM's listener, nor under names that were not configured.
    ensure!(
        status(&rp, Some(&board), OPERATIONS).await? == 403
            && status(&rp, Some(&of("bored.test")?), VERSIONS).await? == 403
    );
    ensure!(rp.process.log().contains("board.test"), "the log says which certificate it was");
    Ok(())
}
