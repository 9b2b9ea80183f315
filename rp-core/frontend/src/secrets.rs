//! A stored cluster's secrets: open for the length of a request, sealed in the store (`contract/api.md` §1.3).

use rp_documents::cluster::{ClusterSecret, Edge};
use rp_documents::{ClusterDocument, OpenShiftCluster, Sealed};
use rp_seal::Keyring;

use crate::fault::Fault;

/// Those that a request can read or write; what only the backend makes stays sealed.
const OPENED: [ClusterSecret; 2] = [ClusterSecret::PullSecret, ClusterSecret::ClientSecret];

/// A copy of the cluster in which the secrets that a request may compare or keep are plain text.
///
/// # Errors
/// A value was sealed by a key that we do not have, or in another place.
pub(crate) fn opened(keyring: &Keyring, document: &ClusterDocument) -> Result<Box<OpenShiftCluster>, Fault> {
    let mut cluster = document.cluster.clone();
    for secret in OPENED {
        if let Some(sealed) = secret.sealed_in(&document.cluster) {
            let (plain, _) = keyring.open_any(sealed, &secret.place(&document.id))?;
            let text = String::from_utf8(plain.expose().clone());
            secret.open_in(&mut cluster, text.map_err(|_| Fault::Stored("a secret is no text"))?);
        }
    }
    Ok(cluster)
}

/// A stored cluster, and the copy that it opened to.
#[derive(Clone, Copy)]
pub(crate) struct Before<'a> {
    pub(crate) sealed: &'a OpenShiftCluster,
    pub(crate) opened: &'a OpenShiftCluster,
}

/// Seals them again, in the document of that id. A value that is still what `before` opened to keeps its sealed text,
/// so that an update that does not touch a secret does not write it.
///
/// # Errors
/// Sealing failed.
pub(crate) fn seal(
    keyring: &Keyring,
    document: &str,
    before: Option<Before<'_>>,
    cluster: &mut OpenShiftCluster,
) -> Result<(), Fault> {
    for secret in OPENED {
        let Some(plain) = secret.sealed_in(cluster) else { continue };
        let same = before.filter(|before| secret.sealed_in(before.opened) == Some(plain));
        let sealed: Sealed = match same.and_then(|before| secret.sealed_in(before.sealed)) {
            Some(kept) => kept.clone(),
            None => keyring.seal(plain.0.as_bytes(), &secret.place(document))?,
        };
        if let Some(member) = secret.intent_mut(cluster) {
            member.set(Edge::accepting(), sealed);
        }
    }
    Ok(())
}

/// Opens one value that an answer shows; empty: there is none.
///
/// # Errors
/// As [`opened`].
pub(crate) fn show(
    keyring: &Keyring,
    document: &ClusterDocument,
    secret: ClusterSecret,
) -> Result<Vec<u8>, Fault> {
    let Some(sealed) = secret.sealed_in(&document.cluster) else { return Ok(Vec::new()) };
    let (plain, _) = keyring.open_any(sealed, &secret.place(&document.id))?;
    Ok(plain.expose().clone())
}
