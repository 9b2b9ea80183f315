//! The order in which the resources of a group are deleted (`contract/cluster.md` §5.1). Pure.

use std::collections::BTreeMap;

/// The level of a type, in any case; lower goes first.
pub(crate) fn level(kind: &str) -> i8 {
    match kind.to_ascii_lowercase().as_str() {
        "microsoft.compute/virtualmachines" | "microsoft.network/privateendpoints" => -4,
        "microsoft.network/privatelinkservices" => -3,
        "microsoft.compute/galleries/applications/versions"
        | "microsoft.compute/galleries/images/versions" => -2,
        "microsoft.compute/galleries/applications"
        | "microsoft.compute/galleries/images"
        | "microsoft.network/networkinterfaces" => -1,
        "microsoft.network/networksecuritygroups"
        | "microsoft.network/privatednszones"
        | "microsoft.compute/galleries" => 1,
        _ => 0,
    }
}

/// A resource of the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) kind: String,
}

/// Level by level, inside a level by lower-cased id.
pub(crate) fn ordered(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut levels: BTreeMap<i8, Vec<Item>> = BTreeMap::new();
    for item in items {
        levels.entry(level(&item.kind)).or_default().push(item);
    }
    for level in levels.values_mut() {
        level.sort_by_key(|item| item.id.to_ascii_lowercase());
    }
    levels.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_before_cards_before_the_rest_before_security_groups() {
        let item = |kind: &str, name: &str| Item { id: format!("/g/{kind}/{name}"), kind: kind.to_owned() };
        let all = vec![
            item("Microsoft.Network/networkSecurityGroups", "n"),
            item("Microsoft.Network/loadBalancers", "B"),
            item("Microsoft.Network/loadBalancers", "a"),
            item("Microsoft.Network/privateLinkServices", "p"),
            item("Microsoft.Compute/virtualMachines", "v"),
            item("Microsoft.Network/networkInterfaces", "c"),
            item("Microsoft.Network/privateEndpoints", "e"),
        ];
        let names: Vec<Vec<String>> = ordered(all)
            .into_iter()
            .map(|level| level.into_iter().map(|item| crate::roles::last(&item.id).to_owned()).collect())
            .collect();
        assert_eq!(names, vec![vec!["v", "e"], vec!["p"], vec!["c"], vec!["a", "B"], vec!["n"]]);
    }
}
