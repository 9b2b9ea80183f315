//! `{RES}/metrics` and `POST {RES}/metrics/new`: a token for tools that speak the API of Prometheus.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use portal_model::access_kinds::METRICS;
use portal_model::access_offer;
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::{IssueRequest, IssuedGrant};
use web::{AccessDialog, AccessDialogKind, AccessGiven, MetricsToken};

use crate::access_dialog;
use crate::answer::answer;
use crate::cluster_path::ClusterPath;

/// What its form asks.
const FIELDS: [&str; 3] = ["life", "reason", "ticket"];

/// The dialog, or its page.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    answer(&context, StatusCode::OK, &page(&state, &context, &user, &entry).await)
}

async fn page(state: &PortalState, context: &Context, user: &CurrentUser, entry: &Entry) -> AccessDialog {
    let offer = access_offer::offer(state, user, entry, &METRICS).await;
    access_dialog::dialog(state, context, entry, &offer, AccessDialogKind::Metrics)
}

/// Gives the token: the answer is the dialog, with the token in it this once.
pub async fn issue(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let form = access_dialog::read_form(&bytes, &FIELDS)?;
    let mut page = page(&state, &context, &user, &entry).await;
    let life = access_dialog::life(&form, &mut page.question.errors);
    let ask = IssueRequest {
        ticket: access_dialog::ticket(&form),
        life,
        ..METRICS.request(entry.id.clone(), form.reason.trim().to_owned())
    };
    page.question.form = form;
    let mut status = StatusCode::UNPROCESSABLE_ENTITY;
    if !page.question.errors.any() {
        match state.session.access.issue(&user.caller, ask).await {
            Ok(issued) => {
                page.given = Some(AccessGiven::Token(token(&state, &entry, &issued)));
                status = StatusCode::OK;
            }
            // What is wrong with a field stands at the field; the rest is a failure.
            Err(error) if access_dialog::shown_at_field(&mut page.question.errors, &error) => {}
            Err(error) => return Err(refusals::issue(&error)),
        }
    }
    let mut response = answer(&context, status, &page)?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn token(state: &PortalState, entry: &Entry, issued: &IssuedGrant) -> MetricsToken {
    MetricsToken {
        token: issued.token.expose().clone(),
        address: METRICS.address(&state.session.site, &entry.id).unwrap_or_default(),
        ends: issued.grant.not_after.seconds(),
        own_ca: state.session.site.urls.ca_pem.is_some(),
    }
}
