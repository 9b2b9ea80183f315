//! `/`: the list.

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use rp_base::Timestamp;
use web::{ClustersPage, Link, ListQuery, Place};

use super::{PAGE, answer, frame, rows, see_other};
use crate::context::{Ctx, Wants};
use crate::fault::Fault;
use crate::index::{Selection, Snapshot, jump, summarize, views};
use crate::state::PortalState;

/// The list, or straight to the cluster when its resource id or address was pasted.
pub(crate) async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Query(query): Query<ListQuery>,
) -> Result<Response, Fault> {
    let parts = &state.0;
    let snapshot = parts.index.snapshot();
    if context.wants == Wants::Page
        && let Some(entry) = jump(&query.q, &snapshot)
    {
        return Ok(see_other(&entry.path()));
    }
    let now = parts.clock.now();
    let found = Selection::new(&query, now).of(&snapshot);
    let first = usize::try_from(query.page() - 1).unwrap_or(usize::MAX).saturating_mul(PAGE);
    let rows: Vec<_> = found.iter().skip(first).take(PAGE).map(|entry| rows::cluster_row(entry)).collect();
    let nearest = if found.is_empty() { nearest(&query.q, &snapshot) } else { None };
    let mut frame = frame(&state, &context);
    frame.place = Place::Clusters;
    let page = ClustersPage {
        frame,
        summary: Some(summarize(&snapshot, now)),
        views: views(&snapshot),
        rows,
        matched: u64::try_from(found.len()).unwrap_or(u64::MAX),
        total: u64::try_from(snapshot.entries.len()).unwrap_or(u64::MAX),
        page_size: PAGE as u64,
        nearest,
        updated: Some(parts.index.read_at().seconds()),
        stale: parts.index.stale().map(Timestamp::seconds),
        failure: None,
        query,
    };
    answer(&context, StatusCode::OK, &page)
}

/// The name with the longest common beginning, at least three characters of it.
pub(super) fn nearest(text: &str, snapshot: &Snapshot) -> Option<Link> {
    let wanted = text.trim().to_ascii_lowercase();
    let common =
        |name: &str| name.bytes().zip(wanted.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    let best = snapshot.entries.iter().max_by_key(|entry| common(entry.id.name()))?;
    (common(best.id.name()) >= 3).then(|| Link::new(best.id.name(), best.path()))
}
