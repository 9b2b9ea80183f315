//! `/api/v1/recordings`: recorded sessions, search in what was shown, and the cast of each.
//!
//! Everybody with the role sre sees their own sessions, auditors see all. The cast is a person's screen: its reading
//! is audited durably before the first byte.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, header};
use portal_model::look::logs::on;
use portal_model::recordings::{RecordingFilter, one, refusal};
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use rp_base::{Timestamp, chain};
use rp_documents::Recording;
use rp_recording::{Hit, ReadError, Reader, RecordingState as Running};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Items, MOST, Query};
use crate::looks::attach;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Recording")]
pub struct RecordingView {
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

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RecordingHit")]
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
pub async fn list(
    State(state): State<PortalState>,
    user: CurrentUser,
    Query(asked): Query<RecordingFilter>,
) -> Result<Response, Fault> {
    let limit = asked.limit.unwrap_or(100).clamp(1, MOST);
    let found = asked.find(&state, &user, limit).await?;
    let now = state.session.clock.now();
    let items = found.recordings.into_iter().map(|(recording, hits)| to_view(recording, hits, now)).collect();
    json(&Items { items, total: None, next: found.next })
}

/// What is known of one.
pub async fn get(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let recording = one(&state, &user, &id).await?;
    json(&to_view(recording, Vec::new(), state.session.clock.now()))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CastQuery {
    /// `1`: as a file.
    #[schemars(with = "bool")]
    download: String,
}

/// The cast: asciicast v3, as far as it is written. A damaged chunk is replaced by a marker.
pub async fn cast(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(how): Query<CastQuery>,
) -> Result<Response, Fault> {
    let recording = one(&state, &user, &id).await?;
    let download = on(&how.download);
    let verb = if download { "recording.download" } else { "recording.watch" };
    let promised = state.session.promise(&user.caller, verb, |entry| {
        entry.grant = Some(recording.grant.clone());
        entry.target = Some(recording.target.clone());
        entry.resource = "recordings".to_owned();
        entry.name = recording.id.to_string();
        entry.query = format!("person={}", rp_base::text::clean(&recording.owner.name, 200));
    });
    promised.await.map_err(|error| Fault::audit(&error))?;
    let mut reader =
        state.model.clusters.recordings.open(&recording).await.map_err(|error| refusal(&error))?;
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
