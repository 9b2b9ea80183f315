//! What the body of a virtual machine says (`Microsoft.Compute/virtualMachines`).

use serde_json::Value;

/// Codes of the statuses of a machine that was read with its instance view, such as `PowerState/running`.
pub fn statuses(body: &Value) -> impl Iterator<Item = &str> {
    codes(&body["properties"]["instanceView"])
}

/// `running`, `deallocated` …, as an instance view says; empty: it does not say.
pub fn power(instance_view: &Value) -> &str {
    codes(instance_view).find_map(|code| code.strip_prefix("PowerState/")).unwrap_or_default()
}

fn codes(instance_view: &Value) -> impl Iterator<Item = &str> {
    let statuses = instance_view["statuses"].as_array();
    statuses.into_iter().flatten().filter_map(|status| status["code"].as_str())
}

/// The size, as Azure writes it.
pub fn size(body: &Value) -> &str {
    body["properties"]["hardwareProfile"]["vmSize"].as_str().unwrap_or_default()
}

/// The availability zone; empty: the machine is regional.
pub fn zone(body: &Value) -> &str {
    body["zones"][0].as_str().unwrap_or_default()
}

/// Whether its system disk is on the host itself, which a move to another host would lose.
pub fn has_ephemeral_disk(body: &Value) -> bool {
    let disk = &body["properties"]["storageProfile"]["osDisk"];
    let is = |value: &Value, word: &str| value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(word));
    is(&disk["caching"], "ReadOnly")
        && is(&disk["diffDiskSettings"]["option"], "Local")
        && is(&disk["diffDiskSettings"]["placement"], "CacheDisk")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_disk_in_the_hosts_cache_is_ephemeral() {
        let disk = |caching: &str, placement: &str| {
            json!({"properties": {"storageProfile": {"osDisk": {"caching": caching,
                "diffDiskSettings": {"option": "Local", "placement": placement}}}}})
        };
        assert!(has_ephemeral_disk(&disk("ReadOnly", "CacheDisk")));
        assert!(!has_ephemeral_disk(&disk("ReadWrite", "CacheDisk")));
        assert!(!has_ephemeral_disk(&disk("ReadOnly", "ResourceDisk")));
        assert!(!has_ephemeral_disk(&json!({})));
    }

    #[test]
    fn power_is_one_of_the_statuses() {
        let view =
            json!({"statuses": [{"code": "ProvisioningState/succeeded"}, {"code": "PowerState/running"}]});
        assert_eq!(power(&view), "running");
        assert_eq!(statuses(&json!({"properties": {"instanceView": view}})).count(), 2);
        assert_eq!(power(&json!({"statuses": "x"})), "");
    }
}
