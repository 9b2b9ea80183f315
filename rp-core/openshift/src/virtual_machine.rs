//! Virtual machines inside a cluster.

use serde::Deserialize;

use crate::lenient::object;
use crate::meta::Meta;
use crate::reader::Reader;

/// `virtualmachineinstances.kubevirt.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct VirtualMachine<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub status: VirtualMachineStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct VirtualMachineStatus<R: Reader> {
    pub phase: R::Text<64>,
    #[serde(rename = "guestOSInfo", deserialize_with = "object")]
    pub guest: Guest<R>,
}

/// Information from the guest agent.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct Guest<R: Reader> {
    pub kernel_release: R::Text<128>,
    pub machine: R::Text<64>,
    pub name: R::Text<128>,
    pub version_id: R::Text<64>,
}
