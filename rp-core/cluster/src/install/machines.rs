//! The installer's deployment `resources`: the machines of the control plane and of the bootstrap, and the wait for the
//! bootstrap's end (`contract/installer.md` §10).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rp_azure::{AzureError, Deployments as _, Resources as _};
use rp_base::sha256;
use rp_documents::cluster::ClusterSecret;
use rp_install::InstallFacts;
use rp_install::transform::master_pointer;
use serde::Deserialize;
use serde_json::{Value, json};

use super::order;
use super::reasons::Reason;
use crate::conditions::not_yet_readable;
use crate::context::Context;
use crate::errors::StepError;
use crate::graph;
use crate::installer::AssetInstallation;
use crate::kube_api::Kube;
use crate::resources::bootstrap::remove_bootstrap_machine;
use crate::resources::deploy::{deploy, failed, of_azure};
use crate::step::ConditionStatus;
use crate::templates::{self, versions};

/// Name of the deployment.
const NAME: &str = "resources";
/// The deployment's own state of one that runs.
const RUNNING: [&str; 5] = ["Accepted", "Created", "Creating", "Running", "Ready"];

/// Makes the machines, once: a deployment that was begun is waited for, and its result counts, for every worker deploys the
/// same but for the address of the bootstrap's config.
pub(crate) async fn deploy_machines(
    context: &Context,
    installation: &AssetInstallation,
) -> Result<(), StepError> {
    let client = context.customer();
    let document = context.document();
    let group = document.group_id();
    let id = templates::id(group, "Microsoft.Resources/deployments", NAME);
    let begun = client.get(&id, versions::DEPLOYMENTS).await?.unwrap_or_default();
    let state = begun["properties"]["provisioningState"].as_str().unwrap_or_default();
    if state == "Succeeded" {
        return Ok(());
    }
    if RUNNING.contains(&state) {
        context.waiting("the deployment of another worker to end");
        return client.deployed(group, NAME).await.map(drop).map_err(explained);
    }
    if !state.is_empty() {
        // What a machine is given at its first start cannot change while it is there, and its address is another one now.
        remove_bootstrap_machine(context).await?;
    }
    let (template, parameters) = machines(context, installation).await?;
    deploy(context, NAME, &template, &parameters).await.map(drop).map_err(|error| match error {
        StepError::Explained { told, detail } => {
            let azure =
                told.body.details.first().and_then(|detail| serde_json::from_str(&detail.message).ok());
            match reason(azure.as_ref()) {
                Some(reason) => StepError::Explained { told: reason.told(azure.as_ref()), detail },
                None => StepError::Explained { told, detail },
            }
        }
        other => other,
    })
}

fn reason(azure: Option<&Value>) -> Option<Reason> {
    Reason::of(&azure?.to_string())
}

/// A failed deployment in the customer's words.
fn explained(error: AzureError) -> StepError {
    let azure: Option<Value> = serde_json::from_str(&of_azure(&error)).ok();
    match (failed(error), reason(azure.as_ref())) {
        (StepError::Explained { detail, .. }, Some(reason)) => {
            StepError::Explained { told: reason.told(azure.as_ref()), detail }
        }
        (other, _) => other,
    }
}

/// Template and parameters, of the graph and the same inputs as the assets.
async fn machines(context: &Context, installation: &AssetInstallation) -> Result<(Value, Value), StepError> {
    let version = order::version(context, installation).await?;
    let facts = order::facts(context, &version).await?;
    let state = graph::read_required(context).await?;
    let ignition = state.master_ignition().map_err(|error| StepError::other(error.to_string()))?;
    let pointer = master_pointer(ignition.expose(), facts.names.api_int)
        .map_err(|error| StepError::other(error.to_string()))?;
    let of = templates::Machines {
        image: facts.image.clone(),
        master_ignition: STANDARD.encode(pointer),
        accelerated: facts.masters.accelerated_networking,
        password: password(context)?,
    };
    let url = graph::ignition_url(context).await?;
    let parameters = json!({
        "sas": {"value": url.expose()},
        "controlPlaneZones": {"value": zones(&facts)},
    });
    Ok((templates::machines(&context.document(), &of), parameters))
}

/// The zones of the control plane; none where the region has none.
fn zones(facts: &InstallFacts) -> Vec<&str> {
    facts.masters.zones.iter().map(String::as_str).collect()
}

/// The password that Azure asks for and nothing applies: the same for every worker, and nobody can compute it.
fn password(context: &Context) -> Result<String, StepError> {
    let key = context.secret_bytes(ClusterSecret::SshKey)?;
    let key = key.ok_or_else(|| StepError::other("the document has no SSH key"))?;
    let mut seed = b"password of machines\0".to_vec();
    seed.extend_from_slice(key.expose());
    // Azure wants characters of three kinds.
    Ok(format!("Aa1-{}", URL_SAFE_NO_PAD.encode(sha256(&seed).0)))
}

/// The object that the bootstrap machine writes when the control plane runs without it.
#[derive(Deserialize)]
struct Bootstrap {
    #[serde(default)]
    data: BootstrapData,
}

#[derive(Default, Deserialize)]
struct BootstrapData {
    #[serde(default)]
    status: String,
}

/// Whether the control plane runs without the bootstrap machine.
pub(crate) async fn bootstrap_complete(context: &Context) -> Result<ConditionStatus, StepError> {
    let path = "/api/v1/namespaces/kube-system/configmaps/bootstrap";
    let found = async { Kube::connect(context)?.get::<Bootstrap>(path).await }.await;
    Ok(match found {
        Ok(Some(bootstrap)) if bootstrap.data.status == "complete" => ConditionStatus::Yes,
        Ok(Some(_)) => ConditionStatus::not_yet("the bootstrap machine starts the control plane"),
        Ok(None) => ConditionStatus::not_yet("the API server answers, the bootstrap is not complete"),
        Err(error) => not_yet_readable(&error),
    })
}
