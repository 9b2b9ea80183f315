//! Deployments of templates into a resource group (Microsoft.Resources).

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::error::{AzureError, ErrorKind};
use crate::resources::Resources;

const API_VERSION: &str = "2021-04-01";

/// Deploys templates. Every implementation of [`Resources`] has this.
#[async_trait]
pub trait Deployments {
    /// Deploys a template (mode `Incremental`) into a resource group, given by its id, and waits. `parameters` is
    /// `{"name": {"value": …}}`. Gives the outputs: `{"name": {"type", "value"}}`, `null` when there are none.
    ///
    /// # Errors
    /// [`AzureError`]; a failed deployment has code `DeploymentFailed` and what failed in [`AzureError::service`];
    /// a running one of the same name has code `DeploymentActive`.
    async fn deploy(
        &self,
        group: &str,
        name: &str,
        template: &Value,
        parameters: &Value,
    ) -> Result<Value, AzureError>;

    /// Waits for a running deployment of that name to end, and gives its outputs.
    ///
    /// # Errors
    /// [`AzureError`]; it failed, was cancelled, or there is none.
    async fn deployed(&self, group: &str, name: &str) -> Result<Value, AzureError>;
}

/// The id of a deployment.
fn id(group: &str, name: &str) -> String {
    format!("{group}/providers/Microsoft.Resources/deployments/{name}")
}

#[async_trait]
impl<T: Resources + ?Sized> Deployments for T {
    async fn deploy(
        &self,
        group: &str,
        name: &str,
        template: &Value,
        parameters: &Value,
    ) -> Result<Value, AzureError> {
        let body = json!({"properties": {
            "mode": "Incremental", "template": template, "parameters": parameters}});
        let mut done = self.put(&id(group, name), API_VERSION, &body).await?;
        Ok(done["properties"]["outputs"].take())
    }

    async fn deployed(&self, group: &str, name: &str) -> Result<Value, AzureError> {
        let id = id(group, name);
        let poll = format!("{id}?api-version={API_VERSION}");
        let operation = crate::operation::Operation {
            told: crate::operation::PollSource::State,
            poll,
            result: None,
            deletes: false,
            retry_after: 0,
        };
        let mut done = self.wait(&operation).await?;
        if done.is_null() {
            return Err(AzureError::new("wait for deployment", ErrorKind::NotFound, "there is none"));
        }
        Ok(done["properties"]["outputs"].take())
    }
}
