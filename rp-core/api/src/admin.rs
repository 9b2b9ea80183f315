//! The version `admin`: what SREs see of a cluster and may change (`contract/api.md` §15).

use serde_json::Value;

use crate::defaults::flags;
use crate::error::CloudError;
use crate::schema::{Change, Member, Members, Shape, map, member, object, objects, text};
use crate::version::{JsonDialect, Version};
use crate::versions::first_members;

pub(crate) fn version() -> Version {
    let newest = crate::versions::all().pop();
    let of = newest.map_or_else(first_members, |newest| newest.cluster);
    Version {
        name: "admin",
        cluster: members(of),
        json: JsonDialect::Declared,
        admin_kubeconfig: false,
        openshift_versions: true,
        named_versions: true,
        role_sets: true,
        extra_state: None,
        shows_live_workers: false,
        service_principal_required: false,
        ingress_checked_on_update: false,
        reserved_ranges_by_network: false,
        values_checked: false,
        published: None,
    }
}

/// The newest version's members and those that only `admin` has.
fn members(mut of: Members) -> Members {
    of.remove("systemData");
    of.remove("properties.clusterProfile.pullSecret");
    of.remove("properties.servicePrincipalProfile.clientSecret");
    of.0.iter_mut().for_each(fix);
    of.0.retain(|member| member.name != "properties");
    let properties = object("properties", "What the cluster is.", properties());
    of.add("", properties);
    of.add("", text("operatorFlagsMergeStrategy", "How the flags of a PATCH are merged.").free());
    of
}

/// Members of the customer become immutable; those that Azure fills stay read-only.
fn fix(member: &mut Member) {
    if member.change == Change::Free {
        member.change = Change::Never;
    }
    if let Shape::Object(below) = &mut member.shape {
        below.0.iter_mut().for_each(fix);
    }
    member.replaced = false;
}

fn properties() -> Vec<Member> {
    let number = |name, says| member(name, Shape::Int, says);
    vec![
        number("architectureVersion", "0: three load balancers; 1: two."),
        text("provisioningState", "Where the cluster is in its life."),
        text("lastProvisioningState", "The state before the running operation."),
        text("failedProvisioningState", "The operation that failed."),
        text("lastAdminUpdateError", "Why the last admin update failed."),
        text("maintenanceTask", "What the running admin update does.").free(),
        map("operatorFlags", "Flags of the operator.", Shape::Text).free(),
        text("operatorVersion", "The version of the operator, when it is pinned.").free(),
        text("createdAt", "When it was made."),
        text("createdBy", "The commit that made it."),
        text("provisionedBy", "The commit that updated it last."),
        object(
            "clusterProfile",
            "The cluster as a whole.",
            vec![
                text("domain", "The domain of the cluster."),
                text("version", "The version of OpenShift."),
                text("resourceGroupId", "The group that holds its resources."),
                text("fipsValidatedModules", "Whether FIPS validated crypto modules are used."),
                text("oidcIssuer", "The issuer of the cluster's tokens."),
            ],
        ),
        object(
            "featureProfile",
            "What is switched on.",
            vec![member("gatewayEnabled", Shape::Bool, "The cluster uses the gateway.").free()],
        ),
        object("consoleProfile", "The web console.", vec![text("url", "Its address.")]),
        object(
            "servicePrincipalProfile",
            "The service principal that the cluster uses.",
            vec![text("clientId", "Its client id."), text("spObjectId", "Its object id.")],
        )
        .nullable(),
        object(
            "platformWorkloadIdentityProfile",
            "The identities that the platform's operators use.",
            vec![
                text("upgradeableTo", "The version up to which they suffice."),
                map("platformWorkloadIdentities", "The identities, by operator.", identity()),
            ],
        )
        .nullable(),
        object("networkProfile", "The networks.", network()),
        machines("masterProfile", "The control plane."),
        many_machines("workerProfiles", "The workers as sent at create."),
        many_machines("workerProfilesStatus", "The workers as they are.").read_only(),
        object(
            "apiserverProfile",
            "The API server.",
            vec![
                text("visibility", "Who can reach it."),
                text("url", "Its address."),
                text("ip", "Its IP address."),
                text("intIp", "Its IP address inside."),
            ],
        ),
        objects(
            "ingressProfiles",
            "The ingress controllers.",
            vec![
                text("name", "Its name."),
                text("visibility", "Who can reach it."),
                text("ip", "Its IP address."),
            ],
        ),
        object(
            "install",
            "An installation that goes on.",
            vec![text("now", "When it began."), text("phase", "Its phase.")],
        )
        .nullable(),
        text("storageSuffix", "The end of the storage accounts' names."),
        text("imageRegistryStorageAccountName", "The image registry's storage account."),
        text("infraId", "The id in the names of the cluster's resources."),
        objects(
            "registryProfiles",
            "Image registries.",
            vec![
                text("name", "Its name."),
                text("username", "The user."),
                text("issueDate", "When the password was made."),
            ],
        ),
        object(
            "hiveProfile",
            "Where Hive has it.",
            vec![
                text("namespace", "The namespace."),
                member("createdByHive", Shape::Bool, "Hive installed it."),
            ],
        ),
        text("maintenanceState", "What customers are told about maintenance."),
    ]
}

fn identity() -> Shape {
    Shape::Object(Members(vec![
        text("resourceId", "The id of the identity."),
        text("clientId", "Its client id.").read_only(),
        text("objectId", "Its object id.").read_only(),
    ]))
}

fn network() -> Vec<Member> {
    let id = || vec![text("id", "The id of the resource.")];
    let balancer = vec![
        object(
            "managedOutboundIps",
            "Addresses made for the cluster.",
            vec![member("count", Shape::Int, "How many.")],
        )
        .nullable(),
        objects("effectiveOutboundIps", "Addresses in use.", id()).read_only(),
        objects("outboundIps", "Addresses of the customer's own.", id()),
        objects("outboundIpPrefixes", "Prefixes of the customer's own.", id()),
        member("allocatedOutboundPorts", Shape::Int, "Outbound ports of each machine."),
    ];
    vec![
        text("podCidr", "The range of the pods."),
        text("serviceCidr", "The range of the services."),
        text("softwareDefinedNetwork", "The network plug-in."),
        member("mtuSize", Shape::Int, "The largest packet, in bytes."),
        text("outboundType", "How machines reach the outside.").free(),
        text("privateEndpointIp", "The private endpoint of the API server."),
        text("gatewayPrivateEndpointIp", "The private endpoint of the gateway."),
        text("gatewayPrivateLinkId", "The private link of the gateway."),
        text("preconfiguredNSG", "Whether the subnets have security groups of the customer's own."),
        object("loadBalancerProfile", "The public load balancer.", balancer).nullable(),
    ]
}

fn size() -> Vec<Member> {
    vec![
        text("vmSize", "The size of the machines."),
        text("subnetId", "Their subnet."),
        text("encryptionAtHost", "Whether disks are encrypted at the host."),
        text("diskEncryptionSetId", "The disk encryption set."),
    ]
}

fn machines(name: &'static str, says: &'static str) -> Member {
    object(name, says, size())
}

fn many_machines(name: &'static str, says: &'static str) -> Member {
    let mut members = vec![text("name", "The name of the profile.")];
    members.extend(size());
    members.insert(2, member("diskSizeGB", Shape::Int, "The size of a disk, in gigabytes."));
    members.insert(4, member("count", Shape::Int, "How many machines."));
    objects(name, says, members)
}

/// Lets a PATCH start from the default flags when it asks for that.
///
/// # Errors
/// 400 `InvalidParameter`: there is no such strategy.
pub fn start_flags(strategy: &str, base: &mut Value) -> Result<(), CloudError> {
    match strategy {
        "" | "merge" => {}
        "reset" => {
            if let Some(Value::Object(properties)) = base.get_mut("properties") {
                properties.insert("operatorFlags".to_owned(), flags());
            }
        }
        other => {
            let message =
                format!("invalid operatorFlagsMergeStrategy '{other}', can only be 'merge' or 'reset'");
            return Err(CloudError::invalid("", message));
        }
    }
    Ok(())
}
