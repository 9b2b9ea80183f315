//! `/audit`: what was done, by whom.

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use rp_base::Id;
use rp_documents::ResourceId;
use web::{AuditPage, AuditQuery, Chain, NavItem};

use super::{PAGE, answer, frame, rows};
use crate::context::Ctx;
use crate::fault::Fault;
use crate::state::PortalState;
use crate::time_range::Range;

/// A page of entries, newest first.
pub(crate) async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Query(query): Query<AuditQuery>,
) -> Result<Response, Fault> {
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Audit;
    let asked = asked(&state, &query);
    let mut page = AuditPage { frame, query, chain: chain(&state), ..AuditPage::default() };
    let asked = match asked {
        Ok(asked) => asked,
        Err(why) => {
            page.range_error = Some(why.to_owned());
            return answer(&context, StatusCode::BAD_REQUEST, &page);
        }
    };
    match state.0.audit.search(&asked).await {
        Ok(found) => {
            page.entries = found.entries.iter().map(rows::audit_row).collect();
            page.next = found.continuation;
        }
        Err(error) => {
            let fault = crate::api::audit::refusal(&error);
            if !fault.status.is_server_error() {
                let all = AuditQuery { before: String::new(), ..page.query };
                return Err(fault.link("Search again", all.href()));
            }
            page.failure = Some(fault.failure(&page.frame));
        }
    }
    answer(&context, StatusCode::OK, &page)
}

/// Checkpoints are signed at most once a minute; one that is older than this indicates a failure.
const LATE: i64 = 300;

/// Verification state of the log, as far as this process knows it.
pub(super) fn chain(state: &PortalState) -> Chain {
    let proof = state.0.audit.proof();
    let Some(checkpoint) = proof.checkpoint else { return Chain::Unknown };
    let up_to = checkpoint.at.seconds();
    if proof.unsigned > 0 && state.0.clock.now().seconds().saturating_sub(up_to) > LATE {
        Chain::Late { up_to }
    } else {
        Chain::Proven { up_to, entries: None }
    }
}

fn asked(state: &PortalState, query: &AuditQuery) -> Result<rp_audit::Query, &'static str> {
    let some = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    let target = some(&query.cluster).and_then(|text| cluster(state, &text));
    let mut text = some(&query.q);
    if target.is_none() && text.is_none() {
        // A cluster that is not here any more is still in the entries.
        text = some(&query.cluster);
    }
    let range = Range::read(&query.from, &query.to)?;
    let grant = match some(&query.grant) {
        Some(text) => {
            Some(Id::parse(&text).map_err(|_| "The ID of a grant has letters, digits and dashes only.")?)
        }
        None => None,
    };
    Ok(rp_audit::Query {
        person: some(&query.person),
        target,
        verb: some(&query.verb),
        text,
        grant,
        from: range.from,
        to: range.to,
        limit: PAGE,
        continuation: some(&query.before),
    })
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
