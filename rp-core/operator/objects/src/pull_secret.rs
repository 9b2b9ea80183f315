//! The pull secret of a cluster (`contract/operator.md` §8.25): the entries of the service are there and right, entries of
//! the customer stay, and so do members that are not known ("Do better" 12 and 13).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Secret;
use rp_openshift::pull_secret::{PullSecret as Registries, PullSecretError, TELEMETRY};
use rp_openshift::{PullSecret, Whole};
use serde_json::{Map, Value, json};

use crate::{Change, ObjectRef, Plan};

const NAMESPACE: &str = "openshift-config";
const NAME: &str = "pull-secret";
const TYPE: &str = "kubernetes.io/dockerconfigjson";
const KEY: &str = ".dockerconfigjson";
/// Registries of Red Hat, in the order of `status.redHatKeysPresent`.
const RED_HAT: [&str; 3] = ["registry.redhat.io", TELEMETRY, "registry.connect.redhat.com"];

/// Why the pull secret cannot be repaired. It holds nothing of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    #[error("Secret openshift-azure-operator/cluster has no {KEY}, or it is not base64 of UTF-8")]
    NoSource,
    #[error("Secret openshift-azure-operator/cluster is not valid")]
    Source(#[source] PullSecretError),
}

/// The pull secret of the cluster, as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Present<'a> {
    pub secret: &'a PullSecret<Whole>,
    /// `metadata.resourceVersion`.
    pub resource_version: &'a str,
}

/// What is to be done, and what holds then.
#[derive(Clone, PartialEq)]
pub struct Repair {
    pub plan: Plan,
    /// `status.redHatKeysPresent`.
    pub red_hat_keys: Vec<&'static str>,
}

impl fmt::Debug for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair").field("plan", &self.plan).field("red_hat_keys", &self.red_hat_keys).finish()
    }
}

/// Which registries of Red Hat the pull secret has a key for, where it is not to be repaired.
pub fn look(present: Option<Present<'_>>) -> Repair {
    let content = present.and_then(content).unwrap_or_default();
    Repair { plan: Plan::nothing(), red_hat_keys: red_hat_keys(&content) }
}

/// Repairs the pull secret: each entry of `source`, the secret of the operator, wins over the one of its registry.
/// A secret of another type, or one that must not change, is deleted and created: its type cannot change.
///
/// # Errors
/// [`RepairError`]: the secret of the operator cannot be read. It is checked before anything is deleted.
pub fn repair(present: Option<Present<'_>>, source: &PullSecret<Whole>) -> Result<Repair, RepairError> {
    let source = text(source).ok_or(RepairError::NoSource)?;
    let source = Registries::parse(source.expose()).map_err(RepairError::Source)?;
    let before = present.and_then(content);
    let after = merged(before.clone().unwrap_or_default(), &source);
    let red_hat_keys = red_hat_keys(&after);
    Ok(Repair { plan: plan(present, before.as_ref(), after), red_hat_keys })
}

fn plan(
    present: Option<Present<'_>>,
    before: Option<&Map<String, Value>>,
    after: Map<String, Value>,
) -> Plan {
    let object = ObjectRef::in_namespace("v1", "Secret", NAMESPACE, NAME);
    let same = before == Some(&after);
    let data = json!({ KEY: STANDARD.encode(Value::Object(after).to_string()) });
    let whole = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "namespace": NAMESPACE, "name": NAME },
        "type": TYPE,
        "data": data,
    });
    let Some(Present { secret, resource_version }) = present else { return Plan::apply([whole]) };
    let fixed = secret.kind.as_str() != TYPE || (secret.immutable && !same);
    if fixed {
        return [Change::Delete(object), Change::Apply(whole)].into_iter().collect();
    }
    if same {
        return Plan::nothing();
    }
    let resource_version = Some(resource_version.to_owned());
    [Change::Merge { object, patch: json!({ "data": data }), resource_version }].into_iter().collect()
}

/// The text of a secret; `None`: there is none, or it is not base64 of UTF-8.
fn text(secret: &PullSecret<Whole>) -> Option<Secret<String>> {
    let encoded = secret.data.config.as_ref()?;
    let text = String::from_utf8(STANDARD.decode(encoded.expose()).ok()?).ok()?;
    Some(Secret::new(text))
}

/// The content of the cluster's pull secret. Entries are not checked: what a customer put there stays.
fn content(present: Present<'_>) -> Option<Map<String, Value>> {
    match serde_json::from_str(text(present.secret)?.expose()) {
        Ok(Value::Object(content)) => Some(content),
        _ => None,
    }
}

fn merged(mut content: Map<String, Value>, source: &Registries) -> Map<String, Value> {
    let all = serde_json::from_str(source.to_json().expose()).unwrap_or(Value::Null);
    let ours = all.get("auths").and_then(Value::as_object).cloned().unwrap_or_default();
    match content.get_mut("auths") {
        Some(Value::Object(present)) => present.extend(ours),
        _ => {
            content.insert("auths".to_owned(), Value::Object(ours));
        }
    }
    content
}

fn red_hat_keys(content: &Map<String, Value>) -> Vec<&'static str> {
    let has_key = |registry: &&str| {
        let entry = content.get("auths").and_then(|auths| auths.get(*registry));
        entry.and_then(|entry| entry.get("auth")).and_then(Value::as_str).is_some_and(|auth| !auth.is_empty())
    };
    RED_HAT.into_iter().filter(has_key).collect()
}

#[cfg(test)]
mod tests;
