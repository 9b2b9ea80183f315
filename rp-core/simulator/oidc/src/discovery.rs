//! Discovery 1.0 §3 and the key set.

use hyper::{Response, StatusCode};
use rp_simulator::body::Body;
use serde_json::json;

use super::Shared;
use super::request;

/// `/.well-known/openid-configuration`.
pub(super) fn document(shared: &Shared) -> Response<Body> {
    let issuer = &shared.issuer;
    let document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/userinfo"),
        "revocation_endpoint": format!("{issuer}/revoke"),
        "jwks_uri": format!("{issuer}/jwks"),
        "end_session_endpoint": format!("{issuer}/logout"),
        "scopes_supported": ["openid", "profile", "email", "groups", "offline_access"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
        "prompt_values_supported": ["none", "login"],
        "claims_supported": ["sub", "name", "preferred_username", "email", "groups", "auth_time", "nonce"],
        "authorization_response_iss_parameter_supported": true,
        "backchannel_logout_supported": true,
        "backchannel_logout_session_supported": true,
        "request_parameter_supported": false,
        "request_uri_parameter_supported": false,
    });
    request::json(StatusCode::OK, &document)
}

/// `/jwks`.
pub(super) fn keys(shared: &Shared) -> Response<Body> {
    let keys = serde_json::to_value(shared.key.set()).unwrap_or_default();
    request::json(StatusCode::OK, &keys)
}
