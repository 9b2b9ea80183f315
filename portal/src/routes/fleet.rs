//! Pages of metrics, and what is done with the list of clusters: views, queries, the palette.

use portal_api as api;
use portal_api::answer::Items;
use portal_model::views::SaveViewRequest;
use portal_pages as pages;

use super::{SMALL_BODY, SRE, VIEWER};
use crate::route::AllowedCaller::SignedIn;
use crate::route::AuditClass::{self, Change, Read};
use crate::route::{NO_CONTENT, Route, created, delete, get, json, post};

pub(super) static ROWS: &[Route] = &[
    // PromQL: pages, and the queries that people keep.
    get(res!("/explore"), VIEWER, Read("cluster.view"), handler!(pages::explore::page)),
    get(res!("/alerts"), VIEWER, Read("cluster.view"), handler!(pages::alerts::page)),
    get("/fleet", VIEWER, Read("cluster.view"), handler!(pages::fleet::page)),
    get("/alerts", VIEWER, Read("clusters.list"), handler!(pages::fleet_lists::alerts)),
    get("/operations", VIEWER, Read("clusters.list"), handler!(pages::fleet_lists::operations)),
    get("/maintenance", VIEWER, Read("clusters.list"), handler!(pages::maintenance::page)),
    get(res!("/statistics"), VIEWER, Read("cluster.view"), handler!(pages::statistics::page)),
    get(res!("/apistatistics"), VIEWER, AuditClass::None, handler!(pages::statistics::tab)),
    get(res!("/kcmstatistics"), VIEWER, AuditClass::None, handler!(pages::statistics::tab)),
    get(res!("/dnsstatistics"), VIEWER, AuditClass::None, handler!(pages::statistics::tab)),
    get(res!("/ingressstatistics"), VIEWER, AuditClass::None, handler!(pages::statistics::tab)),
    get(res!("/metrics"), VIEWER, AuditClass::None, handler!(pages::metrics::dialog)),
    post(res!("/metrics/new"), SRE, Change("grant.issue"), handler!(pages::metrics::issue)),
    // Views of the list, and what is done with it.
    get("/api/v1/views", VIEWER, AuditClass::None, handler!(api::views::list))
        .doc("listViews", "clusters", "Views that you keep or that others share")
        .answers(json::<Items<api::views::SavedViewResponse>>()),
    post("/api/v1/views", VIEWER, Change("view.save"), handler!(api::views::create))
        .doc("createView", "clusters", "Keep a view of the list")
        .takes::<SaveViewRequest>()
        .answers(created::<api::views::SavedViewResponse>()),
    delete("/api/v1/views/{id}", VIEWER, Change("view.remove"), handler!(api::views::remove))
        .doc("deleteView", "clusters", "Remove a view")
        .answers(NO_CONTENT),
    post("/views", VIEWER, Change("view.save"), handler!(pages::views::create)),
    post("/views/{id}/remove", VIEWER, Change("view.remove"), handler!(pages::views::remove)),
    get("/jump", VIEWER, Read("clusters.list"), handler!(pages::jump::page)),
    get("/api/v1/jump", VIEWER, Read("clusters.list"), handler!(pages::jump::json))
        .doc("findPlaces", "clusters", "Places to go")
        .query::<pages::jump::JumpQuery>()
        .answers(json::<pages::jump::JumpResponse>()),
    // What only the caller's own browser remembers.
    post("/columns", SignedIn, AuditClass::None, handler!(pages::clusters::choose_columns)).body(SMALL_BODY),
    get("/clusters/chosen", VIEWER, AuditClass::None, handler!(pages::clusters::chosen)),
    get("/clusters/export", VIEWER, Read("clusters.export"), handler!(pages::clusters::download)),
    get("/api/v1/queries", VIEWER, AuditClass::None, handler!(api::queries::list))
        .doc("listQueries", "metrics", "Expressions that you keep or that others share")
        .answers(json::<Items<api::queries::SavedQueryView>>()),
    post("/api/v1/queries", VIEWER, Change("query.save"), handler!(api::queries::create))
        .doc("createQuery", "metrics", "Keep an expression")
        .takes::<api::queries::SaveQueryRequest>()
        .answers(created::<api::queries::SavedQueryView>()),
    delete("/api/v1/queries/{id}", VIEWER, Change("query.remove"), handler!(api::queries::remove))
        .doc("deleteQuery", "metrics", "Remove an expression")
        .answers(NO_CONTENT),
    // For development: answers only where everything is simulated and the build has the feature `samples`.
    get("/gallery", SignedIn, AuditClass::None, handler!(pages::gallery::page)),
    get("/gallery/{name}", SignedIn, AuditClass::None, handler!(pages::gallery::item)),
    get("/keys", SignedIn, AuditClass::None, handler!(pages::keys::page)),
];
