//! The tasks of maintenance: which there are, what each does, and which can run (`contract/mimo.md` §5).

use std::time::Duration;

/// One task, declared once: the API checks manifests against it, pages show it, the actuator runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    TlsCertificates,
    OperatorReset,
    OperatorFlags,
    OperatorUpdate,
    SyncClusterObject,
    RegistryTokenCheck,
    IdentityCertificate,
    BalancerZones,
    FixSsh,
    OtelDefault,
    OtelMaxLogs,
    OtelReducedLogs,
    OtelMinimalLogs,
    ResizeControlPlane,
    StartMachine,
    StopMachine,
    RestartMachine,
    RedeployMachine,
    RecoverEtcd,
    RenewEtcdCertificates,
}

/// Whether a task can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    Ready,
    /// It runs, but only a route of its own makes its manifests, for they carry more than the task; which route.
    Ordered(&'static str),
    /// No manifest and no schedule may name it; what is missing.
    Missing(&'static str),
}

/// Every task: those of the contract in its order, then ours.
pub const TASKS: [Task; 20] = [
    Task::TlsCertificates,
    Task::OperatorReset,
    Task::OperatorFlags,
    Task::OperatorUpdate,
    Task::SyncClusterObject,
    Task::RegistryTokenCheck,
    Task::IdentityCertificate,
    Task::BalancerZones,
    Task::FixSsh,
    Task::OtelDefault,
    Task::OtelMaxLogs,
    Task::OtelReducedLogs,
    Task::OtelMinimalLogs,
    Task::ResizeControlPlane,
    Task::StartMachine,
    Task::StopMachine,
    Task::RestartMachine,
    Task::RedeployMachine,
    Task::RecoverEtcd,
    Task::RenewEtcdCertificates,
];

impl Task {
    /// The id in manifests and schedules, lower case.
    pub const fn id(self) -> &'static str {
        self.row().0
    }

    /// The name, for people and as a label of metrics.
    pub const fn name(self) -> &'static str {
        self.row().1
    }

    /// What it does, one sentence.
    pub const fn about(self) -> &'static str {
        self.row().2
    }

    /// Whether it can run.
    pub const fn build(self) -> Build {
        self.row().3
    }

    /// The task with that id.
    pub fn with_id(id: &str) -> Option<Self> {
        TASKS.into_iter().find(|task| task.id() == id)
    }

    const fn row(self) -> (&'static str, &'static str, &'static str, Build) {
        match self {
            Self::TlsCertificates => (
                "9b741734-6505-447f-8510-85eb0ae561a2",
                "TLS certificate rotation",
                "Copies the certificates of API server and ingress from the region's vault into the cluster.",
                Build::Ready,
            ),
            Self::OperatorReset => (
                "75ab83d0-9a56-4ae3-843d-0db43679b082",
                "operator version reset",
                "Clears the pinned version of the operator and updates the operator.",
                Build::Ready,
            ),
            Self::OperatorFlags => (
                "b41749fc-af26-4ab7-b5a1-e03f3ee4cba6",
                "operator flags update",
                "Writes the operator flags of the document to the cluster.",
                Build::Ready,
            ),
            Self::OperatorUpdate => (
                "258efb3b-a695-4a40-93ed-38fb1a19be6f",
                "operator update",
                "Deploys the operator and waits until it runs in the wanted version.",
                Build::Ready,
            ),
            Self::SyncClusterObject => (
                "f83e56af-25dc-4990-b4f9-3ee25b2f62e0",
                "sync Cluster object",
                "Writes what the operator reads of the document to the cluster.",
                Build::Ready,
            ),
            Self::RegistryTokenCheck => (
                "082978ce-3700-4972-835f-53d48658d291",
                "ACR token checker",
                "Checks how long the registry's token is still valid. Changes nothing.",
                Build::Ready,
            ),
            Self::IdentityCertificate => (
                "7c3f8e2d-9a4b-4f1e-8c5d-2b6a9e7f3d1c",
                "MSI certificate renewal",
                "Renews the certificate of the cluster's own identity.",
                Build::Missing("the data plane of managed identities is not asked"),
            ),
            Self::BalancerZones => (
                "c28a07c1-462f-42d2-8031-4b0222256596",
                "migrate internal LB zones",
                "Makes the internal load balancer redundant over zones, then repairs SSH.",
                Build::Ready,
            ),
            Self::FixSsh => (
                "888fc221-b059-49db-bd02-22ad86cccd6b",
                "fix SSH",
                "Repairs rules, probes and pools of the load balancer for SSH to the control plane.",
                Build::Ready,
            ),
            Self::OtelDefault => (
                "eb0360af-4748-42a3-9788-dfffae58dff6",
                "OTel logging default",
                "Turns the shipping of logs on, with the profile minimal-logs.",
                Build::Ready,
            ),
            Self::OtelMaxLogs => (
                "fbfa4ce6-117a-4c2e-8317-0834e51d6f6f",
                "OTel profile max logs",
                "Turns the shipping of logs on, with the profile max-logs.",
                Build::Ready,
            ),
            Self::OtelReducedLogs => (
                "62e61118-78ff-4d11-abaa-e171ae1edd39",
                "OTel profile reduced logs",
                "Turns the shipping of logs on, with the profile reduced-logs.",
                Build::Ready,
            ),
            Self::OtelMinimalLogs => (
                "59444b6f-c5e1-4d12-84b2-81d8ed5af9c9",
                "OTel profile minimal logs",
                "Turns the shipping of logs on, with the profile minimal-logs.",
                Build::Ready,
            ),
            Self::ResizeControlPlane => (
                "5d0f6a3e-8b41-4c7a-9e52-3f1d7c6b0a94",
                "control plane resize",
                "Gives the masters another size, one after the other; after a failure back again.",
                Build::Ordered("POST resizecontrolplane of the cluster makes its manifests"),
            ),
            Self::StartMachine => (
                "2c9e4b71-6d0a-4f53-8a1e-90b7c35d4f12",
                "start machine",
                "Starts a machine and waits for its node; a node that a stop has cordoned takes pods again.",
                Build::Ready,
            ),
            Self::StopMachine => (
                "b85a1f06-3e7c-4d29-9f48-17c60e2ad953",
                "stop machine",
                "Cordons and drains the node of a machine, then stops the machine and gives its host back.",
                Build::Ready,
            ),
            Self::RestartMachine => (
                "e170d9c4-58b2-4a36-b6f7-4d2c81f09a3e",
                "restart machine",
                "Cordons and drains the node of a machine, stops and starts the machine, and waits for its node.",
                Build::Ready,
            ),
            Self::RedeployMachine => (
                "46f3b2a8-9c15-4e70-8d64-f0a3795e1bc7",
                "redeploy machine",
                "Cordons and drains the node of a machine, moves the machine to another host, and waits for its node.",
                Build::Ready,
            ),
            Self::RecoverEtcd => (
                "7e0b6d25-41fa-4c83-92d7-5ab8e3c10f69",
                "etcd recovery",
                "Moves the data of the broken etcd member aside, removes the member, and waits until a new one has joined.",
                Build::Ready,
            ),
            Self::RenewEtcdCertificates => (
                "a3d95c18-0b7e-4e62-8f14-6c29d7b0e583",
                "etcd certificate renewal",
                "Renews the certificates of etcd of a cluster before 4.9; after a failure puts the old ones back.",
                Build::Ready,
            ),
        }
    }

    /// Whether its manifests name a machine; schedules cannot.
    pub const fn needs_machine(self) -> bool {
        self.is_on_machine() || matches!(self, Self::RecoverEtcd)
    }

    /// Whether it starts, stops or moves a machine; only these can be forced.
    pub const fn is_on_machine(self) -> bool {
        matches!(self, Self::StartMachine | Self::StopMachine | Self::RestartMachine | Self::RedeployMachine)
    }

    /// Whether it gives the cluster to an operation of a customer that waits, after its running step. A task that takes
    /// machines or members of etcd away does not: an operation would meet a cluster in pieces.
    pub const fn gives_way(self) -> bool {
        !matches!(self, Self::ResizeControlPlane | Self::RenewEtcdCertificates) && !self.needs_machine()
    }

    /// The least time limit of one run of it; most keep to the limit of the settings.
    pub const fn least_limit(self) -> Duration {
        match self {
            // More than the limits of all its steps, there and back.
            Self::ResizeControlPlane => Duration::from_hours(9),
            Self::RenewEtcdCertificates => Duration::from_hours(2),
            _ if self.needs_machine() => Duration::from_hours(2),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_and_names_are_unique_and_found() {
        let ids: BTreeSet<_> = TASKS.iter().map(|task| task.id()).collect();
        let names: BTreeSet<_> = TASKS.iter().map(|task| task.name()).collect();
        assert_eq!((ids.len(), names.len()), (TASKS.len(), TASKS.len()));
        for task in TASKS {
            assert_eq!(Task::with_id(task.id()), Some(task));
            assert_eq!(task.id().len(), 36);
            assert_eq!(task.id(), task.id().to_ascii_lowercase());
        }
        assert_eq!(Task::with_id(""), None);
    }

    #[test]
    fn the_guide_lists_every_task() {
        let guide = include_str!("../../../../docs/guides/maintenance.md");
        for task in TASKS {
            let available = match task.build() {
                Build::Ready if task.needs_machine() => "yes, with a machine",
                Build::Ready => "yes",
                Build::Ordered(_) => "by `POST …/resizecontrolplane`",
                Build::Missing(_) => "no: the API refuses it",
            };
            let row = format!("| `{}` | {} | {available} |", task.id(), task.name());
            assert!(guide.contains(&row), "{row}");
        }
    }
}
