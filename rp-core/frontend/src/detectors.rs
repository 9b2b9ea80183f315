//! What Azure's diagnosis says about a cluster (`contract/frontend.md` §8.3).

use async_trait::async_trait;
use rp_api::CloudError;
use rp_azure::{AzureError, DiagnosisClient, ErrorClass};
use rp_database::Typed;
use rp_documents::SubscriptionDocument;
use serde_json::{Value, json};

use crate::dependencies::FrontendParts;
use crate::document;
use crate::fault::{Fault, internal, unavailable};
use crate::path::ClusterPath;
use crate::response::{HttpResponse, compact_json};

const KIND: &str = "Microsoft.RedHatOpenShift/openShiftClusters/detectors";
/// Most detectors that are listed; far more than exist.
const MOST: usize = 1000;

/// Diagnoses clusters; implemented by AppLens.
#[async_trait]
pub trait Detectors: Send + Sync + std::fmt::Debug + 'static {
    /// All detectors of a cluster, as reported: `{"value": […]}` or a bare list. `cluster` is the resource id.
    ///
    /// # Errors
    /// The error for the caller.
    async fn list(&self, cluster: &str) -> Result<Value, CloudError>;

    /// The result of one detector; `None`: there is none of that name.
    ///
    /// # Errors
    /// The error for the caller.
    async fn get(&self, cluster: &str, detector: &str) -> Result<Option<Value>, CloudError>;
}

/// [`Detectors`] backed by AppLens.
#[derive(Debug)]
pub struct AppLensDetectors<D> {
    diagnoses: D,
}

impl<D: DiagnosisClient> AppLensDetectors<D> {
    /// Uses that client.
    pub const fn new(diagnoses: D) -> Self {
        Self { diagnoses }
    }
}

#[async_trait]
impl<D: DiagnosisClient> Detectors for AppLensDetectors<D> {
    async fn list(&self, cluster: &str) -> Result<Value, CloudError> {
        let told = self.diagnoses.diagnose(&format!("{cluster}/detectors")).await;
        Ok(told.map_err(|error| of_azure(&error))?.unwrap_or_default())
    }

    async fn get(&self, cluster: &str, detector: &str) -> Result<Option<Value>, CloudError> {
        let told = self.diagnoses.diagnose(&format!("{cluster}/detectors/{detector}")).await;
        told.map_err(|error| of_azure(&error))
    }
}

/// What the caller is told (`contract/frontend.md` "Do better" 36).
fn of_azure(error: &AzureError) -> CloudError {
    tracing::error!(error = %error, "a cluster could not be diagnosed");
    match error.class() {
        ErrorClass::Throttled => {
            let message = "Too many diagnoses are asked for. Please try again later.";
            CloudError::new(429, "ThrottlingLimitExceeded", "", message)
        }
        ErrorClass::Unavailable => unavailable(),
        ErrorClass::Missing
        | ErrorClass::Authorization
        | ErrorClass::Policy
        | ErrorClass::Lock
        | ErrorClass::Quota
        | ErrorClass::Conflict
        | ErrorClass::Other => internal(),
    }
}

/// All detectors that have a usable name.
pub(crate) async fn list(parts: &FrontendParts, path: &ClusterPath) -> Result<HttpResponse, Fault> {
    let (cluster, location, detectors) = cluster(parts, path).await?;
    let told = detectors.list(&cluster).await?;
    let all = told.as_array().or_else(|| told["value"].as_array()).map(Vec::as_slice).unwrap_or_default();
    let value: Vec<Value> = all
        .iter()
        .filter_map(|one| {
            // A detector with another name could not be requested.
            let id = one.pointer("/metadata/id")?.as_str().filter(|id| is_plain(id))?;
            Some(detector_view(&cluster, &location, id, one))
        })
        .take(MOST)
        .collect();
    Ok(compact_json(&json!({"value": value})))
}

/// The result of one detector.
pub(crate) async fn get(parts: &FrontendParts, path: &ClusterPath, id: &str) -> Result<HttpResponse, Fault> {
    let (cluster, location, detectors) = cluster(parts, path).await?;
    let told = if is_plain(id) { detectors.get(&cluster, id).await? } else { None };
    match told {
        Some(told) => Ok(compact_json(&detector_view(&cluster, &location, id, &told))),
        None => {
            let message = format!("The detector '{}' was not found.", rp_base::text::clean(id, 128));
            Err(CloudError::new(404, "ResourceNotFound", "", message).into())
        }
    }
}

/// Whether it is a plain detector name, without path separators.
fn is_plain(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=128).contains(&id.len()) && id.bytes().all(plain) && id.bytes().any(|b| b != b'.')
}

/// The cluster's id and location, and the client to use. Its subscription must be known, in any state.
async fn cluster<'a>(
    parts: &'a FrontendParts,
    path: &ClusterPath,
) -> Result<(String, String, &'a dyn Detectors), Fault> {
    let found = document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    let subscriptions = Typed::<SubscriptionDocument>::new(parts.store.clone());
    if subscriptions.get(&path.subscription).await?.is_none() {
        let message = format!("Request is not allowed in unregistered subscription '{}'.", path.subscription);
        return Err(CloudError::bad("InvalidSubscriptionState", "", message).into());
    }
    let detectors = parts.detectors.as_deref().ok_or_else(unavailable)?;
    let cluster = &found.value.cluster;
    Ok((cluster.id.to_string(), cluster.location.to_string(), detectors))
}

fn detector_view(cluster: &str, location: &str, id: &str, told: &Value) -> Value {
    json!({
        "id": format!("{cluster}/detectors/{id}"),
        "name": id,
        "type": KIND,
        "location": location,
        "properties": told,
    })
}

#[cfg(test)]
mod tests {
    use rp_azure::ErrorKind;

    use super::*;

    /// Responds according to the requested path.
    #[derive(Debug)]
    struct Lens;

    #[async_trait]
    impl DiagnosisClient for Lens {
        async fn diagnose(&self, path: &str) -> Result<Option<Value>, AzureError> {
            match path {
                "/c/detectors" => Ok(Some(json!([{"metadata": {"id": "one"}}]))),
                "/c/detectors/one" => Ok(Some(json!({"found": 1}))),
                "/c/detectors/busy" => Err(AzureError::new("", ErrorKind::Throttled, "")),
                "/c/detectors/away" => Err(AzureError::new("", ErrorKind::Timeout, "")),
                "/c/detectors/forbidden" => Err(AzureError::new("", ErrorKind::Forbidden, "secret words")),
                _ => Ok(None),
            }
        }
    }

    #[tokio::test]
    async fn app_lens_is_asked_by_path_and_its_errors_have_their_words() {
        let detectors = AppLensDetectors::new(Lens);
        assert_eq!(detectors.list("/c").await.unwrap()[0]["metadata"]["id"], "one");
        assert_eq!(detectors.get("/c", "one").await.unwrap(), Some(json!({"found": 1})));
        assert_eq!(detectors.get("/c", "none").await.unwrap(), None);
        for (id, status) in [("busy", 429), ("away", 503), ("forbidden", 500)] {
            let told = detectors.get("/c", id).await.unwrap_err();
            assert_eq!(told.status, status, "{id}");
            assert!(!told.body.message.contains("secret"), "{id}");
        }
    }
}
