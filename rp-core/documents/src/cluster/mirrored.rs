//! What the monitor mirrored of a cluster, in a copy of its document that is shown and not stored
//! (`contract/api.md` §14).

use super::envelope::OpenShiftCluster;
use super::member::Member;
use super::profiles::{IngressProfile, WorkerProfile};
use crate::ClusterMirror;
use crate::mirror::{MirroredIngress, MirroredWorkers};

impl OpenShiftCluster {
    /// Puts the mirrored members in the place of the stored ones.
    pub fn show_mirror(&mut self, mirror: &ClusterMirror) {
        let properties = &mut self.properties;
        if let Some(version) = &mirror.version {
            properties.cluster_profile.version.put(Some(version.clone()));
        }
        if let Some(ingresses) = &mirror.ingress_profiles {
            let profiles = ingresses.iter().map(|one| member(ingress_profile(one))).collect();
            properties.ingress_profiles.put(Some(profiles));
        }
        if let Some(workers) = &mirror.worker_profiles {
            let profiles = workers.iter().map(|one| member(worker_profile(one))).collect();
            properties.worker_profiles_status.put(Some(profiles));
        }
        if let Some(principal) = &mirror.service_principal
            && properties.service_principal_profile.get().is_some()
        {
            properties.service_principal_profile.client_id.put(Some(principal.client_id.clone()));
        }
    }

    /// Takes over what `shown` has of the cluster itself: ingresses, workers and version.
    pub fn show_as(&mut self, shown: &Self) {
        let (from, to) = (&shown.properties, &mut self.properties);
        if !from.ingress_profiles.is_absent() {
            to.ingress_profiles = from.ingress_profiles.clone();
        }
        if !from.worker_profiles_status.is_absent() {
            to.worker_profiles_status = from.worker_profiles_status.clone();
        }
        to.cluster_profile.version = from.cluster_profile.version.clone();
    }
}

fn member<T, W>(value: T) -> Member<T, W> {
    let mut member = Member::<T, W>::default();
    member.put(Some(value));
    member
}

fn ingress_profile(mirrored: &MirroredIngress) -> IngressProfile {
    let MirroredIngress { name, visibility, ip } = mirrored;
    IngressProfile {
        ip: member(ip.clone()),
        name: member(name.clone()),
        visibility: member(visibility.clone()),
        ..IngressProfile::default()
    }
}

/// An empty text is absent, as everywhere in worker profiles.
fn worker_profile(mirrored: &MirroredWorkers) -> WorkerProfile {
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let mut profile = WorkerProfile {
        count: member(mirrored.count),
        name: member(mirrored.name.clone()),
        ..WorkerProfile::default()
    };
    profile.disk_encryption_set_id.put(text(&mirrored.disk_encryption_set_id));
    profile.disk_size_gb.put(mirrored.disk_size_gb);
    profile.encryption_at_host.put(text(&mirrored.encryption_at_host));
    profile.subnet_id.put(text(&mirrored.subnet_id));
    profile.vm_size.put(text(&mirrored.vm_size));
    profile
}
