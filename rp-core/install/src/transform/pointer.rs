//! Pointer configs: what a machine is given is where the rest is. It is given an address, so that it needs no DNS
//! (`contract/installer.md` §7 step 8).

use std::net::Ipv4Addr;

use rp_node_config::ignition::Config;

use super::TransformError;

/// Port of the machine-config server.
const PORT: u16 = 22623;

/// The config of a role (`master` or `worker`) with the address in the place of the name.
///
/// # Errors
/// [`TransformError::NoPointer`]: it is no pointer config.
pub fn pointer(mut config: Config, role: &'static str, address: Ipv4Addr) -> Result<Config, TransformError> {
    let [source] = &mut config.ignition.config.merge[..] else {
        return Err(TransformError::NoPointer { role });
    };
    source.source = Some(format!("https://{address}:{PORT}/config/{role}"));
    Ok(config)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_machine_is_given_the_address_and_the_authority_stays() {
        let config = json!({
            "ignition": {
                "version": "3.2.0",
                "config": { "merge": [{ "source": "https://api-int.c.example.com:22623/config/master" }] },
                "security": { "tls": { "certificateAuthorities": [{ "source": "data:,CA" }] } },
            }
        });
        let config = Config::parse(config.to_string().as_bytes()).unwrap();
        let changed = pointer(config, "master", Ipv4Addr::new(10, 0, 0, 5)).unwrap();
        let expected = json!({
            "ignition": {
                "version": "3.2.0",
                "config": { "merge": [{ "source": "https://10.0.0.5:22623/config/master" }] },
                "security": { "tls": { "certificateAuthorities": [{ "source": "data:,CA" }] } },
            }
        });
        assert_eq!(changed.to_json(), expected);
        assert_eq!(pointer(changed.clone(), "master", Ipv4Addr::new(10, 0, 0, 5)).unwrap(), changed);
        let error = pointer(Config::empty(), "worker", Ipv4Addr::LOCALHOST).unwrap_err();
        assert_eq!(error.to_string(), "the Ignition config of worker names no place where the rest of it is");
    }
}
