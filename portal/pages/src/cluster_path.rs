//! The cluster in an address.

use axum::extract::FromRequestParts;
use http::request::Parts;
use portal_session::context::{ResponseKind, Shared};
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
            let wants = parts.extensions.get::<Shared>().map(|context| context.wants);
            if parts.method.is_safe() || wants != Some(ResponseKind::Json) {
                return Fault::bad_input("This is not the address of a cluster")
                    .why(format!("“{shown}” does not begin with the resource ID of a cluster."))
                    .action("Search for the cluster by its name, or check the address: /subscriptions/…/resourcegroups/…/providers/microsoft.redhatopenshift/openshiftclusters/NAME.")
                    .link("Go to clusters", "/");
            }
            // To scripts, what takes access answers in the contract's words (`contract/portal.md` §4).
            Fault::bad_input(format!("invalid resourceId \"{shown}\""))
        })
    }
}
