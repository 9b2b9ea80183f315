//! Targets from the store: clusters of ours and imported ones, cached and following the change feed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::RwLock;
use rp_base::chain;
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::{ClusterDocument, Collection, ImportedCluster, ResourceId, Sealed};
use rp_net::{
    Credential, Directory, DirectoryError, Endpoint, Source, SshKey, SshMachine, SshTarget, Target,
};
use rp_seal::Keyring;

use crate::imports::{open_credential, open_ssh_key};

/// The associated data that a cluster document's kubeconfig is sealed with: the same for sealing and opening.
/// `field` is the stored member, such as `aroSREKubeconfig`.
pub fn kubeconfig_place(document_id: &str, field: &str) -> String {
    format!("{}/{document_id}/{field}", Collection::OpenShiftClusters.name())
}

/// What a stored kubeconfig holds that we need.
#[derive(Debug, Clone)]
pub struct KubeconfigParts {
    pub ca_pem: String,
    pub credential: Credential,
}

/// Reads a kubeconfig's first cluster and user; passed in by the caller, because this crate has no YAML parser.
pub type ReadKubeconfig = fn(&str) -> Result<KubeconfigParts, &'static str>;

/// `contract/portal.md` §11.3: the name in the certificate of every cluster of ours.
const SERVER_NAME: &str = "kubernetes";
const POLL: Duration = Duration::from_millis(250);

/// [`Directory`] over the store.
#[derive(Debug)]
pub struct StoreDirectory {
    clusters: Typed<ClusterDocument>,
    imported: Typed<ImportedCluster>,
    store: SharedStore,
    keyring: Keyring,
    read: ReadKubeconfig,
    cache: RwLock<Cache>,
    epoch: AtomicU64,
}

#[derive(Debug, Default)]
struct Cache {
    targets: HashMap<ResourceId, Arc<Target>>,
    /// Document id to target, for changes name documents.
    documents: HashMap<(Collection, String), ResourceId>,
}

impl StoreDirectory {
    /// Starts following both collections.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn start(
        store: SharedStore,
        keyring: Keyring,
        read: ReadKubeconfig,
    ) -> Result<Arc<Self>, StoreError> {
        // From 0 the feed tells of no deletions; the first position is a creation, and those need no telling.
        let ours = store.head(Collection::OpenShiftClusters).await?.max(1);
        let theirs = store.head(Collection::ImportedClusters).await?.max(1);
        let directory = Arc::new(Self {
            clusters: Typed::new(Arc::clone(&store)),
            imported: Typed::new(Arc::clone(&store)),
            store,
            keyring,
            read,
            cache: RwLock::default(),
            epoch: AtomicU64::new(0),
        });
        tokio::spawn(follow(Arc::downgrade(&directory), Collection::OpenShiftClusters, ours));
        tokio::spawn(follow(Arc::downgrade(&directory), Collection::ImportedClusters, theirs));
        Ok(directory)
    }

    async fn load(&self, id: &ResourceId) -> Result<(Collection, String, Target), DirectoryError> {
        if id.is_imported() {
            let found = self.imported.get(&id.name().to_ascii_lowercase()).await.map_err(unavailable)?;
            let document = found.ok_or(DirectoryError::Unknown)?.value;
            let target = self.imported_target(&document)?;
            return Ok((Collection::ImportedClusters, document.id, target));
        }
        let found = self.clusters.get_by_key(id.key()).await.map_err(unavailable)?;
        let document = found.ok_or(DirectoryError::Unknown)?.value;
        let target = self.cluster_target(&document)?;
        Ok((Collection::OpenShiftClusters, document.id, target))
    }

    fn cluster_target(&self, document: &ClusterDocument) -> Result<Target, DirectoryError> {
        let properties = &document.cluster.properties;
        let address = &*properties.network_profile.private_endpoint_ip;
        if address.is_empty() {
            return Err(DirectoryError::NotReachable("it has no private endpoint yet"));
        }
        let ip: IpAddr =
            address.parse().map_err(|_| DirectoryError::Unusable("the private endpoint is no address"))?;
        let read = self.kubeconfig(document, "aroSREKubeconfig", properties.sre_kubeconfig.get())?;
        let admin = self.kubeconfig(document, "aroServiceKubeconfig", properties.service_kubeconfig.get())?;
        Ok(Target {
            id: document.cluster.id.clone(),
            source: Source::Aro,
            endpoint: Endpoint::Private { ip },
            server_name: SERVER_NAME.to_owned(),
            ca_pem: read.ca_pem,
            read: read.credential,
            admin: admin.credential,
            as_groups: Vec::new(),
            ssh: self.machine_key(document),
            fingerprint: 0,
        }
        .fingerprinted())
    }

    fn kubeconfig(
        &self,
        document: &ClusterDocument,
        field: &str,
        sealed: Option<&Sealed>,
    ) -> Result<KubeconfigParts, DirectoryError> {
        let sealed = sealed.ok_or(DirectoryError::NotReachable("it has no credentials yet"))?;
        let associated = kubeconfig_place(&document.id, field);
        let plain = self
            .keyring
            .open(sealed, &associated)
            .map_err(|_| DirectoryError::Unusable("its kubeconfig cannot be opened"))?;
        let text = std::str::from_utf8(plain.expose())
            .map_err(|_| DirectoryError::Unusable("its kubeconfig is not text"))?;
        (self.read)(text).map_err(DirectoryError::Unusable)
    }

    /// The key of the user `core` (`contract/portal.md` §16.3). The API is reached whether or not it can be
    /// opened.
    fn machine_key(&self, document: &ClusterDocument) -> Option<SshTarget> {
        let sealed = document.cluster.properties.ssh_key.get().filter(|sealed| !sealed.0.is_empty())?;
        let opened = self.keyring.open(sealed, &kubeconfig_place(&document.id, "sshKey"));
        let key = opened.inspect_err(|error| unopened(&document.cluster.id, error)).ok()?;
        Some(SshTarget { user: "core".to_owned(), key: SshKey::Pkcs1Der(key), machines: Vec::new() })
    }

    fn imported_machines(&self, document: &ImportedCluster) -> Option<SshTarget> {
        let ssh = document.ssh.as_ref()?;
        let opened = open_ssh_key(&self.keyring, &document.id, &ssh.ssh_key);
        let key = opened.inspect_err(|error| unopened(&document.resource_id, error)).ok()?;
        let machines = ssh.machines.iter().map(|machine| SshMachine {
            name: machine.name.clone(),
            address: machine.address.clone(),
            port: machine.port,
            host_keys: machine.host_keys.clone(),
        });
        Some(SshTarget { user: ssh.user.clone(), key: SshKey::Pem(key), machines: machines.collect() })
    }

    fn imported_target(&self, document: &ImportedCluster) -> Result<Target, DirectoryError> {
        let credential = open_credential(&self.keyring, &document.id, &document.sealed)
            .map_err(|_| DirectoryError::Unusable("its credential cannot be opened"))?;
        let url: url::Url = document
            .server
            .parse()
            .map_err(|_| DirectoryError::Unusable("its server address cannot be read"))?;
        let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let server_name = document.tls_server_name.clone().unwrap_or_else(|| host.to_owned());
        Ok(Target {
            id: document.resource_id.clone(),
            source: Source::Imported,
            endpoint: Endpoint::Direct { url: url.clone() },
            server_name,
            ca_pem: document.ca_pem.clone(),
            read: credential.clone(),
            admin: credential,
            as_groups: document.as_groups.clone(),
            ssh: self.imported_machines(document),
            fingerprint: 0,
        }
        .fingerprinted())
    }
}

#[async_trait]
impl Directory for StoreDirectory {
    async fn find(&self, id: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        let cached = self.cache.read().targets.get(id).cloned();
        if let Some(target) = cached {
            return Ok(target);
        }
        loop {
            let epoch = self.epoch.load(Ordering::Acquire);
            let (collection, document, target) = self.load(id).await?;
            let target = Arc::new(target);
            let mut cache = self.cache.write();
            // Changes were applied meanwhile, perhaps this cluster's: read it again.
            if self.epoch.load(Ordering::Acquire) == epoch {
                cache.targets.insert(id.clone(), Arc::clone(&target));
                cache.documents.insert((collection, document), id.clone());
                return Ok(target);
            }
        }
    }
}

fn unopened(cluster: &ResourceId, error: &(dyn std::error::Error + 'static)) {
    tracing::warn!(resource_id = cluster.key(), error = %chain(error), "the key of its machines cannot be opened");
}

fn unavailable(error: StoreError) -> DirectoryError {
    DirectoryError::Unavailable(Box::new(error))
}

async fn follow(directory: Weak<StoreDirectory>, collection: Collection, mut cursor: i64) {
    let Some(mut wake) = directory.upgrade().map(|directory| directory.store.subscribe(collection)) else {
        return;
    };
    loop {
        let _ = tokio::time::timeout(POLL, wake.changed()).await;
        let Some(directory) = directory.upgrade() else { return };
        match directory.store.changes(collection, cursor, 500).await {
            Ok(changes) => {
                cursor = changes.cursor;
                if changes.items.is_empty() {
                    continue;
                }
                let mut cache = directory.cache.write();
                directory.epoch.fetch_add(1, Ordering::AcqRel);
                for change in changes.items {
                    if let Some(id) = cache.documents.remove(&(collection, change.id)) {
                        cache.targets.remove(&id);
                    }
                }
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), "cannot follow clusters");
                tokio::time::sleep(POLL).await;
            }
        }
    }
}
