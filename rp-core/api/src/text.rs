//! Texts of the contract: ids, domains, versions, ranges (`contract/api.md` §11.1).

use std::net::IpAddr;
use std::str::FromStr as _;

use ipnet::IpNet;

/// Major, minor and patch of `x.y.z` with anything behind it, blanks around it ignored
/// (`contract/api.md` §7).
pub fn version(text: &str) -> Option<(u64, u64, u64)> {
    let mut parts = text.trim().splitn(3, '.');
    let number = |text: Option<&str>| text.filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?.parse().ok();
    let (major, minor) = (number(parts.next())?, number(parts.next())?);
    let rest = parts.next()?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    Some((major, minor, rest.get(..digits)?.parse().ok()?))
}

/// `x.y` of a version.
pub fn minor(text: &str) -> Option<String> {
    version(text).map(|(major, minor, _)| format!("{major}.{minor}"))
}

/// Whether it is a UUID in any of its forms: with or without dashes, in braces, as URN.
pub fn is_uuid(text: &str) -> bool {
    uuid::Uuid::parse_str(text).is_ok()
}

/// Parts of an id under a resource group: subscription, group, and what follows `/providers/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceIdParts<'a> {
    pub subscription: &'a str,
    pub group: &'a str,
    /// `Microsoft.Network/virtualNetworks/NAME/…`; empty for the group itself.
    pub rest: &'a str,
}

/// Splits an id below a resource group; names of segments in any case.
pub fn split_resource_id(id: &str) -> Option<ResourceIdParts<'_>> {
    let id = segment(id, "subscriptions")?;
    let (subscription, id) = id.split_once('/')?;
    let canonical = subscription.len() == 36 && is_uuid(subscription);
    let id = id.get(..14).filter(|name| name.eq_ignore_ascii_case("resourceGroups")).and(id.get(14..))?;
    let id = id.strip_prefix('/')?;
    let (group, rest) = id.split_once('/').map_or((id, ""), |(group, rest)| (group, rest));
    let rest = if rest.is_empty() && !id.contains('/') {
        ""
    } else {
        rest.get(..10).filter(|name| name.eq_ignore_ascii_case("providers/")).and(rest.get(10..))?
    };
    (canonical && is_group(group)).then_some(ResourceIdParts { subscription, group, rest })
}

fn segment<'a>(id: &'a str, name: &str) -> Option<&'a str> {
    let id = id.strip_prefix('/')?;
    let (first, rest) = id.split_once('/')?;
    first.eq_ignore_ascii_case(name).then_some(rest)
}

/// Whether it can be the name of a resource group, or of a cluster.
pub fn is_group(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_().".contains(c);
    (1..=90).contains(&name.len()) && name.chars().all(good) && !name.ends_with('.')
}

fn is_name(name: &str, lengths: std::ops::RangeInclusive<usize>, more: &str) -> bool {
    lengths.contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

/// The id of a resource group.
pub fn resource_group(id: &str) -> Option<ResourceIdParts<'_>> {
    split_resource_id(id).filter(|parts| parts.rest.is_empty())
}

/// A subnet's id: its parts and the id of its network.
pub fn subnet(id: &str) -> Option<(ResourceIdParts<'_>, &str)> {
    let parts = split_resource_id(id)?;
    let names: Vec<&str> = parts.rest.split('/').collect();
    let [provider, networks, network, subnets, subnet] = names.as_slice() else { return None };
    let good = provider.eq_ignore_ascii_case("Microsoft.Network")
        && networks.eq_ignore_ascii_case("virtualNetworks")
        && subnets.eq_ignore_ascii_case("subnets")
        && is_name(network, 2..=64, "-_.")
        && is_name(subnet, 2..=80, "-_.");
    let network = id.len().checked_sub(subnet.len() + subnets.len() + 2).and_then(|end| id.get(..end))?;
    good.then_some((parts, network))
}

/// The id of a disk encryption set.
pub fn disk_encryption_set(id: &str) -> Option<ResourceIdParts<'_>> {
    let parts = split_resource_id(id)?;
    let names: Vec<&str> = parts.rest.split('/').collect();
    let [provider, sets, set] = names.as_slice() else { return None };
    let good = provider.eq_ignore_ascii_case("Microsoft.Compute")
        && sets.eq_ignore_ascii_case("diskEncryptionSets")
        && is_name(set, 1..=80, "-_");
    good.then_some(parts)
}

/// Whether it can be the domain of a cluster; a new one begins with a letter and a label of two characters.
pub fn is_domain(text: &str, new: bool) -> bool {
    let mut labels = text.split('.');
    let first = labels.next().unwrap_or_default();
    let begins = !new || first.len() >= 2 && first.starts_with(|c: char| c.is_ascii_lowercase());
    begins && is_label(first) && labels.all(is_label)
}

fn is_label(label: &str) -> bool {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=63).contains(&label.len())
        && label.bytes().all(|b| good(b) || b == b'-')
        && label.bytes().next().is_some_and(good)
        && label.bytes().next_back().is_some_and(good)
}

/// A range of addresses with its prefix length.
pub fn range(text: &str) -> Option<IpNet> {
    IpNet::from_str(text).ok()
}

/// An IP address.
pub fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

/// Whether it can be called as an address: a scheme and something behind it.
pub fn is_url(text: &str) -> bool {
    url::Url::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUB: &str = "/subscriptions/00000000-0000-0000-0000-000000000000";

    #[test]
    fn versions_have_three_numbers() {
        assert_eq!(version(" 4.14.16-rc.1 "), Some((4, 14, 16)));
        assert_eq!(minor("4.19.0").as_deref(), Some("4.19"));
        for bad in ["4.14", "4.x.1", "", "v4.1.1", "4.14.", "4..1", "99999999999999999999.1.1"] {
            assert!(version(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn ids_are_taken_apart_in_any_case() {
        let id =
            format!("{SUB}/RESOURCEGROUPS/g.r(1)/providers/microsoft.network/VirtualNetworks/vn/Subnets/s1");
        let (parts, network) = subnet(&id).unwrap();
        assert_eq!((parts.group, network), ("g.r(1)", &id[..id.len() - "/Subnets/s1".len()]));
        assert!(resource_group(&format!("{SUB}/resourceGroups/g")).is_some());
        assert!(
            disk_encryption_set(&format!(
                "{SUB}/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/d"
            ))
            .is_some()
        );
    }

    #[test]
    fn other_ids_are_refused() {
        for bad in [
            "",
            "/",
            "/subscriptions",
            "/subscriptions/x/resourceGroups/g",
            &format!("{SUB}/resourceGroups/g."),
            &format!("{SUB}/resourceGroups/"),
            &format!("{SUB}/resourceGroups/a b"),
            &format!("{SUB}/resourceGroups/g/"),
            &format!("{SUB}/resourceGroups/g/provider/x"),
            &format!("{SUB}/resourcegroupsg"),
            "/subscriptions/ü/resourceGroups/g",
        ] {
            assert!(resource_group(bad).is_none(), "{bad}");
            assert!(subnet(bad).is_none() && disk_encryption_set(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn domains() {
        assert!(is_domain("abc", true) && is_domain("abc.example.com", true) && is_domain("a1.b", true));
        for bad in ["a", "1a", "Abc", "a-", "-a", "a..b", "", "abc.", "a_b", &"a".repeat(64)] {
            assert!(!is_domain(bad, true), "{bad}");
        }
        assert!(is_domain("1", false) && is_domain("a", false) && !is_domain("-", false));
    }
}
