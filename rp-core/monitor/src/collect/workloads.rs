//! The log exporter's daemon sets and virtual machines (`contract/monitor.md` §9.6).

use super::told::own;
use super::{CollectError, Told};
use crate::names::cluster;
use crate::seen::Seen;

pub(super) fn daemon_sets(seen: &Seen, told: &mut Told) -> Result<(), CollectError> {
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
            [own(name), namespace.into(), wanted.to_string().into(), there.to_string().into()]
        };
        told.one(&cluster::DAEMONSET_STATUSES, dims());
        if there == 0 {
            told.one(&cluster::OTEL_CANNOT_START, dims());
        }
    }
    Ok(())
}

pub(super) fn virtual_machines(seen: &Seen, told: &mut Told) -> Result<(), CollectError> {
    for machine in seen.virtual_machines()?.iter() {
        let (meta, guest) = (&machine.metadata, &machine.status.guest);
        let label = |key| own(meta.labels.get(key).unwrap_or_default());
        told.one(
            &cluster::VMI_INFO,
            [
                own(meta.namespace.as_str()),
                own(meta.name.as_str()),
                own(machine.status.phase.as_str()),
                label("os"),
                label("workload"),
                label("flavor"),
                own(guest.kernel_release.as_str()),
                own(guest.machine.as_str()),
                own(guest.name.as_str()),
                own(guest.version_id.as_str()),
            ],
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{Fed, aro, named};
    use crate::seen::Need;

    fn told(items: Value) -> Vec<String> {
        Fed::new(aro()).with_items(&Need::LogDaemonSets, items).run(named("emitDaemonsetStatuses"))
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
        let fed = Fed::new(aro()).failed(&Need::LogDaemonSets, 404);
        assert!(fed.run(named("emitDaemonsetStatuses")).is_empty());
    }

    #[test]
    fn virtual_machines_tell_what_they_are() {
        let vm = json!({"metadata": {"name": "v", "namespace": "n", "labels": {"os": "fedora", "workload": "server", "flavor": "small"}},
            "status": {"phase": "Running", "guestOSInfo": {"kernelRelease": "6.1", "machine": "x86_64", "name": "Fedora", "versionId": "39"}}});
        let fed = Fed::new(aro()).with_items(&Need::VirtualMachines, json!([vm]));
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
        let fed = Fed::new(aro()).failed(&Need::VirtualMachines, 404);
        assert!(fed.run(named("emitCNVVirtualMachineInstanceStatuses")).is_empty());
    }
}
