//! The flags of the operator that a cluster begins with (`contract/api.md` §13).

use serde_json::Value;

const ON: &[&str] = &[
    "aro.alertwebhook.enabled",
    "aro.autosizednodes.enabled",
    "aro.azuresubnets.enabled",
    "aro.azuresubnets.nsg.managed",
    "aro.azuresubnets.serviceendpoint.managed",
    "aro.ccopprof.enabled",
    "aro.checker.enabled",
    "aro.cloudproviderconfig.enabled",
    "aro.dnsmasq.enabled",
    "aro.etchosts.enabled",
    "aro.etchosts.managed",
    "aro.genevalogging.enabled",
    "aro.guardrails.deploy.managed",
    "aro.guardrails.enabled",
    "aro.guardrails.policies.aro-machine-config-deny.managed",
    "aro.guardrails.policies.aro-machines-deny.managed",
    "aro.guardrails.policies.aro-nodes-deny.managed",
    "aro.guardrails.policies.aro-privileged-namespace-deny.managed",
    "aro.imageconfig.enabled",
    "aro.ingress.enabled",
    "aro.machine.enabled",
    "aro.machinehealthcheck.enabled",
    "aro.machinehealthcheck.managed",
    "aro.machineset.enabled",
    "aro.nodedrainer.enabled",
    "aro.pullsecret.enabled",
    "aro.pullsecret.managed",
    "aro.rbac.enabled",
    "aro.routefix.enabled",
    "aro.storageaccounts.enabled",
    "aro.workaround.copyfail.enabled",
    "aro.workaround.dirtyfrag.enabled",
    "aro.workaround.enabled",
    "rh.srep.muo.enabled",
    "rh.srep.muo.managed",
];
const OFF: &[&str] = &[
    "aro.banner.enabled",
    "aro.cpms.enabled",
    "aro.forcereconciliation",
    "aro.monitoring.enabled",
    "aro.restartdnsmasq.enabled",
];
const OTHER: &[(&str, &str)] = &[
    ("aro.genevalogging.otel.profile", "minimal-logs"),
    ("aro.guardrails.method", "auto"),
    ("aro.guardrails.policies.aro-machine-config-deny.enforcement", "dryrun"),
    ("aro.guardrails.policies.aro-machines-deny.enforcement", "deny"),
    ("aro.guardrails.policies.aro-nodes-deny.enforcement", "deny"),
    ("aro.guardrails.policies.aro-privileged-namespace-deny.enforcement", "dryrun"),
];

/// The operator's flags of a new cluster.
pub fn operator_flags() -> impl Iterator<Item = (&'static str, &'static str)> {
    let on = ON.iter().map(|flag| (*flag, "true"));
    let off = OFF.iter().map(|flag| (*flag, "false"));
    on.chain(off).chain(OTHER.iter().copied())
}

/// The same as a member of a cluster.
pub(crate) fn flags() -> Value {
    operator_flags().map(|(flag, value)| (flag.to_owned(), Value::from(value))).collect()
}
