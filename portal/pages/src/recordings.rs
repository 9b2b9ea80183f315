//! `/recordings`: recorded sessions and their player.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::recordings::{RecordingFilter, one, sees_all};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_config::Word as _;
use rp_documents::Recording;
use rp_recording::{Hit, RecordingState as Running};
use serde::Deserialize;
use web::{Link, NavItem, RecordingPage, RecordingRow, RecordingState, RecordingsPage, RecordingsQuery};

use crate::answer::{PAGE, answer};
use crate::frame::frame;

fn row(state: &PortalState, recording: &Recording, hits: Vec<Hit>) -> RecordingRow {
    let running = Running::from_recording(recording, state.session.clock.now());
    RecordingRow {
        id: recording.id.to_string(),
        kind: recording.kind.name(),
        person: recording.owner.name.clone(),
        cluster: Link::new(recording.target.name(), recording.target.key()),
        place: recording.place.clone(),
        command: recording.command.join(" "),
        started: recording.started.seconds(),
        took: recording.ended.map(|ended| ended.seconds() - recording.started.seconds()),
        state: match running {
            Running::Ended => RecordingState::Ended,
            Running::Running => RecordingState::Running,
            Running::BrokenOff => RecordingState::BrokenOff,
        },
        outcome: recording.outcome.clone().unwrap_or_default(),
        bytes: usize::try_from(recording.bytes).unwrap_or(usize::MAX),
        hits: hits.into_iter().map(|hit| (hit.at, hit.line)).collect(),
    }
}

/// The list, or what a search found.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(query): Query<RecordingsQuery>,
) -> Result<Response, Fault> {
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Recordings;
    let recordings = &state.model.clusters.recordings;
    let policy = if recordings.are_kept() { recordings.policy().word() } else { "" };
    let mut page = RecordingsPage {
        frame,
        everybody: sees_all(&user),
        policy: policy.to_owned(),
        query,
        ..RecordingsPage::default()
    };
    let asked = RecordingFilter {
        person: page.query.person.clone(),
        cluster: page.query.cluster.clone(),
        grant: page.query.grant.clone(),
        from: page.query.from.clone(),
        to: page.query.to.clone(),
        q: page.query.q.clone(),
        next: page.query.after.clone(),
        ..RecordingFilter::default()
    };
    if let Err(why) = portal_model::time_range::Range::read(&asked.from, &asked.to) {
        page.range_error = Some(why.to_owned());
        return answer(&context, StatusCode::BAD_REQUEST, &page);
    }
    if !recordings.are_kept() {
        return answer(&context, StatusCode::OK, &page);
    }
    let status = match asked.find(&state, &user, PAGE).await {
        Ok(found) => {
            let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
            page.searched = found.searched.map(|(read, not)| (number(read), number(not)));
            page.next = found.next;
            let rows = found.recordings.into_iter().map(|(recording, hits)| row(&state, &recording, hits));
            page.rows = rows.collect();
            StatusCode::OK
        }
        Err(fault) => {
            page.failure = Some(fault.failure(&page.frame));
            fault.status
        }
    };
    answer(&context, status, &page)
}

/// Where the player starts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlayerQuery {
    /// Milliseconds.
    t: u64,
    find: String,
}

/// The player: what was shown comes by `GET /api/v1/recordings/{id}/cast`, which is audited.
pub async fn player(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(begin): Query<PlayerQuery>,
) -> Result<Response, Fault> {
    let recording = one(&state, &user, &id).await?;
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Recordings;
    let page = RecordingPage {
        frame,
        row: row(&state, &recording, Vec::new()),
        grant: recording.grant.to_string(),
        keep_until: recording.keep_until.seconds(),
        cast: format!("/api/v1/recordings/{}/cast", recording.id),
        start: begin.t,
        find: rp_base::text::clean(&begin.find, 200),
        failure: None,
    };
    answer(&context, StatusCode::OK, &page)
}
