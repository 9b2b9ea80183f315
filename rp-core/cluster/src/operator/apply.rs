//! The objects of the deployment, applied one after another (`contract/operator.md` §5.3). A run that ended anywhere is
//! taken up by the next: what is there already does not change.

use std::time::Duration;

use rp_kube::api_status;
use rp_openshift::{Condition, Whole};
use rp_operator_api::deployment::{self, Settings};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::conditions::status;
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, Tries, path_of, retry};

/// Attempts of a call while the API server restarts or a kind or namespace is not there yet: about a minute.
const TRIES: u32 = 30;
/// Until the API server serves a new kind, and between two looks.
const ESTABLISHED: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_secs(1);

/// Applies all of them.
///
/// # Errors
/// The first that the API server does not take; the error names it.
pub(super) async fn objects(context: &Context, kube: &Kube, settings: &Settings) -> Result<(), StepError> {
    for object in &deployment::objects(settings) {
        one(context, kube, object).await?;
        if object.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
            established(context, kube, &path_of(object)).await?;
        }
    }
    Ok(())
}

/// Applies one.
///
/// # Errors
/// The API server does not take it.
pub(super) async fn one(context: &Context, kube: &Kube, object: &Value) -> Result<(), StepError> {
    let path = path_of(object);
    retry(context, Tries::of(TRIES), passes, || async {
        remove_other_binding(kube, &path, object).await?;
        kube.apply(&path, object).await
    })
    .await
}

/// The API server is restarting, others write the same object, or what the object needs is not there yet.
fn passes(error: &StepError) -> bool {
    let StepError::Kube { error, .. } = error else { return false };
    matches!(api_status(error), None | Some(404 | 409 | 429 | 500 | 502..=504))
}

/// The role of a binding cannot be changed, only the binding be made anew: that of an older operator had another one.
async fn remove_other_binding(kube: &Kube, path: &str, wanted: &Value) -> Result<(), StepError> {
    let role = |binding: &Value| {
        let text = |member: &str| binding.pointer(&format!("/roleRef/{member}")).cloned();
        (text("kind"), text("name"))
    };
    if wanted.get("roleRef").is_none() {
        return Ok(());
    }
    match kube.get::<Value>(path).await? {
        Some(found) if role(&found) != role(wanted) => kube.delete(path).await,
        _ => Ok(()),
    }
}

/// What is read of a CustomResourceDefinition.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Definition {
    status: Option<DefinitionStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DefinitionStatus {
    /// Null in the first moment.
    conditions: Option<Vec<Condition<Whole>>>,
}

/// Waits until the API server serves the kind.
async fn established(context: &Context, kube: &Kube, path: &str) -> Result<(), StepError> {
    let end = Instant::now() + ESTABLISHED;
    loop {
        let found: Option<Definition> = kube.get(path).await?;
        let conditions = found.and_then(|found| found.status?.conditions).unwrap_or_default();
        let is = |kind: &str| status(&conditions, kind) == Some("True");
        if is("Established") && is("NamesAccepted") {
            return Ok(());
        }
        let why = conditions.iter().find(|one| one.status.as_str() != "True");
        let why = why.map_or("it has no conditions yet", |one| one.message.as_str());
        let text = format!("{path} is not established: {why}");
        if Instant::now() >= end {
            return Err(StepError::other(format!("{text} after {} s", ESTABLISHED.as_secs())));
        }
        context.waiting(&rp_base::text::clean(&text, 500));
        context.sleep(LOOK.min(context.env.periods.poll)).await?;
    }
}
