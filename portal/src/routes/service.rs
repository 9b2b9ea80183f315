//! Sign-in, and what this portal is.

use axum::response::Response;
use portal_api as api;
use portal_pages as pages;
use portal_session::backchannel;
use serde_json::{Map, Value};

use super::{SMALL_BODY, table};
use crate::route::AllowedCaller::{Public, SignedIn};
use crate::route::AuditClass::{self, Change};
use crate::route::{Route, get, json, post};
use crate::{openapi, ready};

pub(super) static ROWS: &[Route] = &[
    get("/healthz/ready", Public, AuditClass::None, handler!(ready::ready)),
    get("/static/{*path}", Public, AuditClass::None, handler!(pages::assets::asset)),
    get("/favicon.ico", Public, AuditClass::None, handler!(pages::assets::asset)),
    get("/api/login", Public, AuditClass::None, handler!(pages::login::login)),
    // Writes its own audit entry, once the person is known.
    get("/callback", Public, AuditClass::None, handler!(pages::callback::callback)),
    post("/api/logout", SignedIn, Change("sign-out"), handler!(pages::logout::logout)),
    // The provider signs the body. As at the sign-ins below, the handler writes its own audit entry.
    post("/backchannel-logout", Public, AuditClass::None, handler!(backchannel::backchannel))
        .without_csrf()
        .body(SMALL_BODY),
    // The command line (`contract/rules.md` §5.4). A code is what its caller has in place of a sign-in.
    get("/api/cli/login", SignedIn, AuditClass::None, handler!(pages::signin::page)),
    post("/api/cli/login", SignedIn, Change("login.agree"), handler!(pages::signin::decide)),
    get("/device", SignedIn, AuditClass::None, handler!(pages::device::page)),
    post("/device", SignedIn, Change("login.agree"), handler!(pages::device::decide)),
    post("/api/v1/login/token", Public, AuditClass::None, handler!(api::login::token))
        .without_csrf()
        .body(SMALL_BODY)
        .doc("exchangeCode", "service", "A code, for a token")
        .takes::<api::login::TokenRequest>()
        .answers(json::<api::login::TokenResponse<'_>>()),
    post("/api/v1/login/device", Public, AuditClass::None, handler!(api::login::device))
        .without_csrf()
        .body(SMALL_BODY)
        .doc("beginDeviceSignIn", "service", "Begin a sign-in on a device without a browser")
        .takes::<api::login::DeviceCodeRequest>()
        .answers(json::<api::login::DeviceCodeResponse<'_>>()),
    post("/api/v1/logout", SignedIn, Change("sign-out"), handler!(api::login::logout))
        .doc("signOut", "service", "End the sign-in")
        .takes::<api::login::LogoutRequest>()
        .answers(json::<api::login::LogoutResponse>()),
    // JSON (`contract/portal.md` §8).
    get("/api/info", SignedIn, AuditClass::None, handler!(api::info::info))
        .doc("getInfo", "service", "Who you are here, and the token for unsafe calls")
        .answers(json::<api::info::Info>()),
    get("/api/v1/openapi.json", SignedIn, AuditClass::None, handler!(openapi_document))
        .doc("getOpenApi", "service", "This document")
        .answers(json::<Map<String, Value>>()),
    get("/api/regions", SignedIn, AuditClass::None, handler!(api::info::regions))
        .doc("listRegions", "service", "Portals of other regions")
        .answers(json::<api::info::Regions>()),
];

/// `GET /api/v1/openapi.json`.
async fn openapi_document() -> Response {
    openapi::response(table())
}
