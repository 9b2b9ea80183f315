//! Machine config pools.

use serde::Deserialize;

use crate::lenient::{Int, member, object};
use crate::meta::{Condition, Meta, NameOnly};
use crate::reader::Reader;

/// `machineconfigpools.machineconfiguration.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Pool<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: PoolSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: PoolStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct PoolSpec<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub paused: R::More<bool>,
    /// The rendered configuration that its machines are to have.
    #[serde(deserialize_with = "object")]
    pub configuration: NameOnly<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct PoolStatus<R: Reader> {
    pub machine_count: Int,
    pub ready_machine_count: Int,
    pub updated_machine_count: Int,
    pub unavailable_machine_count: Int,
    pub degraded_machine_count: Int,
    /// The rendered configuration that its machines have.
    #[serde(deserialize_with = "object")]
    pub configuration: NameOnly<R>,
    #[serde(deserialize_with = "member")]
    pub conditions: Vec<Condition<R>>,
}
