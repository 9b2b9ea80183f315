//! `POST {RES}/look`: stores the reason for a person's own access to a cluster; and the form for it that replaces the
//! requested page.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, header};
use portal_model::index::Entry;
use portal_model::look;
use portal_model::look::Reason;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::return_path::return_path;
use portal_session::user::CurrentUser;
use rp_access::IssueError;
use web::{Link, NavItem, ReasonPage, Tab};

use crate::answer::{answer, see_other};
use crate::cluster_path::ClusterPath;
use crate::frame::frame;

/// The requested page, and the link to leave.
#[derive(Debug, Clone)]
pub struct LookTarget {
    pub tab: Tab,
    pub what: String,
    pub out: Link,
}

/// The form for the reason, in place of a page that needs one.
pub async fn question(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
    opens: LookTarget,
    revoked: bool,
) -> Result<Response, Fault> {
    let mut page = page(state, context, user, entry, opens).await;
    page.back.clone_from(&context.target);
    page.revoked = revoked;
    answer(context, StatusCode::OK, &page)
}

async fn page(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
    opens: LookTarget,
) -> ReasonPage {
    let mut frame = frame(state, context);
    frame.place = NavItem::Clusters;
    ReasonPage {
        frame,
        cluster: crate::cluster_head::cluster(entry, user),
        active: crate::cluster_head::active(state, user, entry).await,
        tab: opens.tab,
        what: opens.what,
        out: opens.out,
        ..ReasonPage::default()
    }
}

#[derive(Debug, Default)]
struct ReasonForm {
    reason: String,
    ticket: String,
    back: String,
}

/// Gives the access, remembers the reason for this session, and goes on to what was asked for.
pub async fn give(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let form = ReasonForm::read(&bytes);
    let back = return_path(Some(&form.back));
    // Back to a page of this cluster, and nowhere else.
    let back = if back.starts_with(id.key()) { back } else { entry.path() };
    let reason = Reason::new(&form.reason, &form.ticket);
    let Err(error) = look::issue(&state, &user, &id, &reason).await else {
        let mut response = see_other(&back);
        if let Some(cookie) = reason.remember(&state, &user) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        return Ok(response);
    };
    let out = Link::new("Back to the cluster", entry.path());
    let opens = LookTarget { tab: Tab::Resources, what: "what you asked for".to_owned(), out };
    let mut page = page(&state, &context, &user, &entry, opens).await;
    page.back = back;
    page.reason = form.reason;
    page.ticket = form.ticket;
    match &error {
        IssueError::Reason { .. } => page.reason_error = Some(refusals::sentence(&error)),
        IssueError::Ticket { .. } => page.ticket_error = Some(refusals::sentence(&error)),
        other => return Err(refusals::issue(other)),
    }
    answer(&context, StatusCode::UNPROCESSABLE_ENTITY, &page)
}

impl ReasonForm {
    fn read(bytes: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in url::form_urlencoded::parse(bytes) {
            match &*name {
                "reason" => form.reason = value.into_owned(),
                "ticket" => form.ticket = value.into_owned(),
                "back" => form.back = value.into_owned(),
                _ => {}
            }
        }
        form
    }
}
