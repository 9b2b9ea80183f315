//! Every refusal has a test, and no error contains a secret.

use std::fmt::Write as _;

use proptest::prelude::*;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use serde_json::{Value, json};

use super::*;

const TOKEN: &str = "hunter2-hunter2-hunter2";
const NOW: Timestamp = Timestamp::from_seconds(1_795_000_000); // November 2026

struct Pki {
    ca: String,
    key: String,
    client: String,
    server_only: String,
    expired: String,
    future: String,
}

fn pki() -> Pki {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.distinguished_name.push(DnType::CommonName, "test CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate().unwrap();
    let leaf = |usage: ExtendedKeyUsagePurpose, from: i32, to: i32| {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "test client");
        params.extended_key_usages = vec![usage];
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        params.signed_by(&key, &issuer).unwrap().pem()
    };
    use ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
    Pki {
        ca: ca_pem,
        client: leaf(ClientAuth, 2026, 2027),
        server_only: leaf(ServerAuth, 2026, 2027),
        expired: leaf(ClientAuth, 2024, 2025),
        future: leaf(ClientAuth, 2030, 2031),
        key: key.serialize_pem(),
    }
}

fn b64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn file(cluster: &Value, user: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "main", "preferences": {},
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
    })
}

fn good_cluster(pki: &Pki) -> Value {
    json!({"server": "https://api.example:6443", "certificate-authority-data": b64(&pki.ca)})
}

/// Reads the file as JSON and as YAML: both must agree.
fn read_both(file: &Value, context: Option<&str>) -> Result<ImportPlan, ImportError> {
    let yaml = serde_saphyr::to_string(file).unwrap();
    let by_yaml = read_at(&yaml, context, NOW);
    let by_json = read_at(&file.to_string(), context, NOW);
    assert_eq!(format!("{by_yaml:?}"), format!("{by_json:?}"), "{yaml}");
    if let Err(error) = &by_json {
        for secret in [TOKEN, "PRIVATE", "LS0t"] {
            assert!(!format!("{error} {error:?} {}", error.action()).contains(secret), "{error:?}");
        }
        assert!(error.code().starts_with("kubeconfig_") && !error.action().is_empty());
    }
    by_json
}

/// The error for a good file with members of its cluster and user changed; `null` removes one.
fn refused(pki: &Pki, cluster: &Value, user: &Value) -> ImportError {
    let mut whole = file(&good_cluster(pki), &json!({"token": TOKEN}));
    for (changes, at) in [(cluster, "/clusters/0/cluster"), (user, "/users/0/user")] {
        let place = whole.pointer_mut(at).and_then(Value::as_object_mut).unwrap();
        place.extend(changes.as_object().unwrap().clone());
    }
    read_both(&whole, None).unwrap_err()
}

#[test]
fn takes_a_token() {
    let pki = pki();
    let mut cluster = good_cluster(&pki);
    cluster["server"] = json!("https://api.example:6443/k8s/clusters/c-1");
    cluster["tls-server-name"] = json!("kubernetes");
    let plan = read_both(&file(&cluster, &json!({"token": TOKEN})), None).unwrap();
    assert_eq!(plan.server.as_str(), "https://api.example:6443/k8s/clusters/c-1");
    assert_eq!(plan.tls_server_name.as_deref(), Some("kubernetes"));
    assert_eq!((plan.context.as_str(), plan.namespace.as_deref()), ("main", Some("ns")));
    assert!(matches!(&plan.credential, ImportedCredential::Token(token) if token.expose() == TOKEN));
    assert!(!format!("{plan:?}").contains(TOKEN));
    assert!(rp_net::tls::roots(&plan.ca_pem, "test").unwrap().len() == 1);
}

#[test]
fn takes_a_certificate_that_rustls_can_use() {
    let pki = pki();
    let chain = format!("a comment\n{}{}", pki.client, pki.ca);
    let user = json!({"client-certificate-data": b64(&chain), "client-key-data": b64(&pki.key)});
    let plan = read_both(&file(&good_cluster(&pki), &user), Some("main")).unwrap();
    let ImportedCredential::Certificate { chain_pem, .. } = &plan.credential else {
        panic!("not a certificate")
    };
    assert_eq!(chain_pem.matches("BEGIN CERTIFICATE").count(), 2);
    assert!(!chain_pem.contains("comment"));
    rp_net::tls::client_config(&plan.ca_pem, Some(&plan.credential), &[]).unwrap();
    assert!(!format!("{plan:?}").contains("PRIVATE"));
}

#[test]
fn contexts_are_chosen_by_name_then_current_then_only() {
    let pki = pki();
    let mut whole = file(&good_cluster(&pki), &json!({"token": TOKEN}));
    let other = json!({"name": "other", "context": {"cluster": "c", "user": "u"}});
    whole["contexts"].as_array_mut().unwrap().push(other);
    assert_eq!(read_both(&whole, None).unwrap().context, "main");
    assert_eq!(read_both(&whole, Some("other")).unwrap().namespace, None);
    let error = read_both(&whole, Some("third")).unwrap_err();
    assert!(error.action().contains("\"main\", \"other\""), "{}", error.action());
    whole["current-context"] = json!("");
    assert!(matches!(read_both(&whole, None).unwrap_err(), ImportError::NoCurrentContext { .. }));
    whole["contexts"].as_array_mut().unwrap().pop();
    assert_eq!(read_both(&whole, None).unwrap().context, "main");
    whole["contexts"][0]["context"]["cluster"] = json!("gone");
    assert!(matches!(read_both(&whole, None).unwrap_err(), ImportError::ClusterNotFound { .. }));
    whole["contexts"][0]["context"] = json!({"cluster": "c"});
    assert!(matches!(read_both(&whole, None).unwrap_err(), ImportError::UserNotFound { .. }));
    whole["contexts"] = json!(null);
    assert_eq!(read_both(&whole, None).unwrap_err(), ImportError::NoContexts);
}

#[test]
fn names_in_errors_are_few_and_clean() {
    let pki = pki();
    let mut whole = file(&good_cluster(&pki), &json!({"token": TOKEN}));
    let contexts: Vec<Value> = (0..500)
        .map(|n| json!({"name": format!("c{n}\n{}", "x".repeat(500)), "context": {"cluster": "c", "user": "u"}}))
        .collect();
    whole["contexts"] = json!(contexts);
    let action = read_both(&whole, Some("nope")).unwrap_err().action();
    assert!(action.len() < 2_000 && !action.contains('\n') && action.contains("and 480 more"), "{action}");
}

#[test]
fn refuses_what_is_not_a_kubeconfig() {
    let refused = |text: &str| read_at(text, None, NOW).unwrap_err();
    for empty in ["", " \n\t\n", "\u{feff}", "# only a comment\n", "null", "---\n"] {
        assert_eq!(refused(empty), ImportError::Empty, "{empty:?}");
    }
    assert_eq!(refused(&"#".repeat(MAX_BYTES + 1)), ImportError::TooBig);
    assert!(matches!(refused("a: [1, 2\nb: }"), ImportError::NotYaml { .. }));
    assert!(matches!(refused("{\"kind\": \"Config\","), ImportError::NotYaml { .. }));
    assert!(matches!(refused("just a sentence"), ImportError::BadShape { .. }));
    assert!(matches!(refused("kind: Config\nclusters: 5\n"), ImportError::BadShape { line: 2, .. }));
    assert_eq!(refused("kind: Secret\nclusters: []"), ImportError::NotKubeconfig);
    assert_eq!(refused("hello: world"), ImportError::NotKubeconfig);
    assert_eq!(refused("kind: Config"), ImportError::NoContexts);
}

#[test]
fn refuses_bombs_quickly() {
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..20 {
        let refs = vec![format!("*a{}", n - 1); 9].join(",");
        writeln!(laughs, "a{n}: &a{n} [{refs}]").unwrap();
    }
    let deep = format!("clusters: {}", "[".repeat(100_000));
    let wide = format!("clusters: [{}]", "{},".repeat(200_000));
    let documents = "---\nkind: Config\n".repeat(1_000);
    for bomb in [laughs, deep, wide, documents] {
        let error = read_at(&bomb, None, NOW).unwrap_err();
        let expected = matches!(
            error,
            ImportError::TooComplex | ImportError::NotYaml { .. } | ImportError::BadShape { .. }
        );
        assert!(expected, "{error:?}");
    }
}

#[test]
fn refuses_what_cannot_be_pinned() {
    let pki = pki();
    let none = json!({});
    let cluster = |cluster: Value| refused(&pki, &cluster, &none);
    assert_eq!(cluster(json!({"server": null})), ImportError::NoServer);
    assert_eq!(cluster(json!({"server": "http://h:6443"})), ImportError::NotHttps);
    for bad in ["h", "https://", "https://me:hunter2-hunter2-hunter2@h", "https://h/?a=b", "https://h/#x"] {
        assert_eq!(cluster(json!({"server": bad})), ImportError::BadServer, "{bad}");
    }
    assert_eq!(cluster(json!({"tls-server-name": "a b"})), ImportError::BadServerName);
    assert_eq!(cluster(json!({"certificate-authority-data": null})), ImportError::NoAuthority);
    assert_eq!(cluster(json!({"insecure-skip-tls-verify": true})), ImportError::Insecure);
    assert_eq!(cluster(json!({"proxy-url": "socks5://x"})), ImportError::ProxyUrl);
    let path = json!({"certificate-authority": "/etc/ca.crt"});
    assert_eq!(cluster(path), ImportError::PathBased { field: "certificate-authority" });
    let field = "certificate-authority-data";
    assert_eq!(cluster(json!({field: "%%%"})), ImportError::BadBase64 { field });
    assert_eq!(cluster(json!({field: b64("no pem")})), ImportError::BadPem { field });
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert_eq!(cluster(json!({field: b64(damaged)})), ImportError::BadPem { field });
    let many = cluster(json!({field: b64(&pki.ca.repeat(65))}));
    assert!(matches!(many, ImportError::TooManyCertificates { .. }));
}

#[test]
fn refuses_credentials_that_are_not_lasting_or_not_one() {
    let pki = pki();
    let user = |user: Value| refused(&pki, &json!({}), &user);
    for field in ["client-certificate", "client-key", "tokenFile"] {
        assert_eq!(user(json!({field: "/home/me/secret"})), ImportError::PathBased { field });
    }
    assert_eq!(user(json!({"exec": {"command": "kubelogin"}})), ImportError::Exec);
    assert_eq!(user(json!({"auth-provider": {"name": "oidc"}})), ImportError::AuthProvider);
    assert_eq!(user(json!({"username": "me", "password": TOKEN})), ImportError::BasicAuth);
    assert_eq!(user(json!({"as": "root"})), ImportError::Impersonates);
    assert_eq!(user(json!({"as-groups": ["system:masters"]})), ImportError::Impersonates);
    assert_eq!(user(json!({"token": null})), ImportError::NoCredential);
    assert_eq!(user(json!({"token": ""})), ImportError::NoCredential);
    assert_eq!(user(json!({"client-key-data": b64(&pki.key)})), ImportError::TwoCredentials);
    for bad in ["a\r\nX-Evil: 1", "two words", "é", &"x".repeat(20_000)] {
        assert_eq!(user(json!({"token": bad})), ImportError::BadToken, "{bad}");
    }
}

#[test]
fn refuses_certificates_and_keys_that_cannot_work() {
    let pki = pki();
    let pair = |certificate: &str, key: &str| {
        let user = json!({"token": null, "client-certificate-data": certificate, "client-key-data": key});
        refused(&pki, &json!({}), &user)
    };
    let (good, key) = (b64(&pki.client), b64(&pki.key));
    assert_eq!(pair(&good, ""), ImportError::NoKey);
    assert_eq!(pair("", &key), ImportError::NoCertificate);
    assert!(matches!(pair(&b64(&pki.expired), &key), ImportError::Expired { .. }));
    assert!(matches!(pair(&b64(&pki.future), &key), ImportError::NotYetValid { .. }));
    assert_eq!(pair(&b64(&pki.server_only), &key), ImportError::NotClientCertificate);
    let other = KeyPair::generate().unwrap().serialize_pem();
    assert_eq!(pair(&good, &b64(&other)), ImportError::KeyMismatch);
    let (certificate_field, key_field) = ("client-certificate-data", "client-key-data");
    assert_eq!(pair("!", &key), ImportError::BadBase64 { field: certificate_field });
    assert_eq!(pair(&good, "!"), ImportError::BadBase64 { field: key_field });
    assert_eq!(pair(&key, &key), ImportError::BadPem { field: certificate_field });
    assert_eq!(pair(&good, &good), ImportError::BadPem { field: key_field });
    let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert_eq!(pair(&good, &b64(locked)), ImportError::EncryptedKey);
    let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert_eq!(pair(&good, &b64(broken)), ImportError::UnsupportedKey);
}

#[test]
fn stored_takes_the_first_of_each() {
    let pki = pki();
    let mut whole = file(&good_cluster(&pki), &json!({"token": TOKEN}));
    whole["contexts"] = json!(null);
    let second = json!({"name": "second", "user": {"exec": {}}});
    whole["users"].as_array_mut().unwrap().push(second);
    let plan = crate::write::parse_stored(whole.to_string().as_bytes()).unwrap();
    assert_eq!(plan.server.host_str(), Some("api.example"));
}

/// Fragments of a kubeconfig in arbitrary order.
const PIECES: [&str; 24] = [
    "clusters:",
    "users:",
    "contexts:",
    "- name: a\n",
    "  cluster:",
    "  user:",
    "\n",
    " ",
    "\t",
    "&a ",
    "*a",
    "<<: ",
    "server: https://h\n",
    "token: ",
    "|\n",
    ">-\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "---\n",
    "!!binary ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn never_panics_on_any_text(text in "\\PC{0,300}") {
        let _ = read_at(&text, None, NOW);
    }

    #[test]
    fn never_panics_on_disordered_yaml(picks in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = picks.into_iter().map(|pick| PIECES[pick]).collect();
        let _ = read_at(&text, None, NOW);
    }

    #[test]
    fn never_panics_on_damaged_files(at in 0usize..2_000, with in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = include_bytes!("../../tests/issued.kubeconfig").to_vec();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = with }
        let _ = crate::write::parse_stored(&bytes);
    }
}
