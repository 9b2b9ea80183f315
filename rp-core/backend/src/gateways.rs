//! Records of the gateway in the store (`contract/database.md` §2.2, §2.3).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_cluster::{GatewayRecord, Gateways, ProgressError};
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::{Gateway, GatewayDocument, Unknown};

use crate::progress::away;

/// A record that is being deleted stays so long: the gateway polls every ten seconds and must see it go.
const GOING: Duration = Duration::from_secs(60);
const TRIES: usize = 5;

/// The collection Gateway. The gateway reads it.
#[derive(Debug, Clone)]
pub struct StoredGateways(SharedStore);

impl StoredGateways {
    /// In that store.
    pub const fn new(store: SharedStore) -> Self {
        Self(store)
    }

    fn records(&self) -> Typed<GatewayDocument> {
        Typed::new(Arc::clone(&self.0))
    }
}

#[async_trait]
impl Gateways for StoredGateways {
    async fn get(&self, link_id: &str) -> Result<Option<GatewayRecord>, ProgressError> {
        let found = self.records().get(link_id).await.map_err(away)?;
        Ok(found.map(|found| GatewayRecord {
            link_id: found.value.id,
            cluster: found.value.gateway.id,
            storage_suffix: found.value.gateway.storage_suffix,
            registry_account: found.value.gateway.image_registry_storage_account_name,
        }))
    }

    async fn create(&self, record: &GatewayRecord) -> Result<bool, ProgressError> {
        let document = GatewayDocument {
            id: record.link_id.clone(),
            gateway: Gateway {
                id: record.cluster.clone(),
                deleting: false,
                storage_suffix: record.storage_suffix.clone(),
                image_registry_storage_account_name: record.registry_account.clone(),
                unknown: Unknown::new(),
            },
            unknown: Unknown::new(),
        };
        match self.records().create(document).await {
            Ok(_) => Ok(true),
            Err(StoreError::Exists { .. }) => Ok(false),
            Err(error) => Err(away(error)),
        }
    }

    async fn delete(&self, link_id: &str) -> Result<(), ProgressError> {
        let records = self.records();
        for _ in 0..TRIES {
            let found = records.get(link_id).await.map_err(away)?;
            let Some(mut found) = found.filter(|found| !found.value.gateway.deleting) else { return Ok(()) };
            found.value.gateway.deleting = true;
            found.expires_at = Some(self.0.now().await.map_err(away)? + GOING);
            match records.replace(found).await {
                Ok(_) | Err(StoreError::Gone { .. }) => return Ok(()),
                Err(StoreError::Stale { .. }) => {}
                Err(error) => return Err(away(error)),
            }
        }
        let contended = format!("the gateway's record {link_id} is written by others all the time");
        Err(ProgressError::Store(contended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rp_base::{ManualClock, Timestamp};
    use rp_database::{Expect, in_memory};

    #[tokio::test]
    async fn a_record_is_made_once_and_goes_a_minute_after_its_end() {
        let clock = ManualClock::at(Timestamp::from_millis(1_000_000));
        let store = in_memory(Arc::new(clock.clone()));
        let gateways = StoredGateways::new(Arc::clone(&store));
        let record = GatewayRecord {
            link_id: "1234".to_owned(),
            cluster: "/a/cluster".to_owned(),
            storage_suffix: "abc".to_owned(),
            registry_account: "imageregistryabc".to_owned(),
        };
        assert!(gateways.create(&record).await.unwrap());
        assert!(!gateways.create(&record).await.unwrap(), "there is one already");
        assert_eq!(gateways.get("1234").await.unwrap(), Some(record.clone()));
        gateways.delete("1234").await.unwrap();
        let typed = Typed::<GatewayDocument>::new(Arc::clone(&store));
        let going = typed.get("1234").await.unwrap().unwrap();
        assert!(going.value.gateway.deleting, "the gateway sees that it goes");
        // A second deletion does not put the end off.
        clock.advance(Duration::from_secs(50));
        gateways.delete("1234").await.unwrap();
        clock.advance(Duration::from_secs(11));
        assert_eq!(gateways.get("1234").await.unwrap(), None);
        gateways.delete("1234").await.unwrap();
        assert!(typed.delete("1234", Expect::Any).await.is_err(), "it is gone");
    }
}
