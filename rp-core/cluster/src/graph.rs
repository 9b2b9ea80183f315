//! The graph of an installation in the cluster's own storage account, and the Ignition config of its bootstrap machine
//! beside it (`contract/cluster.md` §9).

use std::time::Duration;

use bytes::Bytes;
use rp_api::CloudError;
use rp_azure::{AccountAccess, AzureError, BlobSas, BlobSignatures as _, BlobStore};
use rp_base::Secret;
use rp_install::graph;
use rp_install::state::InstallerState;
use url::Url;

use crate::context::Context;
use crate::errors::StepError;
use crate::resources::deploy::with_detail;
use crate::templates::storage;

/// Container and blob of the bootstrap machine's Ignition config.
pub(crate) const IGNITION: (&str, &str) = ("ignition", "bootstrap.ign");
const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";
/// How far the beginning of a signature lies back: clocks differ.
const SKEW: Duration = Duration::from_mins(5);
/// How long the bootstrap machine may read its config (`contract/installer.md` §10).
const BOOTS: Duration = Duration::from_hours(1);

/// Permissions of an account's signature.
const READ: &str = "r";
const WRITE: &str = "rdcw";

/// What Azure answers when it lists signatures too often.
const THROTTLED: &str = "Requests are being throttled due to Azure Storage limits being exceeded. Please visit https://learn.microsoft.com/en-us/azure/openshift/troubleshoot#exceeding-azure-storage-limits for more details.";

/// The account of a cluster's state, as the service reads and writes it: with a signature that the resource manager makes,
/// or, where the account allows no keys, with a token.
async fn account(
    context: &Context,
    permissions: &'static str,
) -> Result<Option<(BlobStore, Url)>, StepError> {
    let document = context.document();
    let client = context.customer();
    let id = storage::account_id(&document, &document.state_account());
    let access = match document.is_workload_identity() {
        true => AccountAccess::Token,
        false => AccountAccess::Signature(permissions),
    };
    let found = BlobStore::of_account(client, &id, access, context.env.clock.now()).await;
    Ok(found.map_err(throttled)?.map(|blobs| {
        let endpoint = blobs.endpoint().clone();
        (blobs, endpoint)
    }))
}

async fn required(context: &Context, permissions: &'static str) -> Result<(BlobStore, Url), StepError> {
    let found = account(context, permissions).await?;
    found.ok_or_else(|| StepError::other("the cluster's storage account is not there"))
}

/// Too many requests are the customer's subscription's own (`contract/cluster.md` §9).
fn throttled(error: AzureError) -> StepError {
    if error.status != Some(429) {
        return error.into();
    }
    let told = CloudError::new(429, "ThrottlingLimitExceeded", "", "ThrottlingLimitExceeded");
    with_detail(told, THROTTLED.to_owned()).into()
}

/// The graph; `None`: there is none, or the account is gone.
pub(crate) async fn read(context: &Context) -> Result<Option<InstallerState>, StepError> {
    let Some((blobs, _)) = account(context, READ).await? else { return Ok(None) };
    let Some(blob) = blobs.get(graph::CONTAINER, graph::BLOB).await? else { return Ok(None) };
    let (state, _) = graph::open(&blob, context.document().id(), &context.env.keyring)
        .map_err(|error| unreadable(&error))?;
    Ok(Some(state))
}

/// The graph, which must be there.
pub(crate) async fn read_required(context: &Context) -> Result<InstallerState, StepError> {
    let found = read(context).await?;
    found.ok_or_else(|| StepError::other("the cluster's storage account has no graph of its installation"))
}

fn unreadable(error: &graph::GraphError) -> StepError {
    StepError::other(rp_base::chain(error).to_string())
}

/// Writes the graph where there is none: a graph that was saved is never changed.
///
/// # Errors
/// Another installation's graph is there.
pub(crate) async fn save(context: &Context, state: &InstallerState) -> Result<(), StepError> {
    let (blobs, _) = required(context, WRITE).await?;
    let sealed = graph::seal(state, context.document().id(), &context.env.keyring)
        .map_err(|error| unreadable(&error))?;
    if blobs.create(graph::CONTAINER, graph::BLOB, Bytes::from(sealed), BYTES).await? {
        return Ok(());
    }
    // The answer to an earlier try may be lost.
    match read(context).await? {
        Some(saved) if saved.to_json().expose() == state.to_json().expose() => Ok(()),
        _ => Err(StepError::other("the graph of another installation is there")),
    }
}

/// Writes the bootstrap machine's Ignition config; one of an installation that got no graph is replaced. Written only where
/// there is none, so that a worker that lost its lease meanwhile cannot put its own in the place of this one.
pub(crate) async fn put_ignition(context: &Context, config: &Secret<Vec<u8>>) -> Result<(), StepError> {
    let (blobs, _) = required(context, WRITE).await?;
    let (container, name) = IGNITION;
    blobs.delete(container, name).await?;
    if blobs.create(container, name, Bytes::from(config.expose().clone()), JSON).await? {
        return Ok(());
    }
    match blobs.get(container, name).await? {
        Some(there) if there == config.expose().as_slice() => Ok(()),
        _ => Err(StepError::other("another worker wrote the bootstrap machine's Ignition config")),
    }
}

/// Removes that config; what is gone is as good.
pub(crate) async fn remove_ignition(context: &Context) -> Result<(), StepError> {
    let Some((blobs, _)) = account(context, WRITE).await? else { return Ok(()) };
    let (container, name) = IGNITION;
    match blobs.delete(container, name).await {
        Err(error) if error.has_code("ContainerNotFound") => Ok(()),
        done => Ok(done?),
    }
}

/// An address at which the bootstrap machine reads its config for an hour, and nothing else.
pub(crate) async fn ignition_url(context: &Context) -> Result<Secret<String>, StepError> {
    let document = context.document();
    let (blobs, endpoint) = required(context, READ).await?;
    let name = document.state_account();
    let (container, blob) = IGNITION;
    let now = context.env.clock.now();
    let sas = BlobSas {
        account: &name,
        container,
        blob,
        from: now - SKEW,
        until: now + BOOTS,
        http: endpoint.scheme() == "http",
    };
    let query = if document.is_workload_identity() {
        blobs.user_delegation_sas(&sas).await?
    } else {
        let id = storage::account_id(&document, &name);
        context.customer().blob_sas(&id, &sas).await.map_err(throttled)?
    };
    Ok(sas.url(&endpoint, &query)?)
}
