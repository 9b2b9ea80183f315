//! Who needs which rights on what, and what is said when they are missing (`contract/api.md` §16.2–16.3).
//! Pure.

use rp_api::CloudError;

/// Whose rights are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The service's first-party application, by its application id.
    FirstParty { application: String },
    /// The cluster's service principal, by its application id.
    ServicePrincipal { application: String },
    /// An operator's identity.
    Platform { operator: String },
    /// The cluster's own identity.
    ClusterIdentity,
}

/// The resource that a right is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    Network,
    Subnet,
    RouteTable,
    NatGateway,
    SecurityGroup,
    EncryptionSet,
    Identity,
}

const NETWORK: &[&str] = &[
    "Microsoft.Network/virtualNetworks/join/action",
    "Microsoft.Network/virtualNetworks/read",
    "Microsoft.Network/virtualNetworks/write",
];
const SUBNET: &[&str] = &[
    "Microsoft.Network/virtualNetworks/subnets/join/action",
    "Microsoft.Network/virtualNetworks/subnets/read",
    "Microsoft.Network/virtualNetworks/subnets/write",
];
const ROUTES: &[&str] = &[
    "Microsoft.Network/routeTables/join/action",
    "Microsoft.Network/routeTables/read",
    "Microsoft.Network/routeTables/write",
];
const NAT: &[&str] = &[
    "Microsoft.Network/natGateways/join/action",
    "Microsoft.Network/natGateways/read",
    "Microsoft.Network/natGateways/write",
];
const GROUP: &[&str] =
    &["Microsoft.Network/networkSecurityGroups/join/action", "Microsoft.Network/networkSecurityGroups/read"];

/// What a preconfigured security group is asked for, in both errors about it.
pub(crate) const PRECONFIGURED: &str = "When the enable-preconfigured-nsg option is specified, both the master and worker subnets should have network security groups (NSG) attached to them before starting the cluster installation.";

impl Subject {
    /// The actions that it needs. Those of [`ResourceKind::Identity`] are the role's, and not known here.
    pub(crate) fn actions(&self, on: ResourceKind) -> &'static [&'static str] {
        let first = matches!(self, Self::FirstParty { .. });
        let only = |all: &'static [&'static str], most: usize| all.get(..most).unwrap_or(all);
        match on {
            ResourceKind::Network if first => NETWORK.get(1..2).unwrap_or_default(),
            ResourceKind::Network => NETWORK,
            ResourceKind::Subnet => SUBNET,
            ResourceKind::RouteTable if first => only(ROUTES, 2),
            ResourceKind::RouteTable => ROUTES,
            ResourceKind::NatGateway if first => only(NAT, 1),
            ResourceKind::NatGateway => NAT,
            ResourceKind::SecurityGroup if first => GROUP,
            ResourceKind::SecurityGroup => only(GROUP, 1),
            ResourceKind::EncryptionSet => &["Microsoft.Compute/diskEncryptionSets/read"],
            ResourceKind::Identity => &[],
        }
    }

    const fn code(&self) -> &'static str {
        match self {
            Self::FirstParty { .. } => "InvalidResourceProviderPermissions",
            Self::ServicePrincipal { .. } => "InvalidServicePrincipalPermissions",
            Self::Platform { .. } => "InvalidWorkloadIdentityPermissions",
            Self::ClusterIdentity => "InvalidClusterMSIPermissions",
        }
    }

    /// The beginning of a sentence.
    fn who(&self) -> String {
        match self {
            Self::FirstParty { application } => {
                format!("The resource provider service principal (Application ID: {application})")
            }
            Self::ServicePrincipal { application } => {
                format!("The cluster service principal (Application ID: {application})")
            }
            Self::Platform { operator } => format!("The {operator} platform managed identity"),
            Self::ClusterIdentity => "The cluster user assigned identity".to_owned(),
        }
    }

    /// Rights are missing. `path`: the member that names the thing, told for encryption sets only; `original`: what
    /// Azure itself said, told for networks and subnets.
    pub(crate) fn refused(
        &self,
        on: ResourceKind,
        id: &str,
        path: &str,
        original: Option<&str>,
    ) -> CloudError {
        let lacks =
            |thing: &str| format!("{} does not have required permissions on {thing} '{id}'.", self.who());
        let (target, mut message) = match on {
            ResourceKind::Network => ("", lacks("vnet")),
            ResourceKind::Subnet => ("", lacks("subnet")),
            ResourceKind::RouteTable => ("", lacks("route table")),
            ResourceKind::NatGateway => ("", lacks("nat gateway")),
            ResourceKind::Identity => ("", lacks("platform workload identity")),
            ResourceKind::SecurityGroup => {
                let said = lacks("network security group");
                (
                    "",
                    format!("{said} This is required when the enable-preconfigured-nsg option is specified."),
                )
            }
            ResourceKind::EncryptionSet => (path, self.no_reader(id, lacks("disk encryption set"))),
        };
        if let Some(original) =
            original.filter(|_| matches!(on, ResourceKind::Network | ResourceKind::Subnet))
        {
            message.push_str("\nOriginal error message: ");
            message.push_str(original);
        }
        CloudError::bad(self.code(), target, message)
    }

    fn no_reader(&self, id: &str, otherwise: String) -> String {
        let of = match self {
            Self::FirstParty { .. } => "resource provider",
            Self::ServicePrincipal { .. } => "cluster",
            Self::Platform { .. } | Self::ClusterIdentity => return otherwise,
        };
        format!("The {of} service principal does not have Reader permission on disk encryption set '{id}'.")
    }
}

/// The resource does not exist. `path`: the member that names it, told for encryption sets only.
pub(crate) fn missing(kind: ResourceKind, id: &str, path: &str) -> CloudError {
    let (code, target, name) = match kind {
        ResourceKind::Network => ("InvalidLinkedVNet", "", "vnet"),
        ResourceKind::Subnet => {
            let message = format!("The provided subnet '{id}' could not be found.");
            return CloudError::bad("InvalidLinkedSubnet", "", message);
        }
        ResourceKind::RouteTable => ("InvalidLinkedRouteTable", "", "route table"),
        ResourceKind::NatGateway => ("InvalidLinkedNatGateway", "", "nat gateway"),
        ResourceKind::EncryptionSet => ("InvalidLinkedDiskEncryptionSet", path, "disk encryption set"),
        ResourceKind::SecurityGroup => ("NotFound", "", "network security group"),
        ResourceKind::Identity => ("InvalidPlatformWorkloadIdentity", "", "platform workload identity"),
    };
    CloudError::bad(code, target, format!("The {name} '{id}' could not be found."))
}

/// The subnet is not among those of its network.
pub(crate) fn not_in_network(id: &str) -> CloudError {
    CloudError::bad("InvalidLinkedVNet", "", format!("The provided subnet '{id}' could not be found."))
}
