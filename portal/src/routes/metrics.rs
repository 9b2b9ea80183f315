//! Prometheus, alerts and statistics of clusters (`contract/portal.md` §13, §14).

use portal_api as api;

use super::{SRE, VIEWER};
use crate::route::{AuditClass, Route, content, get, json, post};

/// Describes a row of Prometheus' own API.
const fn own_api(row: Route) -> Route {
    row.doc("PromServe", "metrics", "Prometheus' own API of one cluster, reading only")
        .answers(json("Object"))
}

// Questions write their own audit entries, refused ones too. A query may be too long for a URL, so it goes by POST too.
pub(super) static ROWS: &[Route] = &[
    own_api(get(res!("/prometheus/api/v1/{*tail}"), SRE, AuditClass::None, handler!(api::prom::serve))),
    own_api(post(res!("/prometheus/api/v1/{*tail}"), SRE, AuditClass::None, handler!(api::prom::serve))),
    get(res!("/prometheus/-/{tail}"), SRE, AuditClass::None, handler!(api::prom::serve)),
    get(prom!("/sources"), SRE, AuditClass::None, handler!(api::prom::sources))
        .doc("PromSources", "metrics", "Where the cluster's metrics can be asked")
        .answers(json("Object")),
    get(prom!("/suggest"), SRE, AuditClass::None, handler!(api::prom::suggest))
        .doc("PromSuggest", "metrics", "Names and labels that complete what is typed")
        .answers(json("Object")),
    own_api(get(prom!("/{*tail}"), SRE, AuditClass::None, handler!(api::prom::serve))),
    own_api(post(prom!("/{*tail}"), SRE, AuditClass::None, handler!(api::prom::serve))),
    get("/api/v1/prom/explain", VIEWER, AuditClass::None, handler!(api::prom::explain))
        .doc("PromExplain", "metrics", "What an expression does, part by part")
        .answers(json("Object")),
    get(concat!("/api/v1/alerts", res!("")), VIEWER, AuditClass::None, handler!(api::prom::alerts))
        .doc("ClusterAlerts", "metrics", "What fires in one cluster")
        .answers(json("Object")),
    get(
        "/api/{sub}/{group}/{name}/statistics/{kind}",
        VIEWER,
        AuditClass::None,
        handler!(api::prom::statistic),
    )
    .doc("Statistic", "metrics", "One statistic of one cluster (contract/portal.md §14)"),
    post("/api/v1/fleet/query", SRE, AuditClass::None, handler!(api::fleet::query))
        .doc("FleetQuery", "metrics", "One expression on many clusters, answers as they come")
        .answers(content("application/x-ndjson")),
];
