//! `/api/v1/audit`: search, export, report and proof.

mod csv;

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream::{self, StreamExt as _};
use http::{HeaderValue, header};
use portal_model::audit_kinds;
use portal_model::live_limits::{LimitReached, LiveLimits};
use portal_model::named_cluster::cluster;
use portal_model::state::PortalState;
use portal_model::time_range::Range;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_audit::{AuditError, OldestFirst, ReportQuery};
use rp_base::{Id, chain};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use crate::answer::{Items, MOST, Query};

/// What is answered.
pub use rp_audit::{Proof, Report};
pub use rp_documents::Entry;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AuditQuery {
    /// The subject, or the whole name in any case of letters.
    person: Option<String>,
    /// A resource id, or the name of one cluster.
    target: Option<String>,
    verb: Option<String>,
    /// Text that is somewhere in the entry.
    text: Option<String>,
    /// Id of a grant.
    grant: Option<String>,
    /// Only entries that changed something, ran something or read a secret, or only those of what was refused.
    #[schemars(extend("enum" = ["changes", "refused"]))]
    show: Option<String>,
    /// RFC 3339, or a day; UTC without a zone.
    from: Option<String>,
    /// Exclusive; a day is taken whole.
    to: Option<String>,
    /// Rows, 1 to 500; 100 without. An export has all of them.
    limit: Option<usize>,
    /// Where the answer before ended. An export ignores it.
    #[serde(rename = "continue")]
    next: Option<String>,
}

fn some(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn range(from: Option<&str>, to: Option<&str>) -> Result<Range, Fault> {
    Range::read(from.unwrap_or_default(), to.unwrap_or_default()).map_err(Fault::bad_input)
}

fn asked(state: &PortalState, query: AuditQuery) -> Result<rp_audit::Query, Fault> {
    let target = match some(query.target) {
        None => None,
        Some(text) => Some(cluster(state, &text).ok_or_else(Fault::no_cluster)?),
    };
    let grant = some(query.grant).map(|text| Id::parse(&text)).transpose();
    let range = range(query.from.as_deref(), query.to.as_deref())?;
    let filter = match some(query.show) {
        None => None,
        Some(show) => {
            Some(audit_kinds::filter(&show).ok_or_else(|| Fault::bad_input("show is changes or refused"))?)
        }
    };
    Ok(rp_audit::Query {
        person: some(query.person),
        target,
        verb: some(query.verb),
        text: some(query.text),
        grant: grant.map_err(|error| Fault::bad_input(error.to_string()))?,
        filter,
        from: range.from,
        to: range.to,
        limit: query.limit.unwrap_or(100).clamp(1, MOST),
        continuation: some(query.next),
    })
}

/// Entries, newest first.
pub async fn search(
    State(state): State<PortalState>,
    Query(query): Query<AuditQuery>,
) -> Result<Response, Fault> {
    let asked = asked(&state, query)?;
    let found = state.session.audit.search(&asked).await.map_err(|error| refusals::audit_search(&error))?;
    let items: Vec<Entry> = found.entries;
    json(&Items { items, total: None, next: found.continuation })
}

/// A file in the answer.
fn file(body: Body, kind: &'static str, name: &str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// How long an export may send nothing.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// When a refused export may be tried again.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// Too many exports run.
fn too_many_exports(limits: &LiveLimits, reached: LimitReached) -> Fault {
    let why = match reached {
        LimitReached::Person => format!("{} exports of yours run, the maximum.", limits.per_person),
        LimitReached::Process => {
            format!("{} exports run on this replica, the maximum.", limits.pages)
        }
    };
    Fault::too_often(TRY_AGAIN).why(why)
}

/// Where the lines of an export come from.
enum Export {
    /// Nothing narrows it: the signed statements are in it, so that the file can be verified.
    Whole(rp_audit::Export),
    Found(Box<OldestFirst>),
}

impl Export {
    /// Some more text, perhaps none; `None` at the end.
    async fn part(&mut self) -> Result<Option<String>, AuditError> {
        let lines = match self {
            Self::Whole(export) => export.next().await,
            Self::Found(search) => search.next().await,
        };
        let lines = lines.inspect_err(|error| {
            tracing::error!(error = %chain(error), "an export of the audit broke off");
        })?;
        let text = |line: String| line + "\n";
        Ok(lines.map(|lines| lines.into_iter().map(text).collect()))
    }

    /// The next text that is not empty; after [`KEEP_ALIVE`] without one an empty line, which `aro audit verify` skips, so
    /// that nobody between takes a long search for a dead connection. A part that failed ends the file in the middle: the client
    /// sees that it is broken.
    async fn next(mut self) -> Option<(Result<String, AuditError>, Option<Self>)> {
        let began = Instant::now();
        loop {
            match self.part().await {
                Ok(Some(text)) if text.is_empty() && began.elapsed() >= KEEP_ALIVE => {
                    return Some((Ok("\n".to_owned()), Some(self)));
                }
                Ok(Some(text)) if text.is_empty() => {}
                Ok(Some(text)) => return Some((Ok(text), Some(self))),
                Ok(None) => return None,
                Err(error) => return Some((Err(error), None)),
            }
        }
    }
}

/// All entries of a search as JSON lines, the oldest first, each as it is stored; streamed.
///
/// # Errors
/// 429 with `Retry-After` while two of the person, or eight of this replica, run: each reads the log.
pub async fn export(
    State(state): State<PortalState>,
    user: CurrentUser,
    Query(query): Query<AuditQuery>,
) -> Result<Response, Fault> {
    let query = asked(&state, query)?;
    let exports = &state.model.exports;
    let permit = exports.take(&user.caller.person.sub);
    let permit = permit.map_err(|reached| too_many_exports(exports.limits(), reached))?;
    let whole = query.person.is_none()
        && query.target.is_none()
        && query.verb.is_none()
        && query.text.is_none()
        && query.grant.is_none()
        && query.filter.is_none()
        && query.from.is_none()
        && query.to.is_none();
    let audit = &state.session.audit;
    let mut export = if whole {
        Export::Whole(audit.export())
    } else {
        Export::Found(Box::new(audit.search_oldest_first(query)))
    };
    // The first part is read before the response begins, so that an early failure gets an HTTP status.
    let first = export.part().await.map_err(|error| refusals::audit_search(&error))?.unwrap_or_default();
    let rest = stream::unfold(Some(export), |export: Option<Export>| async move { export?.next().await });
    // Fused, because the compression layer polls once more after the end, which an unfold does not allow.
    let parts = stream::once(async { Ok(first) }).chain(rest).map(move |part| {
        let _held = &permit;
        part
    });
    let body = Body::from_stream(parts.fuse());
    Ok(file(body, "application/x-ndjson", "audit.jsonl"))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AccessReportQuery {
    /// A resource id, or the name of one cluster; without, every cluster.
    target: Option<String>,
    person: Option<String>,
    /// RFC 3339, or a day; UTC without a zone.
    from: Option<String>,
    /// Exclusive; a day is taken whole.
    to: Option<String>,
    /// As a file.
    #[schemars(extend("enum" = ["json", "csv"]))]
    format: Option<String>,
}

/// Who had access to a cluster, why, and what they did.
pub async fn report(
    State(state): State<PortalState>,
    Query(query): Query<AccessReportQuery>,
) -> Result<Response, Fault> {
    let target =
        some(query.target).map(|text| cluster(&state, &text).ok_or_else(Fault::no_cluster)).transpose()?;
    let name = target.as_ref().map_or_else(|| "all".to_owned(), |id| id.name().to_ascii_lowercase());
    let range = range(query.from.as_deref(), query.to.as_deref())?;
    let asked = ReportQuery { target, person: some(query.person), from: range.from, to: range.to };
    let report = state.session.audit.report(&asked).await.map_err(|error| refusals::audit_search(&error))?;
    match query.format.as_deref().unwrap_or_default() {
        "" => json(&report),
        "json" => {
            let body = json(&report)?.into_body();
            Ok(file(body, "application/json", &format!("access-{name}.json")))
        }
        "csv" => {
            let text = csv::report(&report);
            Ok(file(Body::from(text), "text/csv; charset=utf-8", &format!("access-{name}.csv")))
        }
        _ => Err(Fault::bad_input("format is json or csv")),
    }
}

/// State of the log: heads of the chains, last signed checkpoint, copies.
pub async fn proof(State(state): State<PortalState>) -> Result<Response, Fault> {
    json(&state.session.audit.proof())
}
