//! The ARO operator's own object.

use serde::Deserialize;

use crate::lenient::{Pairs, Texts, member, object};
use crate::meta::{Condition, Meta};
use crate::reader::Reader;

/// `clusters.aro.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct AroCluster<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: AroSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: AroStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct AroSpec<R: Reader> {
    #[serde(rename = "operatorflags", deserialize_with = "member")]
    pub flags: Pairs<R::Text<253>>,
    #[serde(deserialize_with = "object")]
    pub banner: Banner<R>,
    pub domain: R::Text<253>,
    #[serde(deserialize_with = "member")]
    pub gateway_domains: Texts<R::Text<253>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Banner<R: Reader> {
    pub content: R::Text<253>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct AroStatus<R: Reader> {
    /// The operator's build.
    #[serde(deserialize_with = "member")]
    pub operator_version: R::More<R::Text<253>>,
    #[serde(deserialize_with = "member")]
    pub conditions: Vec<Condition<R>>,
    /// Flags as the operator goes by them, with defaults; operators of older services do not write them.
    #[serde(deserialize_with = "member")]
    pub effective_flags: R::More<Pairs<R::Text<253>>>,
}
