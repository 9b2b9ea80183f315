//! Deployments and their errors (`contract/cluster.md` §1.4).

use rp_api::{CloudError, ErrorBody};
use rp_azure::{AzureError, Deployments};
use serde_json::{Value, json};

use crate::context::Context;
use crate::errors::StepError;

/// Foreign deployments of the same name that are waited for.
const OTHERS: usize = 5;

/// Deploys a template into the cluster's group and waits. A running deployment of that name is waited for; its result
/// says nothing about this template, which is deployed afterwards.
///
/// # Errors
/// Missing rights as Azure told them, so that they are asked for again; any other refusal as 400 `DeploymentFailed`.
pub(crate) async fn deploy(
    context: &Context,
    name: &str,
    template: &Value,
    parameters: &Value,
) -> Result<Value, StepError> {
    let client = context.customer();
    let document = context.document();
    let group = document.group_id();
    for _ in 0..OTHERS {
        match client.deploy(group, name, template, parameters).await {
            Err(error) if error.has_code("DeploymentActive") => {
                context.waiting(&format!("another deployment {name} to end"));
                if let Err(error) = client.deployed(group, name).await {
                    tracing::info!(error = %error, "the deployment that was waited for failed");
                }
                context.check_running()?;
            }
            Ok(outputs) => return Ok(outputs),
            Err(error) => return Err(failed(error)),
        }
    }
    Err(StepError::other(format!("a deployment {name} is always running")))
}

/// The customer's error for a failed deployment.
pub(crate) fn failed(error: AzureError) -> StepError {
    if error.is_authorization() || error.status.is_none() && error.service().is_none() {
        return StepError::Azure(error);
    }
    StepError::Explained { told: refused(&error), detail: code_and_message(&error) }
}

/// Code and message of the innermost error.
fn code_and_message(error: &AzureError) -> String {
    let found = error.service().map(rp_azure::ServiceError::innermost);
    let (code, message) =
        found.map_or((error.code.clone(), error.message.clone()), |of| (of.code, of.message));
    format!("{code}: {message}")
}

/// 400 `DeploymentFailed` with Azure's own error as JSON.
pub(crate) fn refused(error: &AzureError) -> CloudError {
    with_detail(CloudError::bad("DeploymentFailed", "", "Deployment failed."), of_azure(error))
}

/// Azure's own error as JSON.
pub(crate) fn of_azure(error: &AzureError) -> String {
    let service = match error.service() {
        Some(service) => json!(service),
        None => json!({ "code": error.code, "message": error.message }),
    };
    service.to_string()
}

/// With a detail that is nothing but its message.
pub(crate) fn with_detail(mut told: CloudError, message: String) -> CloudError {
    let detail = ErrorBody { code: "", message, target: String::new(), details: Vec::new() };
    told.body.details.push(detail);
    told
}
