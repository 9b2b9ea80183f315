//! The log exporter's daemon sets and virtual machines (`contract/monitor.md` §9.6).

use super::output::owned_text;
use super::{CollectError, CollectorOutput};
use crate::cluster_objects::ClusterObjects;
use crate::names::cluster;

pub(super) fn daemon_sets(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let sets = seen.log_daemon_sets()?;
    let ours = |name: &str| matches!(name, "otel-exporter-master" | "otel-exporter-worker");
    for set in sets.iter().filter(|set| ours(set.metadata.name.as_str())) {
        let wanted = set.status.desired_number_scheduled.or_zero();
        let there = set.status.number_available.or_zero();
        if wanted == there {
            continue;
        }
        let dims = || {
            let (name, namespace) = (set.metadata.name.as_str(), "openshift-azure-logging");
            [owned_text(name), namespace.into(), wanted.to_string().into(), there.to_string().into()]
        };
        told.one(&cluster::DAEMONSET_STATUSES, dims());
        if there == 0 {
            told.one(&cluster::OTEL_CANNOT_START, dims());
        }
    }
    Ok(())
}

pub(super) fn virtual_machines(
    seen: &ClusterObjects,
    told: &mut CollectorOutput,
) -> Result<(), CollectError> {
    for machine in seen.virtual_machines()?.iter() {
        let (meta, guest) = (&machine.metadata, &machine.status.guest);
        let label = |key| owned_text(meta.labels.get(key).unwrap_or_default());
        told.one(
            &cluster::VMI_INFO,
            [
                owned_text(meta.namespace.as_str()),
                owned_text(meta.name.as_str()),
                owned_text(machine.status.phase.as_str()),
                label("os"),
                label("workload"),
                label("flavor"),
                owned_text(guest.kernel_release.as_str()),
                owned_text(guest.machine.as_str()),
                owned_text(guest.name.as_str()),
                owned_text(guest.version_id.as_str()),
            ],
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{CollectorBench, aro, named};
    use crate::cluster_objects::Resource;

    fn told(items: Value) -> Vec<String> {
        CollectorBench::new(aro())
            .with_items(&Resource::LogDaemonSets, items)
            .run(named("emitDaemonsetStatuses"))
    }

    fn set(name: &str, wanted: i64, there: i64) -> Value {
        json!({"metadata": {"name": name}, "status": {"desiredNumberScheduled": wanted, "numberAvailable": there}})
    }

    #[test]
    fn exporters_that_are_not_everywhere_are_told() {
        assert!(told(json!([set("otel-exporter-master", 3, 3), set("other", 3, 0)])).is_empty());
        let dims = "name=otel-exporter-worker namespace=openshift-azure-logging desiredNumberScheduled=3";
        assert_eq!(
            told(json!([set("otel-exporter-worker", 3, 2)])),
            [format!("daemonset.statuses 1 {dims} numberAvailable=2")]
        );
        assert_eq!(
            told(json!([set("otel-exporter-worker", 3, 0)])),
            [
                format!("daemonset.statuses 1 {dims} numberAvailable=0"),
                format!("genevalogging.otel.cannotstart 1 {dims} numberAvailable=0"),
            ]
        );
    }

    #[test]
    fn no_exporter_is_no_error() {
        let fed = CollectorBench::new(aro()).failed(&Resource::LogDaemonSets, 404);
        assert!(fed.run(named("emitDaemonsetStatuses")).is_empty());
    }

    #[test]
    fn virtual_machines_tell_what_they_are() {
        let vm = json!({"metadata": {"name": "v", "namespace": "n", "labels": {"os": "fedora", "workload": "server", "flavor": "small"}},
            "status": {"phase": "Running", "guestOSInfo": {"kernelRelease": "6.1", "machine": "x86_64", "name": "Fedora", "versionId": "39"}}});
        let fed = CollectorBench::new(aro()).with_items(&Resource::VirtualMachines, json!([vm]));
        assert_eq!(
            fed.run(named("emitCNVVirtualMachineInstanceStatuses")),
            [
                "cnv.virtualmachineinstance.info 1 namespace=n name=v phase=Running os=fedora workload=server flavor=small \
              guest_os_kernel_release=6.1 guest_os_arch=x86_64 guest_os_name=Fedora guest_os_version_id=39"
            ]
        );
    }

    #[test]
    fn without_the_kind_there_are_no_virtual_machines() {
        let fed = CollectorBench::new(aro()).failed(&Resource::VirtualMachines, 404);
        assert!(fed.run(named("emitCNVVirtualMachineInstanceStatuses")).is_empty());
    }
}
