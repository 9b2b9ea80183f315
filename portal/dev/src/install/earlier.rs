//! Clusters that an earlier release of `aro-dev` installed: it kept when each began only, and the steps made the
//! authorities and kept them in the cluster's document.

use anyhow::Context as _;
use rp_base::{Secret, SharedRandom, Timestamp};
use rp_core::Services;
use rp_documents::Sealed;
use rp_install::authority::KeyedCertificate;
use serde::Deserialize;
use serde_json::Value;

use super::{Begun, domain_of, graph, text};

/// Where the authorities stand in a cluster's properties.
const AUTHORITIES: &str = "clusterAuthorities";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authorities {
    admin_kubeconfig_signer: Pair,
    #[serde(rename = "rootCA")]
    root: Pair,
}

/// PEM.
#[derive(Deserialize)]
struct Pair {
    certificate: String,
    key: Secret<String>,
}

impl From<Pair> for KeyedCertificate {
    fn from(pair: Pair) -> Self {
        Self { certificate: pair.certificate, key: pair.key }
    }
}

/// The installation that began at `at`, with the authorities of the document, so that the kubeconfigs in the store
/// stay good.
pub(super) fn read(
    services: &Services,
    document: &Value,
    parent: &str,
    random: &SharedRandom,
    at: Timestamp,
) -> anyhow::Result<Begun> {
    let cluster = document.get("openShiftCluster").context("the document has no cluster")?;
    let sealed = text(cluster, &format!("/properties/{AUTHORITIES}")).to_owned();
    let place = rp_access::kubeconfig_place(text(document, "/id"), AUTHORITIES);
    let (plain, _) = services.keyring.open_any(&Sealed(sealed), &place)?;
    let authorities: Authorities =
        serde_json::from_slice(plain.expose()).ok().context("the authorities cannot be read")?;
    let (root, signer) = (authorities.root.into(), authorities.admin_kubeconfig_signer.into());
    let domain = domain_of(cluster, parent);
    Ok(Begun { at, graph: graph::of(&domain, &root, &signer, &**random, at)? })
}
