//! Prometheus, alerts and statistics of clusters (`contract/portal.md` §13, §14).

use std::collections::BTreeMap;

use portal_api as api;
use serde_json::{Map, Value};

use super::{SRE, VIEWER};
use crate::route::{AuditClass, Route, content, get, json, post};

/// Describes a row of Prometheus' own API, whose parameters and answers are Prometheus' own.
const fn own_api(row: Route, operation: &'static str) -> Route {
    row.doc(operation, "metrics", "Prometheus' own API of one cluster, reading only")
        .answers(json::<Map<String, Value>>())
}

/// The same with the parameters in a form: a query may be too long for a URL.
const fn own_api_form(row: Route, operation: &'static str) -> Route {
    own_api(row, operation)
        .takes_form::<BTreeMap<String, String>>(&[("query", "sum(up)"), ("time", "2026-11-28T12:00:00Z")])
}

// Questions write their own audit entries, refused ones too.
pub(super) static ROWS: &[Route] = &[
    own_api(
        get(res!("/prometheus/api/v1/{*tail}"), SRE, AuditClass::None, handler!(api::prom::serve)),
        "getPrometheus",
    ),
    own_api_form(
        post(res!("/prometheus/api/v1/{*tail}"), SRE, AuditClass::None, handler!(api::prom::serve)),
        "postPrometheus",
    ),
    get(res!("/prometheus/-/{tail}"), SRE, AuditClass::None, handler!(api::prom::serve)),
    get(prom!("/sources"), SRE, AuditClass::None, handler!(api::prom::sources))
        .doc("listPrometheusSources", "metrics", "Where the cluster's metrics can be asked")
        .answers(json::<api::prom::SourcesResponse>()),
    get(prom!("/suggest"), SRE, AuditClass::None, handler!(api::prom::suggest))
        .doc("suggestNames", "metrics", "Names and labels that complete what is typed")
        .query::<api::prom::SuggestQuery>()
        .answers(json::<api::prom::Suggestions>()),
    own_api(get(prom!("/{*tail}"), SRE, AuditClass::None, handler!(api::prom::serve)), "getMetrics"),
    own_api_form(post(prom!("/{*tail}"), SRE, AuditClass::None, handler!(api::prom::serve)), "postMetrics"),
    get("/api/v1/prom/explain", VIEWER, AuditClass::None, handler!(api::prom::explain))
        .doc("explainExpression", "metrics", "What an expression does, part by part")
        .query::<api::prom::ExplainQuery>()
        .answers(json::<api::prom::Explanation>()),
    get(concat!("/api/v1/alerts", res!("")), VIEWER, AuditClass::None, handler!(api::prom::alerts))
        .doc("listAlerts", "metrics", "What fires in one cluster")
        .answers(json::<api::prom::Alerts>()),
    get(
        "/api/{sub}/{group}/{name}/statistics/{kind}",
        VIEWER,
        AuditClass::None,
        handler!(api::prom::statistic),
    )
    .doc("getStatistic", "metrics", "One statistic of one cluster (contract/portal.md §14)")
    .one_of("kind", api::prom::statistic_names)
    .query::<api::prom::StatisticQuery>()
    .answers(json::<Vec<api::prom::StatSeries>>()),
    post("/api/v1/fleet/query", SRE, AuditClass::None, handler!(api::fleet::query))
        .doc(
            "queryFleet",
            "metrics",
            "One expression on many clusters; events plan, answer, fault, aggregate and end as they come",
        )
        .takes::<api::fleet::FleetRequest>()
        .answers(content("text/event-stream")),
];
