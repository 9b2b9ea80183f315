//! Clusters and their objects, by JSON.

use portal_api as api;

use super::{ELEVATED, VIEWER};
use crate::route::AuditClass::{Change, Read};
use crate::route::{Route, get, json, post};

const OBJECTS: &[(&str, &str)] =
    &[("namespace", "Only of this namespace"), ("name", "Only of this name"), ("limit", "Rows at most")];

/// Objects of the kind that the path's end names.
const fn objects(path: &'static str) -> Route {
    get(path, VIEWER, Read("cluster.objects"), handler!(api::cluster_objects::list))
        .doc("V1Objects", "objects", "Objects of one kind, as they are watched")
        .answers(json("Objects"))
        .query(OBJECTS)
}

pub(super) static ROWS: &[Route] = &[
    get("/api/clusters", VIEWER, Read("clusters.list"), handler!(api::clusters::list))
        .doc("ClusterList", "clusters", "Every cluster of ours (contract/portal.md §8.4)")
        .answers(json("ListedClusters")),
    get("/api/{sub}/{group}/{name}", VIEWER, Read("cluster.view"), handler!(api::clusters::detail))
        .doc("ClusterDetail", "clusters", "One cluster (contract/portal.md §8.5)")
        .answers(json("ClusterDetail")),
    // Objects of a cluster (`contract/portal.md` §8.6–8.9), and the same with consistent names.
    get(
        "/api/{sub}/{group}/{name}/clusteroperators",
        VIEWER,
        Read("cluster.objects"),
        handler!(api::cluster_legacy::operators),
    )
    .doc("ClusterOperatorsList", "objects", "Cluster operators (contract/portal.md §8.6)")
    .answers(json("Object")),
    get(
        "/api/{sub}/{group}/{name}/nodes",
        VIEWER,
        Read("cluster.objects"),
        handler!(api::cluster_legacy::nodes),
    )
    .doc("ClusterNodesList", "objects", "Nodes (contract/portal.md §8.7)")
    .answers(json("Object")),
    get(
        "/api/{sub}/{group}/{name}/machines",
        VIEWER,
        Read("cluster.objects"),
        handler!(api::cluster_legacy::machines),
    )
    .doc("ClusterMachinesList", "objects", "Machines (contract/portal.md §8.8)")
    .answers(json("Object")),
    get(
        "/api/{sub}/{group}/{name}/machine-sets",
        VIEWER,
        Read("cluster.objects"),
        handler!(api::cluster_legacy::machine_sets),
    )
    .doc("ClusterMachineSetsList", "objects", "Machine sets (contract/portal.md §8.9)")
    .answers(json("Object")),
    objects(v1!("/nodes")),
    objects(v1!("/machines")),
    objects(v1!("/machinesets")),
    objects(v1!("/operators")),
    objects(v1!("/pods")),
    objects(v1!("/events")),
    objects(v1!("/workloads")),
    get("/api/v1/clusters", VIEWER, Read("clusters.list"), handler!(api::clusters::search))
        .doc("V1Clusters", "clusters", "Search the fleet")
        .answers(json("ClusterPage"))
        .query(&[
            ("limit", "Rows, 1 to 500; 50 without"),
            (
                "continue",
                "The member `continue` of the answer before; of another order it is refused with 400",
            ),
        ]),
    get(v1!(""), VIEWER, Read("cluster.view"), handler!(api::clusters::one))
        .doc("V1Cluster", "clusters", "One cluster, as the list has it")
        .answers(json("Cluster")),
    get(v1!("/operations"), VIEWER, Read("cluster.view"), handler!(api::operations::list))
        .doc("V1Operations", "clusters", "Operations on one cluster, newest first")
        .answers(json("List")),
    get(v1!("/operations/{id}"), VIEWER, Read("cluster.view"), handler!(api::operations::get))
        .doc("V1Operation", "clusters", "One operation with its steps, log and diagnostics")
        .answers(json("Operation")),
    // Destinations of tunnels, and the cluster's admin credential.
    get(v1!("/tunnel"), ELEVATED, Read("cluster.view"), handler!(api::tunnels::offer))
        .doc("V1Tunnel", "clusters", "What a tunnel to the cluster may lead to, and the keys to pin")
        .answers(json("Object")),
    post(v1!("/credentials"), ELEVATED, Change("cluster.credentials"), handler!(api::tunnels::credentials))
        .doc(
            "V1Credentials",
            "clusters",
            "The password of the cluster's own administrator, to an elevated person",
        )
        .answers(json("Object")),
];
