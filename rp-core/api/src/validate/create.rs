//! Rules for new clusters only.

use super::profiles::{ip, visibility};
use super::{ValidationContext, ValidationResult, switch};
use crate::error::CloudError;
use crate::text;
use crate::view::{Cluster, Machines};
use crate::vm_sizes::{self, Role};

/// Smallest disk of a worker, in gigabytes (`contract/api.md` §7).
const LEAST_DISK: i64 = 128;

pub(super) fn check(context: &ValidationContext<'_>, cluster: &Cluster) -> ValidationResult {
    let properties = &cluster.properties;
    if !properties.worker_profiles_status.is_empty() {
        let target = "properties.workerProfilesStatus";
        return Err(CloudError::invalid(target, "Worker Profile Status must be set to nil."));
    }
    let [Some(worker)] = properties.worker_profiles.as_slice() else {
        let message = "There should be exactly one worker profile.";
        return Err(CloudError::invalid("properties.workerProfiles", message));
    };
    workers(context, cluster, worker)?;
    ingress(cluster)
}

fn workers(context: &ValidationContext<'_>, cluster: &Cluster, worker: &Machines) -> ValidationResult {
    let name = &worker.name;
    let refuse = |member: &str, message: String| {
        Err(CloudError::invalid(&format!("properties.workerProfiles['{name}'].{member}"), message))
    };
    if name != "worker" {
        return refuse("name", format!("The provided worker name '{name}' is invalid."));
    }
    let size = &worker.vm_size;
    let role = if context.development_workers { Role::DevelopmentWorker } else { Role::Worker };
    if vm_sizes::find(size, role).is_none() {
        return refuse("vmSize", format!("The provided VM size '{size}' is invalid for the 'worker' role."));
    }
    if !vm_sizes::supports_version(size, &cluster.properties.cluster_profile.version) {
        return refuse(
            "vmSize",
            format!("The provided worker VM size '{size}' is invalid for the chosen OpenShift version."),
        );
    }
    if worker.disk_size_gb < LEAST_DISK {
        return refuse(
            "diskSizeGB",
            format!("The provided worker disk size '{}' is invalid.", worker.disk_size_gb),
        );
    }
    let subnet = &worker.subnet_id;
    let refuse_subnet =
        |why: &str| refuse("subnetId", format!("The provided worker VM subnet '{subnet}' is invalid{why}."));
    let Some((_, network)) = text::subnet(subnet) else { return refuse_subnet("") };
    let encryption = format!("properties.workerProfiles['{name}'].encryptionAtHost");
    switch(context, "properties.workerProfiles.encryptionAtHost", &encryption, &worker.encryption_at_host)?;
    let master = &cluster.properties.master_profile;
    let same_network =
        text::subnet(&master.subnet_id).is_some_and(|(_, masters)| masters.eq_ignore_ascii_case(network));
    if !same_network {
        return refuse_subnet(&format!(
            ": must be in the same vnet as master VM subnet '{}'",
            master.subnet_id
        ));
    }
    if subnet.eq_ignore_ascii_case(&master.subnet_id) {
        return refuse_subnet(&format!(": must be different to master VM subnet '{}'", master.subnet_id));
    }
    if !(2..=50).contains(&worker.count) {
        return refuse("count", format!("The provided worker count '{}' is invalid.", worker.count));
    }
    let (set, masters) = (&worker.disk_encryption_set_id, &master.disk_encryption_set_id);
    if !set.eq_ignore_ascii_case(masters) {
        // The contract reports it at the subnet.
        return refuse(
            "subnetId",
            format!(
                "The provided worker disk encryption set '{set}' is invalid: must be the same as master disk \
                 encryption set '{masters}'."
            ),
        );
    }
    Ok(())
}

pub(super) fn ingress(cluster: &Cluster) -> ValidationResult {
    let [Some(ingress)] = cluster.properties.ingress_profiles.as_slice() else {
        let message = "There should be exactly one ingress profile.";
        return Err(CloudError::invalid("properties.ingressProfiles", message));
    };
    let path = |member: &str| format!("properties.ingressProfiles['{}'].{member}", ingress.name);
    if ingress.name != "default" {
        let message = format!("The provided ingress name '{}' is invalid.", ingress.name);
        return Err(CloudError::invalid(&path("name"), message));
    }
    visibility(&path("visibility"), &ingress.visibility)?;
    ip(&path("ip"), &ingress.ip)
}
