//! Seals again, with the current key, what older keys sealed (`contract/database.md` "Do better" 12 and 13).
//!
//! A sealed value stands in a document as a text whose place is `Collection/id/member`. It is replaced in the
//! document's own text, so that nothing else of it changes, and written by the version that was read. What is sealed
//! with the current key already is passed by: begun again after an end in the middle, it goes on.

use std::collections::BTreeMap;

use rp_base::chain;
use rp_database::{Expect, SharedStore, StoreError, Stored};
use rp_documents::{Collection, Sealed};
use rp_seal::{Keyring, SealError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

/// Documents read at once.
const PAGE: u32 = 100;
/// Others may write a document meanwhile so often before it is left for the next time.
const TRIES: u32 = 5;
/// Members that hold values of the contract's older forms, which do not say so themselves
/// (`contract/database.md` §11.1).
const LEGACY_MEMBERS: [&str; 10] = [
    "pullSecret",
    "boundServiceAccountSigningKey",
    "clientSecret",
    "kubeadminPassword",
    "password",
    "sshKey",
    "adminKubeconfig",
    "aroServiceKubeconfig",
    "aroSREKubeconfig",
    "userAdminKubeconfig",
];

/// How far it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The key that seals.
    pub key: String,
    /// The collection being read.
    pub collection: String,
    /// Documents read.
    pub documents: u64,
    /// Values found.
    pub values: u64,
    /// Values sealed again.
    pub resealed: u64,
    /// Values that no key opens in their place, or whose document was written by others all the time; by the id of
    /// their key, or the name of their form.
    pub left: BTreeMap<String, u64>,
    /// Whether everything was read.
    pub done: bool,
}

/// Reads every document that may hold sealed values, and tells each page's progress.
///
/// # Errors
/// The store's; what was sealed again stays so.
pub async fn reseal(
    store: &SharedStore,
    keyring: &Keyring,
    updates: &watch::Sender<Progress>,
) -> Result<Progress, StoreError> {
    let mut progress = Progress { key: keyring.ids().current, ..Progress::default() };
    for collection in Collection::ALL {
        collection.name().clone_into(&mut progress.collection);
        let mut at = None;
        loop {
            let page = store.list(collection, None, at.as_deref(), PAGE).await?;
            for document in page.items {
                progress.documents += 1;
                reseal_document(store, keyring, collection, document, &mut progress).await?;
            }
            updates.send_replace(progress.clone());
            at = page.continuation;
            if at.is_none() {
                break;
            }
        }
    }
    progress.done = true;
    updates.send_replace(progress.clone());
    Ok(progress)
}

/// A sealed text within a document.
struct SealedText {
    text: String,
    member: String,
    /// The id of its key, or the name of its form.
    by: String,
}

async fn reseal_document(
    store: &SharedStore,
    keyring: &Keyring,
    collection: Collection,
    mut document: Stored,
    progress: &mut Progress,
) -> Result<(), StoreError> {
    let mut counted = false;
    for tried in 1.. {
        let found = sealed_values(collection, &document.body);
        if !counted {
            progress.values += found.len() as u64;
            counted = true;
        }
        let (body, changed, failed) = seal_again(keyring, collection, &document, found, &progress.key);
        if changed == 0 {
            count_failures(progress, failed);
            return Ok(());
        }
        let (id, expect) = (document.id.clone(), Expect::Version(document.version));
        match store.replace(collection, document.with_body(body), expect).await {
            Ok(_) => {
                progress.resealed += changed;
                count_failures(progress, failed);
                return Ok(());
            }
            // It was removed, or has expired: nothing is left to seal.
            Err(StoreError::Gone { .. }) => return Ok(()),
            Err(StoreError::Stale { .. }) if tried < TRIES => {}
            Err(StoreError::Stale { .. }) => {
                count_failures(progress, vec!["busy".to_owned()]);
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        match store.get(collection, &id).await? {
            Some(again) => document = again,
            None => return Ok(()),
        }
    }
    Ok(())
}

fn count_failures(progress: &mut Progress, failed: Vec<String>) {
    for by in failed {
        *progress.left.entry(by).or_default() += 1;
    }
}

/// The document's text with what could be sealed again, how many values that were, and by what the others are sealed.
fn seal_again(
    keyring: &Keyring,
    collection: Collection,
    document: &Stored,
    found: Vec<SealedText>,
    current: &str,
) -> (String, u64, Vec<String>) {
    let mut body = document.body.clone();
    let (mut changed, mut failed) = (0, Vec::new());
    for value in found.into_iter().filter(|value| value.by != current) {
        let place = format!("{}/{}/{}", collection.name(), document.id, value.member);
        match reopen_and_seal(keyring, &value.text, &place) {
            // Its text stands there as it is: neither form has characters that JSON writes in another way.
            Ok(sealed) if body.contains(&quoted(&value.text)) => {
                body = body.replace(&quoted(&value.text), &quoted(&sealed.0));
                changed += 1;
            }
            Ok(_) => failed.push(value.by),
            Err(error) => {
                let id = &document.id;
                tracing::warn!(error = %chain(&error), collection = collection.name(), id, "cannot be sealed again");
                failed.push(value.by);
            }
        }
    }
    (body, changed, failed)
}

fn reopen_and_seal(keyring: &Keyring, text: &str, place: &str) -> Result<Sealed, SealError> {
    let (plain, _) = keyring.open_any(&Sealed(text.to_owned()), place)?;
    keyring.seal(plain.expose(), place)
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Every sealed text in a document.
fn sealed_values(collection: Collection, body: &str) -> Vec<SealedText> {
    let clusters = collection == Collection::OpenShiftClusters;
    // Most documents hold none.
    if !clusters && !body.contains("\"v3.") {
        return Vec::new();
    }
    let Ok(document) = serde_json::from_str::<Value>(body) else { return Vec::new() };
    let mut found = Vec::new();
    collect_sealed(&document, "", clusters, &mut found);
    found
}

fn collect_sealed(value: &Value, member: &str, clusters: bool, found: &mut Vec<SealedText>) {
    match value {
        Value::String(text) => {
            let by = match Keyring::key_of(text) {
                Some(key) => key.to_owned(),
                None if clusters && !text.is_empty() && LEGACY_MEMBERS.contains(&member) => {
                    "legacy".to_owned()
                }
                None => return,
            };
            found.push(SealedText { text: text.clone(), member: member.to_owned(), by });
        }
        Value::Array(items) => items.iter().for_each(|item| collect_sealed(item, member, clusters, found)),
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| collect_sealed(value, name, clusters, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
