//! Kinds of objects, each declared once: no discovery is needed, and a kind whose definition comes later is served as soon
//! as it is there (`contract/operator.md` "Do better" 4).

use serde_json::Value;

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Empty: the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    /// The name in paths.
    pub plural: &'static str,
    pub namespaced: bool,
}

macro_rules! kinds {
    ($($name:ident $group:literal $version:literal $kind:literal $plural:literal $namespaced:literal;)+) => {
        $(
            #[doc = $kind]
            pub const $name: Kind =
                Kind { group: $group, version: $version, kind: $kind, plural: $plural, namespaced: $namespaced };
        )+

        /// Every kind.
        const ALL: &[Kind] = &[$($name),+];
    };
}

kinds! {
    CLUSTER "aro.openshift.io" "v1alpha1" "Cluster" "clusters" false;
    PREVIEW_FEATURE "preview.aro.openshift.io" "v1alpha1" "PreviewFeature" "previewfeatures" false;
    NAMESPACE "" "v1" "Namespace" "namespaces" false;
    SECRET "" "v1" "Secret" "secrets" true;
    CONFIG_MAP "" "v1" "ConfigMap" "configmaps" true;
    SERVICE_ACCOUNT "" "v1" "ServiceAccount" "serviceaccounts" true;
    SERVICE "" "v1" "Service" "services" true;
    POD "" "v1" "Pod" "pods" true;
    NODE "" "v1" "Node" "nodes" false;
    CLAIM "" "v1" "PersistentVolumeClaim" "persistentvolumeclaims" true;
    RESOURCE_QUOTA "" "v1" "ResourceQuota" "resourcequotas" true;
    DEPLOYMENT "apps" "v1" "Deployment" "deployments" true;
    DAEMON_SET "apps" "v1" "DaemonSet" "daemonsets" true;
    LEASE "coordination.k8s.io" "v1" "Lease" "leases" true;
    CLUSTER_ROLE "rbac.authorization.k8s.io" "v1" "ClusterRole" "clusterroles" false;
    CLUSTER_ROLE_BINDING "rbac.authorization.k8s.io" "v1" "ClusterRoleBinding" "clusterrolebindings" false;
    TOKEN_REVIEW "authentication.k8s.io" "v1" "TokenReview" "tokenreviews" false;
    ACCESS_REVIEW "authorization.k8s.io" "v1" "SubjectAccessReview" "subjectaccessreviews" false;
    ROLE "rbac.authorization.k8s.io" "v1" "Role" "roles" true;
    ROLE_BINDING "rbac.authorization.k8s.io" "v1" "RoleBinding" "rolebindings" true;
    DISRUPTION_BUDGET "policy" "v1" "PodDisruptionBudget" "poddisruptionbudgets" true;
    RESOURCE_DEFINITION "apiextensions.k8s.io" "v1" "CustomResourceDefinition" "customresourcedefinitions" false;
    ADMISSION_POLICY "admissionregistration.k8s.io" "v1" "ValidatingAdmissionPolicy" "validatingadmissionpolicies" false;
    ADMISSION_BINDING "admissionregistration.k8s.io" "v1" "ValidatingAdmissionPolicyBinding" "validatingadmissionpolicybindings" false;
    ADMIN_NETWORK_POLICY "policy.networking.k8s.io" "v1alpha1" "AdminNetworkPolicy" "adminnetworkpolicies" false;
    SECURITY_CONSTRAINTS "security.openshift.io" "v1" "SecurityContextConstraints" "securitycontextconstraints" false;
    CLUSTER_VERSION "config.openshift.io" "v1" "ClusterVersion" "clusterversions" false;
    CLUSTER_OPERATOR "config.openshift.io" "v1" "ClusterOperator" "clusteroperators" false;
    IMAGE "config.openshift.io" "v1" "Image" "images" false;
    PROXY "config.openshift.io" "v1" "Proxy" "proxies" false;
    DNS "operator.openshift.io" "v1" "DNS" "dnses" false;
    INGRESS_CONTROLLER "operator.openshift.io" "v1" "IngressController" "ingresscontrollers" true;
    NETWORK_OPERATOR "operator.openshift.io" "v1" "Network" "networks" false;
    REGISTRY_CONFIG "imageregistry.operator.openshift.io" "v1" "Config" "configs" false;
    CONSOLE_NOTIFICATION "console.openshift.io" "v1" "ConsoleNotification" "consolenotifications" false;
    MACHINE "machine.openshift.io" "v1beta1" "Machine" "machines" true;
    MACHINE_SET "machine.openshift.io" "v1beta1" "MachineSet" "machinesets" true;
    MACHINE_HEALTH_CHECK "machine.openshift.io" "v1beta1" "MachineHealthCheck" "machinehealthchecks" true;
    CONTROL_PLANE_MACHINE_SET "machine.openshift.io" "v1" "ControlPlaneMachineSet" "controlplanemachinesets" true;
    MACHINE_CONFIG "machineconfiguration.openshift.io" "v1" "MachineConfig" "machineconfigs" false;
    MACHINE_CONFIG_POOL "machineconfiguration.openshift.io" "v1" "MachineConfigPool" "machineconfigpools" false;
    KUBELET_CONFIG "machineconfiguration.openshift.io" "v1" "KubeletConfig" "kubeletconfigs" false;
    PROMETHEUS_RULE "monitoring.coreos.com" "v1" "PrometheusRule" "prometheusrules" true;
    POD_MONITOR "monitoring.coreos.com" "v1" "PodMonitor" "podmonitors" true;
}

impl Kind {
    /// The kind of an object, by its `apiVersion` and `kind`.
    pub fn of(object: &Value) -> Option<&'static Self> {
        let text = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
        Self::named(text("apiVersion"), text("kind"))
    }

    /// The kind of that name.
    pub fn named(api_version: &str, name: &str) -> Option<&'static Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        ALL.iter().find(|kind| kind.kind == name && kind.group == group && kind.version == version)
    }

    /// Group and version, as objects name them.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The path of its objects, of one namespace or of all.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api/".to_owned() } else { format!("/apis/{}/", self.group) };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{root}{}/namespaces/{namespace}/{}", self.version, self.plural),
            None => format!("{root}{}/{}", self.version, self.plural),
        }
    }
}

/// One object: its kind and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectName<'a> {
    pub kind: &'static Kind,
    /// Empty for objects of the cluster.
    pub namespace: &'a str,
    pub name: &'a str,
}

impl<'a> ObjectName<'a> {
    /// An object of the cluster.
    pub const fn of_cluster(kind: &'static Kind, name: &'a str) -> Self {
        Self { kind, namespace: "", name }
    }

    /// An object of a namespace.
    pub const fn in_namespace(kind: &'static Kind, namespace: &'a str, name: &'a str) -> Self {
        Self { kind, namespace, name }
    }

    /// The name that an object has itself; `None`: its kind is not in the table, or it has no name.
    pub fn of(object: &'a Value) -> Option<Self> {
        let text = |member: &str| object.pointer(member).and_then(Value::as_str).unwrap_or_default();
        let name = text("/metadata/name");
        let kind = Kind::of(object)?;
        (!name.is_empty()).then_some(Self { kind, namespace: text("/metadata/namespace"), name })
    }

    /// The path of the object.
    pub fn path(&self) -> String {
        let namespace = (!self.namespace.is_empty()).then_some(self.namespace);
        format!("{}/{}", self.kind.path(namespace), self.name)
    }
}

/// `Kind.group/namespace/name`, as in log lines (`contract/operator.md` §6).
impl std::fmt::Display for ObjectName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.kind)?;
        if !self.kind.group.is_empty() {
            write!(f, ".{}", self.kind.group)?;
        }
        write!(f, "/{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_has_a_path_and_a_name() {
        let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "a", "namespace": "b" } });
        let name = ObjectName::of(&role).unwrap();
        assert_eq!(name.path(), "/apis/rbac.authorization.k8s.io/v1/namespaces/b/roles/a");
        assert_eq!(name.to_string(), "Role.rbac.authorization.k8s.io/b/a");
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } });
        assert_eq!(ObjectName::of(&namespace).unwrap().path(), "/api/v1/namespaces/a");
        assert_eq!(
            ObjectName::of(&json!({ "apiVersion": "v2", "kind": "Namespace", "metadata": { "name": "a" } })),
            None
        );
        assert_eq!(SECRET.path(None), "/api/v1/secrets");
    }

    #[test]
    fn a_kind_is_declared_once() {
        for (at, kind) in ALL.iter().enumerate() {
            let twice =
                ALL.iter().skip(at + 1).any(|other| (other.group, other.kind) == (kind.group, kind.kind));
            assert!(!twice, "{kind:?}");
        }
    }
}
