//! Machines of a cluster, as Azure has them (`contract/frontend.md` §11.7).

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use rp_api::CloudError;
use rp_azure::{AzureError, BootDiagnostics, serial};
use rp_database::Typed;
use rp_documents::SubscriptionDocument;

use super::azure::unregistered;
use super::{failed, rules};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document;
use crate::fault::Fault;
use crate::path::ClusterPath;
use crate::response::HttpResponse;

/// Time limit for all requests to Azure.
const WITHIN: Duration = Duration::from_secs(60);

/// The boot diagnostics log of a machine: its end, without secrets that are known by their form
/// (`contract/frontend.md` "Do better" 19) and without terminal control sequences.
pub(super) async fn serial_console(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    let found = document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    known(parts, path).await?;
    let machine = rules::machine(call)?;
    let group = &found.value.cluster.properties.cluster_profile.resource_group_id;
    let boot = parts.admin.machines.clone();
    let boot = boot.ok_or_else(|| failed("machines cannot be asked for from here"))?;
    let text = read(&boot, group, machine).await?;
    let mut answer = Response::new(Body::from(text));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(answer)
}

/// The cluster's subscription, in whatever state (`contract/frontend.md` §11).
async fn known(parts: &FrontendParts, path: &ClusterPath) -> Result<(), Fault> {
    let subscriptions = Typed::<SubscriptionDocument>::new(parts.store.clone());
    if subscriptions.get(&path.subscription).await?.is_some() {
        return Ok(());
    }
    Err(unregistered(&path.subscription).into())
}

async fn read(boot: &Arc<dyn BootDiagnostics>, group: &str, machine: &str) -> Result<String, CloudError> {
    let late = |_| failed(format!("Azure did not answer within {} s", WITHIN.as_secs()));
    let read = tokio::time::timeout(WITHIN, boot.serial_log(group, machine)).await.map_err(late)?;
    let log = read.map_err(|error| console_error(&error, group, machine))?;
    let off = || failed(format!("the VirtualMachine '{machine}' has no boot diagnostics"));
    let log = log.ok_or_else(off)?;
    // Several megabytes are processed: use a blocking thread.
    let read = tokio::task::spawn_blocking(move || serial::readable(&log.bytes)).await;
    read.map_err(|_| crate::fault::internal())
}

fn console_error(error: &AzureError, group: &str, machine: &str) -> CloudError {
    if error.is_missing() {
        let group = group.rsplit('/').next().unwrap_or_default();
        let message = format!("The VirtualMachine '{machine}' under resource group '{group}' was not found.");
        return CloudError::new(404, "NotFound", "", message);
    }
    failed(error.to_string())
}
