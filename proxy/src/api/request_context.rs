//! One request between its admission and its answer.

use std::net::IpAddr;
use std::sync::Arc;

use http::uri::PathAndQuery;
use hyper::body::Incoming;
use rp_access::{ActiveGrant, RequestGuard, StreamGuard};
use rp_base::Id;
use rp_documents::Rights;

use super::helm_release::Release;
use super::redaction::Search;
use super::request::Classified;

/// What the proxy knows about the request it is handling.
pub(super) struct RequestContext {
    pub(super) request_id: Id,
    pub(super) ip: IpAddr,
    pub(super) live: Arc<ActiveGrant>,
    pub(super) upgrade: bool,
    pub(super) classified: Classified,
    /// The rights that the request needs.
    pub(super) needed: Rights,
    /// What is done about credentials in the answer.
    pub(super) search: Search,
    /// A request for releases of Helm that write rights cover, or could.
    pub(super) release: Option<Box<Release>>,
    /// Path and query towards the cluster, byte for byte; of a list of releases with our field selector.
    pub(super) path: PathAndQuery,
}

/// The permit that counts a request or stream against its owner's limit.
pub(super) enum RequestPermit {
    Stream(StreamGuard),
    Request(RequestGuard),
}

impl RequestPermit {
    pub(super) fn stream(self) -> Option<StreamGuard> {
        match self {
            Self::Stream(open) => Some(open),
            Self::Request(_) => None,
        }
    }
}

/// A client's body; `None` for a request of a portal page, which has none.
pub(super) type ClientBody = Option<Incoming>;

/// Whether nothing of the body is left to read.
pub(super) fn is_end(body: &ClientBody) -> bool {
    body.as_ref().is_none_or(http_body::Body::is_end_stream)
}
