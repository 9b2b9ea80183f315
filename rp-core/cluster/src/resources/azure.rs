//! Azure as the steps see it.

use rp_azure::{Client, Resources};
use serde_json::Value;

use crate::context::Context;
use crate::errors::StepError;
use crate::roles::{OperatorRole, needed_minors, roles_for};
use crate::templates::ServiceEnvironment;

/// How often a change is made again on what somebody else has changed meanwhile.
const CHANGES: usize = 5;

impl Context {
    /// The customer's subscription, as the first-party application.
    pub(crate) fn customer(&self) -> Client {
        self.env.azure.first_party().in_tenant(&self.tenant())
    }

    /// The service's own subscription, as the first-party application: endpoints, names, registry.
    pub(crate) fn own(&self) -> Client {
        self.env.azure.first_party().in_tenant(&self.env.rp_tenant)
    }

    /// The gateway's resource group, as the service's managed identity.
    pub(crate) fn gateway(&self) -> Client {
        self.env.azure.managed_identity().in_tenant(&self.env.rp_tenant)
    }

    /// Where the service lives.
    pub(crate) fn service_environment(&self) -> ServiceEnvironment {
        let env = &self.env;
        ServiceEnvironment {
            subscription: env.rp_subscription.clone(),
            group: env.rp_group.clone(),
            gateway_group: env.gateway_group.clone(),
            endpoint_network: env.endpoint_vnet.clone(),
            endpoint_subnet: env.endpoint_subnet.clone(),
            first_party: env.fp_service_principal.clone(),
            development: env.features.development,
            hive_installs: false,
            deny: !env.features.disable_deny_assignments,
        }
    }

    /// Roles that the platform's operators of this cluster need; none of a cluster with a service principal.
    pub(crate) async fn operator_roles(&self) -> Result<Vec<OperatorRole>, StepError> {
        let document = self.document();
        if !document.is_workload_identity() {
            return Ok(Vec::new());
        }
        let sets = self.env.role_sets.all().await?;
        Ok(roles_for(&needed_minors(&document), &sets)?)
    }
}

/// A resource that must be there.
pub(crate) async fn must_get(client: &Client, id: &str, api_version: &str) -> Result<Value, StepError> {
    match client.get(id, api_version).await? {
        Some(body) => Ok(body),
        None => Err(StepError::other(format!("'{id}' is not there"))),
    }
}

/// Reads, changes and writes a resource, under its etag where it has one; again when somebody else was faster.
/// `change` says whether there is anything to write.
pub(crate) async fn change(
    client: &Client,
    id: &str,
    api_version: &str,
    change: impl Fn(&mut Value) -> Result<bool, StepError> + Send + Sync,
) -> Result<Value, StepError> {
    let mut tried = 1;
    loop {
        let mut body = must_get(client, id, api_version).await?;
        if !change(&mut body)? {
            return Ok(body);
        }
        // A change leaves the etag as it was read.
        match client.put_over(id, api_version, &body, Some(&body)).await {
            Err(error) if error.status == Some(412) && tried < CHANGES => tried += 1,
            written => return Ok(written?),
        }
    }
}

/// Takes a member's list out, to be put back; none where it is missing.
pub(crate) fn take(of: &mut Value, member: &str) -> Vec<Value> {
    match of[member].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// Items of a member's list.
pub(crate) fn items<'a>(of: &'a Value, member: &str) -> &'a [Value] {
    of[member].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The item of that name.
pub(crate) fn named<'a>(items: &'a [Value], name: &str) -> Option<&'a Value> {
    items.iter().find(|item| item["name"].as_str().is_some_and(|found| found.eq_ignore_ascii_case(name)))
}

/// Whether `{"id": …}` is that resource.
pub(crate) fn is(reference: &Value, id: &str) -> bool {
    reference["id"].as_str().is_some_and(|found| found.eq_ignore_ascii_case(id))
}
