//! Operator flags that differ from the default, and the banner (`contract/monitor.md` §9.3).

use super::output::owned_text;
use super::{CollectError, CollectorOutput};
use crate::cluster_objects::ClusterObjects;
use crate::names::cluster;
use crate::objects::AroCluster;
use crate::sample::Sample;

/// The flags of a new cluster (`contract/operator.md` §4, `contract/api.md` §13), in order.
pub const DEFAULTS: &[(&str, &str)] = &[
    ("aro.alertwebhook.enabled", "true"),
    ("aro.autosizednodes.enabled", "true"),
    ("aro.azuresubnets.enabled", "true"),
    ("aro.azuresubnets.nsg.managed", "true"),
    ("aro.azuresubnets.serviceendpoint.managed", "true"),
    ("aro.banner.enabled", "false"),
    ("aro.ccopprof.enabled", "true"),
    ("aro.checker.enabled", "true"),
    ("aro.cloudproviderconfig.enabled", "true"),
    ("aro.cpms.enabled", "false"),
    ("aro.dnsmasq.enabled", "true"),
    ("aro.etchosts.enabled", "true"),
    ("aro.etchosts.managed", "true"),
    ("aro.forcereconciliation", "false"),
    ("aro.genevalogging.enabled", "true"),
    ("aro.genevalogging.otel.profile", "minimal-logs"),
    ("aro.guardrails.deploy.managed", "true"),
    ("aro.guardrails.enabled", "true"),
    ("aro.guardrails.method", "auto"),
    ("aro.guardrails.policies.aro-machine-config-deny.enforcement", "dryrun"),
    ("aro.guardrails.policies.aro-machine-config-deny.managed", "true"),
    ("aro.guardrails.policies.aro-machines-deny.enforcement", "deny"),
    ("aro.guardrails.policies.aro-machines-deny.managed", "true"),
    ("aro.guardrails.policies.aro-nodes-deny.enforcement", "deny"),
    ("aro.guardrails.policies.aro-nodes-deny.managed", "true"),
    ("aro.guardrails.policies.aro-privileged-namespace-deny.enforcement", "dryrun"),
    ("aro.guardrails.policies.aro-privileged-namespace-deny.managed", "true"),
    ("aro.imageconfig.enabled", "true"),
    ("aro.ingress.enabled", "true"),
    ("aro.machine.enabled", "true"),
    ("aro.machinehealthcheck.enabled", "true"),
    ("aro.machinehealthcheck.managed", "true"),
    ("aro.machineset.enabled", "true"),
    ("aro.monitoring.enabled", "false"),
    ("aro.nodedrainer.enabled", "true"),
    ("aro.pullsecret.enabled", "true"),
    ("aro.pullsecret.managed", "true"),
    ("aro.rbac.enabled", "true"),
    ("aro.restartdnsmasq.enabled", "false"),
    ("aro.routefix.enabled", "true"),
    ("aro.storageaccounts.enabled", "true"),
    ("aro.workaround.copyfail.enabled", "true"),
    ("aro.workaround.dirtyfrag.enabled", "true"),
    ("aro.workaround.enabled", "true"),
    ("rh.srep.muo.enabled", "true"),
    ("rh.srep.muo.managed", "true"),
];

pub(super) fn flags(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let cluster = match seen.aro_cluster() {
        Ok(Some(cluster)) => cluster,
        Ok(None) => return Ok(()),
        // The contract lists objects, so a missing object is no error.
        Err(CollectError::Fetch { error, .. }) if error.is_missing() => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut sample = Sample::one(&cluster::FLAGS, []);
    sample.spread = different(&cluster).map(|(name, value)| (name.into(), owned_text(value))).collect();
    if !sample.spread.is_empty() {
        told.push(sample);
    }
    if cluster.spec.banner.content.as_str() == "ContactSupport" {
        told.one(&cluster::BANNER, ["contact support".into(), "contact_support".into()]);
    }
    Ok(())
}

/// Default flags with another value, or none (`DNE`).
fn different(cluster: &AroCluster) -> impl Iterator<Item = (&'static str, &str)> {
    let set = cluster.spec.flags.0.as_deref();
    DEFAULTS.iter().filter(move |_| set.is_some()).filter_map(move |(name, default)| {
        let set = set.unwrap_or_default();
        let at = set.binary_search_by(|(flag, _)| flag.as_str().cmp(name));
        match at.ok().and_then(|at| set.get(at)).map(|(_, value)| value.as_str()) {
            Some(value) if value == *default => None,
            value => Some((*name, value.unwrap_or("DNE"))),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::super::tests::{CollectorBench, aro, named};
    use super::*;
    use crate::cluster_objects::Resource;

    #[expect(clippy::needless_pass_by_value, reason = "what json! makes is given away")]
    fn told(spec: Value) -> Vec<String> {
        CollectorBench::new(aro())
            .with(&Resource::AroCluster, json!({"spec": spec}))
            .run(named("emitOperatorFlagsAndSupportBanner"))
    }

    fn defaults() -> BTreeMap<&'static str, &'static str> {
        DEFAULTS.iter().copied().collect()
    }

    #[test]
    fn the_table_is_ordered_and_whole() {
        assert!(DEFAULTS.is_sorted());
        assert_eq!((DEFAULTS.len(), defaults().len()), (46, 46));
    }

    #[test]
    fn default_flags_and_none_at_all_are_silent() {
        assert!(told(json!({"operatorflags": defaults()})).is_empty());
        assert!(told(json!({})).is_empty());
        assert!(told(json!({"operatorflags": null})).is_empty());
    }

    #[test]
    fn each_flag_that_differs_is_a_dimension() {
        let mut flags = defaults();
        flags.insert("aro.machine.enabled", "false");
        flags.remove("aro.rbac.enabled");
        flags.insert("aro.unknown", "x");
        assert_eq!(
            told(json!({"operatorflags": flags})),
            ["cluster.nonstandard.operator.featureflags 1 aro.machine.enabled=false aro.rbac.enabled=DNE"]
        );
    }

    #[test]
    fn the_banner_is_told_by_its_one_content() {
        assert_eq!(
            told(json!({"banner": {"content": "ContactSupport"}})),
            ["cluster.nonstandard.banner 1 msg=contact support"]
        );
        assert!(told(json!({"banner": {"content": "Hello"}})).is_empty());
    }

    #[test]
    fn no_object_is_no_error() {
        let fed = CollectorBench::new(aro()).failed(&Resource::AroCluster, 404);
        assert!(fed.run(named("emitOperatorFlagsAndSupportBanner")).is_empty());
        let fed = CollectorBench::new(aro()).failed(&Resource::AroCluster, 403);
        assert_eq!(fed.run(named("emitOperatorFlagsAndSupportBanner")).len(), 1);
    }
}
