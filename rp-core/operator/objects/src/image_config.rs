//! Registries that a cluster must be able to use (`contract/operator.md` §8.15): they are on the allow list where
//! there is one, and never on the block list. All other entries stay as they are.

use rp_node_config::names::DomainName;
use rp_operator_api::ClusterSpec;
use serde_json::{Value, json};

use crate::{Change, ObjectRef, Plan};

/// Why the lists are left alone. The text is that of the condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImageConfigError {
    #[error("both AllowedRegistries and BlockedRegistries are present")]
    BothLists,
}

/// The registries that a cluster needs; `None`: the settings do not name them.
pub fn required(spec: &ClusterSpec) -> Option<[String; 2]> {
    let registry = DomainName::parse(&spec.acr_domain).ok()?;
    let location = DomainName::parse(&spec.location).ok()?;
    let (first, _) = registry.as_str().split_once('.')?;
    let government = spec.az_environment.eq_ignore_ascii_case("AzureUSGovernmentCloud");
    let suffix = if government { "azurecr.us" } else { "azurecr.io" };
    let data = format!("{first}.{location}.data.{suffix}");
    Some([registry.to_string(), data])
}

/// What is to be done with the Image `cluster`, as it was read. Nothing where the lists are right already
/// (`contract/operator.md` "Do better" 11).
///
/// # Errors
/// [`ImageConfigError`].
pub fn plan(spec: &ClusterSpec, image: &Value) -> Result<Plan, ImageConfigError> {
    let Some(required) = required(spec) else { return Ok(Plan::nothing()) };
    let list = |name: &str| {
        let list = image.pointer("/spec/registrySources").and_then(|sources| sources.get(name));
        list.and_then(Value::as_array).filter(|list| !list.is_empty())
    };
    let is_required = |entry: &&Value| {
        entry.as_str().is_some_and(|entry| required.iter().any(|one| one.eq_ignore_ascii_case(entry)))
    };
    let (name, before, add) = match (list("allowedRegistries"), list("blockedRegistries")) {
        (Some(_), Some(_)) => return Err(ImageConfigError::BothLists),
        (Some(allowed), None) => ("allowedRegistries", allowed, &required[..]),
        (None, Some(blocked)) => ("blockedRegistries", blocked, &[][..]),
        (None, None) => return Ok(Plan::nothing()),
    };
    let mut after: Vec<Value> = before.iter().filter(|entry| !is_required(entry)).cloned().collect();
    after.extend(add.iter().map(|one| json!(one)));
    if after == *before {
        return Ok(Plan::nothing());
    }
    let version = image.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    let change = Change::Merge {
        object: ObjectRef::of_cluster("config.openshift.io/v1", "Image", "cluster"),
        patch: json!({ "spec": { "registrySources": { name: after } } }),
        resource_version: version.map(str::to_owned),
    };
    Ok([change].into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> ClusterSpec {
        ClusterSpec {
            acr_domain: "arosvc.azurecr.io".to_owned(),
            location: "eastus".to_owned(),
            az_environment: "AzurePublicCloud".to_owned(),
            ..ClusterSpec::default()
        }
    }

    fn image(sources: &Value) -> Value {
        json!({ "metadata": { "resourceVersion": "7" }, "spec": { "registrySources": sources } })
    }

    /// The list after the change; null: there is none.
    fn after(sources: &Value) -> Value {
        match plan(&spec(), &image(sources)).unwrap().changes.as_slice() {
            [] => Value::Null,
            [Change::Merge { patch, resource_version, .. }] => {
                assert_eq!(resource_version.as_deref(), Some("7"));
                patch["spec"]["registrySources"].clone()
            }
            changes => panic!("{changes:?}"),
        }
    }

    #[test]
    fn required_registries_are_added_last_and_entries_of_customers_stay() {
        let (registry, data) = ("arosvc.azurecr.io", "arosvc.eastus.data.azurecr.io");
        for (sources, expected) in [
            (json!({}), Value::Null),
            (json!({ "insecureRegistries": ["a"] }), Value::Null),
            (json!({ "allowedRegistries": [], "blockedRegistries": [] }), Value::Null),
            (
                json!({ "allowedRegistries": ["b", "a"] }),
                json!({ "allowedRegistries": ["b", "a", registry, data] }),
            ),
            (
                json!({ "allowedRegistries": ["AROSVC.azurecr.io", "a"] }),
                json!({ "allowedRegistries": ["a", registry, data] }),
            ),
            (json!({ "allowedRegistries": ["a", registry, data] }), Value::Null),
            (
                json!({ "blockedRegistries": ["a", "ArosVC.azurecr.io"] }),
                json!({ "blockedRegistries": ["a"] }),
            ),
            (json!({ "blockedRegistries": [data] }), json!({ "blockedRegistries": [] })),
            (json!({ "blockedRegistries": ["a"] }), Value::Null),
        ] {
            assert_eq!(after(&sources), expected, "{sources}");
        }
        let both = plan(&spec(), &image(&json!({ "allowedRegistries": ["a"], "blockedRegistries": ["b"] })));
        assert_eq!(both.unwrap_err().to_string(), "both AllowedRegistries and BlockedRegistries are present");
    }

    #[test]
    fn registries_follow_the_cloud_and_need_a_domain() {
        let government = ClusterSpec { az_environment: "azureusgovernmentcloud".to_owned(), ..spec() };
        assert_eq!(required(&government).unwrap()[1], "arosvc.eastus.data.azurecr.us");
        for (acr_domain, location) in [("", "eastus"), ("arosvc", "eastus"), ("a.b", ""), ("a b.c", "eastus")]
        {
            let (acr_domain, location) = (acr_domain.to_owned(), location.to_owned());
            let spec = ClusterSpec { acr_domain, location, ..spec() };
            assert_eq!(required(&spec), None);
            assert!(plan(&spec, &image(&json!({ "allowedRegistries": ["a"] }))).unwrap().is_empty());
        }
    }
}
