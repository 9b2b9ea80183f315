//! The kinds that a cluster serves, and those of several clusters, kept for some minutes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_documents::ResourceId;
use tokio::time::Instant;

use super::names::KindName;

/// A cluster's kinds change with an update.
const KEEP: Duration = Duration::from_secs(300);
/// Clusters whose kinds are kept.
const MOST_CLUSTERS: usize = 200;

/// One kind, in the version that the cluster prefers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    pub name: KindName,
    pub kind: String,
    pub short: Vec<String>,
    pub namespaced: bool,
    pub listable: bool,
}

/// What a cluster serves.
#[derive(Debug, Default)]
pub struct Kinds {
    /// By group and kind.
    pub kinds: Vec<Kind>,
    /// Groups that did not answer.
    pub missing: Vec<String>,
}

/// Kinds by cluster, for some minutes.
#[derive(Debug, Default)]
pub struct Discovered(Mutex<HashMap<ResourceId, (Instant, Arc<Kinds>)>>);

impl Kinds {
    pub fn find(&self, name: &KindName) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.name == *name).or_else(|| {
            let same = |kind: &&Kind| kind.name.group == name.group && kind.name.plural == name.plural;
            self.kinds.iter().find(same)
        })
    }

    /// The kind that an object names by `apiVersion` and `kind`.
    pub fn of_object(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let all = || self.kinds.iter().filter(|each| each.name.group == group && each.kind == kind);
        all().find(|each| each.name.version == version).or_else(|| all().next())
    }
}

impl Discovered {
    /// The kinds of a cluster, where they were read lately.
    pub fn get(&self, id: &ResourceId) -> Option<Arc<Kinds>> {
        let all = self.0.lock();
        let (at, kinds) = all.get(id)?;
        (at.elapsed() < KEEP).then(|| Arc::clone(kinds))
    }

    /// Keeps the kinds of a cluster, if every group answered and there is room.
    pub fn keep(&self, id: &ResourceId, kinds: &Arc<Kinds>) {
        let mut all = self.0.lock();
        if all.len() >= MOST_CLUSTERS {
            all.retain(|_, (at, _)| at.elapsed() < KEEP);
        }
        if all.len() < MOST_CLUSTERS && kinds.missing.is_empty() {
            all.insert(id.clone(), (Instant::now(), Arc::clone(kinds)));
        }
    }
}
