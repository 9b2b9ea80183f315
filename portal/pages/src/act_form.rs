//! What the dialog of an action on an object of a cluster is asked for, and what it posts.

use portal_model::actions::{Action, Decision, WorkloadKind};
use portal_model::index::Entry;

/// The fields of the dialog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActForm {
    /// `cordon`, `uncordon`, `drain`, `approve`, `deny`, `delete`, `restart` or `scale`.
    pub(crate) action: String,
    /// Of a workload.
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// `force`: without regard to budgets, or to the kubelet.
    pub(crate) how: String,
    pub(crate) replicas: String,
    /// How many replicas the person saw.
    pub(crate) from: String,
    pub(crate) why: String,
    pub(crate) back: String,
    /// Which request of a drain this is.
    pub(crate) round: u32,
    /// Pods that earlier requests of this drain asked to leave.
    pub(crate) moved: usize,
}

impl ActForm {
    pub(crate) fn read(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in url::form_urlencoded::parse(body) {
            let field = match name.as_ref() {
                "do" => &mut form.action,
                "kind" => &mut form.kind,
                "namespace" => &mut form.namespace,
                "name" => &mut form.name,
                "how" => &mut form.how,
                "replicas" => &mut form.replicas,
                "from" => &mut form.from,
                "why" => &mut form.why,
                "back" => &mut form.back,
                "round" => {
                    form.round = value.parse().unwrap_or_default();
                    continue;
                }
                "moved" => {
                    form.moved = value.parse().unwrap_or_default();
                    continue;
                }
                _ => continue,
            };
            *field = value.into_owned();
        }
        form
    }

    /// The action that is meant; `to`: how many replicas, where that is known.
    pub(crate) fn action(&self, to: u32) -> Option<Action> {
        let (node, force) = (self.name.clone(), self.how == "force");
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        let kind = WorkloadKind::named(&self.kind);
        Some(match self.action.as_str() {
            "cordon" => Action::Cordon { node },
            "uncordon" => Action::Uncordon { node },
            "drain" => Action::Drain { node, force },
            "approve" => Action::Decide { csr: name, decision: Decision::Approve },
            "deny" => Action::Decide { csr: name, decision: Decision::Deny },
            "delete" => Action::DeletePod { namespace, name, force },
            "restart" => Action::Restart { kind: kind?, namespace, name },
            "scale" => {
                let from = self.from.parse().ok();
                Action::Scale { kind: kind?, namespace, name, from, to }
            }
            _ => return None,
        })
    }

    /// The page of the object.
    pub(crate) fn home(&self, entry: &Entry) -> String {
        let enc = web::text::encode;
        let (base, namespace, name) = (entry.path(), enc(&self.namespace), enc(&self.name));
        match self.action.as_str() {
            "cordon" | "uncordon" | "drain" => format!("{base}/nodes/{name}"),
            "approve" | "deny" => {
                format!("{base}/resources/certificates.k8s.io/v1/certificatesigningrequests/{name}")
            }
            "delete" => format!("{base}/pods"),
            _ => format!("{base}/workloads/{}/{namespace}/{name}", enc(&self.kind)),
        }
    }
}
