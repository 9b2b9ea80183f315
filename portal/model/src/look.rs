//! What a person reads of a cluster with an access of their own: logs, objects, lists of any kind
//! (`contract/rules.md` §3.6). The access is a grant of kind page; it is given with the first look, with a
//! reason that is asked once per session, and everything goes the way of a kubeconfig's requests:
//! `proxy::ApiProxy`.

pub mod describe;
pub mod diff;
pub mod kinds;
pub mod logs;
mod reason;
pub mod serial;
pub mod table;
pub mod text;
pub mod yaml;

use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use portal_session::context::Context;
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::user::{CurrentUser, missing_with_groups};
use proxy::Body;
use proxy::api::{ErrorText, PageRequest};
use rp_access::{ActiveGrant, IssueRequest, OwnPage, Refusal};
use rp_base::Timestamp;
use rp_documents::{ResourceId, Role, Side};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access_kinds::PAGE;
use crate::objects::names::KindName;
use crate::state::PortalState;

pub use reason::Reason;

/// A page or an answer in JSON waits so long for a cluster.
const PATIENCE: Duration = Duration::from_secs(20);
/// An object of etcd is at most 1.5 MiB; in JSON it can grow by escapes.
pub const MOST_OBJECT: usize = 8 * 1024 * 1024;
/// A refusal of an API server.
const MOST_STATUS: usize = 64 * 1024;

/// Whether a person may look.
#[derive(Debug)]
pub enum LookAccess {
    Open(Arc<ActiveGrant>),
    /// A reason is needed; `revoked`: somebody has ended the last look.
    Ask {
        revoked: bool,
    },
}

/// The person's access to a cluster for this session: the one there is, or a new one for the reason that they gave.
///
/// # Errors
/// The role is missing, or the store is away.
pub async fn enter(
    state: &PortalState,
    user: &CurrentUser,
    headers: &HeaderMap,
    id: &ResourceId,
) -> Result<LookAccess, Fault> {
    // Robots hold a scope of kinds instead of roles; giving the grant decides.
    if user.token_grant().is_none() && !user.has(Role::Sre) {
        return Err(missing_with_groups(Role::Sre, state.session.access.policy()));
    }
    let revoked = match own_page(state, user, id).await? {
        OwnPage::Open(live) => return Ok(LookAccess::Open(live)),
        OwnPage::Revoked => true,
        OwnPage::None => false,
    };
    // What was said earlier in the session does not bring back what somebody took away.
    let said =
        Reason::sent(headers).or_else(|| Reason::remembered(state, user, headers).filter(|_| !revoked));
    match said {
        None => Ok(LookAccess::Ask { revoked }),
        Some(reason) => give(state, user, id, &reason).await.map(LookAccess::Open),
    }
}

/// When what counts for this caller began: the session, or always.
fn since(state: &PortalState, user: &CurrentUser) -> Timestamp {
    user.session_ends.map_or(Timestamp::from_millis(0), |ends| ends - state.session.sign_in.rules.max_age)
}

async fn own_page(state: &PortalState, user: &CurrentUser, id: &ResourceId) -> Result<OwnPage, Fault> {
    let found = state.session.access.own_page(&user.caller, id, since(state, user)).await;
    found.map_err(|refusal| match refusal {
        Refusal::TooOften(rp_net::TooOften(wait)) => Fault::too_often(wait),
        _ => Fault::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store_unavailable",
            Side::Us,
            "The store did not answer",
        )
        .why("Without it no access can be checked, so nothing was read.")
        .action("Try again in a moment."),
    })
}

/// Gives the access.
///
/// # Errors
/// The reason is too short, the role is missing, the store or the audit trail is away.
pub async fn give(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    reason: &Reason,
) -> Result<Arc<ActiveGrant>, Fault> {
    issue(state, user, id, reason).await.map_err(|error| refusals::issue(&error))?;
    match own_page(state, user, id).await? {
        OwnPage::Open(live) => Ok(live),
        OwnPage::Revoked | OwnPage::None => Err(needs_reason(true)),
    }
}

/// The same, with the mistake as it is.
pub async fn issue(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    reason: &Reason,
) -> Result<(), rp_access::IssueError> {
    let left = user.session_ends.map(|ends| ends.since(state.session.clock.now()));
    let policy = state.session.access.policy();
    let usual = policy.access.default_life.min(policy.longest(PAGE.least_rights()));
    let ask = IssueRequest {
        ticket: reason.ticket.clone(),
        life: Some(left.map_or(usual, |left| left.min(usual)).max(policy.access.min_life)),
        ..PAGE.request(id.clone(), reason.reason.clone())
    };
    state.session.access.issue(&user.caller, ask).await.map(drop)
}

/// For scripts: say why.
pub fn needs_reason(revoked: bool) -> Fault {
    let what = if revoked { "Your look at this cluster was revoked" } else { "A reason is needed" };
    Fault::new(StatusCode::FORBIDDEN, "reason_needed", Side::You, what)
        .why("Logs and objects are read with an access of your own, which says why you look.")
        .action("Send the header X-Aro-Reason, or open the page and give a reason there.")
}

/// Asks the cluster; gives the answer when it is a good one.
///
/// # Errors
/// What the way, the proxy or the cluster refused.
pub async fn ask(
    context: &Context,
    state: &PortalState,
    live: &Arc<ActiveGrant>,
    path: &str,
    accept: &'static str,
) -> Result<Response<Body>, Fault> {
    let path: PathAndQuery = path.parse().map_err(|_| Fault::bad_input("That is no name in a cluster"))?;
    if let Some(id) = &live.grant.target {
        // A cluster that is asked too much by us is not asked more.
        state.model.clusters.budget.take(id, rp_net::Cost::REQUEST).await.map_err(|_| budget_exhausted())?;
    }
    let look = PageRequest {
        live: Arc::clone(live),
        request_id: context.id.clone(),
        from: context.from,
        path,
        accept,
    };
    let asked = tokio::time::timeout(PATIENCE, state.model.clusters.api.look(look)).await;
    let response = asked.map_err(|_| slow())?;
    if response.status().is_success() {
        return Ok(response);
    }
    if let Some(told) = response.extensions().get::<ErrorText>() {
        return Err(from_proxy_error(told));
    }
    let status = response.status();
    let body =
        tokio::time::timeout(PATIENCE, Limited::new(response.into_body(), MOST_STATUS).collect()).await;
    let bytes = body.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let told: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = told.get("message").and_then(Value::as_str).unwrap_or_default();
    Err(from_cluster_response(status, &rp_base::text::clean(message, 500)))
}

/// Asks the cluster for JSON of at most [`MOST_OBJECT`] bytes.
///
/// # Errors
/// As [`ask`]; the answer is too large, broke off, or is not JSON of the form of `T`.
pub async fn json<T: DeserializeOwned>(
    context: &Context,
    state: &PortalState,
    live: &Arc<ActiveGrant>,
    path: &str,
    accept: &'static str,
) -> Result<T, Fault> {
    let response = ask(context, state, live, path, accept).await?;
    let body = Limited::new(response.into_body(), MOST_OBJECT).collect();
    let collected = tokio::time::timeout(PATIENCE, body).await.map_err(|_| slow())?.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            cluster(StatusCode::BAD_GATEWAY, "too_large", "That is too large to show")
                .why(format!("The cluster sent more than {} MiB.", MOST_OBJECT / 1024 / 1024))
                .action("Read it with kubectl.")
        } else {
            cluster(StatusCode::BAD_GATEWAY, "broke_off", "The answer broke off")
                .why("The cluster ended it early, or your access ended.")
                .action("Try again.")
        }
    })?;
    serde_json::from_slice(&collected.to_bytes()).map_err(|_| {
        cluster(StatusCode::BAD_GATEWAY, "malformed", "The answer cannot be read")
            .why("It is not JSON of the form that was asked for, or it is nested too deeply.")
    })
}

fn cluster(status: StatusCode, code: &'static str, what: &str) -> Fault {
    Fault::new(status, code, Side::Cluster, what)
}

fn slow() -> Fault {
    cluster(StatusCode::GATEWAY_TIMEOUT, "cluster_slow", "The cluster did not answer in time")
        .why(format!("It was given {} s.", PATIENCE.as_secs()))
        .action("Try again.")
}

pub(crate) fn budget_exhausted() -> Fault {
    Fault::new(StatusCode::SERVICE_UNAVAILABLE, "budget", Side::Us, "We ask this cluster too much already")
        .why("Requests to a cluster have a budget, shared by everybody who looks at it.")
        .action("Try again in a moment.")
}

pub(crate) fn from_proxy_error(told: &ErrorText) -> Fault {
    // A session is not over because a grant is.
    let status = if told.status == StatusCode::UNAUTHORIZED { StatusCode::FORBIDDEN } else { told.status };
    if told.code == "grant_ended" {
        return needs_reason(true);
    }
    if told.code == "rights" {
        return Fault::new(status, told.code, told.side, "A read-only access does not open this")
            .why(told.message.clone())
            .action("Take a kubeconfig with the rights that you need, under an elevation.");
    }
    let (what, why) = told.message.split_once(". ").unwrap_or((told.message.as_str(), ""));
    let fault =
        Fault::new(status, told.code, told.side, what.trim_end_matches('.')).why(why).action(told.action);
    match told.again {
        Some(seconds) => fault.retry_after(Duration::from_secs(seconds)),
        None => fault,
    }
}

pub(crate) fn from_cluster_response(status: StatusCode, message: &str) -> Fault {
    let said = |fault: Fault| if message.is_empty() { fault } else { fault.why(message) };
    match status.as_u16() {
        400 => said(Fault::new(status, "cluster_refused", Side::You, "The cluster cannot read that")),
        401 => said(cluster(
            StatusCode::BAD_GATEWAY,
            "cluster_unauthorized",
            "The cluster does not accept our credential",
        ))
        .action("Tell the team that runs this service; it may have been rotated."),
        403 => said(cluster(status, "cluster_forbids", "The cluster does not allow it")),
        404 => said(Fault::new(status, "not_there", Side::Cluster, "The cluster has no such thing"))
            .action("It may have been deleted, or its kind is of another version."),
        410 => {
            said(cluster(status, "list_expired", "The list has gone on without us")).action("Begin it anew.")
        }
        429 => said(cluster(StatusCode::SERVICE_UNAVAILABLE, "cluster_busy", "The cluster is busy"))
            .action("Try again in a moment."),
        _ => said(cluster(StatusCode::BAD_GATEWAY, "cluster_failed", "The cluster could not answer"))
            .action(format!("It said {}. Try again.", status.as_u16())),
    }
}

/// Secrets are refused before any request is sent.
pub fn refuse_secrets(kind: &KindName) -> Result<(), Fault> {
    if !kind.is_secret() {
        return Ok(());
    }
    let what = "Secrets are not shown here";
    Err(Fault::new(StatusCode::FORBIDDEN, "secret", Side::You, what)
        .why("A read-only access never opens them.")
        .action("Who must read one takes a kubeconfig with admin rights, under an elevation."))
}
