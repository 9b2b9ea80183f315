//! Which operation a route and a method are (`contract/frontend.md` §4).

use http::Method;
use rp_base::chain;

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::fault::{Fault, internal};
use crate::path::Route;
use crate::response::{self, HttpResponse, method_not_allowed};
use crate::{admin, clusters, credentials, detectors, edge, operations, preflight, subscriptions, versions};

/// Dispatches a request to its handler.
pub(crate) async fn dispatch(
    parts: &FrontendParts,
    call: &Call,
    route: &Route,
) -> Result<HttpResponse, Fault> {
    match (&call.method, route) {
        (&Method::GET, Route::Ready) => match edge::ready(parts).await {
            Ok(()) => Ok(response::compact_json(&serde_json::json!({}))),
            Err(error) => {
                tracing::debug!(reason = %chain(&error), "not ready");
                Err(internal().into())
            }
        },
        (&Method::PUT, Route::Subscription(id)) => subscriptions::put(parts, call, id).await,
        (&Method::GET, Route::Clusters { subscription, group }) => {
            clusters::list(parts, call, subscription, group.as_deref()).await
        }
        (&Method::GET, Route::Cluster(path)) => clusters::get(parts, call, path).await,
        (&Method::PUT | &Method::PATCH, Route::Cluster(path)) => clusters::put(parts, call, path).await,
        (&Method::DELETE, Route::Cluster(path)) => clusters::delete(parts, call, path).await,
        (&Method::POST, Route::Credentials(path)) => credentials::password(parts, call, path).await,
        (&Method::POST, Route::AdminCredentials(path)) => credentials::kubeconfig(parts, call, path).await,
        (&Method::GET, Route::Detectors { path, id: None }) => detectors::list(parts, path).await,
        (&Method::GET, Route::Detectors { path, id: Some(id) }) => detectors::get(parts, path, id).await,
        (&Method::POST, Route::Preflight { subscription }) => {
            preflight::check(parts, call, subscription).await
        }
        (&Method::GET, Route::OperationStatus { subscription, operation }) => {
            operations::status(parts, call, subscription, operation).await
        }
        (&Method::GET, Route::OperationResult { subscription, operation }) => {
            operations::result(parts, call, subscription, operation).await
        }
        (&Method::GET, Route::OpenShiftVersions { version }) => {
            versions::openshift(parts, call, version.as_deref())
        }
        (&Method::GET, Route::RoleSets { minor }) => versions::role_sets(parts, call, minor.as_deref()),
        (&Method::GET, Route::Operations) => Ok(operations::all()),
        (_, Route::Admin(asked)) => admin::dispatch(parts, call, asked).await,
        _ => Ok(method_not_allowed(route.methods())),
    }
}
