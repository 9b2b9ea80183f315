//! Pages of access, elevations, robots, the audit log and imported clusters.

use portal_pages as pages;

use super::{ADMIN, APPROVER, AUDITOR, ELEVATED, IMPORT_BODY, VIEWER};
use crate::route::AllowedCaller::SignedIn;
use crate::route::AuditClass::{self, Change, Read};
use crate::route::{Route, get, post};

pub(super) static ROWS: &[Route] = &[
    get("/access", VIEWER, AuditClass::None, handler!(pages::access::page)),
    get("/access/revoke", VIEWER, AuditClass::None, handler!(pages::revoke_many::dialog)),
    post("/access/revoke", VIEWER, Change("grant.revoke"), handler!(pages::revoke_many::post)),
    get("/access/{id}", VIEWER, AuditClass::None, handler!(pages::access::detail)),
    get("/access/{id}/revoke", VIEWER, AuditClass::None, handler!(pages::revoke::revoke_dialog)),
    post("/access/{id}/revoke", VIEWER, Change("grant.revoke"), handler!(pages::revoke::revoke)),
    get("/access/{id}/extend", VIEWER, AuditClass::None, handler!(pages::extend::extend_dialog)),
    post("/access/{id}/extend", VIEWER, Change("grant.extend"), handler!(pages::extend::extend)),
    get("/elevation", SignedIn, AuditClass::None, handler!(pages::elevations::banner)),
    get("/elevations", VIEWER, AuditClass::None, handler!(pages::elevations::page)),
    get("/elevate", ELEVATED, AuditClass::None, handler!(pages::elevate::form)),
    post("/elevate", ELEVATED, Change("elevation.request"), handler!(pages::elevate::post)),
    get(
        "/elevations/{id}/approve",
        APPROVER,
        AuditClass::None,
        handler!(pages::elevation_decisions::approve_dialog),
    ),
    post(
        "/elevations/{id}/approve",
        APPROVER,
        Change("elevation.approve"),
        handler!(pages::elevation_decisions::approve),
    ),
    get(
        "/elevations/{id}/refuse",
        APPROVER,
        AuditClass::None,
        handler!(pages::elevation_decisions::refuse_dialog),
    ),
    post(
        "/elevations/{id}/refuse",
        APPROVER,
        Change("elevation.refuse"),
        handler!(pages::elevation_decisions::refuse),
    ),
    get("/elevations/{id}/end", VIEWER, AuditClass::None, handler!(pages::elevation_decisions::end_dialog)),
    post("/elevations/{id}/end", VIEWER, Change("elevation.end"), handler!(pages::elevation_decisions::end)),
    get(
        "/elevations/{id}/review",
        VIEWER,
        AuditClass::None,
        handler!(pages::elevation_decisions::review_dialog),
    ),
    post(
        "/elevations/{id}/review",
        VIEWER,
        Change("elevation.review"),
        handler!(pages::elevation_decisions::review),
    ),
    get("/robots", ADMIN, Read("robots.list"), handler!(pages::robots::page)),
    post("/robots", ADMIN, Change("robot.create"), handler!(pages::robots::create)),
    get("/robots/{name}/rotate", ADMIN, AuditClass::None, handler!(pages::robots::rotate_dialog)),
    post("/robots/{name}/rotate", ADMIN, Change("robot.rotate"), handler!(pages::robots::rotate)),
    get("/robots/{name}/revoke", ADMIN, AuditClass::None, handler!(pages::robots::revoke_dialog)),
    post("/robots/{name}/revoke", ADMIN, Change("robot.revoke"), handler!(pages::robots::revoke)),
    get("/notifications", ADMIN, Read("notifications.list"), handler!(pages::notifications::page)),
    post(
        "/notifications/{destination}/test",
        ADMIN,
        Change("notification.test"),
        handler!(pages::notifications::test),
    ),
    get("/audit", AUDITOR, Read("audit.search"), handler!(pages::audit::page)),
    get("/imported", ADMIN, Read("imports.list"), handler!(pages::imported::page)),
    post("/imported", ADMIN, Change("cluster.import"), handler!(pages::imported::create)).body(IMPORT_BODY),
    post("/imported/{name}/remove", ADMIN, Change("cluster.remove"), handler!(pages::imported::remove)),
];
