//! The list of clusters, the pages of a cluster, and what they show by JSON.

use portal_api as api;
use portal_pages as pages;
use serde_json::{Map, Value};

use super::{ADMIN, AUDITOR, ELEVATED, SRE, VIEWER};
use crate::route::AuditClass::{self, Change, Read};
use crate::route::{Route, content, get, json, post};

pub(super) static ROWS: &[Route] = &[
    get("/", VIEWER, Read("clusters.list"), handler!(pages::clusters::page)),
    get(res!(""), VIEWER, Read("cluster.view"), handler!(pages::cluster::overview)),
    get(res!("/overview"), VIEWER, Read("cluster.view"), handler!(pages::cluster::overview)),
    get(res!("/access"), VIEWER, Read("cluster.view"), handler!(pages::cluster::access)),
    // Live updates of an open page; writes its own audit entries, at the start and the end.
    get(res!("/live/{*page}"), VIEWER, AuditClass::None, handler!(pages::live_stream::stream)),
    // What the cluster is made of and what runs in it.
    get(res!("/nodes"), VIEWER, Read("cluster.view"), handler!(pages::objects::page)),
    get(res!("/nodes/{item}"), VIEWER, Read("cluster.view"), handler!(pages::objects::page)),
    get(res!("/machines"), VIEWER, Read("cluster.view"), handler!(pages::objects::page)),
    get(res!("/machines/{item}"), VIEWER, Read("cluster.view"), handler!(pages::objects::page)),
    get(res!("/machines/{item}/serial"), SRE, Read("cluster.view"), handler!(pages::serial::page)),
    get(res!("/machinesets"), VIEWER, Read("cluster.view"), handler!(pages::objects::page)),
    get(res!("/machinesets/{item}"), VIEWER, Read("cluster.view"), handler!(pages::objects::page)),
    get(res!("/controlplane"), VIEWER, Read("cluster.view"), handler!(pages::objects::page)),
    get(res!("/operators"), VIEWER, Read("cluster.view"), handler!(pages::objects::page)),
    get(res!("/operators/{item}"), VIEWER, Read("cluster.view"), handler!(pages::objects::page)),
    get(res!("/aro-operator"), VIEWER, Read("cluster.view"), handler!(pages::aro_operator::page)),
    get(res!("/aro-operator/flag"), ELEVATED, AuditClass::None, handler!(pages::operator_flag::dialog)),
    post(res!("/aro-operator/flag"), ELEVATED, Change("operator.flags"), handler!(pages::operator_flag::set)),
    get(res!("/act"), ELEVATED, AuditClass::None, handler!(pages::act::dialog)),
    post(res!("/act"), ELEVATED, Change("cluster.act"), handler!(pages::act::perform)),
    get(res!("/clusteroperators"), VIEWER, AuditClass::None, handler!(pages::cluster::old_operators)),
    get(res!("/operations"), VIEWER, Read("cluster.view"), handler!(pages::operations::page)),
    post(
        res!("/operations"),
        ELEVATED,
        Change("maintenance.plan"),
        handler!(pages::maintenance_order::order),
    ),
    get(res!("/operations/{item}"), VIEWER, Read("cluster.view"), handler!(pages::operations::one)),
    get(
        res!("/maintenance/{id}/cancel"),
        ELEVATED,
        AuditClass::None,
        handler!(pages::maintenance_cancel::dialog),
    ),
    post(
        res!("/maintenance/{id}/cancel"),
        ELEVATED,
        Change("maintenance.cancel"),
        handler!(pages::maintenance_cancel::cancel),
    ),
    get(res!("/pods"), VIEWER, Read("cluster.view"), handler!(pages::workloads::page)),
    get(res!("/pods/{namespace}/{item}"), VIEWER, Read("cluster.view"), handler!(pages::workloads::page)),
    get(res!("/pods/{namespace}/{item}/log"), SRE, Read("cluster.view"), handler!(pages::logs::page)),
    get(res!("/terminal"), SRE, Read("cluster.view"), handler!(pages::terminal::page)),
    post(res!("/terminal/new"), SRE, Change("grant.issue"), handler!(pages::terminal::give)),
    // Each session writes its own entries, at the start and the end.
    get(res!("/terminal/socket"), SRE, AuditClass::None, handler!(pages::terminal::socket)),
    get(res!("/workloads"), VIEWER, Read("cluster.view"), handler!(pages::workloads::page)),
    get(
        res!("/workloads/{kind}/{namespace}/{item}"),
        VIEWER,
        Read("cluster.view"),
        handler!(pages::workloads::page),
    ),
    get(res!("/events"), VIEWER, Read("cluster.view"), handler!(pages::workloads::page)),
    get(res!("/resources"), SRE, Read("cluster.view"), handler!(pages::resources::kinds_page)),
    get(
        res!("/resources/{group_name}/{version}/{plural}"),
        SRE,
        Read("cluster.view"),
        handler!(pages::resources::objects_page),
    ),
    get(
        res!("/resources/{group_name}/{version}/{plural}/{*item}"),
        SRE,
        Read("cluster.view"),
        handler!(pages::resources::object_page),
    ),
    get(res!("/network"), VIEWER, Read("cluster.view"), handler!(pages::network::page)),
    post(res!("/look"), SRE, Change("grant.issue"), handler!(pages::look::give)),
    // Robots have scopes instead of the role: giving the access decides. What is read writes its own entries.
    get(v1!("/pods/{namespace}/{item}/log"), VIEWER, AuditClass::None, handler!(api::looks::log))
        .doc("getPodLog", "objects", "The log of a container")
        .query::<api::looks::PodLogQuery>()
        .answers(content("text/plain")),
    get(v1!("/machines/{item}/serial"), SRE, AuditClass::None, handler!(api::serial::serial))
        .doc("getSerialConsole", "objects", "The end of a machine's serial console, secrets redacted")
        .query::<api::serial::SerialLogQuery>()
        .answers(json::<api::serial::SerialResponse<'_>>().or("text/plain")),
    get(v1!("/machines/{item}/screenshot"), SRE, AuditClass::None, handler!(api::serial::screenshot))
        .doc("getScreenshot", "objects", "The picture of a machine's screen: PNG, JPEG or BMP")
        .query::<api::serial::ScreenshotQuery>()
        .answers(content("image/png").or("image/jpeg").or("image/bmp")),
    get(v1!("/objects/{api}/{version}/{plural}"), VIEWER, AuditClass::None, handler!(api::looks::list))
        .doc("listObjects", "objects", "Objects of any kind, with the viewer's own access")
        .query::<api::looks::ObjectListQuery>()
        .answers(json::<api::looks::ObjectList>()),
    get(
        v1!("/objects/{api}/{version}/{plural}/{*item}"),
        VIEWER,
        AuditClass::None,
        handler!(api::looks::object),
    )
    .doc("getObject", "objects", "One object of any kind, with the viewer's own access")
    .query::<api::looks::ObjectQuery>()
    .answers(json::<Map<String, Value>>().or("application/yaml")),
    get(res!("/report"), AUDITOR, Read("audit.report"), handler!(pages::report::page)),
    get(res!("/kubeconfig"), VIEWER, AuditClass::None, handler!(pages::kubeconfig::dialog)),
    post(res!("/kubeconfig/new"), SRE, Change("grant.issue"), handler!(pages::kubeconfig::issue)),
    get(res!("/ssh"), VIEWER, AuditClass::None, handler!(pages::ssh::dialog)),
    post(res!("/ssh/new"), SRE, Change("grant.issue"), handler!(pages::ssh::issue)),
    get(res!("/tunnel"), VIEWER, AuditClass::None, handler!(pages::tunnel::dialog)),
    get(res!("/host-keys"), SRE, Read("cluster.view"), handler!(pages::host_keys::page)),
    post(res!("/host-keys/trust"), ADMIN, Change("host-key.trust"), handler!(pages::host_keys::post)),
];
