//! The cluster's network (`contract/monitor.md` §9.9).

use super::output::owned_text;
use super::{CollectError, CollectorOutput};
use crate::cluster_objects::ClusterObjects;
use crate::names::cluster;

pub(super) fn mtu(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let Some(network) = seen.network()? else { return Ok(()) };
    let mtu = network.status.mtu.or_zero().to_string();
    let kind = owned_text(network.spec.network_type.as_str());
    let fields = vec![("mtu".into(), mtu.clone().into()), ("network_type".into(), kind.clone())];
    told.hourly_line("network MTU configuration", fields);
    told.one(&cluster::NETWORK_MTU, [mtu.into(), kind]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{CollectorBench, aro, named};
    use crate::cluster_objects::Resource;

    #[test]
    fn mtu_and_type_are_told() {
        let network =
            json!({"spec": {"networkType": "OVNKubernetes"}, "status": {"clusterNetworkMTU": 1400}});
        let fed = CollectorBench::new(aro()).hourly().with(&Resource::Network, network);
        assert_eq!(fed.run(named("emitNetworkMTU")), ["network.mtu 1 mtu=1400 network_type=OVNKubernetes"]);
        let lines = fed.told(named("emitNetworkMTU")).unwrap().lines;
        assert_eq!(lines[0].text, "network MTU configuration");
    }
}
