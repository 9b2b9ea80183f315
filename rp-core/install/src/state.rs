//! The installer's state, `.openshift_install_state.json`: every asset that it made, by the name of its type in Go
//! (`contract/installer.md` §6.2, §6.3). It is what the graph of an installation is made of.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Secret;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::authority::KeyedCertificate;

/// The largest state that is read, in bytes; that of a usual cluster has some five MiB.
const MOST_STATE: usize = 64 << 20;

/// Why the state cannot be read. No text holds anything of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    #[error("the state of the installer is larger than {MOST_STATE} bytes")]
    TooLarge,
    #[error("the state of the installer is no JSON object, at line {line}, column {column}")]
    NoObject { line: usize, column: usize },
    #[error("entry '{0}' not found in persisted graph")]
    Missing(&'static str),
    #[error("entry '{0}' of the persisted graph has another form")]
    Form(&'static str),
}

/// The state. Entries are read leniently: their other members change with each minor version.
#[derive(Clone)]
pub struct InstallerState {
    entries: std::collections::BTreeMap<String, Box<RawValue>>,
}

/// The names of the entries and nothing of them.
impl std::fmt::Debug for InstallerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

/// A certificate and its key as the installer keeps them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CertKey {
    /// Base64 of PEM.
    cert_raw: String,
    key_raw: String,
}

impl InstallerState {
    /// Reads a state.
    ///
    /// # Errors
    /// It is too large, or no JSON object.
    pub fn parse(json: &[u8]) -> Result<Self, StateError> {
        if json.len() > MOST_STATE {
            return Err(StateError::TooLarge);
        }
        let entries = serde_json::from_slice(json)
            .map_err(|error| StateError::NoObject { line: error.line(), column: error.column() })?;
        Ok(Self { entries })
    }

    fn entry<'a, T: Deserialize<'a>>(&'a self, name: &'static str) -> Result<T, StateError> {
        let raw = self.entries.get(name).ok_or(StateError::Missing(name))?;
        serde_json::from_str(raw.get()).map_err(|_| StateError::Form(name))
    }

    /// The administrator's kubeconfig, whose server is the internal name, as JSON.
    ///
    /// # Errors
    /// The entry is missing or has another form.
    pub fn admin_kubeconfig(&self) -> Result<Secret<String>, StateError> {
        const NAME: &str = "*kubeconfig.AdminInternalClient";
        let entry: Map<String, Value> = self.entry(NAME)?;
        match entry.get("Config") {
            Some(config @ Value::Object(_)) => Ok(Secret::new(config.to_string())),
            _ => Err(StateError::Form(NAME)),
        }
    }

    /// The Ignition config that masters begin with, as the installer made it: it points at the server of their
    /// configuration by the internal name.
    ///
    /// # Errors
    /// The entry is missing or has another form.
    pub fn master_ignition(&self) -> Result<Secret<Vec<u8>>, StateError> {
        const NAME: &str = "*machine.Master";
        let entry: Value = self.entry(NAME)?;
        let data = entry.pointer("/File/Data").and_then(Value::as_str).ok_or(StateError::Form(NAME))?;
        STANDARD.decode(data).map(Secret::new).map_err(|_| StateError::Form(NAME))
    }

    /// What signs clients of the API server.
    ///
    /// # Errors
    /// The entry is missing or has another form.
    pub fn admin_kubeconfig_signer(&self) -> Result<KeyedCertificate, StateError> {
        self.certificate("*tls.AdminKubeConfigSignerCertKey")
    }

    /// What signs the certificate of the machine-config server.
    ///
    /// # Errors
    /// The entry is missing or has another form.
    pub fn root(&self) -> Result<KeyedCertificate, StateError> {
        self.certificate("*tls.RootCA")
    }

    fn certificate(&self, name: &'static str) -> Result<KeyedCertificate, StateError> {
        let pair: CertKey = self.entry(name)?;
        let text = |base64: &str| {
            let bytes = STANDARD.decode(base64).ok()?;
            String::from_utf8(bytes).ok()
        };
        match (text(&pair.cert_raw), text(&pair.key_raw)) {
            (Some(certificate), Some(key)) => Ok(KeyedCertificate { certificate, key: Secret::new(key) }),
            _ => Err(StateError::Form(name)),
        }
    }

    /// The password of the user `kubeadmin`.
    ///
    /// # Errors
    /// The entry is missing or has another form.
    pub fn kubeadmin_password(&self) -> Result<Secret<String>, StateError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Password {
            password: String,
        }
        self.entry("*password.KubeadminPassword").map(|entry: Password| Secret::new(entry.password))
    }

    /// `OVNKubernetes` or `OpenShiftSDN`.
    ///
    /// # Errors
    /// The entry is missing or has another form.
    pub fn network_type(&self) -> Result<String, StateError> {
        const NAME: &str = "*installconfig.InstallConfig";
        let entry: Value = self.entry(NAME)?;
        let kind = entry.pointer("/config/networking/networkType").and_then(Value::as_str);
        kind.map(str::to_owned).ok_or(StateError::Form(NAME))
    }

    /// The whole state as JSON, for the graph.
    pub fn to_json(&self) -> Secret<Vec<u8>> {
        // Text keys and what was JSON before: it can be written.
        Secret::new(serde_json::to_vec(&self.entries).unwrap_or_default())
    }
}
