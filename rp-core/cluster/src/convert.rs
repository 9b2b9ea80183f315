//! Errors of steps into what the customer can act on (`contract/backend.md` §9.2). Their whole text goes to
//! the log; what the customer reads has no ids and addresses of ours.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use rp_api::CloudError;
use rp_azure::AzureError;
use serde_json::Value;

use crate::InstallError;
use crate::errors::StepError;
use crate::failure::Failure;
use crate::progress::ProgressError;
use crate::step::{Step, StepKind};

const PRINCIPAL: &str = "properties.servicePrincipalProfile";
const ENCOUNTERED: &str = "encountered error";
const CREDENTIALS: &str = "InvalidServicePrincipalCredentials";

/// What ended a step, as the worker is told.
pub(crate) fn failure(step: Option<&Step>, error: StepError, group: &str) -> Failure {
    let detail = error.to_string();
    let told = |told: CloudError| Failure::Customer { told, detail: detail.clone() };
    let error = match error {
        StepError::Lost | StepError::Progress(ProgressError::Lost) => return Failure::Lost,
        StepError::Stopping => return Failure::HandedOver,
        StepError::Progress(ProgressError::Store(text)) => return Failure::Later(text),
        StepError::Installer(InstallError::Away(_)) => return Failure::Later(detail),
        StepError::Unmet { name, .. } => {
            return unmet(name).map_or_else(|| Failure::Internal(detail.clone()), told);
        }
        // Already the customer's own words.
        StepError::Cloud(error) if !hides_authorization(&error) => return told(error),
        StepError::Explained { told, detail } if !hides_authorization(&told) => {
            return Failure::Customer { told, detail };
        }
        error => error,
    };
    let retried = step.is_some_and(|step| matches!(step.kind, StepKind::AuthorizationRetrying(_)));
    if retried && let Some(error) = of_authorization(&error, group) {
        return told(error);
    }
    if let Some(error) = of_any(&error, group) {
        return told(error);
    }
    match error {
        StepError::Cloud(error) | StepError::Explained { told: error, .. } => told(error),
        _ => Failure::Internal(detail),
    }
}

/// A condition that was not met in time; `None`: one that customers know nothing of.
fn unmet(name: &str) -> Option<CloudError> {
    let message = match name {
        "attachNSGs" => "Failed to attach the ARO NSG to the cluster subnets.",
        "apiServersReady" => "Kube API has not initialised successfully and is unavailable.",
        "minimumWorkerNodesReady" => "Minimum number of worker nodes have not been successfully created.",
        "operatorConsoleExists" => "Console Cluster Operator has failed to initialize successfully.",
        "operatorConsoleReady" => "Console Cluster Operator has not started successfully.",
        "clusterVersionReady" => "Cluster Version is not reporting status as ready.",
        "ingressControllerReady" => "Ingress Cluster Operator has not started successfully.",
        "aroDeploymentReady" => "ARO Cluster Operator has failed to initialize successfully.",
        "ensureAROOperatorRunningDesiredVersion" => "ARO Cluster Operator is not running desired version.",
        "hiveClusterDeploymentReady" => "Timed out waiting for the condition to be ready.",
        // The contract's installer is Hive's; no matter who installs, it is the same condition.
        "hiveClusterInstallationComplete" | "installationComplete" | "bootstrapComplete" => {
            "Timed out waiting for the condition to complete."
        }
        _ => return None,
    };
    let message = format!("{message} Please retry, and if the issue persists, raise an Azure support ticket");
    Some(CloudError::new(500, "DeploymentFailed", "", message))
}

/// Of a step that is retried while rights are not known: the first table.
fn of_authorization(error: &StepError, group: &str) -> Option<CloudError> {
    if !is_credential(error) && !is_authorization(error) {
        return None;
    }
    if is_about_managed_group(error, group) {
        return Some(CloudError::new(500, "InternalServerError", "", "Internal server error."));
    }
    let message = if has(error, "AADSTS700016") {
        "The provided service principal application (client) ID was not found in the directory (tenant). Please ensure \
         that the provided application (client) id and client secret value are correct."
    } else if has(error, "AADSTS7000222") {
        "The provided client secret is expired. Please create a new one for your service principal."
    } else if is_authorization_failed(error) || has(error, "AADSTS7000215") {
        "Authorization using provided credentials failed. Please ensure that the provided application (client) id and \
         client secret value are correct."
    } else {
        return None;
    };
    Some(CloudError::bad(CREDENTIALS, PRINCIPAL, message))
}

/// Of any step: the second table, with cleaned texts (`contract/backend.md` "Do better" 15).
fn of_any(error: &StepError, group: &str) -> Option<CloudError> {
    if let StepError::Azure(graph) = error
        && graph.code == "Authorization_IdentityNotFound"
    {
        let message = format!("{}: {}", graph.code, sanitized(&graph.message));
        return Some(CloudError::bad(CREDENTIALS, ENCOUNTERED, message));
    }
    // A lock is the customer's, and only they can take it away. Azure's words name its scope.
    if let StepError::Azure(locked) = error
        && locked.has_code("ScopeLocked")
    {
        return Some(CloudError::new(409, "ScopeLocked", ENCOUNTERED, locked.message.clone()));
    }
    let known = has(error, "AADSTS700016") || has(error, "AADSTS7000215") || is_authorization_failed(error);
    if matches!(error, StepError::Azure(_)) && is_about_managed_group(error, group) {
        let message = sanitized(&error.to_string());
        return Some(CloudError::new(500, "InternalServerError", ENCOUNTERED, message));
    }
    known.then(|| CloudError::bad(CREDENTIALS, ENCOUNTERED, sanitized(&error.to_string())))
}

/// Whether another try can help because rights or secrets are not known everywhere yet.
pub(crate) fn is_authorization(error: &StepError) -> bool {
    let template = || {
        let StepError::Azure(error) = error else { return false };
        error.has_code("InvalidTemplateDeployment")
            && error.has_text("Authorization failed for template resource")
    };
    has(error, "AADSTS700016") || has(error, "AADSTS7000215") || is_authorization_failed(error) || template()
}

/// A secret that ended is no question of time, yet the customer's to mend.
fn is_credential(error: &StepError) -> bool {
    has(error, "AADSTS7000222")
}

fn is_authorization_failed(error: &StepError) -> bool {
    match error {
        StepError::Azure(error) => is_failed_code(&error.code) || has_code_of_failure(error),
        StepError::Cloud(error) | StepError::Explained { told: error, .. } => hides_authorization(error),
        _ => false,
    }
}

fn is_failed_code(code: &str) -> bool {
    matches!(code, "AuthorizationFailed" | "LinkedAuthorizationFailed")
}

fn has_code_of_failure(error: &AzureError) -> bool {
    error.has_code("AuthorizationFailed") || error.has_code("LinkedAuthorizationFailed")
}

/// A failed deployment whose detail is the service's own refusal as JSON.
fn hides_authorization(error: &CloudError) -> bool {
    error.body.code == "DeploymentFailed"
        && error.body.details.iter().any(|detail| {
            let service = serde_json::from_str::<Value>(&detail.message).unwrap_or_default();
            let code = |value: &Value| value["code"].as_str().is_some_and(is_failed_code);
            code(&service) || code(&service["error"])
        })
}

fn has(error: &StepError, text: &str) -> bool {
    match error {
        StepError::Azure(error) => error.code.contains(text) || error.has_text(text),
        StepError::Cloud(error) | StepError::Explained { told: error, .. } => {
            error.to_string().contains(text)
        }
        StepError::Other(found) => found.contains(text),
        _ => false,
    }
}

/// Whether it is about the managed resource group, which is ours: by what was asked, else by an id in the text.
fn is_about_managed_group(error: &StepError, group: &str) -> bool {
    let group = group.to_ascii_lowercase();
    if group.is_empty() {
        return false;
    }
    let asked = match error {
        StepError::Azure(error) => error.url().to_ascii_lowercase(),
        _ => String::new(),
    };
    if !asked.is_empty() {
        contains_id(&asked, &group)
    } else {
        contains_id(&error.to_string().to_ascii_lowercase(), &group)
    }
}

/// Whether the text has the id, as a whole: `/…/resourcegroups/aro` is not in `/…/resourcegroups/aro-2`.
fn contains_id(text: &str, id: &str) -> bool {
    text.match_indices(id).any(|(at, _)| {
        let next = text[at + id.len()..].chars().next();
        next.is_none_or(|next| !(next.is_alphanumeric() || "-_.()".contains(next)) || next == '.')
    })
}

/// The text without ids and addresses, for customers.
pub(crate) fn sanitized(text: &str) -> String {
    const MOST: usize = 500;
    let mut out = String::with_capacity(text.len());
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 {
            out.push(' ');
        }
        let core = word.trim_matches(|c: char| "'\"()[]{}<>,;:.".contains(c));
        let shown = if core.contains("://") || is_address(core) {
            Cow::Borrowed("(address)")
        } else if core.to_ascii_lowercase().contains("/subscriptions/") {
            Cow::Borrowed("(resource)")
        } else {
            without_ids(core)
        };
        out.push_str(&word.replacen(core, &shown, 1));
    }
    rp_base::text::clean(&out, MOST)
}

fn is_address(word: &str) -> bool {
    word.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok()
}

/// A word without UUIDs, wherever they stand in it: directories tell them with others' words grown on.
fn without_ids(word: &str) -> Cow<'_, str> {
    const LONG: usize = 36;
    let is_id = |at: usize| {
        word.as_bytes().get(at..at + LONG).is_some_and(|bytes| {
            bytes.iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
        })
    };
    let Some(at) = (0..word.len()).find(|at| is_id(*at)) else { return Cow::Borrowed(word) };
    // All of an id is ASCII: both ends are those of characters.
    let (before, rest) = word.split_at(at);
    let after = without_ids(rest.get(LONG..).unwrap_or_default());
    Cow::Owned(format!("{before}(id){after}"))
}
