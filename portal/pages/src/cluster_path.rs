//! The cluster in an address.

use axum::extract::FromRequestParts;
use http::request::Parts;
use portal_session::fault::Fault;
use rp_documents::ResourceId;

/// The cluster that a path is about.
#[derive(Debug, Clone)]
pub struct ClusterPath(pub ResourceId);

impl<S: Sync> FromRequestParts<S> for ClusterPath {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        let path = parts.uri.path();
        ResourceId::parse_prefix(path).map(|(id, _)| Self(id)).map_err(|_| {
            // The contract's words (`contract/portal.md` §4).
            let shown = rp_base::text::clean(path, 300);
            Fault::bad_input(format!("invalid resourceId \"{shown}\""))
        })
    }
}
