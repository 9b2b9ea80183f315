//! The sealed credential of an imported cluster.

use rp_base::Secret;
use rp_documents::{Collection, Sealed};
use rp_net::Credential;
use rp_seal::{Keyring, SealError};
use serde::Deserialize;
use serde_json::json;

/// A stored credential that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("the credential cannot be opened")]
    Seal(#[source] SealError),
    #[error("the credential has not the expected shape")]
    Shape,
}

/// Seals a credential for the imported cluster of that lower-case name.
///
/// # Errors
/// The keyring cannot seal.
pub fn seal_credential(keyring: &Keyring, name: &str, credential: &Credential) -> Result<Sealed, SealError> {
    let plain = match credential {
        Credential::Certificate { chain_pem, key_pem } => {
            json!({ "chain_pem": chain_pem, "key_pem": key_pem.expose() })
        }
        Credential::Token(token) => json!({ "token": token.expose() }),
    };
    let plain = Secret::new(plain.to_string());
    keyring.seal(plain.expose().as_bytes(), &associated(name))
}

/// Opens what [`seal_credential`] sealed.
///
/// # Errors
/// Another keyring, another cluster, or damage.
pub fn open_credential(
    keyring: &Keyring,
    name: &str,
    sealed: &Sealed,
) -> Result<Credential, CredentialError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Shape {
        Certificate { chain_pem: String, key_pem: Secret<String> },
        Token { token: Secret<String> },
    }
    let plain = keyring.open(sealed, &associated(name)).map_err(CredentialError::Seal)?;
    match serde_json::from_slice(plain.expose()).map_err(|_| CredentialError::Shape)? {
        Shape::Certificate { chain_pem, key_pem } => Ok(Credential::Certificate { chain_pem, key_pem }),
        Shape::Token { token } => Ok(Credential::Token(token)),
    }
}

/// Seals the key of an imported cluster's machines (PEM).
///
/// # Errors
/// The keyring cannot seal.
pub fn seal_ssh_key(keyring: &Keyring, name: &str, pem: &Secret<String>) -> Result<Sealed, SealError> {
    keyring.seal(pem.expose().as_bytes(), &ssh_associated(name))
}

/// Opens what [`seal_ssh_key`] sealed.
///
/// # Errors
/// Another keyring, another cluster, or damage.
pub fn open_ssh_key(
    keyring: &Keyring,
    name: &str,
    sealed: &Sealed,
) -> Result<Secret<String>, CredentialError> {
    let plain = keyring.open(sealed, &ssh_associated(name)).map_err(CredentialError::Seal)?;
    let text = std::str::from_utf8(plain.expose()).map_err(|_| CredentialError::Shape)?;
    Ok(Secret::new(text.to_owned()))
}

fn ssh_associated(name: &str) -> String {
    format!("{}/{name}/ssh_key", Collection::ImportedClusters.name())
}

fn associated(name: &str) -> String {
    format!("{}/{name}/sealed", Collection::ImportedClusters.name())
}
