//! Robots, recordings, the audit log and imported clusters, by JSON; and the pages of recordings.

use portal_api as api;
use portal_api::answer::{Items, ReasonRequest};
use portal_model::imports::ImportRequest;
use portal_model::recordings::RecordingFilter;
use portal_pages as pages;

use super::{ADMIN, AUDITOR, IMPORT_BODY, VIEWER};
use crate::openapi::refusals;
use crate::route::AuditClass::{Change, Read};
use crate::route::{NO_CONTENT, Route, content, created, delete, get, json, post};

pub(super) static ROWS: &[Route] = &[
    get("/api/v1/robots", ADMIN, Read("robots.list"), handler!(api::robots::list))
        .doc("listRobots", "robots", "Robots")
        .answers(json::<Items<api::robots::RobotRow>>()),
    post("/api/v1/robots", ADMIN, Change("robot.create"), handler!(api::robots::create))
        .doc("createRobot", "robots", "Make a robot")
        .fresh()
        .refuses(refusals::ROBOT)
        .takes::<api::robots::NewRobot>()
        .answers(created::<api::robots::RobotTokenResponse<'_>>()),
    post("/api/v1/robots/{name}/rotate", ADMIN, Change("robot.rotate"), handler!(api::robots::rotate))
        .doc("rotateRobot", "robots", "A new token, the old one for a while beside it")
        .fresh()
        .refuses(refusals::ROBOT)
        .takes::<api::robots::RotateRequest>()
        .answers(json::<api::robots::RobotTokenResponse<'_>>()),
    delete("/api/v1/robots/{name}", ADMIN, Change("robot.revoke"), handler!(api::robots::revoke))
        .doc("revokeRobot", "robots", "End a robot and all it was given")
        .refuses(refusals::ROBOT)
        .query::<ReasonRequest>()
        .answers(json::<api::grants::RevokedResponse>()),
    get("/api/v1/notifications", ADMIN, Read("notifications.list"), handler!(api::notifications::list))
        .doc("listNotifications", "notifications", "Destinations of notifications, and what was sent")
        .query::<api::notifications::NotificationsQuery>()
        .answers(json::<Items<api::notifications::DestinationState>>()),
    post(
        "/api/v1/notifications/{destination}/test",
        ADMIN,
        Change("notification.test"),
        handler!(api::notifications::test),
    )
    .doc("testNotifications", "notifications", "Send a test to a destination")
    .refuses(refusals::DESTINATION)
    .takes_nothing()
    .answers(created::<api::notifications::NotificationTest>()),
    // One's own: sre; everybody's: auditors, decided by the handler.
    get("/api/v1/recordings", VIEWER, Read("recordings.list"), handler!(api::recordings::list))
        .doc(
            "listRecordings",
            "recordings",
            "Recorded sessions, newest first: one's own, for auditors everybody's",
        )
        .query::<RecordingFilter>()
        .answers(json::<Items<api::recordings::RecordingView>>()),
    get("/api/v1/recordings/{id}", VIEWER, Read("recordings.list"), handler!(api::recordings::get))
        .doc("getRecording", "recordings", "What is known of a recorded session")
        .answers(json::<api::recordings::RecordingView>()),
    // Writes its own entry, durably, before the first byte.
    get("/api/v1/recordings/{id}/cast", VIEWER, Read("recording.read"), handler!(api::recordings::cast))
        .doc(
            "getRecordingCast",
            "recordings",
            "The recorded session as asciicast v3; audited before the first byte",
        )
        .query::<api::recordings::CastQuery>()
        .answers(content("application/x-asciicast")),
    get("/recordings", VIEWER, Read("recordings.list"), handler!(pages::recordings::page)),
    get("/recordings/{id}", VIEWER, Read("recordings.list"), handler!(pages::recordings::player)),
    get("/api/v1/audit", AUDITOR, Read("audit.search"), handler!(api::audit::search))
        .doc("searchAudit", "audit", "Entries, newest first")
        .refuses(refusals::AUDIT_SEARCH)
        .refuses(refusals::CLUSTER)
        .query::<api::audit::AuditQuery>()
        .answers(json::<Items<api::audit::Entry>>()),
    get("/api/v1/audit/export", AUDITOR, Read("audit.export"), handler!(api::audit::export))
        .doc("exportAudit", "audit", "Entries as lines, with their proof")
        .refuses(refusals::AUDIT_SEARCH)
        .refuses(refusals::CLUSTER)
        .query::<api::audit::AuditQuery>()
        .answers(content("application/x-ndjson")),
    get("/api/v1/audit/report", AUDITOR, Read("audit.report"), handler!(api::audit::report))
        .doc("reportAccess", "audit", "Who had access to a cluster and what they did")
        .refuses(refusals::AUDIT_SEARCH)
        .refuses(refusals::CLUSTER)
        .query::<api::audit::AccessReportQuery>()
        .answers(json::<api::audit::Report>().or("text/csv")),
    get("/api/v1/audit/proof", AUDITOR, Read("audit.search"), handler!(api::audit::proof))
        .doc("getAuditProof", "audit", "Up to where the chain is proven")
        .answers(json::<api::audit::Proof>()),
    get("/api/v1/imports", ADMIN, Read("imports.list"), handler!(api::imports::list))
        .doc("listImports", "imports", "Imported clusters")
        .answers(json::<Items<api::imports::ImportView>>()),
    post("/api/v1/imports", ADMIN, Change("cluster.import"), handler!(api::imports::create))
        .body(IMPORT_BODY)
        .doc("importCluster", "imports", "Put a cluster under the portal")
        .takes::<ImportRequest>()
        .answers(created::<api::imports::ImportView>()),
    delete("/api/v1/imports/{name}", ADMIN, Change("cluster.remove"), handler!(api::imports::remove))
        .doc("removeImport", "imports", "Take an imported cluster away")
        .answers(NO_CONTENT),
];
