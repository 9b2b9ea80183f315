//! `/notifications`: who outside is told, and what was sent. An administrator sends a test.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Snapshot;
use portal_model::notifications::send_test;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::user::CurrentUser;
use rp_base::Timestamp;
use rp_documents::{Notification, NotificationState, ResourceId};
use rp_notify::DestinationView;
use web::{DestinationPart, Link, NavItem, NotificationProgress, NotificationRow, NotificationsPage};

use crate::answer::{answer, see_other};
use crate::frame::frame;

/// Rows of each destination that wait, and that are over.
const ROWS: u32 = 20;

/// Every destination.
pub async fn page(State(state): State<PortalState>, Ctx(context): Ctx) -> Result<Response, Fault> {
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Notifications;
    let mut page = NotificationsPage { frame, ..NotificationsPage::default() };
    match state.model.notifications.list(ROWS).await {
        Ok(views) => {
            let snapshot = state.model.index.snapshot();
            page.destinations = views.iter().map(|view| part(view, &snapshot)).collect();
        }
        Err(error) => page.failure = Some(Fault::store(&error).failure(&page.frame)),
    }
    answer(&context, StatusCode::OK, &page)
}

fn part(view: &DestinationView, snapshot: &Snapshot) -> DestinationPart {
    DestinationPart {
        name: view.name.to_owned(),
        kind: view.kind.to_owned(),
        address: view.origin.clone(),
        events: view.topics.iter().map(|topic| (*topic).to_owned()).collect(),
        regions: view.regions.clone(),
        waiting: u64::try_from(view.waiting).unwrap_or(u64::MAX),
        oldest: view.oldest.map(Timestamp::seconds),
        error: view.error.clone(),
        last_delivered: view.last_delivered.map(Timestamp::seconds),
        rows: view.last.iter().map(|one| row(one, snapshot)).collect(),
    }
}

fn row(one: &Notification, snapshot: &Snapshot) -> NotificationRow {
    let cluster = ResourceId::parse(&one.event.cluster).ok();
    let entry = cluster.as_ref().and_then(|id| snapshot.get(id));
    let progress = match one.state {
        NotificationState::Waiting => NotificationProgress::Waiting,
        NotificationState::Delivered => NotificationProgress::Delivered,
        NotificationState::Failed => NotificationProgress::Failed,
        NotificationState::Dropped => NotificationProgress::Dropped,
    };
    NotificationRow {
        title: one.event.title.clone(),
        event: one.event.kind.name().to_owned(),
        cluster: match (entry, &cluster) {
            (Some(entry), _) => Link::new(entry.id.name(), entry.path()),
            (None, Some(id)) => Link::new(id.name(), ""),
            (None, None) => Link::default(),
        },
        progress,
        attempts: u64::from(one.attempts),
        error: one.error.clone(),
        at: one.ended.unwrap_or(one.created).seconds(),
        retry_at: one.retry_after.map(Timestamp::seconds),
    }
}

/// Sends a test, and goes back to the page.
pub async fn test(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(destination): Path<String>,
) -> Result<Response, Fault> {
    send_test(&state, &user, &destination).await?;
    Ok(Flash::TestRecorded.set_cookie_on(see_other("/notifications")))
}
