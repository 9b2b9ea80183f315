//! `/api/info` and `/api/regions`.

use axum::extract::State;
use axum::response::Response;
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use rp_base::Timestamp;
use rp_documents::Role;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::RevealedSecret;

/// `contract/portal.md` §8.2, and beyond it what scripts and pages ask for.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PortalInfo")]
pub struct Info {
    /// The region.
    location: String,
    /// For the header X-CSRF-Token of unsafe calls; empty for a bearer token, which needs none.
    csrf: RevealedSecret<'static>,
    elevated: bool,
    username: String,
    rpversion: String,
    roles: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_ends: Option<Timestamp>,
    /// Unused for so long, a session is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_idle_seconds: Option<u64>,
    simulated: bool,
}

pub async fn info(State(state): State<PortalState>, user: CurrentUser) -> Result<Response, Fault> {
    json(&Info {
        location: state.session.site.region.clone(),
        elevated: user.has(Role::Elevated),
        roles: user.caller.roles.iter().map(Role::name).collect(),
        username: user.caller.person.name,
        csrf: RevealedSecret::new(user.csrf),
        rpversion: state.session.site.version.clone(),
        session_idle_seconds: user.session_ends.map(|_| state.session.sign_in.rules.idle.as_secs()),
        session_ends: user.session_ends,
        simulated: state.session.site.simulated,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Regions {
    regions: Vec<Region>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Region {
    name: String,
    url: String,
}

/// The configured portals (`contract/portal.md` "Do better" 36).
pub async fn regions(State(state): State<PortalState>) -> Result<Response, Fault> {
    let region =
        |link: &portal_session::site::Link| Region { name: link.text.clone(), url: link.url.clone() };
    json(&Regions { regions: state.session.site.regions.iter().map(region).collect() })
}
