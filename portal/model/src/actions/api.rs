//! The way of an action to its cluster: as the person, with the reason, within the cluster's budget of requests.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::uri::PathAndQuery;
use parking_lot::Mutex;
use portal_session::elevation::require_elevation;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use proxy::api::{ActRequest, ShownPerson};
use rp_actions::{CallError, ClusterApi};
use rp_base::text::clean;
use rp_documents::{ResourceId, Rights};
use serde_json::Value;

use super::fault::{answered, unreadable};
use crate::look::{budget_exhausted, from_proxy_error};
use crate::state::PortalState;

/// For one request.
const WITHIN: Duration = Duration::from_secs(20);
/// Characters of an API server's sentence.
const MOST_MESSAGE: usize = 500;

/// A cluster's API server for a person who acts.
pub(super) struct PersonApi {
    pub(super) state: PortalState,
    pub(super) user: CurrentUser,
    pub(super) id: ResourceId,
    pub(super) reason: String,
    elevation: String,
    rights: Rights,
    /// Whom the cluster saw last.
    identity: Mutex<String>,
}

impl PersonApi {
    pub(super) fn new(
        state: &PortalState,
        user: &CurrentUser,
        id: &ResourceId,
        (elevation, rights): (&str, Rights),
        reason: String,
    ) -> Self {
        Self {
            state: state.clone(),
            user: user.clone(),
            id: id.clone(),
            reason,
            elevation: elevation.to_owned(),
            rights,
            identity: Mutex::default(),
        }
    }

    pub(super) fn identity(&self) -> String {
        self.identity.lock().clone()
    }
}

/// The cluster was not asked, or did not answer.
fn ours(error: Fault) -> CallError<Fault> {
    CallError { status: None, message: error.message(), error }
}

impl ClusterApi for PersonApi {
    type Error = Fault;

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CallError<Fault>> {
        if method != Method::GET {
            // An elevation may end while a drain lasts.
            let held = require_elevation(&self.state.session, &self.user.caller, &self.id, self.rights).await;
            held.map_err(ours)?;
        }
        let clusters = &self.state.model.clusters;
        let cost = rp_net::Cost::REQUEST;
        clusters.budget.take(&self.id, cost).await.map_err(|_| ours(budget_exhausted()))?;
        let path: PathAndQuery =
            path.parse().map_err(|_| ours(Fault::bad_input("That is no name in a cluster")))?;
        let caller = &self.user.caller;
        let asked = ActRequest {
            cluster: &self.id,
            person: ShownPerson { name: &caller.person.name, id: &self.elevation, reason: &self.reason },
            request_id: &caller.request_id,
            from: caller.from.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            method,
            path,
            body: body.map(|body| Bytes::from(body.to_string())),
            within: WITHIN,
        };
        let answer = clusters.api.act(asked).await.map_err(|told| ours(from_proxy_error(&told)))?;
        *self.identity.lock() = answer.identity;
        let read = serde_json::from_slice::<Value>(&answer.body);
        if answer.status.is_success() {
            return read.map_err(|_| ours(unreadable()));
        }
        let told = read.unwrap_or_default();
        let message = clean(told["message"].as_str().unwrap_or_default(), MOST_MESSAGE);
        let error = answered(answer.status, &message);
        Err(CallError { status: Some(answer.status.as_u16()), message, error })
    }
}
