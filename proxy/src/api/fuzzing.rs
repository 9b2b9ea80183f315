//! What `tests/fuzz` needs of the inside of this module. Compiled with `--cfg fuzzing` alone.

use http::{HeaderMap, StatusCode};
use rp_documents::{ResourceId, Rights};

use super::redirect::RedirectContext;
use super::request::Classified;
use super::{address, headers, kube_protobuf, redirect, request, rules, session_kind};

pub use super::session_recording::fuzzing::{ReadSession, spdy, websocket};

/// The cluster and the API server's path of a proxy address.
pub fn split(path: &str) -> Option<(ResourceId, &str)> {
    address::split(path)
}

/// The bearer token of a request.
pub fn bearer(client: &HeaderMap) -> Option<&str> {
    address::bearer(client).ok()
}

/// Whether every `%` begins an escape; others are refused before they are classified.
pub fn is_escaped(path: &str) -> bool {
    request::is_escaped(path)
}

/// What a request opens, by the name of its kind.
pub fn opens(request: &Classified, upgrade: bool) -> String {
    format!("{:?}", session_kind::session_kind(request, upgrade))
}

/// The rights that a request needs.
pub fn needed(request: &Classified, upgrade: bool) -> Rights {
    rules::needed(request, upgrade)
}

/// An access review in Kubernetes' protobuf encoding, as JSON.
pub fn access_review(bytes: &[u8]) -> Option<serde_json::Value> {
    kube_protobuf::access_review(bytes)
}

/// Headers towards the cluster.
pub fn inbound(client: &HeaderMap, upgrade: bool) -> HeaderMap {
    headers::inbound(client, upgrade)
}

/// Headers towards the client.
pub fn outbound(cluster: &HeaderMap, upgrade: bool) -> HeaderMap {
    if upgrade { headers::outbound_upgrade(cluster) } else { headers::outbound(cluster) }
}

/// Whether a client tries to choose an identity.
pub fn impersonates(client: &HeaderMap) -> bool {
    headers::impersonates(client)
}

/// Whether the upgrade that is asked for is one of those that pass; `None`: none is asked for.
pub fn upgrade(client: &HeaderMap) -> Option<bool> {
    headers::upgrade_of(client).map(|_| headers::known_upgrade(client))
}

/// Rewrites the `Location` of an answer; false: the answer does not pass.
pub fn redirected(
    answer: &mut HeaderMap,
    status: StatusCode,
    cluster: &ResourceId,
    authority: &str,
    path: &str,
) -> bool {
    redirect::rewrite(answer, status, &RedirectContext { cluster, authority, base: "", path }).is_ok()
}
