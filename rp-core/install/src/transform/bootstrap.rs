//! The config of the bootstrap machine, which holds all manifests of the cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Random, Timestamp};
use rp_node_config::ignition::{Config, File};
use rp_node_config::{dnsmasq, etc_hosts, mtu};
use serde_json::Value;

use super::{BootstrapLogging, TransformError, pointer};
use crate::authority::{Authority, KeyedCertificate};
use crate::facts::InstallFacts;

/// The secret from which the machine-config server has its certificate.
const SERVER_SECRET: &str = "/opt/openshift/manifests/machine-config-server-tls-secret.yaml";
/// The same for the bootstrap machine's own server.
const SERVER_FILES: [&str; 2] =
    ["/opt/openshift/tls/machine-config-server.crt", "/opt/openshift/tls/machine-config-server.key"];
/// What machines of a role are given that are made later.
const USER_DATA: [(&str, &str); 2] = [
    ("master", "/opt/openshift/openshift/99_openshift-cluster-api_master-user-data-secret.yaml"),
    ("worker", "/opt/openshift/openshift/99_openshift-cluster-api_worker-user-data-secret.yaml"),
];

/// What is added besides the names of the cluster.
#[derive(Debug)]
pub struct BootstrapAdditions<'a> {
    /// `None`: logs stay on the machine.
    pub logging: Option<&'a BootstrapLogging>,
    /// The root authority of the installer's certificates.
    pub root: &'a Authority,
    pub random: &'a dyn Random,
    pub now: Timestamp,
}

/// The changed config. The certificate of the machine-config server is signed anew only where it does not have the address
/// yet, so that a second run changes nothing.
///
/// # Errors
/// A file that the installer writes is missing or has another form; nothing can be signed.
pub fn bootstrap(
    mut config: Config,
    facts: &InstallFacts,
    additions: &BootstrapAdditions<'_>,
) -> Result<Config, TransformError> {
    dnsmasq::node_files(&facts.names, dnsmasq::Stage::Bootstrap, false).put_into(&mut config);
    etc_hosts::node_files(&facts.names).put_into(&mut config);
    if facts.large_mtu {
        mtu::node_files().put_into(&mut config);
    }
    if let Some(logging) = additions.logging {
        logging.node_files().put_into(&mut config);
    }
    for (role, path) in USER_DATA {
        point(&mut config, facts, role, path)?;
    }
    if !has_address(&config, facts)? {
        let BootstrapAdditions { root, random, now, .. } = additions;
        let names = &facts.names;
        let pair =
            root.machine_config_server(&format!("api-int.{}", names.domain), names.api_int, *random, *now)?;
        replace_server_certificate(&mut config, &pair)?;
    }
    Ok(config)
}

/// The pointer config in a secret of user data.
fn point(
    config: &mut Config,
    facts: &InstallFacts,
    role: &'static str,
    path: &'static str,
) -> Result<(), TransformError> {
    let form = || TransformError::Form { path: path.to_owned() };
    let mut secret = object(config, path)?;
    let data = secret.pointer_mut("/data/userData").ok_or_else(form)?;
    let inside = STANDARD.decode(data.as_str().ok_or_else(form)?).map_err(|_| form())?;
    let inside = pointer(Config::parse(&inside)?, role, facts.names.api_int)?;
    *data = Value::from(STANDARD.encode(inside.to_bytes()));
    put(config, path, &format!("{secret:#}\n"))
}

/// Whether the certificate of the machine-config server names the address already.
fn has_address(config: &Config, facts: &InstallFacts) -> Result<bool, TransformError> {
    let [certificate, _] = SERVER_FILES;
    let pem = text(config, certificate)?;
    let form = || TransformError::Form { path: certificate.to_owned() };
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).map_err(|_| form())?;
    let parsed = pem.parse_x509().map_err(|_| form())?;
    let names = parsed.subject_alternative_name().map_err(|_| form())?;
    let address = facts.names.api_int.octets();
    Ok(names.is_some_and(|names| {
        names.value.general_names.iter().any(|name| {
            matches!(name, x509_parser::extensions::GeneralName::IPAddress(there) if *there == address)
        })
    }))
}

fn replace_server_certificate(config: &mut Config, pair: &KeyedCertificate) -> Result<(), TransformError> {
    let KeyedCertificate { certificate, key } = pair;
    let [certificate_file, key_file] = SERVER_FILES;
    put(config, certificate_file, certificate)?;
    put(config, key_file, key.expose())?;
    let mut secret = object(config, SERVER_SECRET)?;
    let form = || TransformError::Form { path: SERVER_SECRET.to_owned() };
    let data = secret.get_mut("data").and_then(Value::as_object_mut).ok_or_else(form)?;
    data.insert("tls.crt".to_owned(), Value::from(STANDARD.encode(certificate)));
    data.insert("tls.key".to_owned(), Value::from(STANDARD.encode(key.expose())));
    put(config, SERVER_SECRET, &format!("{secret:#}\n"))
}

fn text(config: &Config, path: &'static str) -> Result<String, TransformError> {
    let file = config.file(path).ok_or(TransformError::Missing { path })?;
    String::from_utf8(file.contents()?).map_err(|_| TransformError::Form { path: path.to_owned() })
}

/// A manifest: one object as YAML.
fn object(config: &Config, path: &'static str) -> Result<Value, TransformError> {
    let text = text(config, path)?;
    // The parser's own words may quote secrets.
    serde_saphyr::from_str(&text).map_err(|_| TransformError::Form { path: path.to_owned() })
}

/// Other contents for a file that is there; its mode stays.
fn put(config: &mut Config, path: &'static str, contents: &str) -> Result<(), TransformError> {
    let mode = config.file(path).ok_or(TransformError::Missing { path })?.mode;
    config.put_file(File::text(path, mode.unwrap_or(0o600), contents));
    Ok(())
}
