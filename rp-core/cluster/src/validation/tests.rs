//! Every message of the contract (`contract/api.md` §16.3), word by word.

use rp_azure::{AzureError, ErrorKind, Sku};
use serde_json::{Value, json};

use super::balancer::{Usage, check_ports, check_quota, needed_addresses};
use super::networks::{
    Subnet, check_encryption_set, check_location, check_ranges, check_subnets, network_of,
};
use super::subjects::{PRECONFIGURED, ResourceKind, Subject, missing, not_in_network};
use super::zones::{SizeZones, choose, of_size};
use super::{claims, federated};
use crate::document::Document;
use crate::templates::tests::{cluster, workload_identity};

const OURS: &str = "/subscriptions/5b2d4b2e-0000-0000-0000-000000000001/resourceGroups/aro-shop/providers/Microsoft.Network/networkSecurityGroups/shop-x7k2p-nsg";

fn first() -> Subject {
    Subject::FirstParty { application: "fp".to_owned() }
}

fn principal() -> Subject {
    Subject::ServicePrincipal { application: "sp".to_owned() }
}

fn operator() -> Subject {
    Subject::Platform { operator: "disk-csi-driver".to_owned() }
}

#[test]
fn missing_rights_are_told_by_subject_and_thing() {
    const FP: &str = "400: InvalidResourceProviderPermissions: : The resource provider service principal (Application ID: fp) does not have required permissions on";
    const SP: &str = "400: InvalidServicePrincipalPermissions: : The cluster service principal (Application ID: sp) does not have required permissions on";
    const WI: &str = "400: InvalidWorkloadIdentityPermissions: : The disk-csi-driver platform managed identity does not have required permissions on";
    let things = [
        (ResourceKind::Network, "vnet 'ID'."),
        (ResourceKind::Subnet, "subnet 'ID'."),
        (ResourceKind::RouteTable, "route table 'ID'."),
        (ResourceKind::NatGateway, "nat gateway 'ID'."),
        (
            ResourceKind::SecurityGroup,
            "network security group 'ID'. This is required when the enable-preconfigured-nsg option is specified.",
        ),
    ];
    for (thing, end) in things {
        for (subject, begin) in [(first(), FP), (principal(), SP), (operator(), WI)] {
            let told = subject.refused(thing, "ID", "properties.path", None).to_string();
            assert_eq!(told, format!("{begin} {end}"));
        }
    }
    let path = "properties.workerProfiles[1].diskEncryptionSetId";
    let set =
        |subject: &Subject| subject.refused(ResourceKind::EncryptionSet, "ID", path, Some("no")).to_string();
    assert_eq!(
        set(&first()),
        format!(
            "400: InvalidResourceProviderPermissions: {path}: The resource provider service principal does not have Reader permission on disk encryption set 'ID'."
        )
    );
    assert_eq!(
        set(&principal()),
        format!(
            "400: InvalidServicePrincipalPermissions: {path}: The cluster service principal does not have Reader permission on disk encryption set 'ID'."
        )
    );
    assert_eq!(
        set(&operator()),
        format!(
            "400: InvalidWorkloadIdentityPermissions: {path}: The disk-csi-driver platform managed identity does not have required permissions on disk encryption set 'ID'."
        )
    );
    assert_eq!(
        Subject::ClusterIdentity.refused(ResourceKind::Identity, "ID", "", None).to_string(),
        "400: InvalidClusterMSIPermissions: : The cluster user assigned identity does not have required permissions on platform workload identity 'ID'."
    );
    for (thing, with) in
        [(ResourceKind::Network, true), (ResourceKind::Subnet, true), (ResourceKind::RouteTable, false)]
    {
        let told = first().refused(thing, "ID", "", Some("because")).body.message;
        assert_eq!(told.ends_with("\nOriginal error message: because"), with, "{told}");
    }
}

#[test]
fn what_is_not_there_is_told() {
    for (thing, expected) in [
        (ResourceKind::Network, "400: InvalidLinkedVNet: : The vnet 'ID' could not be found."),
        (ResourceKind::Subnet, "400: InvalidLinkedSubnet: : The provided subnet 'ID' could not be found."),
        (
            ResourceKind::RouteTable,
            "400: InvalidLinkedRouteTable: : The route table 'ID' could not be found.",
        ),
        (
            ResourceKind::NatGateway,
            "400: InvalidLinkedNatGateway: : The nat gateway 'ID' could not be found.",
        ),
        (
            ResourceKind::EncryptionSet,
            "400: InvalidLinkedDiskEncryptionSet: properties.path: The disk encryption set 'ID' could not be found.",
        ),
    ] {
        assert_eq!(missing(thing, "ID", "properties.path").to_string(), expected);
    }
    assert_eq!(
        not_in_network("ID").to_string(),
        "400: InvalidLinkedVNet: : The provided subnet 'ID' could not be found."
    );
}

#[test]
fn actions_are_those_of_the_contract() {
    let asked = |subject: &Subject, thing| {
        let short = |action: &&str| action.split_once('/').unwrap().1.split_once('/').unwrap().1.to_owned();
        subject.actions(thing).iter().map(short).collect::<Vec<_>>().join(" ")
    };
    for (thing, of_first, of_others) in [
        (ResourceKind::Network, "read", "join/action read write"),
        (
            ResourceKind::Subnet,
            "subnets/join/action subnets/read subnets/write",
            "subnets/join/action subnets/read subnets/write",
        ),
        (ResourceKind::RouteTable, "join/action read", "join/action read write"),
        (ResourceKind::NatGateway, "join/action", "join/action read write"),
        (ResourceKind::SecurityGroup, "join/action read", "join/action"),
        (ResourceKind::EncryptionSet, "read", "read"),
    ] {
        assert_eq!(asked(&first(), thing), of_first, "{thing:?}");
        assert_eq!(asked(&principal(), thing), of_others, "{thing:?}");
        assert_eq!(asked(&operator(), thing), of_others, "{thing:?}");
    }
}

/// Both subnets of a cluster, the second as told.
fn subnets(document: &Document, change: impl Fn(&mut Subnet)) -> Vec<Subnet> {
    let body = json!({"properties": {"addressPrefix": "10.0.0.0/27", "provisioningState": "Succeeded"}});
    let mut all: Vec<Subnet> =
        document.named_subnets().into_iter().map(|named| Subnet::read(named, &body)).collect();
    all[0].prefixes = vec!["10.0.0.32/27".to_owned()];
    if let Some(last) = all.last_mut() {
        change(last);
    }
    all
}

#[test]
fn subnets_are_as_a_cluster_needs_them() {
    let path = "properties.workerProfiles[0].subnetId";
    let id = cluster(&[]).worker_subnets()[0].to_owned();
    let state = |state: &str, preconfigured: &str| {
        cluster(&[
            ("/properties/provisioningState", json!(state)),
            ("/properties/networkProfile/preconfiguredNSG", json!(preconfigured)),
        ])
    };
    let told = |document: &Document, group: Option<&str>, others: bool| {
        let mut all = subnets(document, |subnet| subnet.security_group = group.map(str::to_owned));
        if others {
            all[0].security_group = group.map(str::to_owned);
        }
        check_subnets(document, &all).err().map(|error| error.to_string())
    };
    let invalid = |what: &str| {
        Some(format!("400: InvalidLinkedVNet: {path}: The provided subnet '{id}' is invalid: {what}"))
    };
    let creating = state("Creating", "Disabled");
    assert_eq!(told(&creating, None, true), None);
    assert_eq!(told(&creating, Some(&OURS.to_uppercase()), true), None);
    assert_eq!(
        told(&creating, Some("/other"), false),
        invalid("must not have a network security group attached.")
    );
    let preconfigured = state("Creating", "Enabled");
    assert_eq!(told(&preconfigured, Some("/other"), true), None);
    assert_eq!(told(&preconfigured, None, true), Some(format!("400: InvalidLinkedVNet: : {PRECONFIGURED}")));
    let later = state("Updating", "Disabled");
    assert_eq!(told(&later, Some(OURS), true), None);
    let mut all = subnets(&later, |_| {});
    all[0].security_group = Some(OURS.to_owned());
    let error = check_subnets(&later, &all).unwrap_err().to_string();
    assert_eq!(Some(error), invalid(&format!("must have network security group '{OURS}' attached.")));
    let later = state("Updating", "Enabled");
    assert_eq!(told(&later, Some("/any"), true), None);
    all[0].security_group = Some("/any".to_owned());
    let error = check_subnets(&later, &all).unwrap_err().to_string();
    assert_eq!(Some(error), invalid("must have a network security group attached."));
    let check = |change: &dyn Fn(&mut Subnet)| {
        check_subnets(&creating, &subnets(&creating, change)).err().map(|error| error.to_string())
    };
    assert_eq!(
        check(&|subnet| subnet.prefixes = vec!["10.0.0.0/28".to_owned()]),
        invalid("must be /27 or larger.")
    );
    assert_eq!(
        check(&|subnet| subnet.state = "Updating".to_owned()),
        Some(format!(
            "400: InvalidLinkedVNet: {path}: The provided subnet '{id}' is not in a Succeeded state"
        ))
    );
}

#[test]
fn the_words_of_the_preconfigured_group() {
    assert_eq!(
        PRECONFIGURED,
        "When the enable-preconfigured-nsg option is specified, both the master and worker subnets should have network security groups (NSG) attached to them before starting the cluster installation."
    );
}

#[test]
fn first_architecture_has_two_groups() {
    let document =
        cluster(&[("/properties/architectureVersion", json!(0)), ("/properties/infraId", json!(""))]);
    let end = |subnet: &str| document.security_group(subnet).rsplit('/').next().unwrap().to_owned();
    assert_eq!(end(document.master_subnet()), "aro-controlplane-nsg");
    assert_eq!(end(document.worker_subnets()[0]), "aro-node-nsg");
}

#[test]
fn places_and_ranges() {
    assert!(check_location("EastUS", "eastus").is_ok());
    assert_eq!(
        check_location("westus", "eastus").unwrap_err().to_string(),
        "400: InvalidLinkedVNet: : The vnet location 'westus' must match the cluster location 'eastus'."
    );
    assert_eq!(
        check_encryption_set("westus", "eastus").unwrap_err().to_string(),
        "400: InvalidLinkedDiskEncryptionSet: : The disk encryption set location 'westus' must match the cluster location 'eastus'."
    );
    assert!(
        check_ranges(["10.0.0.0/24", "10.0.1.0/24", "10.128.0.0/14", "172.30.0.0/16"].into_iter()).is_ok()
    );
    for (a, b) in
        [("10.0.0.0/16", "10.0.3.0/24"), ("10.0.3.0/24", "10.0.0.0/16"), ("10.0.0.0/24", "10.0.0.0/24")]
    {
        let error = check_ranges([a, "192.168.0.0/16", b].into_iter()).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "400: InvalidLinkedVNet: : The provided CIDRs must not overlap: '{b} overlaps with {a}'."
            )
        );
    }
    assert_eq!(network_of("/g/virtualNetworks/v/SUBNETS/s"), Some("/g/virtualNetworks/v"));
    assert_eq!(network_of("/g/v"), None);
}

#[test]
fn a_subnet_has_one_prefix_or_many() {
    let named = cluster(&[]).named_subnets().remove(0);
    let read = |body: Value| Subnet::read(named.clone(), &json!({ "properties": body })).prefixes;
    assert_eq!(read(json!({"addressPrefix": "10.0.0.0/24"})), ["10.0.0.0/24"]);
    assert_eq!(
        read(json!({"addressPrefixes": ["10.0.0.0/24", "10.0.1.0/24"]})),
        ["10.0.0.0/24", "10.0.1.0/24"]
    );
    assert_eq!(
        read(json!({"addressPrefix": "10.0.0.0/24", "addressPrefixes": ["10.0.0.0/24"]})),
        ["10.0.0.0/24"]
    );
    assert!(read(json!({})).is_empty());
}

#[test]
fn subnets_are_named_once_in_any_case() {
    let master = cluster(&[]).master_subnet().to_owned();
    let document = cluster(&[
        ("/properties/workerProfiles/0/subnetId", json!(master.to_uppercase())),
        ("/properties/workerProfilesStatus", json!([{"subnetId": master}, {"subnetId": "/x/subnets/w"}])),
    ]);
    let paths: Vec<String> = document.named_subnets().into_iter().map(|named| named.path).collect();
    assert_eq!(paths, ["properties.masterProfile.subnetId", "properties.workerProfilesStatus[1].subnetId"]);
}

#[test]
fn quota_and_ports() {
    let usage = Usage { current: 8, limit: 10 };
    assert!(check_quota(2, usage).is_ok());
    assert_eq!(
        check_quota(3, usage).unwrap_err().to_string(),
        "400: ResourceQuotaExceeded: properties.networkProfile.loadBalancerProfile.ManagedOutboundIPs.Count: Resource quota of PublicIPAddresses exceeded. Maximum allowed: 10, Current in use: 8, Additional requested: 3."
    );
    assert!(check_ports(1, 62).is_ok());
    assert_eq!(
        check_ports(1, 63).unwrap_err().to_string(),
        "400: InvalidParameter: properties.networkProfile.loadBalancerProfile: Insufficient frontend ports to support the backend instance count.  Total frontend ports: 63992, Required frontend ports: 64512, Total backend instances: 63"
    );
    let needed = |state: &str, ingress: &str, count: Value, effective: usize| {
        let addresses: Vec<Value> = (0..effective).map(|n| json!({"id": format!("/{n}")})).collect();
        needed_addresses(&cluster(&[
            ("/properties/provisioningState", json!(state)),
            ("/properties/ingressProfiles/0/visibility", json!(ingress)),
            (
                "/properties/networkProfile/loadBalancerProfile",
                json!({"managedOutboundIps": {"count": count}, "effectiveOutboundIps": addresses}),
            ),
        ]))
    };
    assert_eq!(needed("Creating", "Public", json!(2), 0), 3);
    assert_eq!(needed("Creating", "Private", json!(2), 0), 2);
    assert_eq!(needed("Updating", "Public", json!(5), 2), 3);
    assert_eq!(needed("Updating", "Public", json!(1), 2), 0, "fewer addresses need no quota");
    assert_eq!(needed("Creating", "Private", Value::Null, 0), 1, "a profile without the member has one");
}

#[test]
fn tokens_name_an_object() {
    let unreadable = || Err(AzureError::new("token", ErrorKind::Malformed, "what it is"));
    let target = "properties.servicePrincipalProfile";
    let error = claims::check_object(unreadable(), true).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "400: InvalidServicePrincipalToken: {target}: The provided service principal generated an invalid token."
        )
    );
    let error = claims::check_object(Ok(json!({"oid": ""})), true).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "400: InvalidServicePrincipalClaims: {target}: The Azure Red Hat Openshift resource provider service principal has been removed from your tenant. To restore, please unregister and then re-register the Azure Red Hat OpenShift resource provider."
        )
    );
    let error = claims::check_object(Ok(json!({})), false).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!(
            "400: InvalidServicePrincipalClaims: {target}: The provided service principal"
        )),
        "{error}"
    );
    for claim in ["altsecid", "oid", "puid"] {
        assert!(claims::check_object(Ok(json!({claim: "x"})), true).is_ok());
    }
    let error =
        claims::check_roles(Ok(json!({"roles": ["a", "Application.ReadWrite.OwnedBy"]}))).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "400: InvalidServicePrincipalCredentials: {target}: The provided service principal must not have the Application.ReadWrite.OwnedBy permission."
        )
    );
    let error = claims::check_roles(unreadable()).unwrap_err().to_string();
    assert_eq!(error, format!("400: InvalidServicePrincipalCredentials: {target}: what it is"));
    assert!(claims::check_roles(Ok(json!({}))).is_ok());
}

#[test]
fn credentials_of_others_are_told() {
    let credential = |name: &str, issuer: &str, audiences: &[&str]| json!({"name": name, "properties": {"issuer": issuer, "audiences": audiences}});
    let ours = credential("ours", "https://i", &["openshift"]);
    let told = |all: &[Value], creating| {
        federated::check("op", "ID", all, "https://i", creating).err().map(|error| error.to_string())
    };
    assert_eq!(told(std::slice::from_ref(&ours), true), None, "of an earlier run of ours");
    assert_eq!(told(std::slice::from_ref(&ours), false), None);
    let target = "properties.platformWorkloadIdentityProfile.platformWorkloadIdentities.op.resourceId";
    let begin = |name: &str| {
        format!(
            "400: PlatformWorkloadIdentityContainsInvalidCredential: {target}: Unexpected federated credential '{name}' found on platform workload identity 'ID' used for role 'op'. "
        )
    };
    let foreign = credential("theirs", "https://j", &["openshift"]);
    assert_eq!(
        told(&[ours, foreign.clone()], true),
        Some(
            begin("theirs")
                + "Please ensure this identity is only used for this cluster and does not have any existing federated identity credentials."
        )
    );
    assert_eq!(
        told(&[foreign], false),
        Some(
            begin("theirs")
                + "Please ensure only federated credentials provisioned by the ARO service for this cluster are present."
        )
    );
    for audiences in [&["openshift", "more"][..], &["else"], &[]] {
        assert!(told(&[credential("odd", "https://i", audiences)], false).is_some());
    }
    assert!(federated::check("op", "ID", &[credential("x", "", &["openshift"])], "", true).is_err());
}

#[test]
fn zones_of_both_sizes() {
    let sku = |name: &str, zones: &[&str], restricted: &[&str]| Sku {
        name: name.to_owned(),
        zones: zones.iter().map(|zone| (*zone).to_owned()).collect(),
        restricted: restricted.iter().map(|place| (*place).to_owned()).collect(),
        ..Sku::default()
    };
    let skus = [
        sku("three", &["3", "1", "2"], &[]),
        sku("four", &["1", "2", "3", "4"], &[]),
        sku("two", &["1", "2"], &[]),
        sku("none", &[], &[]),
        sku("barred", &["1", "2", "3"], &["EastUS"]),
    ];
    let told = |master: &str, worker: &str, expanded: bool| {
        let (m, w) = (of_size(&skus, master, "eastus", expanded), of_size(&skus, worker, "eastus", expanded));
        let masters = SizeZones { size: master, zones: m.as_deref() };
        choose(masters, SizeZones { size: worker, zones: w.as_deref() }, "eastus")
            .map_err(|error| error.to_string())
    };
    assert_eq!(told("THREE", "four", false).unwrap(), ["1", "2", "3"]);
    assert_eq!(told("three", "four", true).unwrap(), ["1", "2", "3", "4"]);
    assert!(told("none", "none", false).unwrap().is_empty());
    for (master, worker, expected) in [
        (
            "lost",
            "three",
            "400: InvalidParameter: properties.masterProfile.VMSize: The selected SKU 'lost' is unavailable in region 'eastus'",
        ),
        (
            "three",
            "barred",
            "400: InvalidParameter: properties.workerProfiles[0].VMSize: The selected SKU 'barred' is unavailable in region 'eastus'",
        ),
        (
            "three",
            "none",
            "cluster creation with mix of zonal and non-zonal resources is unsupported (control plane zones: 3, worker zones: 0)",
        ),
        ("two", "three", "control plane SKU 'two' only available in 2 zones, need 3"),
        ("three", "two", "worker SKU 'two' only available in 2 zones, need 3"),
    ] {
        assert_eq!(told(master, worker, false).unwrap_err(), expected);
    }
}

#[test]
fn one_identity_of_its_own() {
    let identities = |ids: &[&str]| {
        let all: serde_json::Map<String, Value> =
            ids.iter().map(|id| ((*id).to_owned(), json!({}))).collect();
        let mut changes = workload_identity();
        changes.push(("/managedServiceIdentity/userAssignedIdentities", Value::Object(all)));
        cluster(&changes)
    };
    assert_eq!(identities(&["/a"]).own_identity(), Ok("/a"));
    assert_eq!(identities(&[]).own_identity(), Err("could not find cluster MSI in cluster doc"));
    assert_eq!(
        identities(&["/a", "/b"]).own_identity(),
        Err("unexpectedly found more than one cluster MSI in cluster doc")
    );
}
