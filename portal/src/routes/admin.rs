//! Robots, recordings, the audit log and imported clusters, by JSON; and the pages of recordings.

use portal_api as api;
use portal_pages as pages;

use super::{ADMIN, AUDITOR, IMPORT_BODY, LIST, VIEWER};
use crate::route::AuditClass::{Change, Read};
use crate::route::{Route, content, created, delete, get, json, post};

pub(super) static ROWS: &[Route] = &[
    get("/api/v1/robots", ADMIN, Read("robots.list"), handler!(api::robots::list))
        .doc("V1Robots", "robots", "Robots")
        .answers(json("List")),
    post("/api/v1/robots", ADMIN, Change("robot.create"), handler!(api::robots::create))
        .doc("V1RobotNew", "robots", "Make a robot")
        .answers(created("Object")),
    post("/api/v1/robots/{name}/rotate", ADMIN, Change("robot.rotate"), handler!(api::robots::rotate))
        .doc("V1RobotRotate", "robots", "A new token, the old one for a while beside it")
        .answers(json("Object")),
    delete("/api/v1/robots/{name}", ADMIN, Change("robot.revoke"), handler!(api::robots::revoke))
        .doc("V1RobotRevoke", "robots", "End a robot and all it was given")
        .answers(json("Object")),
    // One's own: sre; everybody's: auditors, decided by the handler.
    get("/api/v1/recordings", VIEWER, Read("recordings.list"), handler!(api::recordings::list))
        .doc(
            "V1Recordings",
            "recordings",
            "Recorded sessions, newest first: one's own, for auditors everybody's",
        )
        .answers(json("List"))
        .query(&[
            ("q", "Only those that showed this text, with the lines"),
            ("person", "A part of the person's name; auditors"),
            ("cluster", "A resource id, or the name of a cluster"),
            ("grant", "Only those that were opened with this grant"),
            ("from", "Begun at or after: RFC 3339 or a day"),
            ("to", "Begun before; a day is taken whole"),
            ("limit", "Rows, 1 to 500"),
            ("continue", "Where the answer before ended"),
        ]),
    get("/api/v1/recordings/{id}", VIEWER, Read("recordings.list"), handler!(api::recordings::get))
        .doc("V1Recording", "recordings", "What is known of a recorded session")
        .answers(json("Object")),
    // Writes its own entry, durably, before the first byte.
    get("/api/v1/recordings/{id}/cast", VIEWER, Read("recording.read"), handler!(api::recordings::cast))
        .doc(
            "V1RecordingCast",
            "recordings",
            "The recorded session as asciicast v3; audited before the first byte",
        )
        .answers(content("application/x-asciicast"))
        .query(&[("download", "1: as a file")]),
    get("/recordings", VIEWER, Read("recordings.list"), handler!(pages::recordings::page)),
    get("/recordings/{id}", VIEWER, Read("recordings.list"), handler!(pages::recordings::player)),
    get("/api/v1/audit", AUDITOR, Read("audit.search"), handler!(api::audit::search))
        .doc("V1Audit", "audit", "Entries, newest first")
        .answers(json("List"))
        .query(LIST),
    get("/api/v1/audit/export", AUDITOR, Read("audit.export"), handler!(api::audit::export))
        .doc("V1AuditExport", "audit", "Entries as lines, with their proof")
        .answers(content("application/x-ndjson")),
    get("/api/v1/audit/report", AUDITOR, Read("audit.report"), handler!(api::audit::report))
        .doc("V1AuditReport", "audit", "Who had access to a cluster and what they did")
        .answers(json("Object")),
    get("/api/v1/audit/proof", AUDITOR, Read("audit.search"), handler!(api::audit::proof))
        .doc("V1AuditProof", "audit", "Up to where the chain is proven")
        .answers(json("Object")),
    get("/api/v1/imports", ADMIN, Read("imports.list"), handler!(api::imports::list))
        .doc("V1Imports", "imports", "Imported clusters")
        .answers(json("List")),
    post("/api/v1/imports", ADMIN, Change("cluster.import"), handler!(api::imports::create))
        .body(IMPORT_BODY)
        .doc("V1Import", "imports", "Put a cluster under the portal")
        .answers(created("Object")),
    delete("/api/v1/imports/{name}", ADMIN, Change("cluster.remove"), handler!(api::imports::remove))
        .doc("V1ImportRemove", "imports", "Take an imported cluster away")
        .answers(json("Object")),
];
