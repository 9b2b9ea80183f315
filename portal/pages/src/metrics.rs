//! `{RES}/metrics` and `POST {RES}/metrics/new`: a token for tools that speak the API of Prometheus.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::user::{CurrentUser, missing};
use rp_access::{IssueError, IssueRequest, IssuedGrant};
use rp_documents::{GrantKind, Rights, Role};
use web::{KubeconfigErrors, KubeconfigForm, MetricsPage, MetricsToken, NavItem};

use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;

/// The dialog, or its page.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    answer(&context, StatusCode::OK, &page(&state, &context, &user, &entry))
}

fn page(state: &PortalState, context: &Context, user: &CurrentUser, entry: &Entry) -> MetricsPage {
    let mut frame = frame(state, context);
    frame.place = NavItem::Clusters;
    let failure = (!user.has(Role::Sre)).then(|| missing(Role::Sre).failure(&frame));
    MetricsPage {
        cluster: entry.id.name().to_owned(),
        path: entry.path(),
        lives: crate::kubeconfig::lives(state),
        form: KubeconfigForm::default(),
        errors: KubeconfigErrors::default(),
        given: None,
        failure,
        frame,
    }
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
    let form =
        crate::kubeconfig::parse_form(&bytes).ok_or_else(|| Fault::bad_input("The form cannot be read"))?;
    let mut page = page(&state, &context, &user, &entry);
    page.form = form;
    let life = page.form.life.trim().parse::<u64>().ok().map(Duration::from_secs);
    let ticket = Some(page.form.ticket.trim()).filter(|text| !text.is_empty());
    let ask = IssueRequest {
        ticket: ticket.map(str::to_owned),
        life,
        ..IssueRequest::new(
            GrantKind::Metrics,
            Some(entry.id.clone()),
            Rights::Read,
            page.form.reason.trim().to_owned(),
        )
    };
    let status = match state.session.access.issue(&user.caller, ask).await {
        Ok(issued) => {
            page.given = Some(given(&state, &entry, &issued));
            StatusCode::OK
        }
        Err(error) => {
            wrong(&mut page.errors, &error)?;
            StatusCode::UNPROCESSABLE_ENTITY
        }
    };
    let mut response = answer(&context, status, &page)?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn given(state: &PortalState, entry: &Entry, issued: &IssuedGrant) -> MetricsToken {
    let urls = &state.session.site.urls;
    MetricsToken {
        token: issued.token.expose().clone(),
        address: format!("{}{}/prometheus", urls.proxy.origin().ascii_serialization(), entry.id.key()),
        ends: issued.grant.not_after.seconds(),
        own_ca: urls.ca_pem.is_some(),
    }
}

/// What is wrong with a field stands at the field; the rest is a failure.
fn wrong(errors: &mut KubeconfigErrors, error: &IssueError) -> Result<(), Fault> {
    let field = match error {
        IssueError::Reason { .. } => &mut errors.reason,
        IssueError::Ticket { .. } => &mut errors.ticket,
        IssueError::Life { .. } => &mut errors.life,
        other => return Err(refusals::issue(other)),
    };
    *field = Some(refusals::sentence(error));
    Ok(())
}
