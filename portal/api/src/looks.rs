//! Logs and objects of a cluster for scripts and for the script of the log page, with the caller's own access
//! (`portal_model::look`): `GET /api/v1/clusters{RES}/pods/{namespace}/{pod}/log`, `…/objects/{group}/{version}/{plural}…`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use portal_model::index::Entry;
use portal_model::look;
use portal_model::look::refuse_secrets;
use portal_model::look::text::LogBody;
use portal_model::look::{LookAccess, logs, yaml};
use portal_model::objects::names::{KindName, ObjectName};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::session_store::{SessionStatus, SessionWatch};
use portal_session::user::CurrentUser;
use rp_access::ActiveGrant;
use rp_documents::ResourceId;
use rp_openshift::LenientList;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tower_sessions::Session;
use web::LogQuery;

use crate::answer::Query;

/// Interval of checks whether the session is still valid.
const CHECK: Duration = Duration::from_millis(400);
/// Objects of a list, at most and by itself.
const MOST: u32 = 500;

/// A cluster, then two names.
type PodPath = Path<(String, String, String, String, String)>;
/// A cluster, then a kind.
type KindPath = Path<(String, String, String, String, String, String)>;
/// A cluster, a kind, and the rest.
type ObjectPath = Path<(String, String, String, String, String, String, String)>;

/// The query of a log request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PodLogQuery {
    #[serde(flatten)]
    log: LogQuery,
    #[serde(flatten)]
    how: LogOptions,
}

/// What is asked beside the log's own fields.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct LogOptions {
    /// `1`: as a file.
    #[schemars(with = "bool")]
    download: String,
    /// `0`: without colours.
    colour: String,
    /// Why you look, where you hold no access to the cluster yet; or the header X-Aro-Reason.
    reason: String,
    /// Ticket or incident; or the header X-Aro-Ticket.
    ticket: String,
}

fn cluster(state: &PortalState, sub: &str, group: &str, name: &str) -> Result<ResourceId, Fault> {
    entry(state, sub, group, name).map(|entry| entry.id.clone())
}

/// The cluster that a path names.
///
/// # Errors
/// There is none.
pub fn entry(state: &PortalState, sub: &str, group: &str, name: &str) -> Result<Arc<Entry>, Fault> {
    let id = ResourceId::from_parts(sub, group, name).map_err(|_| Fault::no_cluster())?;
    state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)
}

/// The caller's access to a cluster; `said`: reason and ticket, where the headers have none.
///
/// # Errors
/// A reason is needed, or as `look::enter`.
pub async fn enter(
    state: &PortalState,
    user: &CurrentUser,
    headers: &HeaderMap,
    said: [&str; 2],
    id: &ResourceId,
) -> Result<Arc<ActiveGrant>, Fault> {
    let mut headers = headers.clone();
    for (name, value) in ["x-aro-reason", "x-aro-ticket"].into_iter().zip(said) {
        if let Ok(value) = HeaderValue::from_str(&web::text::encode(value))
            && !value.is_empty()
        {
            headers.insert(name, value);
        }
    }
    match look::enter(state, user, &headers, id).await? {
        LookAccess::Open(live) => Ok(live),
        LookAccess::Ask { revoked } => Err(look::needs_reason(revoked)),
    }
}

/// The log as a stream of text. It ends with the log, the access or the session; a slow reader slows the cluster.
pub async fn log(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    session: Session,
    Path((sub, group, name, namespace, pod)): PodPath,
    Query(PodLogQuery { log: query, how }): Query<PodLogQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let id = cluster(&state, &sub, &group, &name)?;
    let path = logs::log_path(&logs::pod_path(&namespace, &pod)?, &query)?;
    let live = enter(&state, &user, &headers, [&how.reason, &how.ticket], &id).await?;
    let answer = look::ask(&context, &state, &live, &path, "*/*").await?;
    let file = logs::on(&how.download);
    let colours = !file && how.colour != "0";
    let key = user.session_ends.and_then(|_| state.session.sign_in.sessions.key(&session));
    let body = LogBody::new(answer.into_body(), colours, session_end(state.clone(), key));
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Compression would delay lines.
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("identity"));
    if file {
        attach(
            headers,
            &format!(
                "{namespace}-{pod}{}.log",
                if query.container.is_empty() { String::new() } else { format!("-{}", query.container) }
            ),
        );
    }
    Ok(response)
}

/// Resolves when the session ends; never for a token, whose grant ends the stream itself.
async fn session_end(state: PortalState, key: Option<String>) {
    let Some(key) = key else { return std::future::pending().await };
    let mut known = SessionWatch::default();
    let stopping = state.model.stopping.clone();
    loop {
        tokio::select! {
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(CHECK) => {}
        }
        if matches!(state.session.sign_in.sessions.status(&key, &mut known).await, SessionStatus::Ended) {
            return;
        }
    }
}

pub fn attach(headers: &mut HeaderMap, name: &str) {
    let name: String =
        name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_')).collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
}

/// The query of an object request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ObjectQuery {
    /// `json` without.
    #[serde(rename = "as")]
    #[schemars(extend("enum" = ["json", "yaml"]))]
    form: String,
    /// `1`: with managed fields.
    #[schemars(with = "bool")]
    managed: String,
    /// Why you look, where you hold no access to the cluster yet; or the header X-Aro-Reason.
    reason: String,
    /// Ticket or incident; or the header X-Aro-Ticket.
    ticket: String,
    /// `1`: as a file.
    #[schemars(with = "bool")]
    download: String,
}

/// One object, whole.
pub async fn object(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path((sub, group, name, api, version, plural, rest)): ObjectPath,
    Query(form): Query<ObjectQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let id = cluster(&state, &sub, &group, &name)?;
    let object = ObjectName::new(KindName::new(&api, &version, &plural)?, &rest)?;
    refuse_secrets(&object.kind)?;
    let live = enter(&state, &user, &headers, [&form.reason, &form.ticket], &id).await?;
    let mut found = look::json(&context, &state, &live, &object.path(), "application/json").await?;
    if !logs::on(&form.managed) {
        yaml::without_managed(&mut found);
    }
    let (text, kind, ending) = if form.form == "yaml" {
        (yaml::yaml(&found), "application/yaml", "yaml")
    } else {
        (serde_json::to_string_pretty(&found).map_err(|_| Fault::internal())?, "application/json", "json")
    };
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if logs::on(&form.download) {
        attach(headers, &format!("{}-{}.{ending}", object.kind.plural, object.name));
    }
    Ok(response)
}

/// The query of a list request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ObjectListQuery {
    /// Only of this namespace.
    namespace: String,
    /// A label selector of Kubernetes.
    label: String,
    /// Rows, 1 to 500.
    limit: Option<u32>,
    /// Where the answer before ended.
    #[serde(rename = "continue")]
    next: String,
    /// Why you look, where you hold no access to the cluster yet; or the header X-Aro-Reason.
    reason: String,
    /// Ticket or incident; or the header X-Aro-Ticket.
    ticket: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "KubernetesObjects")]
pub struct ObjectList {
    /// Objects as the cluster has them, without managed fields.
    #[schemars(with = "Vec<serde_json::Map<String, Value>>")]
    items: Vec<Value>,
    /// For the parameter `continue`; absent at the end of the list.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    next: String,
}

/// Objects of a kind, part by part.
pub async fn list(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path((sub, group, name, api, version, plural)): KindPath,
    Query(part): Query<ObjectListQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let id = cluster(&state, &sub, &group, &name)?;
    let kind = KindName::new(&api, &version, &plural)?;
    refuse_secrets(&kind)?;
    let live = enter(&state, &user, &headers, [&part.reason, &part.ticket], &id).await?;
    let mut url = web::Query::new(&kind.list(&part.namespace));
    url.add("labelSelector", &part.label);
    url.add("limit", &part.limit.unwrap_or(MOST).clamp(1, MOST).to_string());
    url.add("continue", &part.next);
    let found: LenientList<Value> =
        look::json(&context, &state, &live, &url.done(), "application/json").await?;
    let (mut items, next) = (found.items, found.metadata.token.as_str().to_owned());
    items.iter_mut().for_each(yaml::without_managed);
    json(&ObjectList { items, next })
}
