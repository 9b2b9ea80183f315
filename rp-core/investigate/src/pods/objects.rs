//! The objects of one investigation (`contract/frontend.md` §11.10).

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Timestamp;
use rp_config::RpInvestigate;
use serde_json::{Value, json};

use crate::credential::DiagnosticsKubeconfig;
use crate::question::Question;

/// Label of every object: the id of its investigation.
pub(super) const INVESTIGATION: &str = "aro.openshift.io/investigation";
/// Label of every object: after these Unix seconds its investigation runs no more.
pub(super) const EXPIRES: &str = "aro.openshift.io/investigation-expires";
/// Annotation of every object: the resource id of the cluster.
const CLUSTER: &str = "aro.openshift.io/cluster";
/// The pod's only container.
const CONTAINER: &str = "holmes";
/// Where the kubeconfig, and question and configuration, stand in the container.
const CREDENTIAL: &str = "/etc/investigation/credential";
const INPUT: &str = "/etc/investigation/input";

/// The kinds, in the order in which they are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Secret,
    ConfigMap,
    Pod,
}

impl ObjectKind {
    pub(super) const ALL: [Self; 3] = [Self::Secret, Self::ConfigMap, Self::Pod];

    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Secret => "secrets",
            Self::ConfigMap => "configmaps",
            Self::Pod => "pods",
        }
    }

    const fn kind(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
            Self::Pod => "Pod",
        }
    }

    /// The name of the object of that investigation.
    pub(super) fn name(self, id: &str) -> String {
        match self {
            Self::Secret => format!("holmes-kubeconfig-{id}"),
            Self::ConfigMap => format!("holmes-config-{id}"),
            Self::Pod => format!("holmes-investigate-{id}"),
        }
    }
}

/// What the objects of one investigation are made of.
pub(super) struct ObjectInputs<'a> {
    pub(super) settings: &'a RpInvestigate,
    /// Eight hexadecimal digits.
    pub(super) id: &'a str,
    /// The resource id of the cluster.
    pub(super) cluster: &'a str,
    /// The private endpoint of its API server.
    pub(super) address: IpAddr,
    pub(super) question: &'a Question,
    pub(super) kubeconfig: &'a DiagnosticsKubeconfig,
    /// The program's configuration file; empty: it has none.
    pub(super) configuration: &'a str,
    pub(super) expires: Timestamp,
}

impl ObjectInputs<'_> {
    pub(super) fn object(&self, kind: ObjectKind) -> Value {
        let mut object = json!({
            "apiVersion": "v1",
            "kind": kind.kind(),
            "metadata": {
                "name": kind.name(self.id),
                "namespace": self.settings.investigate_namespace,
                "labels": {
                    "app.kubernetes.io/name": CONTAINER,
                    "app.kubernetes.io/managed-by": "aro",
                    INVESTIGATION: self.id,
                    EXPIRES: self.expires.seconds().to_string(),
                },
                "annotations": {CLUSTER: self.cluster},
            },
        });
        match kind {
            ObjectKind::Secret => {
                object["type"] = json!("Opaque");
                object["immutable"] = json!(true);
                object["data"] = json!({"kubeconfig": STANDARD.encode(self.kubeconfig.text.expose())});
            }
            ObjectKind::ConfigMap => {
                object["immutable"] = json!(true);
                object["data"] = json!({"question": self.question.text()});
                if !self.configuration.is_empty() {
                    object["data"]["config.yaml"] = json!(self.configuration);
                }
            }
            ObjectKind::Pod => {
                // The token of the model's identity is put in by the webhook of workload identity, by this label.
                object["metadata"]["labels"]["azure.workload.identity/use"] = json!("true");
                object["spec"] = self.pod();
            }
        }
        object
    }

    fn pod(&self) -> Value {
        json!({
            "serviceAccountName": self.settings.investigate_service_account,
            // Nothing in the pod talks to the management cluster.
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": self.settings.investigate_timeout.as_secs(),
            "terminationGracePeriodSeconds": 5,
            "hostAliases": [{"ip": self.address.to_string(), "hostnames": [self.kubeconfig.host]}],
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [self.container()],
            "volumes": [
                {"name": "credential", "secret": {
                    "secretName": ObjectKind::Secret.name(self.id), "defaultMode": 0o440}},
                {"name": "input", "configMap": {"name": ObjectKind::ConfigMap.name(self.id)}},
                {"name": "scratch", "emptyDir": {"sizeLimit": "256Mi"}},
            ],
        })
    }

    fn container(&self) -> Value {
        let mut arguments = vec!["ask".to_owned(), "--no-interactive".to_owned(), "--no-echo".to_owned()];
        if !self.configuration.is_empty() {
            arguments.push(format!("--config={INPUT}/config.yaml"));
        }
        // A file and no argument: whatever it begins with, it is no option.
        arguments.push(format!("--prompt-file={INPUT}/question"));
        json!({
            "name": CONTAINER,
            "image": self.settings.investigate_image,
            "args": arguments,
            "env": self.environment(),
            "resources": {
                "requests": {"cpu": "100m", "memory": "256Mi"},
                "limits": {"cpu": "1", "memory": "2Gi"},
            },
            "securityContext": {
                "allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [
                {"name": "credential", "mountPath": CREDENTIAL, "readOnly": true},
                {"name": "input", "mountPath": INPUT, "readOnly": true},
                {"name": "scratch", "mountPath": "/tmp"},
            ],
        })
    }

    fn environment(&self) -> Value {
        let settings = self.settings;
        let base = settings.investigate_model_url.as_ref().map(|url| url.as_str().trim_end_matches('/'));
        let kubeconfig = format!("{CREDENTIAL}/kubeconfig");
        let all = [
            ("HOME", "/tmp"),
            ("KUBECONFIG", kubeconfig.as_str()),
            ("MODEL", settings.investigate_model.as_str()),
            ("AZURE_API_BASE", base.unwrap_or_default()),
            ("AZURE_API_VERSION", settings.investigate_model_api_version.as_str()),
        ];
        let set = all.iter().filter(|(_, value)| !value.is_empty());
        set.map(|(name, value)| json!({"name": name, "value": value})).collect()
    }
}
