//! `/alerts` and `/operations`: what fires and what is done on all clusters, from what the portal keeps in memory of them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::{Entry, Snapshot};
use portal_model::operations::{FAILED_LATELY, FleetOperation};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use rp_base::text::contains_ignore_case;
use rp_documents::ResourceId;
use serde::Deserialize;
use web::{
    FleetAlertRow, FleetAlertsPage, FleetOperationRow, FleetOperations, FleetOperationsPage, Link, NavItem,
};

use crate::answer::answer;
use crate::frame::frame;

/// Rows of a list.
pub(crate) const ROWS: usize = 200;
/// Clusters that are named beside an alert.
const NAMED: usize = 8;
/// Words of a filter that are looked at, and their characters.
const WORDS: usize = 8;
const MOST_TEXT: usize = 200;

/// What narrows a page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FleetListQuery {
    q: String,
}

impl FleetListQuery {
    /// What the field of the filter has.
    pub(crate) fn text(&self) -> String {
        self.q.trim().chars().take(MOST_TEXT).collect()
    }

    /// Its words, in lower case.
    pub(crate) fn words(&self) -> Vec<String> {
        self.text().to_lowercase().split_whitespace().take(WORDS).map(str::to_owned).collect()
    }
}

/// Whether every word stands in one of the texts.
pub(crate) fn has_all(words: &[String], texts: &[&str]) -> bool {
    words.iter().all(|word| texts.iter().any(|text| contains_ignore_case(text, word)))
}

/// Alerts of all clusters.
pub async fn alerts(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Query(asked): Query<FleetListQuery>,
) -> Result<Response, Fault> {
    let snapshot = state.model.index.snapshot();
    let (found, unknown) = alerts_of(snapshot.entries.iter(), &asked.words());
    let mut clusters: Vec<&str> =
        found.iter().flat_map(|(_, on)| on.iter().map(|each| each.id.key())).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let page = FleetAlertsPage {
        q: asked.text(),
        names: crate::workload_rows::count(found.len()),
        clusters: crate::workload_rows::count(clusters.len()),
        unknown,
        rows: found.iter().take(ROWS).map(alert_row).collect(),
        failure: None,
        frame: web::Frame { place: NavItem::Alerts, ..frame(&state, &context) },
    };
    answer(&context, StatusCode::OK, &page)
}

/// The name of an alert, and the clusters on which it fires.
type FiringOn<'a> = (&'a str, Vec<&'a Entry>);

/// Alerts that match, those on most clusters first; and how many clusters' alerts are not known.
fn alerts_of<'a>(
    entries: impl Iterator<Item = &'a Arc<Entry>>,
    words: &[String],
) -> (Vec<FiringOn<'a>>, u64) {
    let mut by_name: HashMap<&str, Vec<&Entry>> = HashMap::new();
    let mut unknown = 0_u64;
    for entry in entries {
        let Some(health) = entry.health.as_deref() else {
            unknown += 1;
            continue;
        };
        for name in &health.alert_names {
            if has_all(words, &[name.as_str(), entry.id.name()]) {
                by_name.entry(name.as_str()).or_default().push(entry);
            }
        }
    }
    let mut found: Vec<FiringOn<'a>> = by_name.into_iter().collect();
    found.sort_unstable_by_key(|(name, on)| (Reverse(on.len()), *name));
    (found, unknown)
}

fn alert_row((name, on): &FiringOn<'_>) -> FleetAlertRow {
    let mut list = web::Query::new("/");
    list.add("q", name);
    FleetAlertRow {
        name: (*name).to_owned(),
        clusters: on
            .iter()
            .take(NAMED)
            .map(|entry| Link::new(entry.id.name(), format!("{}/alerts", entry.path())))
            .collect(),
        all: crate::workload_rows::count(on.len()),
        list: list.done(),
    }
}

/// Operations of all clusters.
pub async fn operations(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Query(asked): Query<FleetListQuery>,
) -> Result<Response, Fault> {
    let (words, snapshot) = (asked.words(), state.model.index.snapshot());
    let found = state.model.operations.fleet(state.session.clock.now(), |one| {
        has_all(&words, &[name_of(&one.key), &one.kind, &one.progress, &one.error])
    });
    let list = |all: &[Arc<FleetOperation>]| FleetOperations {
        rows: all.iter().take(ROWS).map(|one| operation_row(one, &snapshot)).collect(),
        all: crate::workload_rows::count(all.len()),
    };
    let page = FleetOperationsPage {
        q: asked.text(),
        failed: list(&found.failed),
        running: list(&found.running),
        days: FAILED_LATELY.as_secs() / 86_400,
        failure: None,
        frame: web::Frame { place: NavItem::Operations, ..frame(&state, &context) },
    };
    answer(&context, StatusCode::OK, &page)
}

/// The name in a resource id.
pub(crate) fn name_of(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// The cluster of a row, with its `page`; one that is not in the list of clusters has none.
pub(crate) fn cluster_link(id: &str, snapshot: &Snapshot, page: impl FnOnce(&Entry) -> String) -> Link {
    let entry = ResourceId::parse(id).ok().and_then(|id| snapshot.get(&id));
    match entry {
        Some(entry) => Link::new(entry.id.name(), page(entry)),
        None => Link::new(name_of(id), ""),
    }
}

/// A row with its cluster, which leads to the operation.
fn operation_row(one: &FleetOperation, snapshot: &Snapshot) -> FleetOperationRow {
    FleetOperationRow {
        cluster: cluster_link(&one.key, snapshot, |entry| {
            format!("{}/operations/{}", entry.path(), web::text::encode(&one.id))
        }),
        kind: one.kind.clone(),
        progress: one.progress.clone(),
        error: one.error.clone(),
        at: one.ended.unwrap_or(one.started).seconds(),
        by: one.by.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_filter_stands_somewhere() {
        let words = FleetListQuery { q: " ETCD  harbor ".to_owned() }.words();
        assert!(has_all(&words, &["etcdMembersDown", "harbor-01"]));
        assert!(!has_all(&words, &["etcdMembersDown", "gannet-02"]));
        assert!(has_all(&[], &[]));
    }
}
