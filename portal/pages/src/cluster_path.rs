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
            let shown = rp_base::text::clean(path, 300);
            if parts.method.is_safe() {
                return Fault::bad_input("This is not the address of a cluster")
                    .why(format!("“{shown}” is no resource ID of a cluster."))
                    .action("Search for the cluster, or check the address.")
                    .link("Clusters", "/");
            }
            // What takes access answers in the contract's words (`contract/portal.md` §4).
            Fault::bad_input(format!("invalid resourceId \"{shown}\""))
        })
    }
}
