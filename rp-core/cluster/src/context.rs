//! The context of a step: document, clients, limits.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rp_base::Secret;
use rp_documents::cluster::{ClusterSecret, Worker};
use rp_documents::maintenance::Resize;
use rp_documents::{Leased as _, OpenShiftCluster, Sealed, SubscriptionDocument};
use rp_kube::KubeClient;
use rp_net::{Endpoint, Source, Target};
use tokio_util::sync::CancellationToken;

use crate::document::Document;
use crate::environment::Environment;
use crate::errors::StepError;
use crate::maintenance::TaskOrder;
use crate::manager::{Job, Operation};
use crate::progress::{Progress, StepEvent};

/// One operation on one cluster, as its steps see it.
#[derive(Debug)]
pub struct Context {
    pub env: Arc<Environment>,
    pub operation: Operation,
    document: RwLock<Document>,
    subscription: Arc<SubscriptionDocument>,
    progress: Arc<dyn Progress>,
    lost: CancellationToken,
    stopping: CancellationToken,
    /// The running step's stored name, for its events.
    step: RwLock<Arc<str>>,
    /// Of a task of maintenance.
    order: TaskOrder,
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
            order: TaskOrder::default(),
        }
    }

    /// The same with what a manifest says.
    pub(crate) fn with_order(self, order: TaskOrder) -> Self {
        Self { order, ..self }
    }

    /// What the manifest of a task says beside the task.
    pub(crate) const fn order(&self) -> &TaskOrder {
        &self.order
    }

    /// The order of a resize of the control plane.
    ///
    /// # Errors
    /// The task has none.
    pub(crate) fn resize(&self) -> Result<&Resize, StepError> {
        self.order
            .resize
            .as_ref()
            .ok_or_else(|| StepError::other("the manifest does not say which size is wanted"))
    }

    /// The document as it was last read or written. Cheap.
    pub fn document(&self) -> Document {
        self.document.read().clone()
    }

    /// The customer's directory, lower case.
    pub fn tenant(&self) -> String {
        self.subscription.tenant().to_ascii_lowercase()
    }

    /// The subscription's stored document.
    pub fn subscription(&self) -> &SubscriptionDocument {
        &self.subscription
    }

    /// Whether the customer's subscription has a feature registered.
    pub fn has_feature(&self, name: &str) -> bool {
        self.subscription.has_feature(name)
    }

    /// Changes the cluster by lease and gives what was written. The change may run more than once, on newer documents.
    ///
    /// # Errors
    /// The lease is lost, or the store is away; then the document in memory is as it was.
    pub async fn patch(
        &self,
        change: impl Fn(&mut OpenShiftCluster, Worker) + Send + Sync + 'static,
    ) -> Result<Document, StepError> {
        let written = Document::new(self.progress.patch(Box::new(change)).await?);
        *self.document.write() = written.clone();
        Ok(written)
    }

    /// Opens a sealed member of the cluster; `None`: it is not there, or empty.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn secret_bytes(&self, secret: ClusterSecret) -> Result<Option<Secret<Vec<u8>>>, StepError> {
        let document = self.document();
        let Some(sealed) = secret.sealed_in(&document) else { return Ok(None) };
        let (plain, _) = self.env.keyring.open_any(sealed, &secret.place(document.id()))?;
        Ok(Some(plain))
    }

    /// Opens a sealed text.
    ///
    /// # Errors
    /// It cannot be opened, or is no text.
    pub fn secret(&self, secret: ClusterSecret) -> Result<Option<Secret<String>>, StepError> {
        let Some(plain) = self.secret_bytes(secret)? else { return Ok(None) };
        let text = String::from_utf8(plain.expose().clone())
            .map_err(|_| StepError::other(format!("{} is no text", secret.member())))?;
        Ok(Some(Secret::new(text)))
    }

    /// Seals a value for its place in the cluster.
    ///
    /// # Errors
    /// It is too large.
    pub fn sealed(&self, secret: ClusterSecret, plain: &[u8]) -> Result<Sealed, StepError> {
        Ok(self.env.keyring.seal(plain, &secret.place(self.document().id()))?)
    }

    /// Seals a value and writes it to its place.
    ///
    /// # Errors
    /// As [`Context::patch`].
    pub async fn set_secret(&self, secret: ClusterSecret, plain: &[u8]) -> Result<Document, StepError> {
        let sealed = self.sealed(secret, plain)?;
        self.patch(move |cluster, by| {
            if let Some(member) = secret.outcome_mut(cluster) {
                member.set(by, sealed.clone());
            }
        })
        .await
    }

    /// How often the first step of this run was started: once, and once more for every worker that was lost.
    pub(crate) fn attempt(&self) -> u32 {
        self.document().envelope().lease().dequeues.max(1)
    }

    /// Records a line in the operation's log and in the process's log.
    pub fn record_line(&self, level: &str, text: &str) {
        self.record_event(StepEvent::Line { level, text });
    }

    /// What the running step waits for.
    pub fn waiting(&self, seen: &str) {
        let name = Arc::clone(&self.step.read());
        self.record_event(StepEvent::Waiting { name: &name, seen });
    }

    /// Waits, unless the lease is lost or the process stops meanwhile.
    ///
    /// # Errors
    /// [`StepError::Lost`] or [`StepError::Stopping`].
    pub async fn sleep(&self, period: Duration) -> Result<(), StepError> {
        self.check_running()?;
        tokio::select! {
            biased;
            () = self.lost.cancelled() => Err(StepError::Lost),
            () = self.stopping.cancelled() => Err(StepError::Stopping),
            () = tokio::time::sleep(period) => Ok(()),
        }
    }

    /// The end of a long work that is dropped when the process stops: the next worker begins the step again.
    ///
    /// # Errors
    /// [`StepError::Stopping`].
    pub(crate) async fn unless_stopping<T>(&self, work: impl Future<Output = T>) -> Result<T, StepError> {
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => Err(StepError::Stopping),
            done = work => Ok(done),
        }
    }

    /// Whether the work may go on.
    ///
    /// # Errors
    /// [`StepError::Lost`] or [`StepError::Stopping`].
    pub fn check_running(&self) -> Result<(), StepError> {
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
        let address = &*document.properties.network_profile.private_endpoint_ip;
        if address.is_empty() {
            return Err(StepError::other("privateEndpointIP is empty"));
        }
        let ip =
            address.parse().map_err(|_| StepError::other("the private endpoint's address is no address"))?;
        let kubeconfig = match self.secret(ClusterSecret::ServiceKubeconfig)? {
            Some(kubeconfig) => kubeconfig,
            None => self
                .secret(ClusterSecret::AdminKubeconfig)?
                .ok_or_else(|| StepError::other("the cluster has no kubeconfig yet"))?,
        };
        let parts = rp_kube::write::parse_stored(kubeconfig.expose().as_bytes())
            .map_err(|error| StepError::other(format!("the stored kubeconfig: {error}")))?;
        let host = parts.server.host_str().unwrap_or_default().to_owned();
        let target = Target {
            id: document.id.clone(),
            source: Source::Aro,
            endpoint: Endpoint::Private { ip },
            // TCP goes to the private endpoint, TLS verifies the kubeconfig's host (`contract/cluster.md` §1.3).
            server_name: parts.tls_server_name.unwrap_or(host),
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

    pub(crate) fn record_event(&self, event: StepEvent<'_>) {
        self.progress.record_event(event);
    }

    pub(crate) fn begin(&self, stored_name: &str) {
        *self.step.write() = stored_name.into();
    }

    pub(crate) const fn lost(&self) -> &CancellationToken {
        &self.lost
    }
}
