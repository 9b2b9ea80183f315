//! What is filled in where older documents and requests leave it out (`contract/api.md` §13): by the edge with every
//! accepted request, by the worker in an administrators' update.

use super::member::Shared;
use super::profiles::{LoadBalancerProfile, ManagedOutboundIps};
use super::properties::Properties;
use super::writer::{ByBoth, MayWrite};

/// `networkProfile.outboundType` of a cluster whose machines reach the outside through a public load balancer.
const LOAD_BALANCER: &str = "Loadbalancer";
const DISABLED: &str = "Disabled";

impl Properties {
    /// Fills in what is absent, null or empty.
    pub fn fill_defaults(&mut self, by: impl MayWrite<ByBoth>) {
        if self.master_profile.get().is_some() {
            fill_text(&mut self.master_profile.encryption_at_host, by, DISABLED);
        }
        for workers in [&mut self.worker_profiles, &mut self.worker_profiles_status] {
            for worker in workers.elements_mut().iter_mut().filter(|worker| worker.get().is_some()) {
                fill_text(&mut worker.encryption_at_host, by, DISABLED);
            }
        }
        fill_text(&mut self.cluster_profile.fips_validated_modules, by, DISABLED);
        let network = &mut *self.network_profile;
        fill_text(&mut network.outbound_type, by, LOAD_BALANCER);
        fill_text(&mut network.preconfigured_nsg, by, DISABLED);
        if &*network.outbound_type == LOAD_BALANCER && network.load_balancer_profile.is_none() {
            let one = ManagedOutboundIps { count: Shared::new(by, 1), ..ManagedOutboundIps::default() };
            let profile = LoadBalancerProfile {
                managed_outbound_ips: Shared::new(by, one),
                ..LoadBalancerProfile::default()
            };
            network.load_balancer_profile.set(by, profile);
        }
    }
}

/// Sets what is absent, null or empty.
pub(super) fn fill_text(member: &mut Shared<String>, by: impl MayWrite<ByBoth>, value: &str) {
    if member.is_none() || member.get().is_some_and(String::is_empty) {
        member.set(by, value);
    }
}
