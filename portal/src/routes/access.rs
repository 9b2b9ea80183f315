//! Grants, SSH and elevations, by JSON.

use portal_api as api;

use super::{ADMIN, APPROVER, ELEVATED, LIST, SRE, VIEWER};
use crate::route::AuditClass::{self, Change, Read};
use crate::route::{Route, delete, get, json, post};

pub(super) static ROWS: &[Route] = &[
    get("/api/v1/grants", VIEWER, AuditClass::None, handler!(api::grants::list))
        .doc("V1Grants", "grants", "Grants, newest first")
        .answers(json("List"))
        .query(LIST),
    post("/api/v1/grants", SRE, Change("grant.issue"), handler!(api::grants::create))
        .doc("V1GrantNew", "grants", "Take access to a cluster")
        .answers(json("Object")),
    get("/api/v1/grants/{id}", VIEWER, AuditClass::None, handler!(api::grants::get))
        .doc("V1Grant", "grants", "One grant with its streams")
        .answers(json("Object")),
    delete("/api/v1/grants/{id}", VIEWER, Change("grant.revoke"), handler!(api::grants::revoke))
        .doc("V1GrantRevoke", "grants", "End a grant")
        .answers(json("Object")),
    post("/api/v1/grants/{id}/extend", VIEWER, Change("grant.extend"), handler!(api::grants::extend))
        .doc("V1GrantExtend", "grants", "Move a grant's end")
        .answers(json("Object")),
    post("/api/v1/grants/{id}/token", VIEWER, Change("grant.renew"), handler!(api::grants::token))
        .doc("V1GrantToken", "grants", "A token of minutes under a grant")
        .answers(json("Object")),
    post(
        "/api/v1/grants/{id}/ssh-certificate",
        VIEWER,
        Change("grant.certificate"),
        handler!(api::ssh::certificate),
    )
    .doc("V1SshCertificate", "grants", "A certificate of one's own SSH key, for minutes, under an SSH grant")
    .answers(json("Object")),
    get("/api/v1/ssh", VIEWER, AuditClass::None, handler!(api::ssh::bastion))
        .doc("V1SshDoor", "service", "Where the SSH server is, and its host keys")
        .answers(json("Object")),
    get(v1!("/ssh/machines"), SRE, Read("cluster.view"), handler!(api::ssh::machines))
        .doc("V1SshMachines", "objects", "Machines that can be signed in to, and the way to each")
        .answers(json("List")),
    get(v1!("/terminals"), SRE, Read("cluster.view"), handler!(api::terminals::list))
        .doc("V1Terminals", "objects", "Terminals of people in it that one may look on at")
        .answers(json("List")),
    get(v1!("/host-keys"), SRE, Read("cluster.view"), handler!(api::ssh::host_keys))
        .doc("V1HostKeys", "objects", "Host keys of its machines that are known, and that were refused")
        .answers(json("List")),
    post(v1!("/host-keys/trust"), ADMIN, Change("host-key.trust"), handler!(api::ssh::trust_key))
        .doc("V1HostKeyTrust", "objects", "Trust the host key that a machine showed last")
        .answers(json("Object")),
    // One's own: anybody; a cluster's and everybody's: admins, decided by the handler.
    post("/api/v1/grants/revoke", VIEWER, Change("grant.revoke"), handler!(api::grants::revoke_all))
        .doc("V1GrantsRevoke", "grants", "End many grants")
        .answers(json("Object")),
    get("/api/v1/elevations", VIEWER, AuditClass::None, handler!(api::elevations::list))
        .doc("V1Elevations", "elevations", "Elevations, newest first")
        .answers(json("List"))
        .query(LIST),
    post("/api/v1/elevations", ELEVATED, Change("elevation.request"), handler!(api::elevations::create))
        .doc("V1ElevationNew", "elevations", "Ask for more rights")
        .answers(json("Object")),
    get("/api/v1/elevations/{id}", VIEWER, AuditClass::None, handler!(api::elevations::get))
        .doc("V1Elevation", "elevations", "One elevation")
        .answers(json("Object")),
    post(
        "/api/v1/elevations/{id}/approve",
        APPROVER,
        Change("elevation.approve"),
        handler!(api::elevations::approve),
    )
    .doc("V1ElevationApprove", "elevations", "Approve")
    .answers(json("Object")),
    post(
        "/api/v1/elevations/{id}/refuse",
        APPROVER,
        Change("elevation.refuse"),
        handler!(api::elevations::refuse),
    )
    .doc("V1ElevationRefuse", "elevations", "Refuse")
    .answers(json("Object")),
    post("/api/v1/elevations/{id}/end", VIEWER, Change("elevation.end"), handler!(api::elevations::end))
        .doc("V1ElevationEnd", "elevations", "End an elevation")
        .answers(json("Object")),
    // Approvers and auditors, decided by the handler.
    post(
        "/api/v1/elevations/{id}/review",
        VIEWER,
        Change("elevation.review"),
        handler!(api::elevations::review),
    )
    .doc("V1ElevationReview", "elevations", "Review a break-glass")
    .answers(json("Object")),
];
