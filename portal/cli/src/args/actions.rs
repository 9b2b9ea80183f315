//! `aro node …`, `aro csr …`, `aro pod …`, `aro workload …`

use clap::{Args, Subcommand, ValueEnum};

use super::{Connection, seconds};

/// What every action is given.
#[derive(Debug, Args)]
pub struct ActionArgs {
    /// Why, for the record
    #[arg(long, required_unless_present = "dry_run", default_value = "", hide_default_value = true)]
    pub reason: String,
    /// Let the cluster check it only; nothing is changed
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub connection: Connection,
}

/// `aro node …`
#[derive(Debug, Args)]
pub struct NodeArgs {
    #[command(subcommand)]
    pub verb: NodeVerb,
}

#[derive(Debug, Subcommand)]
pub enum NodeVerb {
    /// Keep new pods away from a node; needs an elevation to write rights
    Cordon(NodeActionArgs),
    /// Let a node take pods again; needs an elevation to write rights
    Uncordon(NodeActionArgs),
    /// Cordon a node and move its pods away; needs an elevation to write rights. Stop it with Ctrl-C: what has left has
    /// left, and the same command goes on. Exit code 1 when pods are left
    Drain(DrainArgs),
}

#[derive(Debug, Args)]
pub struct NodeActionArgs {
    /// Name or resource id of the cluster
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Name of the node
    pub node: String,
    #[command(flatten)]
    pub action: ActionArgs,
}

#[derive(Debug, Args)]
pub struct DrainArgs {
    /// Name or resource id of the cluster
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Name of the node
    pub node: String,
    /// Delete the pods instead of evicting them: budgets of disruption are not honoured
    #[arg(long)]
    pub force: bool,
    /// How long to wait for the pods to leave at most, e.g. 10m, 1h
    #[arg(long, value_parser = seconds, default_value = "10m", value_name = "LENGTH")]
    pub wait_limit: u64,
    #[command(flatten)]
    pub action: ActionArgs,
}

/// `aro csr …`
#[derive(Debug, Args)]
pub struct CsrArgs {
    #[command(subcommand)]
    pub verb: CsrVerb,
}

#[derive(Debug, Subcommand)]
pub enum CsrVerb {
    /// Approve a request; needs an elevation to admin rights
    Approve(CsrActionArgs),
    /// Deny a request; needs an elevation to admin rights
    Deny(CsrActionArgs),
}

#[derive(Debug, Args)]
pub struct CsrActionArgs {
    /// Name or resource id of the cluster
    #[arg(add = crate::completer::clusters())]
    pub cluster: String,
    /// Name of the certificate signing request
    pub csr: String,
    #[command(flatten)]
    pub action: ActionArgs,
}

/// `aro pod …`
#[derive(Debug, Args)]
pub struct PodArgs {
    #[command(subcommand)]
    pub verb: PodVerb,
}

#[derive(Debug, Subcommand)]
pub enum PodVerb {
    /// Delete a pod; needs an elevation to write rights
    Delete {
        /// Name or resource id of the cluster
        #[arg(add = crate::completer::clusters())]
        cluster: String,
        namespace: String,
        /// Name of the pod
        pod: String,
        /// At once, without waiting for its kubelet
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        action: ActionArgs,
    },
}

/// `aro workload …`
#[derive(Debug, Args)]
pub struct WorkloadArgs {
    #[command(subcommand)]
    pub verb: WorkloadVerb,
}

#[derive(Debug, Subcommand)]
pub enum WorkloadVerb {
    /// Make its pods anew, as kubectl rollout restart does; needs an elevation to write rights
    Restart {
        /// Name or resource id of the cluster
        #[arg(add = crate::completer::clusters())]
        cluster: String,
        kind: WorkloadKindArg,
        namespace: String,
        /// Name of the workload
        name: String,
        #[command(flatten)]
        action: ActionArgs,
    },
    /// Ask for another number of replicas; needs an elevation to write rights
    Scale {
        /// Name or resource id of the cluster
        #[arg(add = crate::completer::clusters())]
        cluster: String,
        kind: WorkloadKindArg,
        namespace: String,
        /// Name of the workload
        name: String,
        #[arg(value_parser = clap::value_parser!(u32).range(0..=1000))]
        replicas: u32,
        /// Change nothing when it has another number now
        #[arg(long, value_name = "REPLICAS")]
        from: Option<u32>,
        #[command(flatten)]
        action: ActionArgs,
    },
}

/// A kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WorkloadKindArg {
    #[value(alias = "deployments", alias = "Deployment")]
    Deployment,
    #[value(name = "statefulset", alias = "statefulsets", alias = "StatefulSet")]
    StatefulSet,
    #[value(name = "daemonset", alias = "daemonsets", alias = "DaemonSet")]
    DaemonSet,
}

impl WorkloadKindArg {
    /// As it stands in paths.
    pub(crate) const fn segment(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::StatefulSet => "statefulset",
            Self::DaemonSet => "daemonset",
        }
    }
}

impl NodeVerb {
    pub(crate) const fn action(&self) -> &ActionArgs {
        match self {
            Self::Cordon(args) | Self::Uncordon(args) => &args.action,
            Self::Drain(args) => &args.action,
        }
    }
}

impl CsrVerb {
    pub(crate) const fn action(&self) -> &ActionArgs {
        match self {
            Self::Approve(args) | Self::Deny(args) => &args.action,
        }
    }
}

impl PodVerb {
    pub(crate) const fn action(&self) -> &ActionArgs {
        let Self::Delete { action, .. } = self;
        action
    }
}

impl WorkloadVerb {
    pub(crate) const fn action(&self) -> &ActionArgs {
        match self {
            Self::Restart { action, .. } | Self::Scale { action, .. } => action,
        }
    }
}
