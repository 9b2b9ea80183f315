//! Admission policies that protect the platform from its administrators (`contract/operator.md` §8.14), as
//! ValidatingAdmissionPolicies of the API server.
//!
//! Versions before 4.17 do not have that kind. Gatekeeper, which they would need, is not deployed: [`decide`] gives a note
//! instead.

mod cel;
mod namespaces;
mod policies;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use rp_operator_api::{Flag, Flags, Managed};
use serde_json::{Value, json};

pub use namespaces::{PRIVILEGED, is_exempt_account};

use crate::{Change, ObjectRef, Plan, Version};

use self::policies::{MANDATORY, OPTIONAL, Policy};

const API: &str = "admissionregistration.k8s.io/v1";
const POLICY: &str = "ValidatingAdmissionPolicy";
const BINDING: &str = "ValidatingAdmissionPolicyBinding";
/// What the mandatory policy was called before.
const OLD_NAME: &str = "aro-cluster-version-major-upgrade-protection";

/// What is to be done, and what people should know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub plan: Plan,
    /// Why nothing enforces the policies that are wanted; for the log.
    pub note: Option<&'static str>,
}

/// Decides for the flags and the version that the cluster has.
///
/// The mandatory policy is there from 4.17 on, whatever the flags. The optional ones are left alone while
/// `aro.guardrails.enabled` is off, or `aro.guardrails.deploy.managed` is empty.
pub fn decide(flags: &Flags, version: Version) -> Decision {
    if !version.is_at_least(4, 17) {
        let wanted = flags.on(Flag::Guardrails) && flags.managed(Flag::GuardrailsDeploy) == Managed::Deploy;
        let note = "the cluster is older than 4.17 and has no ValidatingAdmissionPolicies; Gatekeeper is not deployed";
        return Decision { plan: Plan::nothing(), note: wanted.then_some(note) };
    }
    let mut changes = mandatory();
    let mut note = None;
    if flags.on(Flag::Guardrails) {
        match flags.managed(Flag::GuardrailsDeploy) {
            Managed::Leave => {}
            Managed::Remove => changes.extend(OPTIONAL.iter().flat_map(|policy| removal(policy.name))),
            Managed::Deploy if flags.text(Flag::GuardrailsMethod) == Some("gatekeeper") => {
                note = Some(
                    "Gatekeeper is not deployed: set aro.guardrails.method to auto or vap for policies of the API server",
                );
            }
            Managed::Deploy => changes.extend(OPTIONAL.iter().flat_map(|policy| optional(policy, flags))),
        }
    }
    Decision { plan: Plan { changes }, note }
}

fn mandatory() -> Vec<Change> {
    let mut changes = removal(OLD_NAME).to_vec();
    changes.extend(applied(&MANDATORY, "Deny"));
    changes
}

fn optional(policy: &Policy, flags: &Flags) -> [Change; 2] {
    let Some((managed, enforcement)) = policy.flags else { return applied(policy, "Deny") };
    match flags.managed(managed) {
        Managed::Deploy => applied(policy, action(flags.text(enforcement).unwrap_or_default())),
        Managed::Remove | Managed::Leave => removal(policy.name),
    }
}

/// The action of a binding, for the value of an enforcement flag.
fn action(enforcement: &str) -> &'static str {
    match enforcement {
        "deny" => "Deny",
        "dryrun" => "Audit",
        _ => "Warn",
    }
}

/// The policy first: a binding without its policy would be an error of the API server's configuration.
fn applied(policy: &Policy, action: &str) -> [Change; 2] {
    [Change::Apply(policy.object()), Change::Apply(binding(policy, action))]
}

/// The binding first, for the same reason.
fn removal(name: &str) -> [Change; 2] {
    [
        Change::Delete(ObjectRef::of_cluster(API, BINDING, &binding_name(name))),
        Change::Delete(ObjectRef::of_cluster(API, POLICY, name)),
    ]
}

fn binding_name(policy: &str) -> String {
    format!("{policy}-binding")
}

fn binding(policy: &Policy, action: &str) -> Value {
    let mut spec = json!({ "policyName": policy.name, "validationActions": [action] });
    if let Some(namespace) = policy.namespace {
        let labels = json!({ "kubernetes.io/metadata.name": namespace });
        spec["matchResources"] = json!({ "namespaceSelector": { "matchLabels": labels } });
    }
    json!({ "apiVersion": API, "kind": BINDING, "metadata": { "name": binding_name(policy.name) }, "spec": spec })
}

/// The names of all policies: those that are watched and restored.
pub fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(&MANDATORY).chain(OPTIONAL).map(|policy| policy.name)
}

/// The table of policies for people, in Markdown.
pub fn markdown() -> String {
    let mut text =
        "| Policy | Denies | Default | Enforcement | Exempt |\n| --- | --- | --- | --- | --- |\n".to_owned();
    let flags = Flags::resolve(&std::collections::BTreeMap::new());
    for policy in std::iter::once(&MANDATORY).chain(OPTIONAL) {
        let (default, enforcement, exempt) = match policy.flags {
            None => ("always there", "Deny", "nobody"),
            Some((managed, enforcement)) => {
                let there = flags.managed(managed) == Managed::Deploy;
                let enforcement = action(flags.text(enforcement).unwrap_or_default());
                (if there { "on" } else { "off" }, enforcement, "the platform")
            }
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {default} | {enforcement} | {exempt} |",
            policy.name, policy.denies
        );
    }
    text
}
