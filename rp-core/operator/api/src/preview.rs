//! `previewfeatures.preview.aro.openshift.io` (`contract/operator.md` §2.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::{Condition, Metadata};

pub const GROUP: &str = "preview.aro.openshift.io";
pub const VERSION: &str = "v1alpha1";
pub const KIND: &str = "PreviewFeature";

/// Features in preview. There is at most one object, with the name [`crate::SINGLETON`].
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PreviewFeature {
    pub metadata: Metadata,
    pub spec: PreviewSpec,
    pub status: PreviewStatus,
}

/// Which features, and their settings.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PreviewSpec {
    /// Flow logs of network security groups. Without it the operator leaves them alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NsgFlowLogs")]
    pub nsg_flow_logs: Option<NsgFlowLogs>,
}

/// Flow logs of the network security groups of the subnets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["enabled"]))]
pub struct NsgFlowLogs {
    /// Whether flow logs are written. False: they are deleted.
    pub enabled: bool,
    /// Version of the format.
    #[schemars(extend("x-default" = 2, "enum" = [1, 2]))]
    pub version: i64,
    /// Resource ID of the network watcher.
    #[serde(rename = "networkWatcherID")]
    pub network_watcher_id: String,
    /// Resource ID of the storage account, in the region of the flow log.
    pub storage_account_resource_id: String,
    /// Days that logs are kept.
    #[schemars(extend("x-default" = 90))]
    pub retention_days: i32,
    /// Resource ID of the workspace of traffic analytics.
    pub traffic_analytics_log_analytics_workspace_id: String,
    /// Interval of traffic analytics.
    #[schemars(extend("x-default" = "60m", "enum" = ["60m", "10m"]))]
    pub traffic_analytics_interval: String,
}

impl Default for NsgFlowLogs {
    fn default() -> Self {
        Self {
            enabled: false,
            version: 2,
            network_watcher_id: String::new(),
            storage_account_resource_id: String::new(),
            retention_days: 90,
            traffic_analytics_log_analytics_workspace_id: String::new(),
            traffic_analytics_interval: "60m".to_owned(),
        }
    }
}

/// The state.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PreviewStatus {
    /// Build of the operator.
    pub operator_version: String,
    /// Conditions, one for each type.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
