//! The Ed25519 key that signs checkpoints (RFC 8032), and its file.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Secret, durable, sha256};

use crate::AuditError;

/// A key pair, and other public keys whose checkpoints are believed.
#[derive(Clone)]
pub struct CheckpointKey(Arc<Inner>);

struct Inner {
    pair: Ed25519KeyPair,
    known: Vec<[u8; 32]>,
}

impl fmt::Debug for CheckpointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckpointKey").field(&self.id()).finish()
    }
}

fn failed(what: &'static str) -> AuditError {
    AuditError::Key { what, cause: None }
}

fn failed_io(what: &'static str) -> impl FnOnce(io::Error) -> AuditError {
    move |cause| AuditError::Key { what, cause: Some(cause) }
}

impl CheckpointKey {
    /// A fresh key that lives with the process: tests and in-memory logs.
    ///
    /// # Errors
    /// The crypto library refuses.
    pub fn generate() -> Result<Self, AuditError> {
        Self::from_pkcs8(fresh()?.expose())
    }

    /// Reads the key of a file (PKCS #8, DER), which is made with mode 0600, whole or not at all, when there is none.
    ///
    /// # Errors
    /// The file cannot be read or made, others may read it, or it holds no Ed25519 key.
    pub fn open_or_create(path: &Path) -> Result<Self, AuditError> {
        match fs::symlink_metadata(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = fresh()?;
                // Another process made the key first; ours is dropped.
                durable::create(path, key.expose(), 0o600, &rp_base::SystemRandom)
                    .map_err(failed_io("cannot be made"))?;
            }
            Err(error) => return Err(failed_io("cannot be made")(error)),
        }
        Self::open(path)
    }

    /// Reads the key of a file (PKCS #8, DER) that no other process may read ([`rp_seal::is_private`]).
    ///
    /// # Errors
    /// The file cannot be read, others may read it, or it holds no Ed25519 key.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        if !rp_seal::is_private(&fs::metadata(path).map_err(failed_io("cannot be read"))?) {
            return Err(failed("file can be read by others; run chmod 600 on it"));
        }
        let bytes = Secret::new(fs::read(path).map_err(failed_io("cannot be read"))?);
        Self::from_pkcs8(bytes.expose())
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, AuditError> {
        let pair = Ed25519KeyPair::from_pkcs8(der).map_err(|_| failed("file holds no Ed25519 key"))?;
        Ok(Self(Arc::new(Inner { pair, known: Vec::new() })))
    }

    /// Also believes checkpoints that these public keys signed: those of other processes and former ones.
    #[must_use]
    pub fn with_known(&self, known: Vec<[u8; 32]>) -> Self {
        let seed = self.0.pair.to_pkcs8().ok().and_then(|der| Ed25519KeyPair::from_pkcs8(der.as_ref()).ok());
        match seed {
            Some(pair) => Self(Arc::new(Inner { pair, known })),
            None => self.clone(),
        }
    }

    /// The public key.
    pub fn public(&self) -> [u8; 32] {
        let mut out = [0u8; 32];
        out.copy_from_slice(self.0.pair.public_key().as_ref());
        out
    }

    /// The public key, Base 64: what `audit.known_keys` takes.
    pub fn public_text(&self) -> String {
        STANDARD.encode(self.public())
    }

    /// A short name of the public key: the first 16 hexadecimal digits of its SHA-256.
    pub fn id(&self) -> String {
        id_of(&self.public())
    }

    /// Signs; base 64.
    pub(crate) fn sign(&self, text: &str) -> String {
        STANDARD.encode(self.0.pair.sign(text.as_bytes()))
    }

    /// Whether we know the key of that name. `None`: an unknown key. `Some(false)`: the signature is not its.
    pub(crate) fn check(&self, key_id: &str, text: &str, signature: &str) -> Option<bool> {
        let own = [self.public()];
        let public = own.iter().chain(&self.0.known).find(|public| id_of(public) == key_id)?;
        let Ok(signature) = STANDARD.decode(signature) else { return Some(false) };
        Some(UnparsedPublicKey::new(&ED25519, public).verify(text.as_bytes(), &signature).is_ok())
    }
}

/// Reads a public key as [`CheckpointKey::public_text`] writes it.
pub fn public_key(text: &str) -> Option<[u8; 32]> {
    STANDARD.decode(text.trim()).ok()?.try_into().ok()
}

fn fresh() -> Result<Secret<Vec<u8>>, AuditError> {
    let document =
        Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| failed("cannot be made"))?;
    Ok(Secret::new(document.as_ref().to_vec()))
}

fn id_of(public: &[u8; 32]) -> String {
    sha256(public).to_string().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_file_is_private_and_stays_the_same_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.p8");
        let first = CheckpointKey::open_or_create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(CheckpointKey::open_or_create(&path).unwrap().id(), first.id());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(matches!(CheckpointKey::open_or_create(&path), Err(AuditError::Key { .. })));
    }

    #[test]
    fn knows_its_own_and_named_signatures_only() {
        let (a, b) = (CheckpointKey::generate().unwrap(), CheckpointKey::generate().unwrap());
        let signature = a.sign("text");
        assert_eq!(a.check(&a.id(), "text", &signature), Some(true));
        assert_eq!(a.check(&a.id(), "text!", &signature), Some(false));
        assert_eq!(b.check(&a.id(), "text", &signature), None);
        assert_eq!(b.with_known(vec![a.public()]).check(&a.id(), "text", &signature), Some(true));
        assert_eq!(a.check(&a.id(), "text", "no base 64"), Some(false));
    }
}
