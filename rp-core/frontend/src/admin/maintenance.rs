//! Maintenance: manifests of clusters and schedules (`contract/mimo.md` §7, `contract/frontend.md` §10, §11.9).

mod manifests;
mod path;
mod schedules;
mod view;

use http::Method;
use rp_api::CloudError;
use rp_documents::maintenance::Problem;
use serde::de::DeserializeOwned;

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::paging::PAGE;
use crate::response::{HttpResponse, method_not_allowed};

pub(crate) use path::MaintenancePath;

/// Attempts of a request that meets writes of others.
const TRIES: u32 = 5;

/// Dispatches a request to its handler.
pub(super) async fn dispatch(
    parts: &FrontendParts,
    call: &Call,
    asked: &MaintenancePath,
) -> Result<HttpResponse, Fault> {
    match (&call.method, asked) {
        (&Method::GET, MaintenancePath::Manifests(path)) => manifests::list(parts, call, path).await,
        (&Method::PUT, MaintenancePath::Manifests(path)) => manifests::create(parts, call, path).await,
        (&Method::GET, MaintenancePath::Manifest { path, id }) => manifests::get(parts, path, id).await,
        (&Method::DELETE, MaintenancePath::Manifest { path, id }) => manifests::delete(parts, path, id).await,
        (&Method::POST, MaintenancePath::Cancel { path, id }) => manifests::cancel(parts, path, id).await,
        (&Method::GET, MaintenancePath::Queued) => manifests::queued(parts, call).await,
        (&Method::POST, MaintenancePath::CancelOfSchedule) => {
            manifests::cancel_of_schedule(parts, call).await
        }
        (&Method::GET, MaintenancePath::Schedules) => schedules::list(parts, call).await,
        (&Method::PUT, MaintenancePath::Schedules) => schedules::put(parts, call).await,
        (&Method::GET, MaintenancePath::Schedule { id }) => schedules::get(parts, id).await,
        (&Method::DELETE, MaintenancePath::Schedule { id }) => schedules::delete(parts, id).await,
        _ => Ok(method_not_allowed(asked.methods())),
    }
}

/// The body of a request.
///
/// # Errors
/// 400 `InvalidRequestContent`.
fn read_body<T: DeserializeOwned>(call: &Call) -> Result<T, CloudError> {
    serde_json::from_slice(&call.body).map_err(|_| {
        let message = "The request content was invalid and could not be deserialized.";
        CloudError::bad("InvalidRequestContent", "", message)
    })
}

/// 400 `InvalidParameter` with the member's place.
fn refused(problem: Problem) -> CloudError {
    CloudError::invalid(&problem.target, problem.message)
}

/// Entries of one page: at most `limit`, whose default is 100.
fn page_size(call: &Call) -> u32 {
    let limit = call.parameter("limit").and_then(|text| text.parse::<u32>().ok()).unwrap_or(100);
    limit.clamp(1, PAGE)
}
