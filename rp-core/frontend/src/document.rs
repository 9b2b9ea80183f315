//! A cluster's stored document as JSON: unknown members are kept (`contract/api.md` §1.2).

use rp_database::{Draft, Expect, SharedStore, StoreError, Stored, Version};
use rp_documents::Collection;
use rp_seal::Keyring;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::secrets;

const CLUSTERS: Collection = Collection::OpenShiftClusters;

/// A cluster that is in the store.
#[derive(Clone)]
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) version: Version,
    key: String,
    partition: String,
    /// The envelope and the cluster; secrets sealed.
    pub(crate) body: Value,
}

impl Document {
    /// The cluster of that key.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn find(store: &SharedStore, key: &str) -> Result<Option<Self>, Fault> {
        store.get_by_key(CLUSTERS, key).await?.map(Self::from_stored).transpose()
    }

    /// Reads what is stored.
    ///
    /// # Errors
    /// It is not a cluster's document.
    pub(crate) fn from_stored(stored: Stored) -> Result<Self, Fault> {
        let Stored { id, partition, unique_key, body, version, .. } = stored;
        let body: Value = serde_json::from_str(&body).map_err(|_| Fault::Stored("a cluster is no JSON"))?;
        if !body.get("openShiftCluster").is_some_and(Value::is_object) {
            return Err(Fault::Stored("a document holds no cluster"));
        }
        Ok(Self { id, version, key: unique_key.unwrap_or_default(), partition, body })
    }

    /// The cluster, secrets sealed.
    pub(crate) fn cluster(&self) -> &Value {
        &self.body["openShiftCluster"]
    }

    /// The cluster with the secrets that a request may compare opened.
    ///
    /// # Errors
    /// One cannot be opened.
    pub(crate) fn opened(&self, keyring: &Keyring) -> Result<Value, Fault> {
        let mut cluster = self.cluster().clone();
        secrets::open(keyring, &self.id, &mut cluster)?;
        Ok(cluster)
    }

    /// Writes it back, provided that it was not changed since it was read.
    ///
    /// # Errors
    /// [`StoreError::Stale`]: it was changed since it was read. Or the store's.
    pub(crate) async fn replace(self, store: &SharedStore) -> Result<(), StoreError> {
        let expect = Expect::Version(self.version);
        store.replace(CLUSTERS, self.draft(), expect).await.map(drop)
    }

    fn draft(mut self) -> Draft {
        remove_nulls(&mut self.body["openShiftCluster"]);
        Draft {
            id: self.id,
            partition: self.partition,
            unique_key: Some(self.key),
            body: self.body.to_string(),
            expires_at: None,
        }
    }
}

/// Resolves a write whose response was lost: it succeeded if the stored cluster names the request's operation.
///
/// # Errors
/// The write's.
pub(crate) async fn confirm_write(
    store: &SharedStore,
    key: &str,
    operation: &str,
    written: Result<(), StoreError>,
) -> Result<(), StoreError> {
    let Err(StoreError::Unavailable(cause)) = written else { return written };
    let found = store.get_by_key(CLUSTERS, key).await.ok().flatten();
    let document = found.and_then(|stored| Document::from_stored(stored).ok());
    match document.is_some_and(|document| document.body["asyncOperationId"].as_str() == Some(operation)) {
        true => Ok(()),
        false => Err(StoreError::Unavailable(cause)),
    }
}

/// Removes nulls: documents leave absent values out, and members that a version of the API lacks are not null.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

/// A new cluster's envelope.
pub(crate) struct NewCluster<'a> {
    pub(crate) id: &'a str,
    pub(crate) key: &'a str,
    pub(crate) subscription: &'a str,
    pub(crate) bucket: u8,
    pub(crate) operation: &'a str,
    pub(crate) group_key: &'a str,
    pub(crate) client_key: &'a str,
    pub(crate) correlation: Value,
    /// Secrets sealed.
    pub(crate) cluster: Value,
}

impl NewCluster<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// [`StoreError::Exists`]: a cluster of that name was created in the meantime. Or the store's.
    pub(crate) async fn create(mut self, store: &SharedStore) -> Result<(), StoreError> {
        remove_nulls(&mut self.cluster);
        let body = json!({
            "id": self.id,
            "key": self.key,
            "partitionKey": self.subscription,
            "clusterResourceGroupIdKey": self.group_key,
            "clientIdKey": self.client_key,
            "bucket": self.bucket,
            "asyncOperationId": self.operation,
            "openShiftCluster": self.cluster,
            "correlationData": self.correlation,
        });
        let draft = Draft {
            id: self.id.to_owned(),
            partition: self.subscription.to_owned(),
            unique_key: Some(self.key.to_owned()),
            body: body.to_string(),
            expires_at: None,
        };
        store.create(CLUSTERS, draft).await.map(drop)
    }
}
