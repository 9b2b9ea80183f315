//! Another size for the control plane of a cluster: the order, and the checks before and after it, which only read
//! (`contract/frontend.md` §11.8).

mod checks;
mod control_plane;
mod inventory;
mod order;
mod quota;

use std::time::Duration;

use http::StatusCode;
use rp_api::CloudError;
use tokio::join;

use self::control_plane::{ControlPlane, Health};
pub(super) use self::order::resize;
use self::quota::Offer;
use super::azure::ManagedGroup;
use super::context::{ActionContext, within};
use super::failed;
use super::vms::master_size;
use crate::fault::Fault;
use crate::response::{HttpResponse, compact_json, empty};

/// Time limit for all requests of one check.
const WITHIN: Duration = Duration::from_secs(60);

/// Says whether the control plane can get the size `vmSize`: everything that stands against it at once.
pub(super) async fn validate(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let managed = ManagedGroup::find(&of).await?;
    // On the heap: it holds many requests at once, and the futures of all routes would be as large.
    within(WITHIN, Box::pin(all_checks(&of, &managed))).await?;
    Ok(compact_json(&"All pre-flight checks passed"))
}

/// Says whether machines, virtual machines and nodes of the control plane agree.
pub(super) async fn check_inventory(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let managed = ManagedGroup::find(&of).await?;
    let check = async {
        let api = of.api().await?;
        inventory::check(&ControlPlane::read(&api, &managed).await?)
    };
    within(WITHIN, Box::pin(check)).await?;
    Ok(empty(StatusCode::OK))
}

/// Gives the control plane and the size in Azure's spelling.
async fn all_checks(
    of: &ActionContext<'_>,
    managed: &ManagedGroup,
) -> Result<(ControlPlane, String), CloudError> {
    let api = of.api().await?;
    let ready = api.get("/readyz", 64 << 10).await;
    ready.map_err(|error| not_ready(&error))?;
    let size = wanted_size(of.text("vmSize"));
    let azure = async {
        match &size {
            Ok(_) => Some(Offer::read(of, managed).await),
            Err(_) => None,
        }
    };
    let (plane, health, offer) = join!(ControlPlane::read(&api, managed), Health::read(&api), azure);
    let mut results = size_results(&size, offer, plane.as_ref().ok());
    results.push(plane.as_ref().map(drop).map_err(Clone::clone));
    results.extend(checks::health(health));
    let mut found: Vec<CloudError> = results.into_iter().filter_map(Result::err).collect();
    if let Ok(plane) = &plane
        && found.is_empty()
    {
        found.extend(inventory::check(plane).err());
    }
    if let (Ok(plane), Ok(size), true) = (plane, size, found.is_empty()) {
        return Ok((plane, size));
    }
    let mut error = CloudError::invalid("", "Pre-flight validation failed.");
    error.body.details = found.into_iter().map(|error| error.body).collect();
    Err(error)
}

/// Whether it is a size of the control plane, the region offers it, and the quota bears it. `offer`: `None`, if it is no size.
fn size_results(
    size: &Result<String, CloudError>,
    offer: Option<Result<Offer, CloudError>>,
    plane: Option<&ControlPlane>,
) -> Vec<Result<(), CloudError>> {
    match (size, offer) {
        (Ok(size), Some(Ok(offer))) => {
            let quota = plane.map(|plane| offer.check_quota(size, plane.sizes()));
            std::iter::once(offer.check_sku(size)).chain(quota).collect()
        }
        (Ok(_), Some(Err(error))) => vec![Err(error)],
        (size, _) => vec![size.clone().map(drop)],
    }
}

/// The size in Azure's spelling.
fn wanted_size(given: &str) -> Result<String, CloudError> {
    let found = match given {
        "" => Err(CloudError::invalid("", "The provided vmSize is empty.")),
        given => master_size(given),
    };
    found.map_err(|error| at("vmSize", error))
}

/// The error with that target.
fn at(target: &str, mut error: CloudError) -> CloudError {
    target.clone_into(&mut error.body.target);
    error
}

fn not_ready(error: &CloudError) -> CloudError {
    let message = format!("API server is reporting a non-ready status: {}", error.body.message);
    at("kube-apiserver", failed(message))
}
