//! A stored cluster's secrets: open for the length of a request, sealed in the store
//! (`contract/api.md` §1.3).
//!
//! Each is sealed in its place `OpenShiftClusters/ID/MEMBER`, where MEMBER is the last name of its path.

use rp_documents::Sealed;
use rp_seal::Keyring;
use serde_json::Value;

use crate::fault::Fault;

/// Those that a request can read or write; what only the backend makes stays sealed.
const OPENED: [&str; 2] =
    ["/properties/clusterProfile/pullSecret", "/properties/servicePrincipalProfile/clientSecret"];

fn associated_data(document: &str, pointer: &str) -> String {
    let member = pointer.rsplit('/').next().unwrap_or_default();
    format!("OpenShiftClusters/{document}/{member}")
}

/// Opens what a request may compare or keep.
///
/// # Errors
/// A value was sealed by a key that we do not have, or in another place.
pub(crate) fn open(keyring: &Keyring, document: &str, cluster: &mut Value) -> Result<(), Fault> {
    for pointer in OPENED {
        if let Some(Value::String(text)) = cluster.pointer_mut(pointer)
            && !text.is_empty()
        {
            let (plain, _) = keyring.open_any(&Sealed(text.clone()), &associated_data(document, pointer))?;
            *text = String::from_utf8(plain.expose().clone())
                .map_err(|_| Fault::Stored("a secret is no text"))?;
        }
    }
    Ok(())
}

/// Seals them again. A value that is still what `before` opened to keeps its sealed text, so that an update that does
/// not touch a secret does not write it.
///
/// # Errors
/// Sealing failed.
pub(crate) fn seal(
    keyring: &Keyring,
    document: &str,
    before: Option<(&Value, &Value)>,
    cluster: &mut Value,
) -> Result<(), Fault> {
    for pointer in OPENED {
        let kept = before.and_then(|(sealed, opened)| {
            let same = opened.pointer(pointer) == cluster.pointer(pointer);
            sealed.pointer(pointer).filter(|_| same).cloned()
        });
        if let Some(value) = cluster.pointer_mut(pointer)
            && let Value::String(text) = value
            && !text.is_empty()
        {
            *value = match kept {
                Some(kept) => kept,
                None => Value::from(keyring.seal(text.as_bytes(), &associated_data(document, pointer))?.0),
            };
        }
    }
    Ok(())
}

/// Opens one value that an answer shows.
///
/// # Errors
/// As [`open`].
pub(crate) fn show(
    keyring: &Keyring,
    document: &str,
    cluster: &Value,
    pointer: &str,
) -> Result<Vec<u8>, Fault> {
    match cluster.pointer(pointer).and_then(Value::as_str) {
        None | Some("") => Ok(Vec::new()),
        Some(text) => {
            let (plain, _) =
                keyring.open_any(&Sealed(text.to_owned()), &associated_data(document, pointer))?;
            Ok(plain.expose().clone())
        }
    }
}
