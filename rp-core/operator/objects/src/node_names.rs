//! What the nodes of a cluster resolve by themselves, out of the `Cluster`. Names and addresses go into files of nodes, so
//! they are checked first (`contract/operator.md` §8.11, "Do better" 22 and 23).

use std::net::Ipv4Addr;

use rp_node_config::names::{DomainName, Gateway, NameError, NodeNames};
use rp_operator_api::ClusterSpec;

/// A member of the `Cluster` that cannot go into a file. The text is that of the condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("invalid {field}: the value is not an IPv4 address")]
    Address { field: &'static str },
    #[error("invalid {field}: {error}")]
    Name { field: &'static str, error: NameError },
}

/// The names of a cluster.
///
/// # Errors
/// [`SpecError`]: the first member that is not an address or a domain. Without gateway domains there is no gateway, and
/// its address is not looked at.
pub fn read(spec: &ClusterSpec) -> Result<NodeNames, SpecError> {
    let gateway = match spec.gateway_domains.as_slice() {
        [] => None,
        domains => Some(Gateway {
            address: address("gatewayPrivateEndpointIP", &spec.gateway_private_endpoint_ip)?,
            domains: domains.iter().map(|text| name("gatewayDomains", text)).collect::<Result<_, _>>()?,
        }),
    };
    Ok(NodeNames {
        domain: name("domain", &spec.domain)?,
        api_int: address("apiIntIP", &spec.api_int_ip)?,
        ingress: address("ingressIP", &spec.ingress_ip)?,
        gateway,
    })
}

fn address(field: &'static str, text: &str) -> Result<Ipv4Addr, SpecError> {
    text.parse().map_err(|_| SpecError::Address { field })
}

fn name(field: &'static str, text: &str) -> Result<DomainName, SpecError> {
    DomainName::parse(text).map_err(|error| SpecError::Name { field, error })
}

/// The pool in the name of a MachineConfig, between a beginning and an end; `None`: the name has another form.
pub(crate) fn pool_of<'a>(machine_config: &'a str, end: &str) -> Option<&'a str> {
    let pool = machine_config.strip_prefix("99-")?.strip_suffix(end)?;
    (!pool.is_empty()).then_some(pool)
}

/// The settings that the golden files of `rp-node-config` are made with.
#[cfg(test)]
pub(crate) fn sample() -> ClusterSpec {
    ClusterSpec {
        domain: "cluster.example.com".to_owned(),
        api_int_ip: "10.0.0.4".to_owned(),
        ingress_ip: "10.0.2.4".to_owned(),
        gateway_private_endpoint_ip: "10.0.0.9".to_owned(),
        gateway_domains: ["login.microsoftonline.com", "arosvc.azurecr.io"].map(str::to_owned).to_vec(),
        ..ClusterSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_member_is_checked() {
        let error = |change: fn(&mut ClusterSpec)| {
            let mut spec = sample();
            change(&mut spec);
            read(&spec).unwrap_err().to_string()
        };
        let address = "the value is not an IPv4 address";
        assert_eq!(error(|spec| spec.api_int_ip.clear()), format!("invalid apiIntIP: {address}"));
        assert_eq!(error(|spec| spec.ingress_ip = "::1".to_owned()), format!("invalid ingressIP: {address}"));
        assert_eq!(
            error(|spec| spec.gateway_private_endpoint_ip = "10.0.0.9\n".to_owned()),
            format!("invalid gatewayPrivateEndpointIP: {address}")
        );
        assert_eq!(error(|spec| spec.domain.clear()), "invalid domain: the domain name is empty");
        assert!(
            error(|spec| spec.gateway_domains.push("a/b".to_owned())).starts_with("invalid gatewayDomains: ")
        );
        let alone = ClusterSpec {
            gateway_domains: Vec::new(),
            gateway_private_endpoint_ip: "none".to_owned(),
            ..sample()
        };
        assert_eq!(read(&alone).unwrap().gateway, None);
    }

    proptest! {
        #[test]
        fn no_value_gets_a_line_of_its_own(domain in any::<String>(), served in any::<String>(), ip in any::<String>()) {
            let spec = ClusterSpec { domain, gateway_domains: vec![served], api_int_ip: ip, ..sample() };
            if let Ok(names) = read(&spec) {
                let file = rp_node_config::dnsmasq::configuration(&names);
                prop_assert_eq!(file.lines().count(), 10);
                prop_assert_eq!(rp_node_config::etc_hosts::entries(&names).lines().count(), 2);
            }
        }
    }
}
