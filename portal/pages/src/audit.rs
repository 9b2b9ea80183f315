//! `/audit`: what was done, by whom.

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::audit_kinds;
use portal_model::named_cluster::cluster;
use portal_model::state::PortalState;
use portal_model::time_range::Range;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use rp_base::Id;
use web::{AuditPage, AuditQuery, Chain, NavItem};

use crate::answer::{PAGE, answer};
use crate::frame::frame;
use crate::rows;

/// A page of entries, newest first.
pub async fn page(
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
    match state.session.audit.search(&asked).await {
        Ok(found) => {
            page.entries = found.entries.iter().map(rows::audit_row).collect();
            page.next = found.continuation;
        }
        Err(error) => {
            let fault = portal_session::refusals::audit_search(&error);
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
pub fn chain(state: &PortalState) -> Chain {
    let proof = state.session.audit.proof();
    let Some(checkpoint) = proof.checkpoint else { return Chain::Unknown };
    let up_to = checkpoint.at.seconds();
    if proof.unsigned > 0 && state.session.clock.now().seconds().saturating_sub(up_to) > LATE {
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
    let filter = match query.show.as_str() {
        "" => None,
        show => Some(audit_kinds::filter(show).ok_or("Show all entries, changes or refused ones.")?),
    };
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
        filter,
        from: range.from,
        to: range.to,
        limit: PAGE,
        continuation: some(&query.before),
    })
}
