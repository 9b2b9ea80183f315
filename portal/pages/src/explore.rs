//! `{RES}/explore`: the explorer. Its script asks the JSON routes; without scripts (`run=1`) the queries
//! are run here and answered as tables.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::prom;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::{CurrentUser, lacking};
use rp_documents::Role;
use rp_prometheus::Table;
use web::{
    AccessDecision, ExplorePage, ExploreQuery, MOST_QUERIES, QueryResult, ResultRow, ResultTable, sparkline,
};

use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::place;
use crate::times::{instant, range, seconds};

/// Longest query, in bytes.
const MOST_TEXT: usize = 64 * 1024;
/// Rows of one table.
const ROWS: usize = 200;
/// Series that the server reads for one table.
const SERIES: usize = 10_000;
/// Points of a line beside a row.
const POINTS: u32 = 120;

/// The page, with tables when `run=1` is there.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Query(asked): Query<BTreeMap<String, String>>,
) -> Result<Response, Fault> {
    let (entry, frame) = place(&state, &context, &id)?;
    let text = |name: &str| asked.get(name).map(|text| text.trim()).unwrap_or_default();
    let mut page = ExplorePage {
        active: crate::cluster_head::active(&state, &user, &entry).await,
        range: range(text("range")),
        end: text("end").chars().take(40).collect(),
        source: text("source").chars().take(60).collect(),
        sources: sources(),
        queries: queries(&asked),
        may_ask: may_ask(&state, &entry, &user),
        cluster: crate::cluster_head::cluster(&entry, &user),
        failure: None,
        frame,
    };
    if text("run") == "1" && page.may_ask.yes() {
        for at in 0..page.queries.len() {
            let Some(query) = page.queries.get(at).filter(|query| !query.text.is_empty()) else { continue };
            let result = run(&state, &user, &entry, &page, query).await;
            if let Some(query) = page.queries.get_mut(at) {
                query.result = result;
            }
        }
    }
    answer(&context, StatusCode::OK, &page)
}

/// Whether the person may query the cluster now, and why not.
fn may_ask(state: &PortalState, entry: &Entry, user: &CurrentUser) -> AccessDecision {
    if user.has(Role::Sre) { reachable(entry) } else { role_to_query(state) }
}

/// That the person needs a role for queries, and who gives it.
pub(crate) fn role_to_query(state: &PortalState) -> AccessDecision {
    AccessDecision::No(lacking(Role::Sre, " to query", state.session.access.policy()))
}

/// The ones that every cluster may have; the script asks which there are.
fn sources() -> Vec<(String, String)> {
    [
        ("prometheus-k8s-0", "Prometheus, first replica"),
        ("prometheus-k8s-1", "Prometheus, second replica"),
        ("thanos-querier", "Thanos querier"),
        ("user-workload", "User workload"),
    ]
    .map(|(id, name)| (id.to_owned(), name.to_owned()))
    .to_vec()
}

fn queries(asked: &BTreeMap<String, String>) -> Vec<ExploreQuery> {
    let get = |name: String| asked.get(&name).map_or("", |text| text.trim());
    let one = |n: usize| {
        let number = if n == 1 { String::new() } else { n.to_string() };
        let mut text = get(format!("query{number}")).to_owned();
        text.truncate(text.floor_char_boundary(MOST_TEXT));
        let instant = get(format!("kind{number}")) == "instant";
        ExploreQuery { text, instant, result: QueryResult::None }
    };
    let mut all: Vec<ExploreQuery> = (1..=MOST_QUERIES).map(one).collect();
    // The first is always there.
    let last = all.iter().rposition(|query| !query.text.is_empty()).unwrap_or(0);
    all.truncate(last + 1);
    all
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
async fn run(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    page: &ExplorePage,
    query: &ExploreQuery,
) -> QueryResult {
    let end = instant(&page.end).unwrap_or(state.session.clock.now().seconds() as f64);
    let kind = if query.instant {
        prom::Kind::Instant { time: Some(end) }
    } else {
        let length = seconds(&page.range).unwrap_or(3600) as f64;
        prom::Kind::Range { start: end - length, end, step: None, width: Some(POINTS) }
    };
    let source = Some(page.source.clone()).filter(|source| !source.is_empty());
    let ask = prom::PromQuery { query: query.text.clone(), kind, source, series: SERIES };
    match prom::ask(state, user, &entry.id, &ask).await {
        Ok(table) => QueryResult::Rows(result(&table, query.instant)),
        Err(fault) => match fault.position() {
            Some(at) => {
                QueryResult::Wrong { line: count(at.line), column: count(at.column), words: mistake(fault) }
            }
            None => QueryResult::Failed(Fault::from(fault).failure(&page.frame)),
        },
    }
}

/// What is wrong with a query, without the place, which stands beside it.
pub fn mistake(fault: prom::PromFault) -> String {
    let text = Fault::from(fault).message();
    text.find("parse error").and_then(|at| text.get(at..)).map(str::to_owned).unwrap_or(text)
}

/// A count, for pages.
pub fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn result(table: &Table, instant: bool) -> ResultTable {
    let mut rows: Vec<(f64, ResultRow)> =
        table.series.iter().map(|series| row(&series.metric, &series.samples, instant)).collect();
    // Largest first, by what is greatest in the range.
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    ResultTable {
        series: count(rows.len()),
        rows: rows.into_iter().take(ROWS).map(|(_, row)| row).collect(),
        step: if instant { 0 } else { table.step.map_or(0, whole) },
        source: table.source.clone(),
        warnings: table.warnings.iter().take(5).cloned().collect(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(seconds: f64) -> u64 {
    seconds.round() as u64
}

/// A series as a row, and what it is sorted by.
pub fn row(metric: &BTreeMap<String, String>, samples: &[(f64, f64)], instant: bool) -> (f64, ResultRow) {
    let values = || samples.iter().map(|(_, value)| *value);
    let finite = || values().filter(|value| value.is_finite());
    let most = finite().fold(f64::NEG_INFINITY, f64::max);
    let least = finite().fold(f64::INFINITY, f64::min);
    let last = values().next_back().unwrap_or(f64::NAN);
    let known = u32::try_from(finite().count()).unwrap_or(u32::MAX);
    let spread = (!instant && known > 0)
        .then(|| [number(least), number(finite().sum::<f64>() / f64::from(known)), number(most)]);
    let row = ResultRow {
        metric: metric.get("__name__").cloned().unwrap_or_default(),
        labels: metric
            .iter()
            .filter(|(name, _)| *name != "__name__")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        last: number(last),
        spread,
        line: if instant { String::new() } else { sparkline(&values().map(Some).collect::<Vec<_>>()) },
    };
    (if instant { last } else { most }, row)
}

/// A value in at most six digits, as Prometheus names what is none.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e15).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = if size >= 1000.0 {
        1
    } else if size >= 1.0 {
        3
    } else {
        6
    };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether there is anything to ask.
pub fn reachable(entry: &Entry) -> AccessDecision {
    if entry.reachable {
        AccessDecision::Yes
    } else {
        AccessDecision::No("It has no private endpoint yet, so nothing can reach its Prometheus.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_numbers_as_people_read_them() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.123_456_789, "0.123457"),
            (1234.56, "1234.6"),
            (1e-9, "1.000e-9"),
            (100.0, "100"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!((number(f64::NAN), number(f64::NEG_INFINITY)), ("NaN".into(), "-Inf".into()));
    }

    #[test]
    fn takes_up_to_six_queries_and_always_one() {
        let asked =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(queries(&asked(&[])).len(), 1);
        let two =
            queries(&asked(&[("query", " up "), ("query3", "down"), ("kind3", "instant"), ("query7", "no")]));
        assert_eq!((two.len(), two[0].text.as_str(), two[2].instant), (3, "up", true));
    }
}
