//! Where private keys come from: files, the store, or made anew.

use std::path::PathBuf;

use rp_base::Secret;
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::{Collection, ServiceKey, Unknown};
use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, PrivateKey};

use super::{KeyParts, KeysError, P256};

/// Largest file with a key.
const MOST_FILE: u64 = 64 * 1024;

/// The keys in files, of algorithms that are offered.
pub(super) async fn files(paths: &[PathBuf], fips: bool) -> Result<Vec<PrivateKey>, KeysError> {
    let mut keys = Vec::new();
    for path in paths {
        let failed = |cause| KeysError::File { path: path.clone(), cause };
        let size = tokio::fs::metadata(path).await.map_err(failed)?.len();
        if size > MOST_FILE {
            return Err(failed(std::io::Error::other("it is too large for a key")));
        }
        let text = Secret::new(tokio::fs::read_to_string(path).await.map_err(failed)?);
        let key = russh::keys::decode_secret_key(text.expose(), None).map_err(KeysError::Read)?;
        let offered = match key.algorithm() {
            Algorithm::Rsa { .. } => true,
            Algorithm::Ed25519 => !fips,
            algorithm => fips && algorithm == P256,
        };
        if !offered {
            return Err(KeysError::Algorithm(path.clone()));
        }
        keys.push(key);
    }
    Ok(keys)
}

/// The key of that name, made when there is none.
pub(super) async fn stored(
    parts: &KeyParts,
    id: &'static str,
    algorithm: Algorithm,
) -> Result<PrivateKey, KeysError> {
    let keys: Typed<ServiceKey> = Typed::new(SharedStore::clone(&parts.store));
    let place = format!("{}/{id}/sealed", Collection::ServiceKeys.name());
    let open = |found: &ServiceKey| {
        let plain =
            parts.keyring.open(&found.sealed, &place).map_err(|error| KeysError::Unopenable(id, error))?;
        PrivateKey::from_openssh(plain.expose()).map_err(KeysError::Key)
    };
    if let Some(found) = keys.get(id).await.map_err(KeysError::Store)? {
        return open(&found.value);
    }
    let made =
        tokio::task::spawn_blocking(move || generate(algorithm)).await.map_err(|_| KeysError::Rsa)??;
    let text = made.to_openssh(LineEnding::LF).map_err(KeysError::Key)?;
    let sealed = parts.keyring.seal(text.as_bytes(), &place).map_err(KeysError::Seal)?;
    let document =
        ServiceKey { id: id.to_owned(), sealed, created: parts.clock.now(), unknown: Unknown::new() };
    match keys.create(document).await {
        Ok(_) => {
            tracing::info!(key = id, "made a key of the SSH service");
            Ok(made)
        }
        // Another replica was first: its key it is.
        Err(StoreError::Exists { .. }) => {
            let found = keys.get(id).await.map_err(KeysError::Store)?;
            let gone = StoreError::Gone { collection: Collection::ServiceKeys };
            open(&found.ok_or(KeysError::Store(gone))?.value)
        }
        Err(error) => Err(KeysError::Store(error)),
    }
}

fn generate(algorithm: Algorithm) -> Result<PrivateKey, KeysError> {
    if !matches!(algorithm, Algorithm::Rsa { .. }) {
        let made = PrivateKey::random(&mut russh::keys::key::safe_rng(), algorithm);
        return made.map_err(KeysError::Key);
    }
    use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
    let pair = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa3072);
    let pair = pair.map_err(|_| KeysError::Rsa)?;
    let der: Pkcs8V1Der<'static> = pair.as_der().map_err(|_| KeysError::Rsa)?;
    let text = Secret::new(pem("PRIVATE KEY", der.as_ref()));
    russh::keys::decode_secret_key(text.expose(), None).map_err(KeysError::Read)
}

/// DER as PEM text.
pub(super) fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}
