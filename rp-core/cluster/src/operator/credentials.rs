//! Whether the operator has the credentials that the document names (`contract/cluster.md` §6.10).

use std::time::Duration;

use rp_base::Timestamp;
use rp_documents::cluster::ClusterSecret;
use rp_kube::api_status;
use rp_openshift::{CloudProvider, Whole};
use rp_operator_api::deployment;
use serde_json::Value;

use crate::conditions::not_yet_readable;
use crate::context::Context;
use crate::credentials::{CLOUD_PROVIDER, cloud_config};
use crate::errors::StepError;
use crate::kube_api::{Kube, path_of};
use crate::step::ConditionStatus;

/// A request that was fulfilled within this time has the new credentials.
const RECENT: Duration = Duration::from_mins(5);

/// The service principal did not change, or the cloud credential operator has handed out the new one.
///
/// # Errors
/// The API server refuses.
pub(crate) async fn aro_credentials_request_reconciled(
    context: &Context,
) -> Result<ConditionStatus, StepError> {
    match look(context).await {
        Err(StepError::Kube { what, error }) => match api_status(&error) {
            Some(400..=403 | 405..=428) => Err(StepError::Kube { what, error }),
            _ => Ok(not_yet_readable(&StepError::Kube { what, error })),
        },
        looked => looked,
    }
}

async fn look(context: &Context) -> Result<ConditionStatus, StepError> {
    let kube = Kube::connect(context)?;
    let Some(secret) = context.secret(ClusterSecret::ClientSecret)? else { return Ok(ConditionStatus::Yes) };
    let Some(provider) = kube.get::<CloudProvider<Whole>>(CLOUD_PROVIDER).await? else {
        return Ok(ConditionStatus::Yes);
    };
    let config = provider.data.config.as_ref().map_or("", |config| config.expose().as_str());
    if cloud_config(config, context.document().client_id(), secret.expose()).is_none() {
        return Ok(ConditionStatus::Yes);
    }
    let Some(request) = kube.get::<Value>(&path_of(&deployment::credentials_request())).await? else {
        return Ok(ConditionStatus::not_yet("there is no CredentialsRequest of the operator yet"));
    };
    let synced = request.pointer("/status/lastSyncTimestamp").and_then(Value::as_str).unwrap_or_default();
    let now = context.env.clock.now();
    match Timestamp::parse(synced) {
        Ok(synced) if now.since(synced) < RECENT => Ok(ConditionStatus::Yes),
        Ok(synced) => Ok(ConditionStatus::not_yet(format!("credentials were handed out at {synced}"))),
        Err(_) => Ok(ConditionStatus::not_yet("credentials were not handed out yet")),
    }
}
