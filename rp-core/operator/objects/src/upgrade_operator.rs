//! The managed upgrade operator (`contract/operator.md` §8.21): it upgrades the cluster in the window that an
//! UpgradeConfig names.

mod alerts;
mod definition;
mod permissions;

use rp_operator_api::{ClusterSpec, Flag, Flags, Managed};
use serde_json::{Value, json};

use crate::{Change, ObjectRef, Plan, Version};

/// The namespace of the managed upgrade operator.
pub const NAMESPACE: &str = "openshift-managed-upgrade-operator";
/// Its deployment, its account and its roles.
pub const NAME: &str = "managed-upgrade-operator";
/// The tag of the image where the flag names none.
const TAG: &str = "v0.1.1202-g118c178";
/// Its configuration (`managed-upgrade-operator-config`). Times are minutes.
const CONFIGURATION: &str = include_str!("upgrade_operator/config.yaml");

/// What differs between clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Reference of the image.
    pub image: String,
    /// The cluster has version 4.11 or later: the pod is restricted.
    pub restricted: bool,
}

impl Settings {
    /// The settings of a cluster.
    pub fn of(spec: &ClusterSpec, flags: &Flags, version: Version) -> Self {
        let pinned = || format!("{}/app-sre/{NAME}:{TAG}", spec.acr_domain);
        Self {
            image: flags.text(Flag::MuoPullSpec).map_or_else(pinned, str::to_owned),
            restricted: version.is_at_least(4, 11),
        }
    }
}

/// What is to be done. The order is that of application; a removal takes the Namespace last. The owner is the `Cluster`.
pub fn plan(managed: Managed, settings: &Settings) -> Plan {
    match managed {
        Managed::Leave => Plan::nothing(),
        Managed::Deploy => Plan::apply(objects(settings)),
        Managed::Remove => {
            let (last, first): (Vec<_>, Vec<_>) = objects(settings)
                .iter()
                .map(ObjectRef::of)
                .rev()
                .partition(|object| object.kind == "Namespace");
            first.into_iter().chain(last).map(Change::Delete).collect()
        }
    }
}

fn objects(settings: &Settings) -> Vec<Value> {
    let mut objects = vec![definition::upgrade_configs(), namespace()];
    objects.extend(config_maps());
    objects.push(json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(NAME) }));
    objects.extend(permissions::objects());
    objects.push(deployment(settings));
    // Last: where the kind is missing, everything else is there.
    objects.push(alerts::rules());
    objects
}

fn metadata(name: &str) -> Value {
    json!({ "name": name, "namespace": NAMESPACE })
}

fn namespace() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": NAMESPACE,
            "labels": { "openshift.io/cluster-monitoring": "true" },
            "annotations": { "openshift.io/node-selector": "" },
        },
    })
}

/// The bundle is filled by the platform: its data is not ours.
fn config_maps() -> [Value; 2] {
    let mut bundle = metadata("trusted-ca-bundle");
    bundle["labels"] = json!({ "config.openshift.io/inject-trusted-cabundle": "true" });
    [
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": bundle }),
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata("managed-upgrade-operator-config"),
            "data": { "config.yaml": CONFIGURATION },
        }),
    ]
}

fn deployment(settings: &Settings) -> Value {
    let labels = json!({ "name": NAME });
    let mut pod = json!({
        "serviceAccountName": NAME,
        "nodeSelector": { "node-role.kubernetes.io/master": "" },
        "tolerations": [{ "key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule" }],
        "containers": [container(settings)],
        "volumes": [{
            "name": "trusted-ca-bundle",
            "configMap": {
                "name": "trusted-ca-bundle",
                "items": [{ "key": "ca-bundle.crt", "path": "tls-ca-bundle.pem" }],
            },
        }],
    });
    if settings.restricted {
        pod["securityContext"] =
            json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } });
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(NAME),
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": pod },
        },
    })
}

fn container(settings: &Settings) -> Value {
    let field =
        |name: &str, path: &str| json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": path } } });
    let mut container = json!({
        "name": NAME,
        "image": settings.image,
        "command": [NAME],
        "env": [
            // Empty: all namespaces.
            { "name": "WATCH_NAMESPACE", "value": "" },
            field("POD_NAME", "metadata.name"),
            field("OPERATOR_NAMESPACE", "metadata.namespace"),
            { "name": "OPERATOR_NAME", "value": NAME },
        ],
        "resources": {
            "requests": { "cpu": "20m", "memory": "100Mi" },
            "limits": { "cpu": "50m", "memory": "200Mi" },
        },
        "volumeMounts": [{
            "name": "trusted-ca-bundle",
            "mountPath": "/etc/pki/ca-trust/extracted/pem",
            "readOnly": true,
        }],
    });
    if settings.restricted {
        container["securityContext"] =
            json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } });
    }
    container
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::golden;

    fn settings(flags: &[(&str, &str)], version: Version) -> Settings {
        let set: BTreeMap<_, _> =
            flags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let spec = ClusterSpec { acr_domain: "arosvc.azurecr.io".to_owned(), ..ClusterSpec::default() };
        Settings::of(&spec, &Flags::resolve(&set), version)
    }

    #[test]
    fn the_objects_are_stable() {
        let plan = plan(Managed::Deploy, &settings(&[], Version::new(4, 18, 1)));
        golden::check("upgrade-operator.json", &golden::applied(&plan));
    }

    #[test]
    fn the_image_and_the_version_change_the_deployment() {
        let settings =
            settings(&[("rh.srep.muo.deploy.pullspec", "example.com/a:b")], Version::new(4, 10, 1));
        let text = deployment(&settings).to_string();
        assert!(text.contains("example.com/a:b") && !text.contains("runAsNonRoot"), "{text}");
    }

    #[test]
    fn a_removal_takes_everything_and_the_namespace_last() {
        let settings = settings(&[], Version::new(4, 18, 1));
        let applied = plan(Managed::Deploy, &settings).changes.len();
        let removed = plan(Managed::Remove, &settings).changes;
        assert_eq!(removed.len(), applied);
        let last = format!("Delete Namespace {NAMESPACE}");
        assert_eq!(removed.last().map(|change| format!("{change:?}")), Some(last));
        assert!(plan(Managed::Leave, &settings).is_empty());
    }
}
