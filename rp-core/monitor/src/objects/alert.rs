//! Alerts that fire.

use rp_openshift::Text;
use rp_openshift::lenient::object;
use serde::Deserialize;

/// One alert of Alertmanager's `/api/v2/alerts`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Alert {
    #[serde(deserialize_with = "object")]
    pub labels: AlertLabels,
    #[serde(deserialize_with = "object")]
    pub status: AlertStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct AlertLabels {
    pub alertname: Text<253>,
    pub severity: Text<64>,
    pub namespace: Text<253>,
    pub target: Text<253>,
    pub secondary_target: Text<253>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct AlertStatus {
    /// `active`, `suppressed` or `unprocessed`.
    pub state: Text<64>,
}
