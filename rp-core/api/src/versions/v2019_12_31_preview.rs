//! `2019-12-31-preview`: the first. Its members are those that every later version has too.

use crate::schema::{Change, Members, Shape, int, map, object, objects, text};
use crate::version::{JsonDialect, Version};

const VISIBILITY: &[&str] = &["Private", "Public"];
const STATES: &[&str] = &["AdminUpdating", "Creating", "Deleting", "Failed", "Succeeded", "Updating"];

pub(super) fn first() -> Version {
    Version {
        name: "2019-12-31-preview",
        cluster: members(),
        json: JsonDialect::Declared,
        admin_kubeconfig: false,
        openshift_versions: false,
        named_versions: false,
        role_sets: false,
        extra_state: None,
        shows_live_workers: true,
        service_principal_required: true,
        ingress_checked_on_update: true,
        reserved_ranges_by_network: false,
        values_checked: true,
        published: None,
    }
}

pub(super) fn members() -> Members {
    Members(vec![
        text("id", "The resource id of the cluster.").change(Change::AnyCase),
        text("name", "The name of the cluster.").change(Change::AnyCase),
        text("type", "The resource type.").change(Change::AnyCase),
        text("location", "The region of the cluster."),
        map("tags", "Tags of the resource.", Shape::Text).free().replaced(),
        object("properties", "What the cluster is.", properties()),
    ])
}

fn properties() -> Vec<crate::schema::Member> {
    vec![
        text("provisioningState", "Where the cluster is in its life.").choice("ProvisioningState", STATES),
        object(
            "clusterProfile",
            "The cluster as a whole.",
            vec![
                text("pullSecret", "The pull secret for the cluster's registries.").secret(),
                text("domain", "The domain of the cluster."),
                text("version", "The version of OpenShift."),
                // It is stored in lower case.
                text("resourceGroupId", "The id of the resource group that holds the cluster's resources.")
                    .change(Change::AnyCase),
            ],
        ),
        object("consoleProfile", "The web console.", vec![text("url", "The address of the web console.")]),
        object(
            "servicePrincipalProfile",
            "The service principal that the cluster uses.",
            vec![
                text("clientId", "The client id of the service principal.").free(),
                text("clientSecret", "The client secret of the service principal.").free().secret(),
            ],
        )
        .nullable(),
        object(
            "networkProfile",
            "The networks inside the cluster.",
            vec![
                text("podCidr", "The range of the pods' addresses."),
                text("serviceCidr", "The range of the services' addresses."),
            ],
        ),
        object(
            "masterProfile",
            "The machines of the control plane.",
            vec![
                text("vmSize", "The size of the virtual machines."),
                text("subnetId", "The id of the subnet of the control plane."),
            ],
        ),
        objects(
            "workerProfiles",
            "The machines of the workers.",
            vec![
                text("name", "The name of the worker profile."),
                text("vmSize", "The size of the virtual machines."),
                int("diskSizeGB", "The size of each machine's disk, in gigabytes."),
                text("subnetId", "The id of the subnet of the workers."),
                int("count", "How many machines there are."),
            ],
        ),
        object(
            "apiserverProfile",
            "The API server.",
            vec![
                text("visibility", "Who can reach the API server.").choice("Visibility", VISIBILITY),
                text("url", "The address of the API server."),
                text("ip", "The IP address of the API server."),
            ],
        ),
        objects(
            "ingressProfiles",
            "The ingress controllers.",
            vec![
                text("name", "The name of the ingress controller."),
                text("visibility", "Who can reach the ingress controller.").choice("Visibility", VISIBILITY),
                text("ip", "The IP address of the ingress controller."),
            ],
        ),
    ]
}
