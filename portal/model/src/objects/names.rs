//! Names of kinds and objects: from a path of this portal to a path of the API server; only valid names pass.

use http::StatusCode;
use portal_session::fault::Fault;
use rp_documents::Side;

/// The word that stands for the group without a name.
pub const CORE: &str = "core";

/// A kind as the API server names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KindName {
    /// Empty: the core.
    pub group: String,
    pub version: String,
    pub plural: String,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub kind: KindName,
    /// Empty: of the cluster.
    pub namespace: String,
    pub name: String,
}

impl KindName {
    pub fn new(group: &str, version: &str, plural: &str) -> Result<Self, Fault> {
        let group = if group == CORE { "" } else { group };
        let fits = (group.is_empty() || is_dns(group, 253)) && is_dns(version, 63) && is_dns(plural, 253);
        let name = Self { group: group.to_owned(), version: version.to_owned(), plural: plural.to_owned() };
        if fits { Ok(name) } else { Err(no_name()) }
    }

    /// Kinds that carry credentials are never shown, in any version
    /// (`contract/rules.md` §3.6: read-only is default-deny).
    pub fn is_secret(&self) -> bool {
        rp_access::credentials::carried_by(&self.group, &self.plural, "")
    }

    /// `/api/v1` or `/apis/GROUP/VERSION`.
    fn root(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }

    /// Path of its list on the API server; an empty namespace: everywhere.
    pub fn list(&self, namespace: &str) -> String {
        if namespace.is_empty() {
            format!("{}/{}", self.root(), self.plural)
        } else {
            format!("{}/namespaces/{}/{}", self.root(), web::text::encode(namespace), self.plural)
        }
    }

    /// Path after the cluster's, on our side.
    pub fn path_segment(&self) -> String {
        let group = if self.group.is_empty() { CORE } else { &self.group };
        format!("{group}/{}/{}", self.version, self.plural)
    }
}

impl ObjectName {
    /// From what follows the kind in a path of ours: `NAME` or `NAMESPACE/NAME`.
    pub fn new(kind: KindName, rest: &str) -> Result<Self, Fault> {
        let (namespace, name) = rest.split_once('/').unwrap_or(("", rest));
        if rest.starts_with('/') {
            return Err(no_name());
        }
        if !(namespace.is_empty() || is_dns(namespace, 63)) || !is_segment(name) {
            return Err(no_name());
        }
        Ok(Self { kind, namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// Path on the API server.
    pub fn path(&self) -> String {
        format!("{}/{}", self.kind.list(&self.namespace), web::text::encode(&self.name))
    }

    /// Path after the cluster's, on our side.
    pub fn path_segment(&self) -> String {
        let namespace = if self.namespace.is_empty() {
            String::new()
        } else {
            format!("/{}", web::text::encode(&self.namespace))
        };
        format!("{}{namespace}/{}", self.kind.path_segment(), web::text::encode(&self.name))
    }
}

/// The page of an object that another one names: by kind, for the kinds that stand in pages of ours.
pub fn page_of(kind: &str, namespace: &str, name: &str) -> Option<String> {
    if !is_segment(name) || !(namespace.is_empty() || is_dns(namespace, 63)) {
        return None;
    }
    let enc = web::text::encode;
    let namespaced = || (!namespace.is_empty()).then(|| format!("{}/{}", enc(namespace), enc(name)));
    match kind {
        "Node" => Some(format!("nodes/{}", enc(name))),
        "Machine" => Some(format!("machines/{}", enc(name))),
        "MachineSet" => Some(format!("machinesets/{}", enc(name))),
        "ClusterOperator" => Some(format!("operators/{}", enc(name))),
        "Pod" => namespaced().map(|rest| format!("pods/{rest}")),
        "Deployment" | "DaemonSet" | "StatefulSet" => {
            namespaced().map(|rest| format!("workloads/{}/{rest}", kind.to_ascii_lowercase()))
        }
        "ReplicaSet" => namespaced().map(|rest| format!("resources/apps/v1/replicasets/{rest}")),
        "Job" => namespaced().map(|rest| format!("resources/batch/v1/jobs/{rest}")),
        "CronJob" => namespaced().map(|rest| format!("resources/batch/v1/cronjobs/{rest}")),
        "ClusterVersion" => Some(format!("resources/config.openshift.io/v1/clusterversions/{}", enc(name))),
        "Namespace" => Some(format!("resources/core/v1/namespaces/{}", enc(name))),
        _ => None,
    }
}

/// Small letters, digits, `-` and `.`: a DNS name as Kubernetes has it.
pub fn is_dns(text: &str, most: usize) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    let bytes = text.as_bytes();
    bytes.len() <= most
        && bytes.iter().all(|b| inner(*b))
        && edge(bytes.first())
        && edge(bytes.last())
        && !text.contains("..")
}

/// What can be a segment of a path: names of roles have colons, no name has a slash.
pub fn is_segment(text: &str) -> bool {
    let strange = |c: char| c.is_control() || matches!(c, '/' | '%' | '\\' | ';' | '?' | '#');
    !text.is_empty() && text.len() <= 253 && text != "." && text != ".." && !text.contains(strange)
}

fn no_name() -> Fault {
    Fault::new(StatusCode::BAD_REQUEST, "bad_name", Side::You, "That is no name in a cluster")
        .why("Names have small letters, digits, dashes and dots.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths_and_nothing_else_does() {
        let kind = KindName::new("config.openshift.io", "v1", "clusteroperators").unwrap();
        assert_eq!(kind.list(""), "/apis/config.openshift.io/v1/clusteroperators");
        let pods = KindName::new(CORE, "v1", "pods").unwrap();
        assert_eq!(pods.list("openshift-etcd"), "/api/v1/namespaces/openshift-etcd/pods");
        let pod = ObjectName::new(pods.clone(), "openshift-etcd/etcd-0").unwrap();
        assert_eq!(pod.path(), "/api/v1/namespaces/openshift-etcd/pods/etcd-0");
        assert_eq!(pod.path_segment(), "core/v1/pods/openshift-etcd/etcd-0");
        let roles = KindName::new("rbac.authorization.k8s.io", "v1", "clusterroles").unwrap();
        let role = ObjectName::new(roles, "system:node").unwrap();
        assert_eq!(role.path(), "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode");
        for bad in ["", "..", "a/b/c", "a/../b", "A/b", "a/%2e", "a\u{0}", "a?x", "/b"] {
            assert!(ObjectName::new(pods.clone(), bad).is_err(), "{bad:?}");
        }
        for (group, version, plural) in [
            ("..", "v1", "pods"),
            (CORE, "v1", "pods/log"),
            (CORE, "", "pods"),
            ("a..b", "v1", "x"),
            (CORE, "v1", "Pods"),
        ] {
            assert!(KindName::new(group, version, plural).is_err(), "{group} {version} {plural}");
        }
        for (group, plural) in [
            (CORE, "secrets"),
            ("oauth.openshift.io", "oauthaccesstokens"),
            ("machineconfiguration.openshift.io", "machineconfigs"),
            ("machineconfiguration.openshift.io", "controllerconfigs"),
        ] {
            assert!(KindName::new(group, "v1", plural).unwrap().is_secret(), "{group} {plural}");
        }
        assert!(!KindName::new(CORE, "v1", "configmaps").unwrap().is_secret());
    }

    #[test]
    fn objects_lead_to_pages() {
        assert_eq!(page_of("Pod", "a", "b").as_deref(), Some("pods/a/b"));
        assert_eq!(page_of("Node", "", "n.x").as_deref(), Some("nodes/n.x"));
        assert_eq!(page_of("Pod", "", "b"), None);
        assert_eq!(page_of("Pod", "a", "b/c"), None);
        assert_eq!(page_of("Thing", "a", "b"), None);
    }
}
