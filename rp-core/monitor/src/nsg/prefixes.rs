//! Cache of subnets: the proxy's collector needs prefixes in every look, Azure is called every ten
//! minutes.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_azure::{AzureError, Subnet, Subnets};
use rp_base::{SharedClock, Timestamp, chain};

use crate::check::SubnetSource;
use crate::cluster_objects::Prefixes;
use crate::view::ClusterView;

/// How long prefixes are valid, and the jitter, so that not all are read at once.
const AGE: Duration = Duration::from_mins(10);
const SPREAD: u64 = 120;
/// How long a failure is cached.
const FAILED: Duration = Duration::from_mins(1);
/// The most subnets that are remembered.
const MOST: usize = 50_000;

/// Reads subnets and caches their prefixes.
pub struct SubnetPrefixes {
    azure: Arc<dyn Subnets>,
    clock: SharedClock,
    known: Mutex<HashMap<Box<str>, (Timestamp, Prefixes)>>,
}

impl fmt::Debug for SubnetPrefixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubnetPrefixes").field("known", &self.known.lock().len()).finish_non_exhaustive()
    }
}

impl SubnetPrefixes {
    /// Over a client.
    pub fn new(azure: Arc<dyn Subnets>, clock: SharedClock) -> Self {
        Self { azure, clock, known: Mutex::default() }
    }

    /// Reads a subnet anew; `id` in lower case.
    pub(super) async fn read(&self, tenant: &str, id: &str) -> Result<Subnet, AzureError> {
        let got = self.azure.subnet(tenant, id).await;
        let prefixes = match &got {
            Ok(subnet) => Ok(subnet.prefixes.clone()),
            Err(error) => Err(chain(error).to_string()),
        };
        let (now, life) = (self.clock.now(), if prefixes.is_ok() { AGE } else { FAILED });
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.retain(|_, (until, _)| *until > now);
        }
        if known.len() < MOST {
            known.insert(id.into(), (now + life.saturating_sub(spread(id)), prefixes));
        }
        got
    }

    fn known(&self, id: &str) -> Option<Prefixes> {
        let now = self.clock.now();
        self.known.lock().get(id).filter(|(until, _)| now < *until).map(|(_, prefixes)| prefixes.clone())
    }
}

/// The jitter of a subnet: constant, and less than the lifetime of a cached failure.
fn spread(id: &str) -> Duration {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    Duration::from_millis(hasher.finish() % (SPREAD * 1000) / 4)
}

#[async_trait]
impl SubnetSource for SubnetPrefixes {
    async fn prefixes(&self, cluster: &ClusterView, ids: &[String]) -> BTreeMap<String, Prefixes> {
        let mut all = BTreeMap::new();
        for id in ids {
            let prefixes = match (self.known(id), cluster.tenant.as_deref()) {
                (Some(known), _) => known,
                (None, None) => Err("the subscription's tenant is not known".to_owned()),
                (None, Some(tenant)) => self
                    .read(tenant, id)
                    .await
                    .map(|of| of.prefixes)
                    .map_err(|error| chain(&error).to_string()),
            };
            all.insert(id.clone(), prefixes);
        }
        all
    }
}
