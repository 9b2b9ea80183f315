//! `/api/v1/recordings`: recorded sessions, search in what was shown, and the cast of each.
//!
//! Everybody with the role sre sees their own sessions, auditors see all. The cast is a person's screen: its reading
//! is audited durably before the first byte.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, StatusCode, header};
use rp_base::{Timestamp, chain};
use rp_documents::{Recording, Role, Side};
use rp_recording::{Hit, ReadError, Reader, RecordingQuery, RecordingState as Running, SearchQuery};
use serde::{Deserialize, Serialize};

use super::Items;
use super::looks::attach;
use crate::fault::Fault;
use crate::pages::audit::cluster;
use crate::state::PortalState;
use crate::time_range::Range;
use crate::user::CurrentUser;

/// Longest search for one answer; the portal answers every request within 30 s.
const SEARCH_WITHIN: Duration = Duration::from_secs(10);
/// Recordings that one search reads.
const SEARCHED: usize = 500;
/// Characters of a text that is searched for.
const MOST_TEXT: usize = 200;

/// The filter of a list of recordings.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RecordingFilter {
    /// A part of a person's name; auditors only.
    pub(crate) person: String,
    /// A resource id, or the name of one cluster.
    pub(crate) cluster: String,
    /// Id of a grant that sessions were opened with.
    pub(crate) grant: String,
    pub(crate) from: String,
    pub(crate) to: String,
    /// Text that was shown.
    pub(crate) q: String,
    pub(crate) limit: Option<usize>,
    #[serde(rename = "continue")]
    pub(crate) next: String,
}

/// The recordings that match.
#[derive(Debug, Default)]
pub(crate) struct RecordingMatches {
    pub(crate) recordings: Vec<(Recording, Vec<Hit>)>,
    /// Number of recordings that were searched, and of those that could not be read.
    pub(crate) searched: Option<(usize, usize)>,
    pub(crate) next: Option<String>,
}

/// Whether this person sees everybody's.
pub(crate) fn sees_all(user: &CurrentUser) -> bool {
    user.has(Role::Auditor)
}

impl RecordingFilter {
    /// The recordings that this person may see of what is asked.
    pub(crate) async fn find(
        &self,
        state: &PortalState,
        user: &CurrentUser,
        limit: usize,
    ) -> Result<RecordingMatches, Fault> {
        let some = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        let target = match some(&self.cluster) {
            None => None,
            Some(text) => Some(cluster(state, &text).ok_or_else(Fault::no_cluster)?),
        };
        let range = Range::read(&self.from, &self.to).map_err(Fault::bad_input)?;
        let all = sees_all(user);
        let listing = RecordingQuery {
            owner: (!all).then(|| user.caller.person.sub.clone()),
            person: some(&self.person).map(|name| name.to_lowercase()),
            target,
            grant: some(&self.grant),
            since: range.from,
            until: range.to,
            after: some(&self.next),
            limit,
        };
        let recordings = &state.0.clusters.recordings;
        let Some(text) = some(&self.q) else {
            let listed = recordings.list(&listing).await.map_err(|error| refusal(&error))?;
            let recordings = listed.recordings.into_iter().map(|recording| (recording, Vec::new()));
            return Ok(RecordingMatches {
                recordings: recordings.collect(),
                searched: None,
                next: listed.next,
            });
        };
        if text.chars().count() > MOST_TEXT {
            return Err(Fault::bad_input("The text to search for is too long"));
        }
        searches(state, user, &text).await?;
        let search = SearchQuery {
            listing: RecordingQuery { limit: SEARCHED, ..listing },
            text,
            within: SEARCH_WITHIN,
        };
        let found = recordings.search(&search).await.map_err(|error| refusal(&error))?;
        Ok(RecordingMatches {
            recordings: found.found,
            searched: Some((found.read, found.unreadable)),
            next: found.next,
        })
    }
}

/// A search reveals what was on people's screens: its text is audited before anything is read.
async fn searches(state: &PortalState, user: &CurrentUser, text: &str) -> Result<(), Fault> {
    let promised = state.0.promise(&user.caller, "recording.search", |entry| {
        entry.resource = "recordings".to_owned();
        entry.query = format!("q={}", rp_base::text::clean(text, MOST_TEXT));
    });
    promised.await.map_err(|error| Fault::audit(&error))
}

/// Maps an error of the recordings to an HTTP error.
pub(crate) fn refusal(error: &ReadError) -> Fault {
    match error {
        ReadError::Unknown => unknown(),
        ReadError::NotKept => {
            unknown().why("This service keeps no recordings: its settings name no place for them.")
        }
        ReadError::Store(error) => Fault::store(error),
        ReadError::Continuation => {
            Fault::bad_input("There is nothing to go on from there").action("Start the list again.")
        }
        ReadError::Seal(_) | ReadError::Storage(_) => {
            tracing::error!(error = %chain(error), "a recording cannot be read");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Fault::new(status, "recording_away", Side::Us, "The recording cannot be read now")
                .why("The place where recordings are kept does not give it.")
                .action("Try again; if it stays, tell the team that runs this service.")
        }
    }
}

fn unknown() -> Fault {
    Fault::new(StatusCode::NOT_FOUND, "recording_unknown", Side::You, "There is no such recording")
        .why("It was removed when its time was over, it is another person's, or it never was.")
}

/// A recording that this person may watch. Other recordings count as not found.
pub(crate) async fn one(state: &PortalState, user: &CurrentUser, id: &str) -> Result<Recording, Fault> {
    let found = match rp_base::Id::parse(id) {
        Ok(id) => state.0.clusters.recordings.find(id.as_str()).await.map_err(|error| refusal(&error))?,
        Err(_) => None,
    };
    let own = |recording: &Recording| recording.owner.sub == user.caller.person.sub && user.has(Role::Sre);
    found.filter(|recording| sees_all(user) || own(recording)).ok_or_else(unknown)
}

#[derive(Debug, Serialize)]
struct RecordingView {
    id: String,
    kind: &'static str,
    state: &'static str,
    person: String,
    grant: String,
    cluster: String,
    place: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
    interactive: bool,
    started: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    bytes: u64,
    chunks: u32,
    keep_until: Timestamp,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hits: Vec<HitView>,
}

#[derive(Debug, Serialize)]
struct HitView {
    /// Milliseconds since the begin.
    at_ms: u64,
    at: Timestamp,
    line: String,
}

fn to_view(recording: Recording, hits: Vec<Hit>, now: Timestamp) -> RecordingView {
    RecordingView {
        state: Running::from_recording(&recording, now).name(),
        id: recording.id.to_string(),
        kind: recording.kind.name(),
        person: recording.owner.name,
        grant: recording.grant.to_string(),
        cluster: recording.target.to_string(),
        place: recording.place,
        command: recording.command,
        interactive: recording.interactive,
        started: recording.started,
        ended: recording.ended,
        outcome: recording.outcome,
        bytes: recording.bytes,
        chunks: recording.chunks,
        keep_until: recording.keep_until,
        hits: hits.into_iter().map(|hit| HitView { at_ms: hit.at, at: hit.when, line: hit.line }).collect(),
    }
}

/// Recordings, newest first; with `q` those that showed that text, and where.
pub(crate) async fn list(
    State(state): State<PortalState>,
    user: CurrentUser,
    Query(asked): Query<RecordingFilter>,
) -> Result<Response, Fault> {
    let limit = asked.limit.unwrap_or(100).clamp(1, super::MOST);
    let found = asked.find(&state, &user, limit).await?;
    let now = state.0.clock.now();
    let items = found.recordings.into_iter().map(|(recording, hits)| to_view(recording, hits, now)).collect();
    super::json(&Items { items, total: None, next: found.next })
}

/// What is known of one.
pub(crate) async fn get(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let recording = one(&state, &user, &id).await?;
    super::json(&to_view(recording, Vec::new(), state.0.clock.now()))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CastQuery {
    /// `1`: as a file.
    download: String,
}

/// The cast: asciicast v3, as far as it is written. A damaged chunk is replaced by a marker.
pub(crate) async fn cast(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(how): Query<CastQuery>,
) -> Result<Response, Fault> {
    let recording = one(&state, &user, &id).await?;
    let download = how.download == "1";
    let verb = if download { "recording.download" } else { "recording.watch" };
    let promised = state.0.promise(&user.caller, verb, |entry| {
        entry.grant = Some(recording.grant.clone());
        entry.target = Some(recording.target.clone());
        entry.resource = "recordings".to_owned();
        entry.name = recording.id.to_string();
        entry.query = format!("person={}", rp_base::text::clean(&recording.owner.name, 200));
    });
    promised.await.map_err(|error| Fault::audit(&error))?;
    let mut reader = state.0.clusters.recordings.open(&recording).await.map_err(|error| refusal(&error))?;
    // The first chunk is read before the response begins, so that an early failure gets an HTTP status.
    let first = piece(&mut reader, true).await.map_err(|error| refusal(&error))?;
    let rest = stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match piece(&mut reader, false).await {
            Ok(Some(piece)) => Some((Ok(piece), Some(reader))),
            Ok(None) => None,
            Err(error) => {
                tracing::error!(error = %chain(&error), "a recording broke off while it was read");
                Some((Err(error), None))
            }
        }
    });
    let first = stream::iter(first.map(Ok::<Bytes, ReadError>));
    // Fused, because the compression layer polls once more after the end, which an unfold does not allow.
    let mut response = Response::new(Body::from_stream(first.chain(rest).fuse()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-asciicast"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if download {
        attach(headers, &format!("{}.cast", recording.id));
    }
    Ok(response)
}

/// The lines of the next chunk, after a marker for each defect of it.
async fn piece(reader: &mut Reader, first: bool) -> Result<Option<Bytes>, ReadError> {
    let Some(chunk) = reader.next().await? else { return Ok(None) };
    let text = chunk.text.unwrap_or_default();
    let mut out = String::new();
    if first && !text.starts_with('{') {
        // The header is lost; players need one.
        out.push_str("{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n");
    }
    for fault in chunk.faults {
        out.push_str(&format!("[0.000,\"m\",{}]\n", serde_json::Value::from(fault.to_string())));
    }
    out.push_str(&text);
    Ok(Some(out.into()))
}
