//! The service's own resources that the templates of every cluster refer to.

use super::id;

/// Names of the service's own resources in Azure.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServiceEnvironment {
    pub(crate) subscription: String,
    /// Resource group of the service.
    pub(crate) group: String,
    /// Resource group of the gateway; empty: there is none.
    pub(crate) gateway_group: String,
    /// Network and subnet of private endpoints, in `group`.
    pub(crate) endpoint_network: String,
    pub(crate) endpoint_subnet: String,
    /// Object id of the first-party application in the customer's tenant.
    pub(crate) first_party: String,
    pub(crate) development: bool,
    pub(crate) hive_installs: bool,
    /// The deny assignment is wanted.
    pub(crate) deny: bool,
}

impl ServiceEnvironment {
    pub(crate) fn group_id(&self) -> String {
        format!("/subscriptions/{}/resourceGroups/{}", self.subscription, self.group)
    }

    pub(crate) fn has_gateway(&self) -> bool {
        !self.gateway_group.is_empty()
    }

    pub(crate) fn gateway_id(&self) -> String {
        format!("/subscriptions/{}/resourceGroups/{}", self.subscription, self.gateway_group)
    }

    /// The service's end of private endpoints.
    pub(crate) fn endpoint_subnet_id(&self) -> String {
        subnet(&self.group_id(), &self.endpoint_network, &self.endpoint_subnet)
    }

    /// The link service that clusters reach the gateway by.
    pub(crate) fn gateway_link(&self) -> String {
        id(&self.gateway_id(), "Microsoft.Network/privateLinkServices", "gateway-pls-001")
    }

    /// Subnets of ours that may reach an account of a cluster (`contract/cluster.md` §8.2); `state`: the
    /// account of the cluster's own state.
    pub(crate) fn storage_subnets(&self, state: bool) -> Vec<String> {
        let group = self.group_id();
        let mut all = vec![self.endpoint_subnet_id(), subnet(&group, "rp-vnet", "rp-subnet")];
        if state && self.hive_installs {
            all.push(subnet(&group, "aks-net", "PodSubnet-001"));
        }
        if !self.development && self.has_gateway() {
            all.push(subnet(&self.gateway_id(), "gateway-vnet", "gateway-subnet"));
        }
        all
    }
}

fn subnet(group: &str, network: &str, name: &str) -> String {
    format!("{}/subnets/{name}", id(group, "Microsoft.Network/virtualNetworks", network))
}
