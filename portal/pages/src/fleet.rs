//! `/fleet`: one query on many clusters. Its script reads the stream of answers; without scripts
//! (`run=1`) the page waits for the end.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::prom::fleet;
use portal_model::prom::fleet::{FleetQuery, FleetResult};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_documents::Role;
use serde::Deserialize;
use web::{AccessDecision, FleetFault, FleetOutcome, FleetPage, FleetRow, FleetTable, NavItem};

use crate::answer::answer;
use crate::explore::{count, mistake, row};
use crate::frame::frame;
use crate::times::{range, seconds};

/// Rows of the table.
const ROWS: usize = 500;
/// Longest expression of clusters, in characters: a list's page of them by resource id.
const MOST_CLUSTERS: usize = 16 * 1024;
/// Failures that are listed.
const FAULTS: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FleetPageQuery {
    clusters: String,
    query: String,
    kind: String,
    range: String,
    aggregate: String,
    by: String,
    k: String,
    run: String,
}

/// The page, with the table when `run=1` is there.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(asked): Query<FleetPageQuery>,
) -> Result<Response, Fault> {
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Fleet;
    let cut = |text: &str, most: usize| text.trim().chars().take(most).collect::<String>();
    let may_ask =
        if user.has(Role::Sre) { AccessDecision::Yes } else { crate::explore::role_to_query(&state) };
    let known = web::AGGREGATES.iter().find(|(value, _)| *value == asked.aggregate);
    let mut page = FleetPage {
        clusters: cut(&asked.clusters, MOST_CLUSTERS),
        query: cut(&asked.query, 64 * 1024),
        instant: asked.kind != "range",
        range: range(&asked.range),
        aggregate: known.map_or_else(String::new, |(value, _)| (*value).to_owned()),
        by: cut(&asked.by, 200),
        k: asked.k.trim().parse().unwrap_or(10).clamp(1, 1000),
        total: u64::try_from(state.model.index.snapshot().entries.len()).unwrap_or(u64::MAX),
        may_ask,
        outcome: FleetOutcome::None,
        failure: None,
        frame,
    };
    if asked.run == "1" && page.may_ask.yes() && !page.query.is_empty() {
        page.outcome = run(&state, &user, &page).await;
    }
    answer(&context, StatusCode::OK, &page)
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
async fn run(state: &PortalState, user: &CurrentUser, page: &FleetPage) -> FleetOutcome {
    let end = state.session.clock.now().seconds() as f64;
    let length = seconds(&page.range).unwrap_or(3600) as f64;
    let by = page.by.split([' ', ',']).filter(|label| !label.is_empty()).map(str::to_owned).collect();
    let k = usize::try_from(page.k).ok();
    let ask = FleetQuery {
        query: page.query.clone(),
        clusters: page.clusters.clone(),
        time: page.instant.then_some(end),
        range: (!page.instant).then(|| (end - length, end, Some((length / 120.0).ceil().max(1.0)))),
        aggregate: (!page.aggregate.is_empty()).then(|| (page.aggregate.clone(), by, k)),
        ..FleetQuery::default()
    };
    match fleet::gather(state, user, &ask).await {
        Ok(gathered) => FleetOutcome::Done(table(state, &gathered, page.instant)),
        Err(fault) => match fault.position() {
            Some(at) => {
                FleetOutcome::Wrong { line: count(at.line), column: count(at.column), words: mistake(fault) }
            }
            None => FleetOutcome::Failed(Fault::from(fault).failure(&page.frame)),
        },
    }
}

fn table(state: &PortalState, found: &FleetResult, instant: bool) -> FleetTable {
    let snapshot = state.model.index.snapshot();
    let paths: BTreeMap<&str, String> =
        snapshot.entries.iter().map(|entry| (entry.id.name(), entry.path())).collect();
    let mut rows: Vec<(f64, FleetRow)> = Vec::new();
    for series in &found.series {
        let mut labels = series.metric.clone();
        let path = labels.get("cluster").and_then(|name| paths.get(name.as_str())).cloned();
        let cluster = path.as_ref().and_then(|_| labels.remove("cluster")).unwrap_or_default();
        let (rank, row) = row(&labels, &series.samples, instant);
        rows.push((rank, FleetRow { cluster, path: path.unwrap_or_default(), row }));
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    FleetTable {
        series: count(rows.len()),
        rows: rows.into_iter().take(ROWS).map(|(_, row)| row).collect(),
        clusters: count(found.progress.clusters),
        answered: count(found.progress.answered),
        faults: found
            .failed
            .iter()
            .take(FAULTS)
            .map(|(member, fault)| FleetFault {
                cluster: member.name.clone(),
                path: member.id.key().to_owned(),
                what: Fault::from(fault.clone()).message(),
            })
            .collect(),
    }
}
