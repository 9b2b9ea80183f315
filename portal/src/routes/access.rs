//! Grants, SSH and elevations, by JSON.

use portal_api as api;
use portal_api::answer::{Items, ReasonRequest};
use portal_api::elevations::ElevationView;
use portal_model::host_keys::TrustKeyRequest;

use super::{ADMIN, APPROVER, ELEVATED, SRE, VIEWER};
use crate::openapi::refusals;
use crate::route::AuditClass::{self, Change, Read};
use crate::route::{Route, delete, get, json, post};

pub(super) static ROWS: &[Route] = &[
    get("/api/v1/grants", VIEWER, AuditClass::None, handler!(api::grants::list))
        .doc("listGrants", "grants", "Grants, newest first")
        .query::<api::grants::GrantsQuery>()
        .answers(json::<Items<api::grants::GrantRow>>()),
    post("/api/v1/grants", SRE, Change("grant.issue"), handler!(api::grants::create))
        .doc("createGrant", "grants", "Take access to a cluster")
        .takes::<api::grants::NewGrant>()
        .refuses(refusals::ISSUE)
        .refuses(refusals::CLUSTER)
        .answers(json::<api::grants::IssueGrantResponse<'_>>()),
    get("/api/v1/grants/{id}", VIEWER, AuditClass::None, handler!(api::grants::get))
        .doc("getGrant", "grants", "One grant with its streams")
        .refuses(refusals::GRANT_READ)
        .answers(json::<api::grants::GrantDetail>()),
    delete("/api/v1/grants/{id}", VIEWER, Change("grant.revoke"), handler!(api::grants::revoke))
        .doc("revokeGrant", "grants", "End a grant")
        .refuses(refusals::GRANT)
        .query::<ReasonRequest>()
        .answers(json::<api::grants::GrantRow>()),
    post("/api/v1/grants/{id}/extend", VIEWER, Change("grant.extend"), handler!(api::grants::extend))
        .doc("extendGrant", "grants", "Move a grant's end")
        .takes::<api::grants::ExtendRequest>()
        .refuses(refusals::EXTENSION)
        .answers(json::<api::grants::GrantSummary>()),
    post("/api/v1/grants/{id}/token", VIEWER, Change("grant.renew"), handler!(api::grants::token))
        .doc("renewGrantToken", "grants", "A token of minutes under a grant")
        .refuses(refusals::RENEWAL)
        .takes_nothing()
        .answers(json::<api::grants::GrantTokenResponse<'_>>()),
    post(
        "/api/v1/grants/{id}/ssh-certificate",
        VIEWER,
        Change("grant.certificate"),
        handler!(api::ssh::certificate),
    )
    .doc(
        "createSshCertificate",
        "grants",
        "A certificate of one's own SSH key, for minutes, under an SSH grant",
    )
    .takes::<api::ssh::CertificateRequest>()
    .refuses(refusals::RENEWAL)
    .answers(json::<api::ssh::CertificateResponse<'_>>()),
    get("/api/v1/ssh", VIEWER, AuditClass::None, handler!(api::ssh::bastion))
        .doc("getSshServer", "service", "Where the SSH server is, and its host keys")
        .answers(json::<api::ssh::BastionView<'_>>()),
    get(v1!("/ssh/machines"), SRE, Read("cluster.view"), handler!(api::ssh::machines))
        .doc("listSshMachines", "objects", "Machines that can be signed in to, and the way to each")
        .answers(json::<Items<api::ssh::MachineView<'_>>>()),
    get(v1!("/terminals"), SRE, Read("cluster.view"), handler!(api::terminals::list))
        .doc("listTerminals", "objects", "Terminals of people in it that one may look on at")
        .answers(json::<Items<api::terminals::TerminalView>>()),
    get(v1!("/host-keys"), SRE, Read("cluster.view"), handler!(api::ssh::host_keys))
        .doc("listHostKeys", "objects", "Host keys of its machines that are known, and that were refused")
        .answers(json::<Items<api::ssh::HostKeyView>>()),
    post(v1!("/host-keys/trust"), ADMIN, Change("host-key.trust"), handler!(api::ssh::trust_key))
        .doc("trustHostKey", "objects", "Trust the host key that a machine showed last")
        .fresh()
        .takes::<TrustKeyRequest>()
        .answers(json::<api::ssh::HostKeyView>()),
    // One's own: anybody; a cluster's and everybody's: admins, decided by the handler.
    post("/api/v1/grants/revoke", VIEWER, Change("grant.revoke"), handler!(api::grants::revoke_all))
        .doc("revokeGrants", "grants", "End many grants")
        .fresh()
        .takes::<api::grants::RevokeAllRequest>()
        .refuses(refusals::GRANT)
        .answers(json::<api::grants::RevokedResponse>()),
    get("/api/v1/elevations", VIEWER, AuditClass::None, handler!(api::elevations::list))
        .doc("listElevations", "elevations", "Elevations, newest first")
        .query::<api::elevations::ElevationsQuery>()
        .answers(json::<Items<ElevationView>>()),
    post("/api/v1/elevations", ELEVATED, Change("elevation.request"), handler!(api::elevations::create))
        .doc("requestElevation", "elevations", "Ask for more rights")
        .fresh()
        .takes::<api::elevations::NewElevation>()
        .refuses(refusals::ELEVATION)
        .refuses(refusals::CLUSTER)
        .answers(json::<ElevationView>()),
    get("/api/v1/elevations/{id}", VIEWER, AuditClass::None, handler!(api::elevations::get))
        .doc("getElevation", "elevations", "One elevation")
        .refuses(refusals::ELEVATION_READ)
        .answers(json::<ElevationView>()),
    post(
        "/api/v1/elevations/{id}/approve",
        APPROVER,
        Change("elevation.approve"),
        handler!(api::elevations::approve),
    )
    .doc("approveElevation", "elevations", "Approve")
    .fresh()
    .refuses(refusals::ELEVATION)
    .takes::<ReasonRequest>()
    .answers(json::<ElevationView>()),
    post(
        "/api/v1/elevations/{id}/refuse",
        APPROVER,
        Change("elevation.refuse"),
        handler!(api::elevations::refuse),
    )
    .doc("refuseElevation", "elevations", "Refuse")
    .refuses(refusals::ELEVATION)
    .takes::<ReasonRequest>()
    .answers(json::<ElevationView>()),
    post("/api/v1/elevations/{id}/end", VIEWER, Change("elevation.end"), handler!(api::elevations::end))
        .doc("endElevation", "elevations", "End an elevation")
        .refuses(refusals::ELEVATION)
        .takes::<ReasonRequest>()
        .answers(json::<ElevationView>()),
    // Approvers and auditors, decided by the handler.
    post(
        "/api/v1/elevations/{id}/review",
        VIEWER,
        Change("elevation.review"),
        handler!(api::elevations::review),
    )
    .doc("reviewElevation", "elevations", "Review a break-glass")
    .refuses(refusals::ELEVATION)
    .takes::<api::elevations::ReviewRequest>()
    .answers(json::<ElevationView>()),
];
