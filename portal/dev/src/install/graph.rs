//! What the installer of the region makes for a cluster, in the form of an installer's state: authorities, the
//! administrator's kubeconfig, a password.

use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rp_base::{Random, Secret, Timestamp};
use rp_install::authority::{Authority, Client, KeyedCertificate};
use rp_install::state::InstallerState;
use serde_json::{Value, json};

const DAY: Duration = Duration::from_hours(24);
const TEN_YEARS: Duration = Duration::from_hours(24 * 3650);

/// The state of a new cluster.
pub(super) fn new(domain: &str, random: &dyn Random, now: Timestamp) -> anyhow::Result<InstallerState> {
    of(domain, &authority("root-ca", now)?, &authority("admin-kubeconfig-signer", now)?, random, now)
}

/// The state of a cluster that has these authorities.
pub(super) fn of(
    domain: &str,
    root: &KeyedCertificate,
    signer: &KeyedCertificate,
    random: &dyn Random,
    now: Timestamp,
) -> anyhow::Result<InstallerState> {
    let admin = Client { user: "system:admin", organisation: Some("system:masters"), validity: TEN_YEARS };
    let admin = Authority::read("the signer of clients", signer)?.client(admin, random, now)?;
    let state = json!({
        "*tls.RootCA": pair(root),
        "*tls.AdminKubeConfigSignerCertKey": pair(signer),
        "*kubeconfig.AdminInternalClient": { "Config": kubeconfig(domain, root, &admin) },
        "*password.KubeadminPassword": { "Password": password(random) },
        "*installconfig.InstallConfig": { "config": { "networking": { "networkType": "OVNKubernetes" } } },
    });
    InstallerState::parse(state.to_string().as_bytes()).context("the state of the installer")
}

fn kubeconfig(domain: &str, root: &KeyedCertificate, admin: &KeyedCertificate) -> Value {
    let name = domain.split('.').next().unwrap_or_default();
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": {
            "server": format!("https://api-int.{domain}:6443"),
            "certificate-authority-data": STANDARD.encode(&root.certificate),
        } }],
        "users": [{ "name": "admin", "user": {
            "client-certificate-data": STANDARD.encode(&admin.certificate),
            "client-key-data": STANDARD.encode(admin.key.expose()),
        } }],
        "contexts": [{ "name": "admin", "context": { "cluster": name, "user": "admin" } }],
        "current-context": "admin",
    })
}

fn pair(of: &KeyedCertificate) -> Value {
    json!({ "CertRaw": STANDARD.encode(&of.certificate), "KeyRaw": STANDARD.encode(of.key.expose()) })
}

/// For ten years, with a beginning before any clock that may be behind ours.
fn authority(name: &str, now: Timestamp) -> Result<KeyedCertificate, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "openshift");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = (now - DAY).to_datetime();
    params.not_after = (now + TEN_YEARS + DAY).to_datetime();
    Ok(KeyedCertificate {
        certificate: params.self_signed(&key)?.pem(),
        key: Secret::new(key.serialize_pem()),
    })
}

/// Four groups of five characters, as the installer's.
fn password(random: &dyn Random) -> String {
    const ALPHABET: &[u8] = b"23456789ABCDEFGHIJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz";
    let fair = 256 - 256 % ALPHABET.len();
    let mut letters = Vec::new();
    while letters.len() < 20 {
        let mut bytes = [0u8; 32];
        random.fill(&mut bytes);
        let usable = bytes.into_iter().map(usize::from).filter(|byte| *byte < fair);
        letters.extend(usable.filter_map(|byte| ALPHABET.get(byte % ALPHABET.len())).copied());
    }
    let groups = letters.chunks(5).take(4).map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join("-")
}
