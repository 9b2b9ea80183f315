//! The graph of an installation: the installer's state, sealed, in the cluster's storage account for the cluster's life
//! (`contract/installer.md` §6, `contract/cluster.md` §9).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_documents::Sealed;
use rp_seal::{Keyring, SealError, SealVersion};

use crate::state::{InstallerState, StateError};

/// The container of the account `cluster<suffix>`.
pub const CONTAINER: &str = "aro";
/// The blob in it.
pub const BLOB: &str = "graph";
/// The largest graph that is read, in bytes.
const MOST_GRAPH: usize = 64 << 20;

/// Why a graph cannot be sealed or read.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("the graph is larger than {MOST_GRAPH} bytes")]
    TooLarge,
    #[error("the graph cannot be sealed or opened: {0}")]
    Seal(#[from] SealError),
    #[error(transparent)]
    State(#[from] StateError),
}

/// The blob for the state of an installation. `document` is the id of the cluster's document: the graph of one cluster does
/// not open as that of another.
///
/// # Errors
/// It is too large for the cipher.
pub fn seal(state: &InstallerState, document: &str, keyring: &Keyring) -> Result<Vec<u8>, GraphError> {
    let sealed = keyring.seal(state.to_json().expose(), &place(document))?;
    Ok(sealed.0.into_bytes())
}

/// Reads a blob: ours, or one of the contract's two older forms, which the Go service writes and which know no cluster.
///
/// # Errors
/// It is too large, none of the keys opens it, or what is in it is no state.
pub fn open(
    blob: &[u8],
    document: &str,
    keyring: &Keyring,
) -> Result<(InstallerState, SealVersion), GraphError> {
    if blob.len() > MOST_GRAPH {
        return Err(GraphError::TooLarge);
    }
    let ours = str::from_utf8(blob).ok().filter(|text| Keyring::key_of(text).is_some());
    // The older forms are plain bytes in a blob and base64 everywhere else.
    let sealed = Sealed(ours.map_or_else(|| STANDARD.encode(blob), str::to_owned));
    let (plain, version) = keyring.open_any(&sealed, &place(document))?;
    Ok((InstallerState::parse(plain.expose())?, version))
}

fn place(document: &str) -> String {
    format!("OpenShiftClusters/{document}/graph")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    use rp_base::SystemRandom;

    use super::*;

    /// What the graphs of `tests/graphs` were sealed with: v2 by openssl, v1 by libsodium.
    fn older_keys() -> Keyring {
        let counting: Vec<u8> = (0..64).collect();
        let text = serde_json::json!({
            "current": "k1", "keys": { "k1": STANDARD.encode([7; 32]) },
            "legacy": { "v1": [STANDARD.encode(&counting[..32])], "v2": [STANDARD.encode(&counting)] },
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&path).unwrap();
        file.write_all(text.to_string().as_bytes()).unwrap();
        Keyring::open_file(&path).unwrap()
    }

    fn state() -> InstallerState {
        InstallerState::parse(br#"{"*password.KubeadminPassword":{"Password":"hush"}}"#).unwrap()
    }

    #[test]
    fn a_graph_opens_for_its_cluster_and_no_other() {
        let keyring = Keyring::generate(&SystemRandom);
        let blob = seal(&state(), "a", &keyring).unwrap();
        assert!(!String::from_utf8_lossy(&blob).contains("hush"));
        let (opened, version) = open(&blob, "a", &keyring).unwrap();
        assert_eq!(
            (opened.kubeadmin_password().unwrap().expose().as_str(), version),
            ("hush", SealVersion::V3)
        );
        assert!(matches!(open(&blob, "b", &keyring), Err(GraphError::Seal(_))));
        for damaged in [&blob[..blob.len() / 2], &[], b"{}", b"v3.k1"] {
            assert!(open(damaged, "a", &keyring).is_err());
        }
    }

    #[test]
    fn graphs_of_the_go_service_open() {
        let keyring = older_keys();
        for (blob, form) in [
            (&include_bytes!("../tests/graphs/v1")[..], SealVersion::V1),
            (&include_bytes!("../tests/graphs/v2")[..], SealVersion::V2),
        ] {
            let (opened, version) = open(blob, "a", &keyring).unwrap();
            assert_eq!(version, form);
            assert_eq!(opened.network_type().unwrap(), "OVNKubernetes");
            assert_eq!(opened.kubeadmin_password().unwrap().expose(), "abcde-fghij-klmno-pqrst");
            let mut damaged = blob.to_vec();
            damaged[40] ^= 1;
            assert!(matches!(open(&damaged, "a", &keyring), Err(GraphError::Seal(_))));
            assert!(open(blob, "a", &Keyring::generate(&SystemRandom)).is_err());
        }
    }
}
