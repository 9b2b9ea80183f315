//! Clusters and their objects, by JSON.

use portal_api as api;
use portal_api::answer::{Items, ReasonRequest};
use portal_api::cluster_objects as observed;
use portal_model::actions::WorkloadKind;
use portal_model::cluster_list::ClusterView;
use schemars::JsonSchema;
use web::ListQuery;

use super::{ELEVATED, VIEWER};
use crate::openapi::refusals::{ACTION, MANIFEST, MANIFEST_CANCELLED, OPERATOR, OPERATOR_FLAGS};
use crate::route::AuditClass::{self, Change, Read};
use crate::route::{Handler, Route, created, get, json, post};

/// Objects of the kind that the path's end names; `T` is what is answered.
const fn objects<T: JsonSchema>(path: &'static str, operation: &'static str) -> Route {
    get(path, VIEWER, Read("cluster.objects"), handler!(api::cluster_objects::list))
        .doc(operation, "objects", "Objects of one kind, as they are watched")
        .query::<api::cluster_objects::ObjectsQuery>()
        .answers(json::<T>())
}

/// An action on an object of a cluster.
const fn action(path: &'static str, verb: &'static str, handler: Handler) -> Route {
    post(path, ELEVATED, Change(verb), handler).refuses(ACTION)
}

pub(super) static ROWS: &[Route] = &[
    get("/api/clusters", VIEWER, Read("clusters.list"), handler!(api::clusters::list))
        .doc("listOwnClusters", "clusters", "Every cluster of ours (contract/portal.md §8.4)")
        .answers(json::<Vec<api::clusters::ClusterListItem>>()),
    get("/api/{sub}/{group}/{name}", VIEWER, Read("cluster.view"), handler!(api::clusters::detail))
        .doc("getClusterDetail", "clusters", "One cluster (contract/portal.md §8.5)")
        .answers(json::<api::clusters::ClusterDetail>()),
    // Objects of a cluster (`contract/portal.md` §8.6–8.9), and the same with consistent names.
    get(
        "/api/{sub}/{group}/{name}/clusteroperators",
        VIEWER,
        Read("cluster.objects"),
        handler!(api::cluster_legacy::operators),
    )
    .doc("listClusterOperators", "objects", "Cluster operators (contract/portal.md §8.6)")
    .answers(json::<api::cluster_legacy::Operators>()),
    get(
        "/api/{sub}/{group}/{name}/nodes",
        VIEWER,
        Read("cluster.objects"),
        handler!(api::cluster_legacy::nodes),
    )
    .doc("listClusterNodes", "objects", "Nodes (contract/portal.md §8.7)")
    .answers(json::<api::cluster_legacy::Nodes>()),
    get(
        "/api/{sub}/{group}/{name}/machines",
        VIEWER,
        Read("cluster.objects"),
        handler!(api::cluster_legacy::machines),
    )
    .doc("listClusterMachines", "objects", "Machines (contract/portal.md §8.8)")
    .answers(json::<api::cluster_legacy::Machines<api::cluster_legacy::Machine>>()),
    get(
        "/api/{sub}/{group}/{name}/machine-sets",
        VIEWER,
        Read("cluster.objects"),
        handler!(api::cluster_legacy::machine_sets),
    )
    .doc("listClusterMachineSets", "objects", "Machine sets (contract/portal.md §8.9)")
    .answers(json::<api::cluster_legacy::Machines<api::cluster_legacy::MachineSet>>()),
    objects::<observed::Nodes>(v1!("/nodes"), "listNodes"),
    objects::<observed::Machines>(v1!("/machines"), "listMachines"),
    objects::<observed::MachineSets>(v1!("/machinesets"), "listMachineSets"),
    objects::<observed::Operators>(v1!("/operators"), "listOperators"),
    objects::<observed::Pods>(v1!("/pods"), "listPods"),
    objects::<observed::Events>(v1!("/events"), "listEvents"),
    objects::<observed::Workloads>(v1!("/workloads"), "listWorkloads"),
    get("/api/v1/clusters", VIEWER, Read("clusters.list"), handler!(api::clusters::search))
        .doc("searchClusters", "clusters", "Search the fleet")
        .query::<ListQuery>()
        .query::<api::clusters::PageQuery>()
        .answers(json::<api::clusters::ClustersResponse>()),
    get(v1!(""), VIEWER, Read("cluster.view"), handler!(api::clusters::one))
        .doc("getCluster", "clusters", "One cluster, as the list has it")
        .answers(json::<ClusterView>()),
    get(v1!("/operations"), VIEWER, Read("cluster.view"), handler!(api::operations::list))
        .doc("listOperations", "clusters", "Operations on one cluster, newest first")
        .answers(json::<Items<api::operations::OperationView<'_>>>()),
    get(v1!("/operations/{id}"), VIEWER, Read("cluster.view"), handler!(api::operations::get))
        .doc("getOperation", "clusters", "One operation with its steps, log and diagnostics")
        .answers(json::<api::operations::OperationView<'_>>()),
    get(v1!("/maintenance"), VIEWER, Read("cluster.view"), handler!(api::maintenance::list))
        .doc(
            "listManifests",
            "maintenance",
            "Maintenance of one cluster: what runs, what waits, what is over",
        )
        .answers(json::<Items<api::maintenance::ManifestView>>()),
    post(v1!("/maintenance"), ELEVATED, Change("maintenance.plan"), handler!(api::maintenance::create))
        .doc("createManifest", "maintenance", "Order a task of maintenance on one cluster")
        .takes::<api::maintenance::NewManifest>()
        .refuses(MANIFEST)
        .answers(created::<api::maintenance::ManifestView>()),
    post(
        v1!("/maintenance/{id}/cancel"),
        ELEVATED,
        Change("maintenance.cancel"),
        handler!(api::maintenance::cancel),
    )
    .doc("cancelManifest", "maintenance", "Cancel maintenance that has not begun")
    .takes::<ReasonRequest>()
    .refuses(MANIFEST_CANCELLED)
    .answers(json::<api::maintenance::ManifestView>()),
    get("/api/v1/maintenance", VIEWER, Read("clusters.list"), handler!(api::maintenance::fleet))
        .doc("listOpenManifests", "maintenance", "Maintenance of all clusters: what runs and what waits")
        .query::<api::maintenance::ManifestsQuery>()
        .answers(json::<Items<api::maintenance::ManifestView>>()),
    get("/api/v1/maintenance/schedules", VIEWER, Read("clusters.list"), handler!(api::schedules::list))
        .doc("listSchedules", "maintenance", "Rules that make manifests for many clusters")
        .answers(json::<Items<api::schedules::ScheduleView>>()),
    get("/api/v1/maintenance/tasks", VIEWER, AuditClass::None, handler!(api::maintenance::tasks))
        .doc("listMaintenanceTasks", "maintenance", "What maintenance can do")
        .answers(json::<Items<api::maintenance::TaskView>>()),
    get(v1!("/operator"), VIEWER, Read("cluster.objects"), handler!(api::operator::status))
        .doc("getOperator", "objects", "The ARO operator of a cluster: version, conditions, flags")
        .refuses(OPERATOR)
        .answers(json::<api::operator::OperatorReport>()),
    post(v1!("/operator/flags"), ELEVATED, Change("operator.flags"), handler!(api::operator::set))
        .doc("setOperatorFlags", "maintenance", "Set flags of a cluster's ARO operator")
        .takes::<api::operator::FlagsRequest>()
        .refuses(OPERATOR_FLAGS)
        .answers(json::<api::operator::FlagsAnswer>()),
    // What a person does with objects of a cluster.
    action(v1!("/nodes/{node}/cordon"), "node.cordon", handler!(api::actions::cordon))
        .doc("cordonNode", "actions", "Keep new pods away from a node")
        .takes::<api::actions::ActionRequest>()
        .answers(json::<api::actions::ActionResult>()),
    action(v1!("/nodes/{node}/uncordon"), "node.uncordon", handler!(api::actions::uncordon))
        .doc("uncordonNode", "actions", "Let a node take pods again")
        .takes::<api::actions::ActionRequest>()
        .answers(json::<api::actions::ActionResult>()),
    action(v1!("/nodes/{node}/drain"), "node.drain", handler!(api::actions::drain))
        .doc("drainNode", "actions", "Cordon a node and move its pods away")
        .takes::<api::actions::DrainRequest>()
        .answers(json::<api::actions::ActionResult>()),
    action(v1!("/csrs/{csr}/approve"), "csr.approve", handler!(api::actions::approve_csr))
        .doc("approveCsr", "actions", "Approve a certificate signing request")
        .takes::<api::actions::ActionRequest>()
        .answers(json::<api::actions::ActionResult>()),
    action(v1!("/csrs/{csr}/deny"), "csr.deny", handler!(api::actions::deny_csr))
        .doc("denyCsr", "actions", "Deny a certificate signing request")
        .takes::<api::actions::ActionRequest>()
        .answers(json::<api::actions::ActionResult>()),
    action(v1!("/pods/{namespace}/{item}/delete"), "pod.delete", handler!(api::actions::delete_pod))
        .doc("deletePod", "actions", "Delete a pod of the platform")
        .takes::<api::actions::DeletePodRequest>()
        .answers(json::<api::actions::ActionResult>()),
    action(
        v1!("/workloads/{kind}/{namespace}/{item}/restart"),
        "workload.restart",
        handler!(api::actions::restart),
    )
    .doc("restartWorkload", "actions", "Make the pods of a workload of the platform anew")
    .one_of("kind", || WorkloadKind::ALL.map(WorkloadKind::as_str).to_vec())
    .takes::<api::actions::ActionRequest>()
    .answers(json::<api::actions::ActionResult>()),
    action(
        v1!("/workloads/{kind}/{namespace}/{item}/scale"),
        "workload.scale",
        handler!(api::actions::scale),
    )
    .doc("scaleWorkload", "actions", "Ask a workload of the platform for another number of replicas")
    .one_of("kind", || {
        WorkloadKind::ALL.into_iter().filter(|kind| kind.scales()).map(WorkloadKind::as_str).collect()
    })
    .takes::<api::actions::ScaleRequest>()
    .answers(json::<api::actions::ActionResult>()),
    // Destinations of tunnels, and the cluster's admin credential.
    get(v1!("/tunnel"), ELEVATED, Read("cluster.view"), handler!(api::tunnels::offer))
        .doc("getTunnelOffer", "clusters", "What a tunnel to the cluster may lead to, and the keys to pin")
        .answers(json::<api::tunnels::TunnelView>()),
    post(v1!("/credentials"), ELEVATED, Change("cluster.credentials"), handler!(api::tunnels::credentials))
        .doc(
            "getCredentials",
            "clusters",
            "The password of the cluster's own administrator, to an elevated person",
        )
        .takes_nothing()
        .answers(json::<api::tunnels::Credentials>()),
];
