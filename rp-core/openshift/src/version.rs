//! The cluster's version.

use serde::Deserialize;

use crate::lenient::{Time, member, object};
use crate::meta::{Condition, Meta, status_of};
use crate::reader::{Reader, TextValue as _};

/// `clusterversions.config.openshift.io/version`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ClusterVersion<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: VersionSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: VersionStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct VersionSpec<R: Reader> {
    #[serde(rename = "clusterID", deserialize_with = "member")]
    pub cluster_id: R::More<R::Text<64>>,
    #[serde(deserialize_with = "member")]
    pub channel: R::More<R::Text<253>>,
    #[serde(deserialize_with = "object")]
    pub desired_update: Release<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct VersionStatus<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub desired: Release<R>,
    /// Newest first.
    #[serde(deserialize_with = "member")]
    pub history: Vec<HistoryEntry<R>>,
    #[serde(deserialize_with = "member")]
    pub conditions: Vec<Condition<R>>,
    #[serde(deserialize_with = "member")]
    pub available_updates: R::More<Vec<Release<R>>>,
    #[serde(deserialize_with = "member")]
    pub conditional_updates: R::More<Vec<ConditionalUpdate<R>>>,
}

/// A version of OpenShift.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Release<R: Reader> {
    pub version: R::Text<253>,
    #[serde(deserialize_with = "member")]
    pub url: R::More<R::Text<512>>,
}

/// One version that the cluster had or moved to.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct HistoryEntry<R: Reader> {
    pub version: R::Text<253>,
    /// `Completed` or `Partial`.
    pub state: R::Text<64>,
    #[serde(deserialize_with = "member")]
    pub started_time: R::More<Time>,
    #[serde(deserialize_with = "member")]
    pub completion_time: R::More<Time>,
    #[serde(deserialize_with = "member")]
    pub verified: R::More<bool>,
}

/// A version that the cluster may move to, with its risks.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ConditionalUpdate<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub release: Release<R>,
    #[serde(deserialize_with = "member")]
    pub risks: Vec<Risk<R>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Risk<R: Reader> {
    pub message: R::Text<1024>,
}

impl<R: Reader> HistoryEntry<R> {
    pub fn is_complete(&self) -> bool {
        self.state.as_str() == "Completed"
    }
}

impl<R: Reader> ClusterVersion<R> {
    /// The newest version that was installed completely; `None` while the first one is installed.
    pub fn current(&self) -> Option<&str> {
        self.status.history.iter().find(|entry| entry.is_complete()).map(|entry| entry.version.as_str())
    }

    /// The version that somebody asked for, else the one that the version operator aims at.
    pub fn wanted(&self) -> Option<&str> {
        let versions = [&self.spec.desired_update.version, &self.status.desired.version];
        versions.into_iter().map(|version| version.as_str()).find(|version| !version.is_empty())
    }

    /// The version operator moves to another version.
    pub fn is_progressing(&self) -> bool {
        status_of(&self.status.conditions, "Progressing").is_true()
    }

    /// The version that is being installed: the newest of the history if it is not complete, else the desired one
    /// while the version operator moves.
    pub fn installing(&self) -> Option<&str> {
        let newest = self.status.history.first().filter(|entry| entry.state.as_str() == "Partial");
        let desired = || self.is_progressing().then_some(self.status.desired.version.as_str());
        newest.map(|entry| entry.version.as_str()).or_else(desired)
    }
}
