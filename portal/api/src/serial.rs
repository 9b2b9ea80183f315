//! `GET /api/v1/clusters{RES}/machines/{name}/serial` and `…/screenshot`: a machine's console and screen, for scripts.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use portal_model::look::logs;
use portal_model::look::serial::{ConsoleLines, ConsoleQuery, console, screen};
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use web::SerialQuery;

use crate::answer::Query;
use crate::looks::{attach, enter, entry};

/// A cluster, then a machine.
type MachinePath = Path<(String, String, String, String)>;

/// The query of a console request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SerialLogQuery {
    #[serde(flatten)]
    part: SerialQuery,
    #[serde(flatten)]
    how: SerialOptions,
}

/// Form of the response, and the reason for the access.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SerialOptions {
    /// `text`: the lines and nothing else, all that were read.
    #[serde(rename = "as")]
    form: String,
    /// `1`: with `as=text`, as a file.
    #[schemars(with = "bool")]
    download: String,
    /// Why you look; or the header X-Aro-Reason.
    reason: String,
    /// Ticket or incident; or the header X-Aro-Ticket.
    ticket: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SerialConsole")]
pub struct SerialResponse<'a> {
    machine: &'a str,
    /// Bytes of the whole log.
    size: u64,
    /// Its beginning was not read.
    cut: bool,
    #[serde(flatten)]
    part: ConsoleLines,
}

/// A part of the console, or all of it as text.
pub async fn serial(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path((sub, group, name, machine)): MachinePath,
    Query(SerialLogQuery { part, how }): Query<SerialLogQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let entry = entry(&state, &sub, &group, &name)?;
    let wanted = ConsoleQuery::parse(&part)?;
    let live = enter(&state, &user, &headers, [&how.reason, &how.ticket], &entry.id).await?;
    let read = console(&state, &user, &live, &entry, &machine).await?;
    if how.form != "text" {
        let part = wanted.part(&read.text);
        return json(&SerialResponse { machine: &machine, size: read.size, cut: read.cut, part });
    }
    let mut response = Response::new(Body::from(read.text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if logs::on(&how.download) {
        attach(headers, &format!("{machine}-serial.log"));
    }
    Ok(response)
}

/// The reason for a look at a screen.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ScreenshotQuery {
    /// Why you look; or the header X-Aro-Reason.
    reason: String,
    /// Ticket or incident; or the header X-Aro-Ticket.
    ticket: String,
}

/// The picture of the screen.
pub async fn screenshot(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path((sub, group, name, machine)): MachinePath,
    Query(how): Query<ScreenshotQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let entry = entry(&state, &sub, &group, &name)?;
    let live = enter(&state, &user, &headers, [&how.reason, &how.ticket], &entry.id).await?;
    let picture = screen(&state, &user, &live, &entry, &machine).await?;
    let mut response = Response::new(Body::from(picture.bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(picture.kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
