//! One query to many clusters.

use std::sync::Arc;

use futures_util::{Stream, StreamExt as _};
use portal_session::user::CurrentUser;
use proxy::prom::QueryAudit;
use rp_prometheus::fleet::{self, Aggregate, ClusterReply, FanOutQuery, Member, Merge, Progress};
use rp_prometheus::{PromError, Series};
use web::{ListQuery, ListView};

use super::{PromFault, asker, choice};
use crate::index::Selection;
use crate::state::PortalState;

/// A fleet query.
#[derive(Debug, Clone, Default)]
pub struct FleetQuery {
    pub query: String,
    /// Which clusters: words and `view:`, and the filters of the list, e.g. `state:`, `version:`, `names:`.
    pub clusters: String,
    pub time: Option<f64>,
    pub range: Option<(f64, f64, Option<f64>)>,
    /// Operator, labels, k.
    pub aggregate: Option<(String, Vec<String>, Option<usize>)>,
    pub source: Option<String>,
    /// Seconds for each cluster.
    pub timeout: Option<f64>,
    pub series: Option<usize>,
}

/// A fleet query under way: replies as they come, and what to do with them.
pub struct RunningFleetQuery {
    pub replies: std::pin::Pin<Box<dyn Stream<Item = ClusterReply> + Send>>,
    pub merge: Option<Merge>,
    pub progress: Progress,
    pub parallel: usize,
    /// The audit entry, written when this is dropped.
    pub told: QueryAudit,
}

impl std::fmt::Debug for RunningFleetQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningFleetQuery").finish_non_exhaustive()
    }
}

/// All that came, for a page without scripts.
#[derive(Debug, Default)]
pub struct FleetResult {
    /// `vector` or `matrix`.
    pub kind: String,
    /// With the label `cluster`; of an aggregation its rows.
    pub series: Vec<Series>,
    pub failed: Vec<(Member, PromFault)>,
    pub progress: Progress,
    /// Rows were left out.
    pub truncated: bool,
}

/// Rows that a page without scripts shows.
const MOST_ROWS: usize = 2000;
/// Longest query.
const MOST_QUERY: usize = 16 * 1024;

fn wrong(name: &'static str, why: impl Into<String>) -> PromFault {
    PromError::Parameter { name, why: why.into() }.into()
}

/// The list's query that an expression stands for.
pub fn selection(text: &str) -> Result<ListQuery, PromFault> {
    let mut query = ListQuery::default();
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        let Some((key, value)) = word.split_once(':').filter(|(_, value)| !value.is_empty()) else {
            if !matches!(word, "all" | "*") {
                words.push(word);
            }
            continue;
        };
        let value = value.to_owned();
        match (key, query.field_mut(key)) {
            ("state", Some(field)) => *field = value.to_ascii_lowercase(),
            (_, Some(field)) => *field = value,
            ("view", None) => {
                let known = ListView::EVERY.into_iter().find(|view| view.name() == value);
                query.view =
                    known.ok_or_else(|| wrong("clusters", format!("no view is called {value:?}")))?;
            }
            _ => words.push(word),
        }
    }
    query.q = words.join(" ");
    Ok(query)
}

/// Starts the query.
///
/// # Errors
/// The query is invalid, or cannot be audited: no request was sent.
pub async fn start(
    state: &PortalState,
    user: &CurrentUser,
    ask: &FleetQuery,
) -> Result<RunningFleetQuery, PromFault> {
    let prom = &state.model.clusters.prom;
    if ask.query.trim().is_empty() || ask.query.len() > MOST_QUERY {
        return Err(wrong("query", format!("a query has 1 to {MOST_QUERY} bytes")));
    }
    // A syntax error is reported once instead of by every cluster.
    if let Err(error) = rp_promql::parse(&ask.query) {
        let position = Some(error.position);
        let message = error.to_string();
        let error = PromError::Refused { status: 400, kind: "bad_data".to_owned(), message, position };
        return Err(error.into());
    }
    let merge = match &ask.aggregate {
        None => None,
        Some((op, _, _)) if op.is_empty() => None,
        Some((op, by, k)) => {
            let known = Aggregate::parse(op, by.clone(), *k);
            Some(Merge::new(known.ok_or_else(|| wrong("aggregate", "sum, min, max, avg, count or topk"))?))
        }
    };
    let list = selection(&ask.clusters)?;
    let selection = Selection::new(&list, state.session.clock.now())
        .map_err(|bad| wrong("clusters", format!("{}: {}", web::filter_words(bad.field), bad.right)))?;
    let found = selection.matching(&state.model.index.snapshot());
    // Clusters that cannot be dialled are left out.
    let members: Vec<Member> = found
        .iter()
        .filter(|entry| entry.reachable)
        .map(|entry| Member { name: entry.id.name().to_owned(), id: entry.id.clone() })
        .collect();
    let limits = prom.limits();
    let mut each = limits.fleet;
    if let Some(seconds) = ask.timeout {
        let asked = std::time::Duration::try_from_secs_f64(seconds);
        each.time = asked.map_err(|_| wrong("timeout", "seconds"))?.min(each.time);
    }
    each.series = ask.series.unwrap_or(each.drawn).clamp(1, each.series);
    each.drawn = each.series;
    let question = FanOutQuery {
        query: ask.query.clone(),
        time: ask.time,
        range: ask.range,
        source: choice(ask.source.as_deref())?,
        limits: each,
        parallel: limits.parallel,
    };
    let mut details = vec![format!("clusters={}", ask.clusters), format!("asked={}", members.len())];
    if let Some((start, end, step)) = ask.range {
        details.push(format!("start={start}"));
        details.push(format!("end={end}"));
        details.extend(step.map(|step| format!("step={step}")));
    }
    let told = prom.fleet(&asker(user), &ask.query, details).await?;
    let progress = Progress { clusters: members.len(), ..Progress::default() };
    let replies = fleet::ask(prom.prometheus(), &Arc::clone(prom.directory()), members, &question)?;
    Ok(RunningFleetQuery { replies: Box::pin(replies), merge, progress, parallel: question.parallel, told })
}

impl RunningFleetQuery {
    /// The next reply, counted and merged.
    pub async fn next(&mut self) -> Option<ClusterReply> {
        let reply = self.replies.next().await?;
        self.progress.note(&reply);
        if let (Some(merge), Ok(table)) = (&mut self.merge, &reply.result) {
            merge.add(table);
        }
        Some(reply)
    }

    /// Completes the audit entry after the last reply.
    pub fn end(&mut self, bytes: u64) {
        let progress = self.progress;
        self.told
            .details(vec![format!("answered={}", progress.answered), format!("failed={}", progress.failed)]);
        self.told.ended(bytes, progress.series, true);
    }
}

/// Runs the query and waits for all replies.
pub async fn gather(
    state: &PortalState,
    user: &CurrentUser,
    ask: &FleetQuery,
) -> Result<FleetResult, PromFault> {
    let mut running = start(state, user, ask).await?;
    let mut gathered = FleetResult { kind: "vector".to_owned(), ..FleetResult::default() };
    let mut bytes = 0;
    while let Some(reply) = running.next().await {
        match reply.result {
            Err(error) => gathered.failed.push((reply.member, error.into())),
            Ok(table) => {
                bytes += table.bytes;
                if table.kind == "matrix" {
                    gathered.kind.clone_from(&table.kind);
                }
                gathered.truncated |= table.truncated;
                if running.merge.is_none() {
                    let room = MOST_ROWS.saturating_sub(gathered.series.len());
                    gathered.truncated |= table.series.len() > room;
                    gathered.series.extend(table.series.into_iter().take(room));
                }
            }
        }
    }
    running.end(bytes);
    if let Some(merge) = &running.merge {
        gathered.series = merge.result();
        gathered.truncated |= merge.left_out;
    }
    gathered.failed.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    gathered.progress = running.progress;
    Ok(gathered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_a_list_query() {
        let query = selection("all orchid state:Failed version:<4.17 view:not-healthy x:").unwrap();
        assert_eq!(
            (query.q.as_str(), query.state.as_str(), query.version.as_str()),
            ("orchid x:", "failed", "<4.17")
        );
        assert_eq!(query.view, ListView::NotHealthy);
        assert!(selection("view:nowhere").is_err());
        assert_eq!(selection("*").unwrap(), ListQuery::default());
    }
}
