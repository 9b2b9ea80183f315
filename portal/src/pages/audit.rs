//! `/audit`: what was done, by whom.

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use rp_audit::AuditError;
use rp_documents::ResourceId;
use web::{AuditPage, AuditQuery, Chain, Place};

use super::{PAGE, answer, frame, rows};
use crate::context::Ctx;
use crate::fault::Fault;
use crate::state::PortalState;

/// A page of entries, newest first.
pub(crate) async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Query(query): Query<AuditQuery>,
) -> Result<Response, Fault> {
    let asked = asked(&state, &query);
    let mut frame = frame(&state, &context);
    frame.place = Place::Audit;
    let mut page = AuditPage { frame, query, chain: Chain::Unknown, ..AuditPage::default() };
    match state.0.audit.search(&asked).await {
        Ok(found) => {
            page.entries = found.entries.iter().map(rows::audit_row).collect();
            page.next = found.continuation;
        }
        Err(AuditError::Continuation) => {
            return Err(Fault::bad_input("This page of the audit cannot be found"));
        }
        Err(error) => page.failure = Some(Fault::audit(&error).failure(&page.frame)),
    }
    answer(&context, StatusCode::OK, &page)
}

fn asked(state: &PortalState, query: &AuditQuery) -> rp_audit::Query {
    let some = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    let target = some(&query.cluster).and_then(|text| cluster(state, &text));
    let mut text = some(&query.q);
    if target.is_none() && text.is_none() {
        // A cluster that is not here any more is still in the entries.
        text = some(&query.cluster);
    }
    rp_audit::Query {
        person: some(&query.person),
        target,
        verb: some(&query.verb),
        text,
        limit: PAGE,
        continuation: some(&query.before),
        ..rp_audit::Query::default()
    }
}

/// A resource id, or the one cluster of that name.
pub(crate) fn cluster(state: &PortalState, text: &str) -> Option<ResourceId> {
    if let Ok(id) = ResourceId::parse(text) {
        return Some(id);
    }
    let snapshot = state.0.index.snapshot();
    let mut named = snapshot.entries.iter().filter(|entry| entry.id.name().eq_ignore_ascii_case(text));
    let first = named.next()?;
    named.next().is_none().then(|| first.id.clone())
}
