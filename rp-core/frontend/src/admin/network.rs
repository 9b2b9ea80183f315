//! Network interfaces of a cluster, and sizes of its region (`contract/frontend.md` §11.7).

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use rp_api::CloudError;
use rp_azure::SubscriptionFacts as _;

use super::azure::{ManagedGroup, NETWORK, changed, etag, put_back, read};
use super::context::ActionContext;
use super::failed;
use crate::fault::{Fault, internal};
use crate::response::{Change, HttpResponse, compact_json, empty};

const KIND: &str = "Microsoft.Network/networkInterfaces";

/// The routes that apply to a network interface, as Azure computes them.
pub(super) async fn effective_routes(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let name = of.text("nic");
    if name.is_empty() {
        return Err(CloudError::invalid("nic", "Network interface name is required").into());
    }
    check_name(name)?;
    let managed = ManagedGroup::find(&of).await?;
    let place = format!("{}/effectiveRouteTable", managed.id(KIND, name));
    let routes = read(managed.azure.post(&place, NETWORK, None)).await;
    let routes = routes.map_err(|error| {
        let CloudError { status, body } = error;
        let message = format!("Failed to retrieve effective route table: {}", body.message);
        let status = if status == 404 { 404 } else { 500 };
        CloudError::new(status, if status == 404 { "NotFound" } else { "InternalServerError" }, "", message)
    })?;
    let bytes = serde_json::to_vec(&routes).map_err(|_| internal())?;
    let mut answer = Response::new(Body::from(bytes));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(answer)
}

/// Writes a failed network interface back as it is, so that Azure tries again.
pub(super) async fn reconcile(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let name = of.text("nicName");
    check_name(name)?;
    let managed = ManagedGroup::find(&of).await?;
    let id = managed.id(KIND, name);
    let found = read(managed.azure.get(&id, NETWORK)).await?;
    let found = found.ok_or_else(|| {
        let message =
            format!("The NetworkInterface '{name}' under resource group '{}' was not found.", managed.name());
        CloudError::new(404, "NotFound", "", message)
    })?;
    let state = found["properties"]["provisioningState"].as_str().unwrap_or_default();
    if !state.eq_ignore_ascii_case("failed") {
        let message = format!("skipping nic '{name}' because it is not in a failed provisioning state");
        return Err(failed(message).into());
    }
    let _signal = of.signal();
    let made = changed(put_back(&managed.azure, &id, NETWORK, &found, etag(&found))).await?;
    let after = made["properties"]["provisioningState"].as_str().unwrap_or("Succeeded");
    let mut answer = empty(StatusCode::OK);
    answer.extensions_mut().insert(Change::new(state, &rp_base::text::clean(after, 64)));
    Ok(answer)
}

/// `nicName` (`contract/frontend.md` §11.3), and nothing that leaves its segment of a path.
fn check_name(name: &str) -> Result<(), CloudError> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let good = |b: u8| word(b) || b == b'-' || b == b'.';
    let ends = name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && name.as_bytes().last().is_some_and(|&b| word(b));
    if (2..=80).contains(&name.len()) && ends && name.bytes().all(good) {
        return Ok(());
    }
    Err(CloudError::invalid("", format!("The provided nicName '{name}' is invalid.")))
}

/// Names of the sizes that the subscription may have in the cluster's region, sorted.
pub(super) async fn skus(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let managed = ManagedGroup::find(&of).await?;
    let location = managed.cluster.value.cluster.location.to_string();
    let skus = read(managed.azure.vm_skus(&of.path.subscription, &location)).await?;
    let free = |restricted: &[String]| !restricted.iter().any(|at| at.eq_ignore_ascii_case(&location));
    let mut names: Vec<String> =
        skus.into_iter().filter(|sku| free(&sku.restricted)).map(|sku| sku.name).collect();
    names.sort();
    names.dedup();
    Ok(compact_json(&names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_interfaces_stay_in_their_segment() {
        assert!(check_name("c-x1-master0-nic").is_ok() && check_name("a_").is_ok());
        for bad in ["", "a", "-a", "a-", "a/b", "a..%2f/x", "../a1", "a b", &"a".repeat(81)] {
            let told = check_name(bad).unwrap_err();
            assert_eq!(told.body.message, format!("The provided nicName '{bad}' is invalid."));
        }
    }
}
