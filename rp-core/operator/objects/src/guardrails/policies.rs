//! The policies, each declared once.

use rp_operator_api::Flag;
use serde_json::{Value, json};

use super::cel::{is_not_exempt, list, old_label, text};
use super::{API, POLICY, PRIVILEGED};

/// A policy with the rule that it enforces.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) name: &'static str,
    /// What it denies, for people.
    pub(super) denies: &'static str,
    /// The flags that manage it and say what it does; `None`: it is always there, and nobody is exempt.
    pub(super) flags: Option<(Flag, Flag)>,
    /// The namespace that its binding selects; `None`: all.
    pub(super) namespace: Option<&'static str>,
    operations: &'static [&'static str],
    /// Groups and their resources.
    resources: &'static [(&'static str, &'static [&'static str])],
    /// Only requests for which this holds are looked at.
    condition: fn() -> Option<String>,
    /// Expressions that hold for what is allowed, each with the expression of its message.
    validations: fn() -> Vec<(String, String)>,
}

const ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
const MASTER: &str = "node-role.kubernetes.io/master";
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
const DELETE: &[&str] = &["DELETE"];
const WRITE: &[&str] = &["CREATE", "UPDATE"];
const ALL: &[&str] = &["CREATE", "UPDATE", "DELETE"];
/// The name of the object; a deletion has the old object only.
const NAME: &str = "(object != null ? object.metadata.name : oldObject.metadata.name)";
const USER: &str = "'user ' + request.userInfo.username + ' not allowed to '";

/// The policy that holds whatever the flags.
pub(super) const MANDATORY: Policy = Policy {
    name: "aro-cluster-version-major-upgrade-deny",
    denies: "an upgrade from version 4 to version 5",
    flags: None,
    namespace: None,
    operations: &["UPDATE"],
    resources: &[("config.openshift.io", &["clusterversions"])],
    condition: || Some("object.metadata.name == 'version'".to_owned()),
    validations: major_upgrade,
};

/// The policies that flags manage.
pub(super) const OPTIONAL: &[Policy] = &[
    Policy {
        name: "aro-machines-deny",
        denies: "deletion of machines of the control plane",
        flags: Some((Flag::PolicyMachines, Flag::PolicyMachinesEnforcement)),
        namespace: Some("openshift-machine-api"),
        operations: DELETE,
        resources: &[("machine.openshift.io", &["machines"])],
        condition: || None,
        validations: machines,
    },
    Policy {
        name: "aro-nodes-deny",
        denies: "deletion of nodes of the control plane",
        flags: Some((Flag::PolicyNodes, Flag::PolicyNodesEnforcement)),
        namespace: None,
        operations: DELETE,
        resources: &[("", &["nodes"])],
        condition: || None,
        validations: nodes,
    },
    Policy {
        name: "aro-machine-config-deny",
        denies: "changes of the MachineConfigs of the platform",
        flags: Some((Flag::PolicyMachineConfigs, Flag::PolicyMachineConfigsEnforcement)),
        namespace: None,
        operations: ALL,
        resources: &[("machineconfiguration.openshift.io", &["machineconfigs"])],
        condition: || None,
        validations: machine_configs,
    },
    Policy {
        name: "aro-privileged-namespace-deny",
        denies: "changes of objects in the namespaces of the platform, and of those namespaces",
        flags: Some((Flag::PolicyNamespaces, Flag::PolicyNamespacesEnforcement)),
        namespace: None,
        operations: ALL,
        resources: &[
            (
                "",
                &[
                    "pods",
                    "secrets",
                    "services",
                    "serviceaccounts",
                    "replicationcontrollers",
                    "resourcequotas",
                    "namespaces",
                ],
            ),
            ("apps", &["deployments", "replicasets", "statefulsets", "daemonsets"]),
            ("batch", &["jobs", "cronjobs"]),
            ("rbac.authorization.k8s.io", &["roles", "rolebindings"]),
            ("policy", &["poddisruptionbudgets"]),
        ],
        condition: || None,
        validations: namespaces,
    },
    Policy {
        name: "aro-master-toleration-pod-deny",
        denies: "pods outside the namespaces of the platform that tolerate nodes of the control plane",
        flags: Some((Flag::PolicyTolerations, Flag::PolicyTolerationsEnforcement)),
        namespace: None,
        operations: WRITE,
        resources: &[("", &["pods"])],
        condition: || Some(format!("!(request.namespace in {})", list(PRIVILEGED))),
        validations: tolerations,
    },
    Policy {
        name: "aro-pull-secret-deny",
        denies: "deletion of the pull secret of the cluster",
        flags: Some((Flag::PolicyPullSecret, Flag::PolicyPullSecretEnforcement)),
        namespace: Some("openshift-config"),
        operations: DELETE,
        resources: &[("", &["secrets"])],
        condition: || Some("oldObject.metadata.name == 'pull-secret'".to_owned()),
        validations: pull_secret,
    },
];

impl Policy {
    pub(super) fn object(&self) -> Value {
        let rule = |(group, resources): &(&str, &[&str])| {
            json!({
                "apiGroups": [group],
                "apiVersions": ["*"],
                "operations": self.operations,
                "resources": resources,
            })
        };
        let rules: Vec<Value> = self.resources.iter().map(rule).collect();
        let validation = |(expression, message): (String, String)| json!({ "expression": expression, "messageExpression": message });
        let validations: Vec<Value> = (self.validations)().into_iter().map(validation).collect();
        let mut spec = json!({
            // Without the mandatory policy an upgrade could pass; the others must not stop a cluster.
            "failurePolicy": if self.flags.is_none() { "Fail" } else { "Ignore" },
            "matchConstraints": { "resourceRules": rules },
            "validations": validations,
        });
        let conditions = self.conditions();
        if !conditions.is_empty() {
            spec["matchConditions"] = json!(conditions);
        }
        json!({ "apiVersion": API, "kind": POLICY, "metadata": { "name": self.name }, "spec": spec })
    }

    pub(super) fn conditions(&self) -> Vec<Value> {
        let one = |name: &str, expression: String| json!({ "name": name, "expression": expression });
        let exempt = self.flags.map(|_| one("not-exempt", is_not_exempt()));
        (self.condition)().map(|condition| one("concerned", condition)).into_iter().chain(exempt).collect()
    }
}

fn major_upgrade() -> Vec<(String, String)> {
    let four = "has(oldObject.status) && has(oldObject.status.desired) && has(oldObject.status.desired.version) && oldObject.status.desired.version.startsWith('4.')";
    let update = "has(object.spec.desiredUpdate) && object.spec.desiredUpdate != null && has(object.spec.desiredUpdate.version) && object.spec.desiredUpdate.version.startsWith('5.')";
    let channel = "has(object.spec.channel) && object.spec.channel.contains('-5.')";
    let message = text("Upgrading from OpenShift 4 to OpenShift 5 is not allowed");
    vec![(format!("!({four} && has(object.spec) && (({update}) || ({channel})))"), message)]
}

fn machines() -> Vec<(String, String)> {
    let message = format!(
        "{USER} + 'delete resource with label <{ROLE}: ' + oldObject.metadata.labels['{ROLE}'] + '>'"
    );
    vec![(format!("!({})", old_label(ROLE, Some("master"))), message)]
}

fn nodes() -> Vec<(String, String)> {
    let one = |label: &str| {
        let message = format!("{USER} + 'delete resource with label <{label}>'");
        (format!("!({})", old_label(label, None)), message)
    };
    vec![one(MASTER), one(CONTROL_PLANE)]
}

fn machine_configs() -> Vec<(String, String)> {
    let names = protected_machine_configs();
    let names = list(names.iter().map(String::as_str));
    let allowed = format!("!({NAME} in {names} || {NAME}.matches('^rendered-(master|worker)-.+$'))");
    vec![(allowed, format!("{USER} + request.operation + ' machine config ' + {NAME}"))]
}

/// MachineConfigs of the platform and of the service.
fn protected_machine_configs() -> Vec<String> {
    let mut names = vec!["90-aro-worker-registries".to_owned()];
    for role in ["master", "worker"] {
        names.push(format!("00-{role}"));
        names.extend(["container-runtime", "kubelet"].map(|part| format!("01-{role}-{part}")));
        names.extend(["97", "98", "99"].map(|order| format!("{order}-{role}-generated-kubelet")));
        let ours = ["aro-dns", "aro-etc-hosts-gateway-domains", "generated-registries", "ssh"];
        names.extend(ours.map(|part| format!("99-{role}-{part}")));
    }
    names.sort();
    names
}

fn namespaces() -> Vec<(String, String)> {
    let privileged = list(PRIVILEGED);
    let is_namespace = "request.resource.resource == 'namespaces'";
    let operation = format!("{USER} + request.operation + ' '");
    vec![
        (
            format!("!({is_namespace} && {NAME} in {privileged})"),
            format!("{operation} + 'namespace ' + {NAME}"),
        ),
        (
            format!("!(!({is_namespace}) && request.namespace in {privileged})"),
            format!("{operation} + {NAME} + ' in namespace ' + request.namespace"),
        ),
    ]
}

fn tolerations() -> Vec<(String, String)> {
    let keys = list([MASTER, CONTROL_PLANE]);
    let tolerates = format!(
        "has(object.spec.tolerations) && object.spec.tolerations.exists(one, has(one.key) && one.key in {keys})"
    );
    let message = "Create or update resources to have master toleration taints is not allowed in non-privileged namespaces";
    vec![(format!("!({tolerates})"), text(message))]
}

fn pull_secret() -> Vec<(String, String)> {
    vec![("false".to_owned(), text("Deleting pull secret is not allowed"))]
}
