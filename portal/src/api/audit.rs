//! `/api/v1/audit`.

use axum::extract::{Query, State};
use axum::response::Response;
use rp_audit::AuditError;
use rp_base::{Id, Timestamp};
use rp_documents::Entry;
use serde::Deserialize;

use super::{Items, MOST};
use crate::fault::Fault;
use crate::pages::audit::cluster;
use crate::state::PortalState;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuditQuery {
    person: Option<String>,
    /// A resource id, or the name of one cluster.
    target: Option<String>,
    verb: Option<String>,
    text: Option<String>,
    grant: Option<String>,
    /// RFC 3339.
    from: Option<String>,
    to: Option<String>,
    limit: Option<usize>,
    #[serde(rename = "continue")]
    next: Option<String>,
}

fn instant(text: Option<&str>) -> Result<Option<Timestamp>, Fault> {
    text.map(Timestamp::parse)
        .transpose()
        .map_err(|_| Fault::bad_input("from and to are instants in RFC 3339"))
}

/// Entries, newest first.
pub(crate) async fn search(
    State(state): State<PortalState>,
    Query(query): Query<AuditQuery>,
) -> Result<Response, Fault> {
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let target = match some(query.target) {
        None => None,
        Some(text) => Some(cluster(&state, &text).ok_or_else(Fault::no_cluster)?),
    };
    let grant = some(query.grant).map(|text| Id::parse(&text)).transpose();
    let asked = rp_audit::Query {
        person: some(query.person),
        target,
        verb: some(query.verb),
        text: some(query.text),
        grant: grant.map_err(|error| Fault::bad_input(error.to_string()))?,
        from: instant(query.from.as_deref())?,
        to: instant(query.to.as_deref())?,
        limit: query.limit.unwrap_or(100).clamp(1, MOST),
        continuation: some(query.next),
    };
    let found = state.0.audit.search(&asked).await.map_err(|error| match error {
        AuditError::Continuation => Fault::bad_input("continue is not what an answer gave"),
        other => Fault::audit(&other),
    })?;
    let items: Vec<Entry> = found.entries;
    super::json(&Items { items, total: None, next: found.continuation })
}
