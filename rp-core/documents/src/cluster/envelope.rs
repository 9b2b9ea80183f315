//! The envelope of a cluster's document and the cluster as ARM knows it.

use std::borrow::Cow;

use serde_json::Value;

use super::identity::ManagedServiceIdentity;
use super::member::{Intent, Outcome, Shared};
use super::object::{object, optional_objects, required};
use super::properties::Properties;
use super::shape::{Instant, Map};
use super::writer::{Edge, Worker};
use crate::{Collection, Document, Lease, Leased, ResourceId, Unknown};

object! {
    /// One stored cluster.
    pub struct ClusterDocument {
        /// The operation that runs. The edge names it, the worker removes it at its end.
        "asyncOperationId" => async_operation_id: Shared<String>,
        /// 0 to 255: shards work for monitors.
        "bucket" => bucket: Intent<i64>,
        /// Lower-cased client id of the service principal, or resource id of the cluster's own identity.
        "clientIdKey" => client_id_key: Intent<String>,
        /// Lower-cased id of the managed resource group.
        "clusterResourceGroupIdKey" => cluster_resource_group_id_key: Intent<String>,
        /// Of the request that began the operation. Removed at its end.
        "correlationData" => correlation_data: Shared<CorrelationData>,
        /// How often the document was taken. The edge resets it with an accepted request.
        "dequeues" => dequeues: Shared<i64>,
        /// The `clientIdKey` before the last change; its reservation may have to be given back.
        "formerClientIdKey" => former_client_id_key: Intent<String>,
        /// A lower-case UUID.
        "id" => id: String,
        /// The lower-cased resource id; unique.
        "key" => key: String,
        "leaseExpires" => lease_expires: Outcome<i64>,
        "leaseOwner" => lease_owner: Outcome<String>,
        "leaseToken" => lease_token: Outcome<i64>,
        /// Unix seconds of the store's clock: until then no operation and no other task of maintenance takes the cluster,
        /// because a resize of its control plane was begun. 0: none was.
        "maintenanceHoldUntil" => maintenance_hold_until: Outcome<i64>,
        "openShiftCluster" => cluster: Box<OpenShiftCluster>,
        /// Progress of the operation.
        "operation" => operation: Outcome<Position>,
        /// The subscription id.
        "partitionKey" => partition_key: String,
        /// How often in a row the operation was put off.
        "retry" => retry: Outcome<Retry>,
    }
}

impl Document for ClusterDocument {
    const COLLECTION: Collection = Collection::OpenShiftClusters;

    fn id(&self) -> &str {
        &self.id
    }

    fn partition(&self) -> &str {
        &self.partition_key
    }

    fn unique_key(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&self.key))
    }
}

// Boxed: a document is moved through many futures.
required!(Box<OpenShiftCluster>);

impl Leased for ClusterDocument {
    fn lease(&self) -> Lease {
        Lease {
            owner: self.lease_owner.to_string(),
            expires: *self.lease_expires,
            token: u64::try_from(*self.lease_token).unwrap_or_default(),
            dequeues: u32::try_from(*self.dequeues).unwrap_or_default(),
        }
    }

    fn set_lease(&mut self, lease: &Lease) {
        let by = Worker::holding(lease);
        self.lease_owner.set_or_clear(by, lease.owner.as_str());
        let token = i64::try_from(lease.token).unwrap_or(i64::MAX);
        for (member, number) in [(&mut self.lease_expires, lease.expires), (&mut self.lease_token, token)] {
            if number == 0 { member.clear(by) } else { member.set(by, number) }
        }
        if lease.dequeues == 0 {
            self.dequeues.clear(by);
        } else {
            self.dequeues.set(by, lease.dequeues);
        }
    }
}

impl ClusterDocument {
    /// A document of that id with its cluster and nothing else. The key and the partition are those of the cluster.
    pub fn new(id: impl Into<String>, cluster: Box<OpenShiftCluster>) -> Self {
        Self {
            async_operation_id: Shared::default(),
            bucket: Intent::default(),
            client_id_key: Intent::default(),
            cluster_resource_group_id_key: Intent::default(),
            correlation_data: Shared::default(),
            dequeues: Shared::default(),
            former_client_id_key: Intent::default(),
            id: id.into(),
            key: cluster.id.key().to_owned(),
            lease_expires: Outcome::default(),
            lease_owner: Outcome::default(),
            lease_token: Outcome::default(),
            maintenance_hold_until: Outcome::default(),
            partition_key: cluster.id.subscription().to_owned(),
            cluster,
            operation: Outcome::default(),
            retry: Outcome::default(),
            unknown: Unknown::new(),
        }
    }

    /// How often in a row its operation was put off.
    pub fn retries(&self) -> u32 {
        u32::try_from(*self.retry.count).unwrap_or(u32::MAX)
    }

    /// Notes how often its operation was put off.
    pub fn set_retries(&mut self, by: Worker, retries: u32) {
        if retries == 0 {
            self.retry.clear(by);
        } else {
            self.retry.put(Some(Retry { count: Outcome::new(by, retries), ..Retry::default() }));
        }
    }
}

object! {
    /// What ties an operation to the request that began it.
    #[derive(Default)]
    pub struct CorrelationData {
        "clientPrincipalName" => client_principal_name: Intent<String>,
        "clientRequestId" => client_request_id: Intent<String>,
        "correlationId" => correlation_id: Intent<String>,
        "operationID" => operation_id: Intent<String>,
        "requestID" => request_id: Intent<String>,
        "requestTime" => request_time: Intent<String>,
    }
}

object! {
    /// Progress of an operation, for the worker that takes it next.
    #[derive(Default)]
    pub struct Position {
        /// The operation's id: the asynchronous operation's, else one of its own.
        "id" => id: Outcome<String>,
        /// The provisioning state that it began with.
        "kind" => kind: Outcome<String>,
        /// The stored name of the step to go on with.
        "next" => next: Outcome<String>,
        /// The phase that `next` belongs to.
        "phase" => phase: Outcome<String>,
    }
}

object! {
    /// How often in a row an operation was put off.
    #[derive(Default)]
    pub struct Retry {
        "count" => count: Outcome<i64>,
    }
}

object! {
    /// The resource as ARM knows it, with our private members.
    pub struct OpenShiftCluster {
        /// The resource id in the caller's casing.
        "id" => id: ResourceId,
        "location" => location: Intent<String>,
        /// Shown to customers as `identity`.
        "managedServiceIdentity" => managed_service_identity: Shared<ManagedServiceIdentity>,
        "name" => name: Intent<String>,
        "properties" => properties: Properties,
        "systemData" => system_data: Intent<SystemData>,
        "tags" => tags: Intent<Map<Intent<String>>>,
        "type" => kind: Intent<String>,
    }
}

impl OpenShiftCluster {
    /// A cluster of that id without any other member.
    pub fn new(id: ResourceId) -> Self {
        Self {
            id,
            location: Intent::default(),
            managed_service_identity: Shared::default(),
            name: Intent::default(),
            properties: Properties::default(),
            system_data: Intent::default(),
            tags: Intent::default(),
            kind: Intent::default(),
            unknown: Unknown::new(),
        }
    }

    /// The same without members that are null, at every depth: documents leave absent values out.
    ///
    /// # Errors
    /// Does not happen: what was read can be written and read again.
    pub fn without_nulls(&self) -> Result<Self, serde_json::Error> {
        let mut json = serde_json::to_value(self)?;
        remove_nulls(&mut json);
        serde_json::from_value(json)
    }
}

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

object! {
    /// Who created and last modified the resource (ARM's `systemData`).
    #[derive(Default)]
    pub struct SystemData {
        "createdAt" => created_at: Intent<Instant>,
        "createdBy" => created_by: Intent<String>,
        "createdByType" => created_by_type: Intent<String>,
        "lastModifiedAt" => last_modified_at: Intent<Instant>,
        "lastModifiedBy" => last_modified_by: Intent<String>,
        "lastModifiedByType" => last_modified_by_type: Intent<String>,
    }
}

impl SystemData {
    /// Takes over what ARM sent of it: each text that is not empty.
    pub fn take_over(&mut self, _by: Edge, sent: &Self) {
        replace_if_sent(&mut self.created_at, &sent.created_at);
        replace_if_sent(&mut self.created_by, &sent.created_by);
        replace_if_sent(&mut self.created_by_type, &sent.created_by_type);
        replace_if_sent(&mut self.last_modified_at, &sent.last_modified_at);
        replace_if_sent(&mut self.last_modified_by, &sent.last_modified_by);
        replace_if_sent(&mut self.last_modified_by_type, &sent.last_modified_by_type);
    }
}

/// A text that is no instant is taken over too: it is shown as it was sent.
fn replace_if_sent<T: Clone + serde::Serialize>(member: &mut Intent<T>, sent: &Intent<T>) {
    if matches!(serde_json::to_value(sent), Ok(Value::String(text)) if !text.is_empty()) {
        *member = sent.clone();
    }
}

optional_objects!(CorrelationData, Position, Retry, SystemData);
