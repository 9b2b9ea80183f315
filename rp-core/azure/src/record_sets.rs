//! A records of DNS zones (Microsoft.Network/dnsZones).

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::error::AzureError;
use crate::resources::{Precondition, Resources};

const API_VERSION: &str = "2018-05-01";

/// A set of A records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ARecord {
    /// Empty for one that is not stored yet.
    pub etag: String,
    /// Seconds.
    pub ttl: i64,
    pub addresses: Vec<String>,
    /// Key and value, by us: `resourceId`.
    pub metadata: Vec<(String, String)>,
}

/// Record sets of a zone, given by its id. Every implementation of [`Resources`] has this.
#[async_trait]
pub trait RecordSets {
    /// A set; the name relative to the zone. `None`: there is none.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn a_record(&self, zone: &str, name: &str) -> Result<Option<ARecord>, AzureError>;

    /// Writes a set, perhaps under a condition.
    ///
    /// # Errors
    /// [`AzureError`]; status 412 when the condition does not hold.
    async fn put_a_record(
        &self,
        zone: &str,
        name: &str,
        record: &ARecord,
        when: Option<Precondition<'_>>,
    ) -> Result<(), AzureError>;

    /// Deletes a set, perhaps only while it is unchanged; one that is not there is deleted.
    ///
    /// # Errors
    /// [`AzureError`]; status 412 when it is another one.
    async fn delete_a_record(
        &self,
        zone: &str,
        name: &str,
        when: Option<Precondition<'_>>,
    ) -> Result<(), AzureError>;
}

#[async_trait]
impl<T: Resources + ?Sized> RecordSets for T {
    async fn a_record(&self, zone: &str, name: &str) -> Result<Option<ARecord>, AzureError> {
        let found = self.get(&format!("{zone}/A/{name}"), API_VERSION).await?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(found.map(|found| {
            let of = &found["properties"];
            let addresses = of["ARecords"].as_array().into_iter().flatten();
            let metadata = of["metadata"].as_object().into_iter().flatten();
            ARecord {
                etag: text(&found["etag"]),
                ttl: of["TTL"].as_i64().unwrap_or_default(),
                addresses: addresses.map(|record| text(&record["ipv4Address"])).collect(),
                metadata: metadata.map(|(key, value)| (key.clone(), text(value))).collect(),
            }
        }))
    }

    async fn put_a_record(
        &self,
        zone: &str,
        name: &str,
        record: &ARecord,
        when: Option<Precondition<'_>>,
    ) -> Result<(), AzureError> {
        let addresses: Vec<Value> = record.addresses.iter().map(|ip| json!({ "ipv4Address": ip })).collect();
        let metadata: serde_json::Map<String, Value> =
            record.metadata.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        let mut body = json!({"properties": {"TTL": record.ttl, "ARecords": addresses}});
        if !metadata.is_empty() {
            body["properties"]["metadata"] = Value::Object(metadata);
        }
        let id = format!("{zone}/A/{name}");
        match when {
            Some(when) => self.put_when(&id, API_VERSION, &body, when).await,
            None => self.put(&id, API_VERSION, &body).await,
        }
        .map(|_| ())
    }

    async fn delete_a_record(
        &self,
        zone: &str,
        name: &str,
        when: Option<Precondition<'_>>,
    ) -> Result<(), AzureError> {
        let id = format!("{zone}/A/{name}");
        match when {
            Some(when) => self.delete_when(&id, API_VERSION, when).await,
            None => self.delete(&id, API_VERSION).await,
        }
    }
}
