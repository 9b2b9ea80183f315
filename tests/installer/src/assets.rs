//! Assets of the shapes that the installer writes, with real keys.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue, IsCa, KeyPair, KeyUsagePurpose,
};
use rp_base::{Clock as _, Secret, SystemClock, SystemRandom};
use rp_install::authority::{Authority, Client, KeyedCertificate};
use serde_json::{Value, json};

/// Entries of the state: who signs clients of the API server, the administrator's kubeconfig, and the certificates that the
/// server shows inside the network and to customers.
const SIGNER: &str = "*tls.AdminKubeConfigSignerCertKey";
const ADMIN: &str = "*kubeconfig.AdminInternalClient";
const INTERNAL: &str = "*tls.KubeAPIServerInternalLBServerCertKey";
const EXTERNAL: &str = "*tls.KubeAPIServerExternalLBServerCertKey";
/// How many files of `bootstrap.ign` are no concern of ours; they are the first.
pub const UNTOUCHED: usize = 7;
const SERVER_SECRET: &str = "manifests/machine-config-server-tls-secret.yaml";

/// The root authority as the installer makes one.
pub fn authority(key: &KeyPair) -> KeyedCertificate {
    named_authority("root-ca", key)
}

/// An authority as the installer makes one: its name has an organisational unit, in printable strings.
fn named_authority(name: &str, key: &KeyPair) -> KeyedCertificate {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in [(DnType::OrganizationalUnitName, "openshift"), (DnType::CommonName, name)] {
        params.distinguished_name.push(kind, DnValue::PrintableString(value.try_into().unwrap()));
    }
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let certificate = params.self_signed(key).unwrap().pem();
    KeyedCertificate { certificate, key: Secret::new(key.serialize_pem()) }
}

/// The pointer config of a role.
pub fn pointer(role: &str, domain: &str) -> Value {
    json!({ "ignition": {
        "version": "3.2.0",
        "config": { "merge": [{ "source": format!("https://api-int.{domain}:22623/config/{role}") }] },
        "security": { "tls": { "certificateAuthorities": [{ "source": "data:,CA" }] } },
    } })
}

/// The manifests that we change or replace, by their paths in the installer's folder, as YAML.
pub fn manifests(root: &KeyedCertificate, domain: &str) -> BTreeMap<String, String> {
    let base64 = |text: &str| STANDARD.encode(text);
    let mut all = BTreeMap::from([
        (
            "manifests/cvo-overrides.yaml".to_owned(),
            "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata:\n  name: version\nspec:\n  channel: stable-4.20\n  clusterID: 11111111-2222-4333-8444-555555555555\n".to_owned(),
        ),
        (
            "manifests/cluster-dns-02-config.yml".to_owned(),
            format!("apiVersion: config.openshift.io/v1\nkind: DNS\nmetadata:\n  name: cluster\nspec:\n  baseDomain: {domain}\n  privateZone:\n    id: zone\n"),
        ),
        (
            SERVER_SECRET.to_owned(),
            format!(
                "apiVersion: v1\nkind: Secret\nmetadata:\n  name: machine-config-server-tls\n  namespace: openshift-machine-config-operator\ntype: Opaque\ndata:\n  tls.crt: {}\n  tls.key: {}\n",
                base64(&root.certificate),
                base64(root.key.expose()),
            ),
        ),
    ]);
    for role in ["master", "worker"] {
        let path = format!("openshift/99_openshift-cluster-api_{role}-user-data-secret.yaml");
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {role}-user-data\n  namespace: openshift-machine-api\ntype: Opaque\ndata:\n  disableTemplating: {}\n  userData: {}\n",
            base64("true"),
            base64(&pointer(role, domain).to_string()),
        );
        all.insert(path, text);
    }
    all
}

/// `bootstrap.ign` with these files, the servers' certificates of the state, what the API server accepts as authority of
/// clients, and a unit and a file that are no concern of ours.
///
/// # Errors
/// The state has no authority.
pub fn bootstrap(files: &BTreeMap<String, String>, state: &Value) -> Result<Value> {
    let raw = |entry: &str, member: &str| -> Result<String> {
        let text = state[entry][member].as_str().context("the state has no authority")?;
        Ok(String::from_utf8(STANDARD.decode(text)?)?)
    };
    let tls = |name: &str, text: &str| file(&format!("/opt/openshift/tls/{name}"), text);
    let mut all = vec![
        file("/etc/motd", "bootstrap\n"),
        file("/opt/openshift/auth/kubeconfig", &state[ADMIN]["Config"].to_string()),
        tls("admin-kubeconfig-ca-bundle.crt", &raw(SIGNER, "CertRaw")?),
        tls("kube-apiserver-internal-lb-server.crt", &raw(INTERNAL, "CertRaw")?),
        tls("kube-apiserver-internal-lb-server.key", &raw(INTERNAL, "KeyRaw")?),
        tls("kube-apiserver-lb-server.crt", &raw(EXTERNAL, "CertRaw")?),
        tls("kube-apiserver-lb-server.key", &raw(EXTERNAL, "KeyRaw")?),
        tls("machine-config-server.crt", &raw("*tls.RootCA", "CertRaw")?),
        tls("machine-config-server.key", &raw("*tls.RootCA", "KeyRaw")?),
    ];
    all.extend(files.iter().map(|(path, text)| file(path, text)));
    Ok(json!({
        "ignition": { "version": "3.2.0" },
        "passwd": { "users": [{ "name": "core", "sshAuthorizedKeys": ["ssh-rsa AAAA"] }] },
        "storage": { "files": all },
        "systemd": { "units": [{ "name": "bootkube.service", "contents": "[Service]\n" }] },
    }))
}

/// A file of an Ignition config.
fn file(path: &str, text: &str) -> Value {
    json!({
        "path": path, "mode": 420, "overwrite": true, "user": { "name": "root" },
        "contents": { "source": format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(text)) },
    })
}

/// `.openshift_install_state.json` with the entries that are read, and some that are not.
pub fn state(root: &KeyedCertificate, domain: &str, config: &Value) -> Value {
    let now = SystemClock.now();
    let new = |name: &str| named_authority(name, &KeyPair::generate().unwrap());
    let (signer, servers) = (new("admin-kubeconfig-signer"), new("kube-apiserver-lb-signer"));
    let lb_signer = Authority::read("servers", &servers).unwrap();
    let server = |host: &str| {
        let host = format!("{host}.{domain}");
        pair(&lb_signer.machine_config_server(&host, Ipv4Addr::LOCALHOST, &SystemRandom, now).unwrap())
    };
    let client = Client {
        user: "system:admin",
        organisation: Some("system:masters"),
        validity: Duration::from_hours(87600),
    };
    let admin = Authority::read("signer", &signer).unwrap().client(client, &SystemRandom, now).unwrap();
    json!({
        "*tls.RootCA": pair(root),
        SIGNER: pair(&signer),
        INTERNAL: server("api-int"),
        EXTERNAL: server("api"),
        ADMIN: {
            "Config": kubeconfig(domain, &servers.certificate, &admin),
            "File": { "Filename": "auth/kubeconfig", "Data": "AAAA" },
        },
        "*machine.Master": {
            "Config": pointer("master", domain),
            "File": { "Filename": "master.ign", "Data": STANDARD.encode(pointer("master", domain).to_string()) },
        },
        "*password.KubeadminPassword": { "Password": "abcde-fghij-klmno-pqrst", "PasswordHash": "AAAA" },
        "*installconfig.InstallConfig": { "config": config },
        "*installconfig.ClusterID": { "UUID": "u", "InfraID": "i", "Domain": domain },
    })
}

/// The administrator's, as the installer writes it.
fn kubeconfig(domain: &str, authority: &str, admin: &KeyedCertificate) -> Value {
    let name = domain.split('.').next().unwrap_or_default();
    json!({
        "clusters": [{ "name": name, "cluster": {
            "server": format!("https://api-int.{domain}:6443"),
            "certificate-authority-data": STANDARD.encode(authority),
        } }],
        "users": [{ "name": "admin", "user": {
            "client-certificate-data": STANDARD.encode(&admin.certificate),
            "client-key-data": STANDARD.encode(admin.key.expose()),
        } }],
        "contexts": [{ "name": "admin", "context": { "cluster": name, "user": "admin" } }],
        "current-context": "admin",
        "preferences": {},
    })
}

fn pair(of: &KeyedCertificate) -> Value {
    json!({
        "CertRaw": STANDARD.encode(&of.certificate), "KeyRaw": STANDARD.encode(of.key.expose()),
        "FileList": null,
    })
}
