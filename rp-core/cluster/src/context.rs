//! What a step gets.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rp_base::Secret;
use rp_documents::Sealed;
use rp_kube::KubeClient;
use rp_net::{Endpoint, Source, Target};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::document::Document;
use crate::environment::Environment;
use crate::errors::StepError;
use crate::manager::{Job, Operation};
use crate::progress::{Progress, StepEvent};

/// The name in the certificate of every cluster of ours (`contract/portal.md` §11.3).
const SERVER_NAME: &str = "kubernetes";

/// One operation on one cluster, as its steps see it.
#[derive(Debug)]
pub struct Context {
    pub env: Arc<Environment>,
    pub operation: Operation,
    document: RwLock<Document>,
    subscription: Arc<Value>,
    progress: Arc<dyn Progress>,
    lost: CancellationToken,
    stopping: CancellationToken,
    /// The running step's stored name, for what it tells.
    step: RwLock<Arc<str>>,
}

impl Context {
    /// Of a worker's job.
    pub fn new(env: Arc<Environment>, job: Job) -> Self {
        let Job { operation, document, subscription, progress, lost, stopping } = job;
        Self {
            env,
            operation,
            document: RwLock::new(Document::new(document)),
            subscription: Arc::new(subscription),
            progress,
            lost,
            stopping,
            step: RwLock::new("".into()),
        }
    }

    /// The document as it was last read or written. Cheap.
    pub fn document(&self) -> Document {
        self.document.read().clone()
    }

    /// The customer's directory, lower case.
    pub fn tenant(&self) -> String {
        let tenant = self.subscription.pointer("/subscription/properties/tenantId");
        tenant.and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase()
    }

    /// The subscription's stored document.
    pub fn subscription(&self) -> &Value {
        &self.subscription
    }

    /// Whether the customer's subscription has a feature registered.
    pub fn has_feature(&self, name: &str) -> bool {
        let features = self.subscription.pointer("/subscription/properties/registeredFeatures");
        features.and_then(Value::as_array).into_iter().flatten().any(|feature| {
            feature["name"].as_str().is_some_and(|found| found.eq_ignore_ascii_case(name))
                && feature["state"] == "Registered"
        })
    }

    /// Changes the cluster (the envelope's member `openShiftCluster`) by lease and gives what was written. The change
    /// may run more than once, on newer documents.
    ///
    /// # Errors
    /// The lease is lost, or the store is away; then the document in memory is as it was.
    pub async fn patch(
        &self,
        change: impl Fn(&mut Value) + Send + Sync + 'static,
    ) -> Result<Document, StepError> {
        let change = move |envelope: &mut Value| change(&mut envelope["openShiftCluster"]);
        let written = Document::new(self.progress.patch(Box::new(change)).await?);
        *self.document.write() = written.clone();
        Ok(written)
    }

    /// Sets one member of the cluster, making the objects above it; `pointer` as `/properties/infraId`.
    ///
    /// # Errors
    /// As [`Context::patch`].
    pub async fn set(&self, pointer: &'static str, value: impl Into<Value>) -> Result<Document, StepError> {
        let value = value.into();
        self.patch(move |cluster| crate::document::set(cluster, pointer, value.clone())).await
    }

    /// Opens a sealed member of the cluster; `None`: it is not there, or empty.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn secret_bytes(&self, pointer: &str) -> Result<Option<Secret<Vec<u8>>>, StepError> {
        let document = self.document();
        let Some(sealed) = document.text(pointer).filter(|text| !text.is_empty()) else { return Ok(None) };
        let place = place(document.id(), pointer);
        let (plain, _) = self.env.keyring.open_any(&Sealed(sealed.to_owned()), &place)?;
        Ok(Some(plain))
    }

    /// Opens a sealed text.
    ///
    /// # Errors
    /// It cannot be opened, or is no text.
    pub fn secret(&self, pointer: &str) -> Result<Option<Secret<String>>, StepError> {
        let Some(plain) = self.secret_bytes(pointer)? else { return Ok(None) };
        let text = String::from_utf8(plain.expose().clone())
            .map_err(|_| StepError::other(format!("{pointer} is no text")))?;
        Ok(Some(Secret::new(text)))
    }

    /// Seals a value for its place in the cluster.
    ///
    /// # Errors
    /// It is too large.
    pub fn sealed(&self, pointer: &str, plain: &Secret<String>) -> Result<String, StepError> {
        let place = place(self.document().id(), pointer);
        Ok(self.env.keyring.seal(plain.expose().as_bytes(), &place)?.0)
    }

    /// Seals a value and writes it to its place.
    ///
    /// # Errors
    /// As [`Context::patch`].
    pub async fn set_secret(
        &self,
        pointer: &'static str,
        plain: &Secret<String>,
    ) -> Result<Document, StepError> {
        let sealed = self.sealed(pointer, plain)?;
        self.set(pointer, sealed).await
    }

    /// As [`Context::set_secret`], for what is no text.
    ///
    /// # Errors
    /// As [`Context::patch`].
    pub async fn set_secret_bytes(
        &self,
        pointer: &'static str,
        plain: &Secret<Vec<u8>>,
    ) -> Result<Document, StepError> {
        let place = place(self.document().id(), pointer);
        let sealed = self.env.keyring.seal(plain.expose(), &place)?.0;
        self.set(pointer, sealed).await
    }

    /// How often the step with which a run begins was begun: once, and once more for every worker that was lost.
    pub(crate) fn attempt(&self) -> u32 {
        let dequeues = self.document().envelope()["dequeues"].as_u64().unwrap_or(1);
        u32::try_from(dequeues).unwrap_or(u32::MAX).max(1)
    }

    /// A sentence for people, and for the log.
    pub fn line(&self, level: &str, text: &str) {
        self.tell(StepEvent::Line { level, text });
    }

    /// What the running step waits for.
    pub fn waiting(&self, seen: &str) {
        let name = Arc::clone(&self.step.read());
        self.tell(StepEvent::Waiting { name: &name, seen });
    }

    /// Waits, unless the lease is lost or the process stops meanwhile.
    ///
    /// # Errors
    /// [`StepError::Lost`] or [`StepError::Stopping`].
    pub async fn sleep(&self, period: Duration) -> Result<(), StepError> {
        self.proceed()?;
        tokio::select! {
            biased;
            () = self.lost.cancelled() => Err(StepError::Lost),
            () = self.stopping.cancelled() => Err(StepError::Stopping),
            () = tokio::time::sleep(period) => Ok(()),
        }
    }

    /// Whether the work may go on.
    ///
    /// # Errors
    /// [`StepError::Lost`] or [`StepError::Stopping`].
    pub fn proceed(&self) -> Result<(), StepError> {
        if self.lost.is_cancelled() {
            return Err(StepError::Lost);
        }
        if self.stopping.is_cancelled() { Err(StepError::Stopping) } else { Ok(()) }
    }

    /// A client of the cluster's API server, with `aroServiceKubeconfig`, else `adminKubeconfig`
    /// (`contract/cluster.md` §1.3).
    ///
    /// # Errors
    /// The document has no kubeconfig or no private endpoint yet.
    pub fn kube(&self) -> Result<KubeClient, StepError> {
        let document = self.document();
        let address = document.text("/properties/networkProfile/privateEndpointIp").unwrap_or_default();
        if address.is_empty() {
            return Err(StepError::other("privateEndpointIP is empty"));
        }
        let ip =
            address.parse().map_err(|_| StepError::other("the private endpoint's address is no address"))?;
        let kubeconfig = match self.secret("/properties/aroServiceKubeconfig")? {
            Some(kubeconfig) => kubeconfig,
            None => self
                .secret("/properties/adminKubeconfig")?
                .ok_or_else(|| StepError::other("the cluster has no kubeconfig yet"))?,
        };
        let parts = rp_kube::write::parse_stored(kubeconfig.expose().as_bytes())
            .map_err(|error| StepError::other(format!("the stored kubeconfig: {error}")))?;
        let id = document.resource_id()?;
        let target = Target {
            id,
            source: Source::Aro,
            endpoint: Endpoint::Private { ip },
            server_name: SERVER_NAME.to_owned(),
            ca_pem: parts.ca_pem,
            read: parts.credential.clone(),
            admin: parts.credential,
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 0,
        };
        self.env.clusters.client(Arc::new(target.fingerprinted()))
    }

    pub(crate) fn progress(&self) -> &dyn Progress {
        &*self.progress
    }

    pub(crate) fn tell(&self, event: StepEvent<'_>) {
        self.progress.tell(event);
    }

    pub(crate) fn begin(&self, stored_name: &str) {
        *self.step.write() = stored_name.into();
    }

    pub(crate) const fn lost(&self) -> &CancellationToken {
        &self.lost
    }
}

/// Where a member is sealed: `OpenShiftClusters/ID/MEMBER`, as the API and the portal read it.
fn place(document: &str, pointer: &str) -> String {
    format!("OpenShiftClusters/{document}/{}", pointer.rsplit('/').next().unwrap_or_default())
}
