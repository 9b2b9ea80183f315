//! Actions of roles: which a role grants, with wildcards and exceptions.

use serde_json::Value;

/// Whether a pattern of a role (`*`, `Microsoft.Network/*/read`) covers an action, in any case.
pub(crate) fn covers(pattern: &str, action: &str) -> bool {
    let (pattern, action) = (pattern.to_ascii_lowercase(), action.to_ascii_lowercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| action.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((end, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(end)
}

/// Whether a role definition (as ARM shows it) grants an action, as an action or as a data action; all of its
/// permission blocks count, each with its own exceptions.
pub(crate) fn grants(definition: &Value, action: &str) -> bool {
    let blocks = definition["properties"]["permissions"].as_array().into_iter().flatten();
    let any = |block: &Value, list: &str| {
        let patterns = block[list].as_array().into_iter().flatten().filter_map(Value::as_str);
        patterns.into_iter().any(|pattern| covers(pattern, action))
    };
    let mut blocks = blocks;
    blocks.any(|block| {
        (any(block, "actions") && !any(block, "notActions"))
            || (any(block, "dataActions") && !any(block, "notDataActions"))
    })
}

/// Every action that a role definition names: what an identity with that role must be able to do. A wildcard is not
/// among them, for nobody can be asked for it.
pub(crate) fn named(definition: &Value) -> Vec<String> {
    let blocks = definition["properties"]["permissions"].as_array().into_iter().flatten();
    let mut all: Vec<String> = blocks
        .flat_map(|block| {
            ["actions", "dataActions"].map(|list| block[list].as_array().cloned().unwrap_or_default())
        })
        .flatten()
        .filter_map(|action| action.as_str().map(str::to_owned))
        .filter(|action| !action.contains('*'))
        .collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wildcards_cover_what_they_should() {
        for (pattern, action, covered) in [
            ("*", "Microsoft.Network/virtualNetworks/read", true),
            ("*/read", "Microsoft.Network/virtualNetworks/read", true),
            ("*/read", "Microsoft.Network/virtualNetworks/write", false),
            ("Microsoft.Network/*", "microsoft.network/natGateways/join/action", true),
            ("Microsoft.Network/*/action", "Microsoft.Network/natGateways/join/action", true),
            ("Microsoft.Network/*/join/*", "Microsoft.Network/natGateways/join/action", true),
            ("Microsoft.Network/natGateways/read", "Microsoft.Network/natGateways/read", true),
            ("Microsoft.Network/natGateways/read", "Microsoft.Network/natGateways/read2", false),
            ("Microsoft.Compute/*", "Microsoft.Network/natGateways/read", false),
        ] {
            assert_eq!(covers(pattern, action), covered, "{pattern} {action}");
        }
    }

    #[test]
    fn every_block_counts_with_its_own_exceptions() {
        let role = json!({"properties": {"permissions": [
            {"actions": ["Microsoft.Network/*"], "notActions": ["*/write"], "dataActions": []},
            {"actions": [], "dataActions": ["Microsoft.Network/virtualNetworks/write"]},
            {"actions": ["a/read"]},
        ]}});
        assert!(grants(&role, "Microsoft.Network/natGateways/read"));
        assert!(!grants(&role, "Microsoft.Network/natGateways/write"));
        assert!(grants(&role, "Microsoft.Network/virtualNetworks/write"));
        assert_eq!(named(&role), ["Microsoft.Network/virtualNetworks/write", "a/read"]);
        assert!(!grants(&json!({}), "a/read"));
    }
}
