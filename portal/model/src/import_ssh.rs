//! The SSH section of an import: user, private key, machines and their host keys.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use portal_session::fault::Fault;
use proxy::ssh::host_keys::normal;
use proxy::ssh::keys::machine_key;
use rp_access::imports::seal_ssh_key;
use rp_base::text::clean;
use rp_base::{Secret, chain};
use rp_documents::{ImportedMachine, ImportedSsh};
use rp_net::{Networks, SshKey, SshTarget};
use rp_seal::Keyring;
use schemars::JsonSchema;
use serde::Deserialize;

/// Machines of one import.
const MOST_MACHINES: usize = 500;
/// Host keys of one machine.
const MOST_KEYS: usize = 16;
/// Longest private key, bytes.
const MOST_PRIVATE: usize = 32 * 1024;
const MOST_NAME: usize = 253;
const PORT: u16 = 22;

/// The SSH section of an import request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportSshRequest {
    user: String,
    /// PEM, without a passphrase.
    private_key: Secret<String>,
    machines: Vec<ImportMachineRequest>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImportMachineRequest {
    name: String,
    address: String,
    #[serde(default = "port")]
    port: u16,
    #[serde(default)]
    host_keys: Vec<String>,
}

const fn port() -> u16 {
    PORT
}

/// Why the section is invalid.
#[derive(Debug)]
pub enum ImportSshError {
    /// A sentence.
    Input(String),
    Ours,
}

impl From<ImportSshError> for Fault {
    fn from(wrong: ImportSshError) -> Self {
        match wrong {
            ImportSshError::Input(what) => {
                Self::new(http::StatusCode::UNPROCESSABLE_ENTITY, "bad_ssh", rp_documents::Side::You, what)
            }
            ImportSshError::Ours => Self::internal(),
        }
    }
}

/// Reads the section as JSON, as the page takes it.
pub fn read(text: &str) -> Result<ImportSshRequest, ImportSshError> {
    serde_json::from_str(text).map_err(|error| {
        // The parser's message may quote its input, which may be the private key.
        ImportSshError::Input(format!(
            "The SSH section is no JSON with user, private_key and machines (line {}, column {}).",
            error.line(),
            error.column()
        ))
    })
}

/// Checks all of it and seals the key.
pub fn checked(
    keyring: &Keyring,
    networks: &Networks,
    name: &str,
    asked: ImportSshRequest,
) -> Result<ImportedSsh, ImportSshError> {
    let wrong = |what: &str| ImportSshError::Input(what.to_owned());
    if !is_user(&asked.user) {
        return Err(wrong("The SSH user has 1 to 32 letters, digits, dots, dashes and underscores."));
    }
    private(&asked.private_key)?;
    if asked.machines.is_empty() || asked.machines.len() > MOST_MACHINES {
        return Err(ImportSshError::Input(format!("Name 1 to {MOST_MACHINES} machines.")));
    }
    let mut names = HashSet::new();
    let mut machines = Vec::with_capacity(asked.machines.len());
    for machine in asked.machines {
        let machine = checked_machine(networks, machine)?;
        if !names.insert(machine.name.to_ascii_lowercase()) {
            return Err(ImportSshError::Input(format!("Two machines are called {}.", machine.name)));
        }
        machines.push(machine);
    }
    let ssh_key = seal_ssh_key(keyring, name, &asked.private_key).map_err(|error| {
        tracing::error!(error = %chain(&error), "an SSH key cannot be sealed");
        ImportSshError::Ours
    })?;
    Ok(ImportedSsh { user: asked.user, ssh_key, machines })
}

fn is_user(user: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (1..=32).contains(&user.len()) && user.bytes().all(good) && !user.starts_with(['-', '.'])
}

fn private(key: &Secret<String>) -> Result<(), ImportSshError> {
    let unreadable = || {
        ImportSshError::Input("The private key is no PEM of an SSH key, or it has a passphrase.".to_owned())
    };
    if key.expose().len() > MOST_PRIVATE {
        return Err(unreadable());
    }
    let target = SshTarget { user: String::new(), key: SshKey::Pem(key.clone()), machines: Vec::new() };
    machine_key(&target).map(drop).map_err(|_| unreadable())
}

fn is_host(host: &str) -> bool {
    (1..=MOST_NAME).contains(&host.len())
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))
        && host.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn checked_machine(
    networks: &Networks,
    machine: ImportMachineRequest,
) -> Result<ImportedMachine, ImportSshError> {
    let ImportMachineRequest { name, address, port, host_keys } = machine;
    let called = clean(&name, 80);
    if !is_host(&name) {
        return Err(ImportSshError::Input(format!(
            "{called} is no name of a machine: letters, digits, dashes and dots."
        )));
    }
    if port == 0 {
        return Err(ImportSshError::Input(format!("The port of {called} is 0.")));
    }
    // Host names are resolved, and their addresses checked, at each dial.
    match address.parse::<IpAddr>() {
        Ok(ip) => networks.check(SocketAddr::new(ip, port)).map_err(|why| {
            ImportSshError::Input(format!("The address of {called} may not be dialled: {why}."))
        })?,
        Err(_) if is_host(&address) => {}
        Err(_) => {
            return Err(ImportSshError::Input(format!(
                "The address of {called} is no host name and no IP address."
            )));
        }
    }
    if host_keys.len() > MOST_KEYS {
        return Err(ImportSshError::Input(format!("{called} has more than {MOST_KEYS} host keys.")));
    }
    let keys: Option<Vec<String>> = host_keys.iter().map(|line| normal(line.trim())).collect();
    let host_keys = keys.ok_or_else(|| {
        ImportSshError::Input(format!(
            "A host key of {called} is no line such as ssh-ed25519 AAAA…, with or without @cert-authority before it."
        ))
    })?;
    Ok(ImportedMachine { name, address, port, host_keys })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rp_base::SystemRandom;
    use serde_json::{Value, json};

    use super::*;

    const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\n\
        b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n\
        QyNTUxOQAAACCzPq7zfqLffKoBDe/eo04kH2XxtSmk9D7RQyf1xUqrYgAAAJgAIAxdACAM\n\
        XQAAAAtzc2gtZWQyNTUxOQAAACCzPq7zfqLffKoBDe/eo04kH2XxtSmk9D7RQyf1xUqrYg\n\
        AAAEC2BsIi0QwW2uFscKTUUXNHLsYX4FxlaSDSblbAj7WR7bM+rvN+ot98qgEN796jTiQf\n\
        ZfG1KaT0PtFDJ/XFSqtiAAAAEHVzZXJAZXhhbXBsZS5jb20BAgMEBQ==\n\
        -----END OPENSSH PRIVATE KEY-----\n";
    const HOST_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    fn networks() -> Networks {
        Networks::new(vec!["10.0.0.0/8".parse().unwrap()], Vec::new())
    }

    fn section() -> Value {
        json!({"user": "core", "private_key": KEY, "machines": [
            {"name": "node-0", "address": "10.0.0.7", "host_keys": [format!("{HOST_KEY} a comment")]},
            {"name": "node-1", "address": "node-1.example", "port": 2022}]})
    }

    fn check(section: &Value) -> Result<ImportedSsh, ImportSshError> {
        checked(&Keyring::generate(&SystemRandom), &networks(), "lab", read(&section.to_string())?)
    }

    #[test]
    fn a_good_section_is_kept_with_its_key_sealed() {
        let kept = check(&section()).unwrap();
        assert_eq!((kept.user.as_str(), kept.machines.len()), ("core", 2));
        assert_eq!(kept.machines[0].host_keys, [HOST_KEY]);
        assert_eq!((kept.machines[0].port, kept.machines[1].port), (22, 2022));
        assert!(!serde_json::to_string(&kept).unwrap().contains("BEGIN"));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_a_sentence() {
        let cases: [(&str, Value); 13] = [
            ("/user", json!("ro ot")),
            ("/user", json!("")),
            ("/private_key", json!("not a key")),
            ("/private_key", json!("a".repeat(100_000))),
            ("/machines", json!([])),
            ("/machines/1/name", json!("node-0")),
            ("/machines/0/name", json!("../x")),
            ("/machines/0/name", json!("a;b")),
            ("/machines/0/address", json!("192.0.2.1")),
            ("/machines/0/address", json!("169.254.169.254")),
            ("/machines/0/address", json!("a b")),
            ("/machines/1/port", json!(0)),
            ("/machines/0/host_keys", json!(["ssh-dss AAAA"])),
        ];
        for (place, value) in cases {
            let mut section = section();
            *section.pointer_mut(place).unwrap() = value.clone();
            match check(&section) {
                Err(ImportSshError::Input(what)) => {
                    assert!(what.ends_with('.') && !what.contains("BEGIN"), "{what}");
                }
                other => panic!("{place} {value}: {other:?}"),
            }
        }
        let many: Vec<Value> =
            (0..=MOST_MACHINES).map(|n| json!({"name": format!("n{n}"), "address": "10.0.0.1"})).collect();
        let mut crowd = section();
        crowd["machines"] = json!(many);
        assert!(matches!(check(&crowd), Err(ImportSshError::Input(_))));
    }

    proptest! {
        #[test]
        fn hostile_sections_never_panic_and_tell_no_key(
            user in "\\PC{0,40}", name in "\\PC{0,40}", address in "\\PC{0,40}", key in "\\PC{0,80}", port in any::<u16>()
        ) {
            let mut section = section();
            section["user"] = json!(user);
            section["machines"][0] = json!({"name": name, "address": address, "port": port, "host_keys": [key]});
            match check(&section) {
                Err(ImportSshError::Input(what)) => prop_assert!(!what.contains("b3BlbnNzaC1")),
                Err(ImportSshError::Ours) => prop_assert!(false),
                Ok(kept) => prop_assert!(is_user(&kept.user) && is_host(&kept.machines[0].name)),
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
            let _ = read(&text);
        }
    }
}
