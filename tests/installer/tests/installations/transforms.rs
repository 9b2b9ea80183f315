//! From the installer's assets to those that machines get.

use std::net::Ipv4Addr;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use rcgen::KeyPair;
use rp_base::{Secret, SystemRandom, Timestamp};
use rp_install::authority::{Authority, AuthorityError, KeyedCertificate};
use rp_install::state::{InstallerState, StateError};
use rp_install::transform::{
    BootstrapAdditions, BootstrapLogging, TransformError, bootstrap, master_pointer,
};
use rp_node_config::ignition::Config;
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::public_key::PublicKey;

use tests_installer::{assets, inputs};

const DOMAIN: &str = "shop.eastus.aroapp.example";

/// `bootstrap.ign` of an authority, with the manifests that we change.
fn bootstrap_of(root: &KeyedCertificate) -> Value {
    let manifests = assets::manifests(root, DOMAIN);
    let changed = manifests.into_iter().filter(|(path, _)| path.contains("secret"));
    let files = changed.map(|(path, text)| (format!("/opt/openshift/{path}"), text)).collect();
    assets::bootstrap(&files, &state_of(root)).unwrap()
}

fn state_of(root: &KeyedCertificate) -> Value {
    assets::state(root, DOMAIN, &json!({ "networking": { "networkType": "OVNKubernetes" } }))
}

fn read(value: &Value) -> Config {
    Config::parse(value.to_string().as_bytes()).unwrap()
}

fn text(config: &Config, path: &str) -> String {
    String::from_utf8(config.file(path).unwrap().contents().unwrap()).unwrap()
}

fn logging() -> BootstrapLogging {
    let text = str::to_owned;
    BootstrapLogging {
        mdsd_image: text("arosvc.azurecr.io/mdsd:1"),
        fluentbit_image: text("arosvc.azurecr.io/fluentbit:1"),
        environment: text("Test"),
        account: text("account"),
        namespace: text("namespace\nMONITORING_ROLE=rp"),
        config_version: text("1.0"),
        region: text("eastus"),
        tenant: text("eastus"),
        certificate: Secret::new(text("PEM")),
        resource_id: text("/subscriptions/s"),
        subscription_id: text("s"),
        resource_group: text("g"),
        resource_name: text("Shop"),
    }
}

/// The changed bootstrap config of an authority with that key.
fn changed(root: &KeyedCertificate, config: Config) -> Result<Config, TransformError> {
    let (logging, authority) = (logging(), Authority::read("root", root).unwrap());
    let additions = BootstrapAdditions {
        logging: Some(&logging),
        root: &authority,
        random: &SystemRandom,
        now: Timestamp::from_seconds(1_790_000_000),
    };
    bootstrap(config, &inputs::facts(), &additions)
}

#[test]
fn the_bootstrap_machine_finds_everything_by_address() {
    for algorithm in [&rcgen::PKCS_RSA_SHA256, &rcgen::PKCS_ECDSA_P256_SHA256] {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let root = assets::authority(&key);
        let before = read(&bootstrap_of(&root));
        let after = changed(&root, before.clone()).unwrap();
        for role in ["master", "worker"] {
            let path =
                format!("/opt/openshift/openshift/99_openshift-cluster-api_{role}-user-data-secret.yaml");
            let secret: Value = serde_json::from_str(&text(&after, &path)).unwrap();
            assert_eq!(secret["data"]["disableTemplating"], STANDARD.encode("true"));
            let inside = STANDARD.decode(secret["data"]["userData"].as_str().unwrap()).unwrap();
            let inside: Value = serde_json::from_slice(&inside).unwrap();
            let mut expected = assets::pointer(role, DOMAIN);
            expected["ignition"]["config"]["merge"][0]["source"] =
                format!("https://10.0.0.5:22623/config/{role}").into();
            assert_eq!(inside, expected);
        }
        certificate_names_the_address(&root, &after);
        // What is not ours stays.
        let json = after.to_json();
        assert_eq!(json["passwd"], before.to_json()["passwd"]);
        assert_eq!(text(&after, "/etc/motd"), "bootstrap\n");
        let units: Vec<_> = after.systemd.units.iter().map(|unit| unit.name.as_str()).collect();
        assert_eq!(
            units,
            [
                "bootkube.service",
                "dnsmasq.service",
                "aro-etchosts-resolver.service",
                "mdsd.service",
                "fluentbit.service"
            ]
        );
        // A value begins no line of its own.
        assert!(
            text(&after, "/etc/mdsd.d/mdsd.env")
                .contains("\nMONITORING_GCS_NAMESPACE=namespaceMONITORING_ROLE=rp\n")
        );
        // Once more changes nothing.
        assert_eq!(changed(&root, after.clone()).unwrap().to_bytes(), after.to_bytes());
    }
}

fn certificate_names_the_address(root: &KeyedCertificate, config: &Config) {
    let pem = text(config, "/opt/openshift/tls/machine-config-server.crt");
    let secret = text(config, "/opt/openshift/manifests/machine-config-server-tls-secret.yaml");
    let secret: Value = serde_json::from_str(&secret).unwrap();
    assert_eq!(secret["data"]["tls.crt"], STANDARD.encode(&pem));
    assert_eq!(secret["metadata"]["name"], "machine-config-server-tls");
    let key = text(config, "/opt/openshift/tls/machine-config-server.key");
    assert_eq!(secret["data"]["tls.key"], STANDARD.encode(&key));
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).unwrap();
    let certificate = pem.parse_x509().unwrap();
    let (_, root) = x509_parser::pem::parse_x509_pem(root.certificate.as_bytes()).unwrap();
    let (_, root) = X509Certificate::from_der(&root.contents).unwrap();
    let algorithm: &dyn VerificationAlgorithm = match root.public_key().parsed().unwrap() {
        PublicKey::RSA(_) => &RSA_PKCS1_2048_8192_SHA256,
        _ => &ECDSA_P256_SHA256_ASN1,
    };
    UnparsedPublicKey::new(algorithm, &root.public_key().subject_public_key.data)
        .verify(certificate.tbs_certificate.as_ref(), &certificate.signature_value.data)
        .unwrap();
    assert_eq!(certificate.issuer().as_raw(), root.subject().as_raw());
    assert_eq!(certificate.subject().to_string(), "CN=system:machine-config-server");
    let names: Vec<_> = certificate
        .subject_alternative_name()
        .unwrap()
        .unwrap()
        .value
        .general_names
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(names.iter().any(|name| name.contains("api-int.shop.eastus.aroapp.example")), "{names:?}");
    assert!(names.iter().any(|name| name.contains("0a:00:00:05") || name.contains("10.0.0.5")), "{names:?}");
    assert_eq!(
        KeyPair::from_pem(&key).unwrap().public_key_raw(),
        certificate.public_key().subject_public_key.data.as_ref()
    );
}

#[test]
fn assets_of_another_form_are_refused_without_showing_them() {
    let root = assets::authority(&KeyPair::generate().unwrap());
    let whole = bootstrap_of(&root);
    let files = whole["storage"]["files"].as_array().unwrap().len();
    for missing in assets::UNTOUCHED..files {
        let mut part = whole.clone();
        part["storage"]["files"].as_array_mut().unwrap().remove(missing);
        let error = changed(&root, read(&part)).unwrap_err();
        assert!(matches!(error, TransformError::Missing { .. }), "{error}");
    }
    for wrong in assets::UNTOUCHED..files {
        let mut part = whole.clone();
        part["storage"]["files"][wrong]["contents"]["source"] = "data:,SECRET:%20[".into();
        // The key is written and never read.
        let Err(error) = changed(&root, read(&part)) else { continue };
        let text = format!("{error} {error:?}");
        assert!(matches!(error, TransformError::Form { .. }) && !text.contains("SECRET"), "{text}");
    }
    let broken = KeyedCertificate { key: Secret::new("SECRET".to_owned()), ..root.clone() };
    let error = Authority::read("root", &broken).unwrap_err();
    assert!(matches!(error, AuthorityError::Key("root")) && !format!("{error:?}").contains("SECRET"));
    let broken = KeyedCertificate { certificate: "SECRET".to_owned(), ..root };
    assert!(matches!(Authority::read("root", &broken), Err(AuthorityError::Certificate("root"))));
}

#[test]
fn the_state_has_what_the_service_needs() {
    let root = assets::authority(&KeyPair::generate().unwrap());
    let stored = state_of(&root);
    let state = InstallerState::parse(stored.to_string().as_bytes()).unwrap();
    assert_eq!(state.kubeadmin_password().unwrap().expose(), "abcde-fghij-klmno-pqrst");
    assert_eq!(state.network_type().unwrap(), "OVNKubernetes");
    let kubeconfig: Value = serde_json::from_str(state.admin_kubeconfig().unwrap().expose()).unwrap();
    assert_eq!(kubeconfig, stored["*kubeconfig.AdminInternalClient"]["Config"]);
    let found = state.root().unwrap();
    assert_eq!((&found.certificate, found.key.expose()), (&root.certificate, root.key.expose()));
    for authority in [state.root(), state.admin_kubeconfig_signer()] {
        Authority::read("an authority", &authority.unwrap()).unwrap();
    }
    let master: Value = serde_json::from_slice(state.master_ignition().unwrap().expose()).unwrap();
    assert_eq!(master, assets::pointer("master", DOMAIN));
    let given =
        master_pointer(state.master_ignition().unwrap().expose(), Ipv4Addr::new(10, 0, 0, 5)).unwrap();
    let given: Value = serde_json::from_slice(&given).unwrap();
    assert_eq!(given["ignition"]["config"]["merge"][0]["source"], "https://10.0.0.5:22623/config/master");
    let again: Value = serde_json::from_slice(state.to_json().expose()).unwrap();
    assert_eq!(again, stored);
    assert!(!format!("{state:?}").contains("abcde"));
}

#[test]
fn a_state_that_is_missing_something_names_it() {
    let state = |text: &str| InstallerState::parse(text.as_bytes());
    assert_eq!(state("{").unwrap_err(), StateError::NoObject { line: 1, column: 1 });
    assert!(matches!(state("[]"), Err(StateError::NoObject { .. })));
    let empty = state("{}").unwrap();
    assert_eq!(
        empty.network_type().unwrap_err().to_string(),
        "entry '*installconfig.InstallConfig' not found in persisted graph"
    );
    let odd = state(
        r#"{"*tls.RootCA":{"CertRaw":"SECRET!","KeyRaw":7},"*password.KubeadminPassword":{"Password":["SECRET"]}}"#,
    );
    let odd = odd.unwrap();
    for error in [odd.root().unwrap_err(), odd.kubeadmin_password().unwrap_err()] {
        assert!(matches!(error, StateError::Form(_)) && !error.to_string().contains("SECRET"));
    }
}

#[test]
fn the_address_is_a_name_and_an_address() {
    let root = Authority::read("root", &assets::authority(&KeyPair::generate().unwrap())).unwrap();
    let host = "api-int.c.example";
    let now = Timestamp::from_seconds(1_790_000_000);
    let one = root.machine_config_server(host, Ipv4Addr::new(10, 0, 0, 5), &SystemRandom, now).unwrap();
    let two = root.machine_config_server(host, Ipv4Addr::new(10, 0, 0, 5), &SystemRandom, now).unwrap();
    assert_ne!(one.certificate, two.certificate);
    assert!(!format!("{one:?}").contains("PRIVATE KEY"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_state_makes_it_panic(text in "\\PC{0,200}") {
        if let Ok(state) = InstallerState::parse(text.as_bytes()) {
            let _ = (state.root(), state.admin_kubeconfig(), state.network_type(), state.kubeadmin_password());
        }
    }
}
