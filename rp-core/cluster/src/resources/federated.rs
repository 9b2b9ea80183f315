//! Trust of platform identities in the cluster's own tokens (`contract/cluster.md` §6.5).

use aws_lc_rs::digest::{SHA224, digest};
use rp_azure::{Client, Repeat, Resources};
use serde_json::{Value, json};

use crate::context::Context;
use crate::errors::StepError;
use crate::roles::last;
use crate::templates::versions;

/// Longest name of a credential.
const MOST: usize = 120;

/// Reads and writes platform identities.
pub(crate) fn client(context: &Context) -> Client {
    context.customer().repeating(Repeat::RBAC)
}

/// Every service account of every operator may act as its identity.
pub(crate) async fn federate_identity_credentials(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = client(context);
    let roles = context.operator_roles().await?;
    for (operator, identity) in document.identities() {
        // Where an operator has several roles, the first says whose tokens count.
        let role = roles.iter().find(|role| role.operator_name == operator);
        for account in role.into_iter().flat_map(|role| &role.service_accounts) {
            let name = name(document.name(), account, last(identity.resource_id));
            let id = format!("{}/federatedIdentityCredentials/{name}", identity.resource_id);
            let body = json!({ "properties": {
                "audiences": ["openshift"],
                "issuer": document.issuer(),
                "subject": account,
            }});
            client.put(&id, versions::FEDERATED, &body).await?;
        }
    }
    Ok(())
}

/// Credentials of an identity; none where it is gone.
pub(crate) async fn list(client: &Client, identity: &str) -> Result<Vec<Value>, StepError> {
    match client.list(&format!("{identity}/federatedIdentityCredentials"), versions::FEDERATED).await {
        Err(error) if error.is_missing() => Ok(Vec::new()),
        found => Ok(found?),
    }
}

/// `K_H`: cluster and account as far as they fit, and a digest of both with the identity.
fn name(cluster: &str, account: &str, identity: &str) -> String {
    let account = account.rsplit(':').next().unwrap_or_default();
    let key = format!("{cluster}_{account}");
    let hash = base36(digest(&SHA224, format!("{key}-{account}-{identity}").as_bytes()).as_ref());
    let room = MOST.saturating_sub(hash.len() + 1);
    let key: String = key.chars().take(room).collect();
    format!("{key}_{hash}")
}

/// A big-endian number in lower-case base 36.
fn base36(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut number = bytes.to_vec();
    let mut text = Vec::new();
    while number.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u32;
        for byte in &mut number {
            let value = rest * 256 + u32::from(*byte);
            *byte = u8::try_from(value / 36).unwrap_or_default();
            rest = value % 36;
        }
        text.push(char::from(
            usize::try_from(rest).ok().and_then(|at| DIGITS.get(at)).copied().unwrap_or(b'0'),
        ));
    }
    if text.is_empty() { "0".to_owned() } else { text.into_iter().rev().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_base_36() {
        assert_eq!(base36(&[0]), "0");
        assert_eq!(base36(&[35]), "z");
        assert_eq!(base36(&[1, 0]), "74");
        assert_eq!(base36(&[0xff, 0xff, 0xff, 0xff]), "1z141z3");
    }

    #[test]
    fn names_are_bounded_and_differ_by_identity() {
        let long = "c".repeat(200);
        let account = "system:serviceaccount:openshift-image-registry:registry";
        assert!(name("aro", account, "id").starts_with("aro_registry_"));
        assert!(name(&long, account, "id").len() <= MOST);
        assert_ne!(name("aro", account, "a"), name("aro", account, "b"));
        assert_eq!(name("aro", account, "a"), name("aro", account, "a"));
    }
}
