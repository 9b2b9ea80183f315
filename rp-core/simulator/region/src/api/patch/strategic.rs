//! Merging that knows which lists have keys, as strategic merge patches and server-side apply do.

use serde_json::{Map, Value, json};

/// Which rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// `null` deletes; `$patch`, `$setElementOrder`, `$deleteFromPrimitiveList` and `$retainKeys` are directives.
    Strategic,
    /// What is named is put over what there is.
    Apply,
}

/// Lists whose elements have a key, by the name of the member that holds them. From the field `patchMergeKey` of the
/// Kubernetes API reference; where a name has several, the first one that the elements have.
const KEYS: [(&str, &[&str]); 19] = [
    ("containers", &["name"]),
    ("initContainers", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("env", &["name"]),
    ("volumes", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("ports", &["containerPort", "port"]),
    ("imagePullSecrets", &["name"]),
    ("secrets", &["name"]),
    ("hostAliases", &["ip"]),
    ("conditions", &["type"]),
    ("addresses", &["type"]),
    ("ownerReferences", &["uid"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("resizePolicy", &["resourceName"]),
    ("resourceClaims", &["name"]),
    ("taints", &["key"]),
    ("podIPs", &["ip"]),
];

/// Lists of texts that are sets.
const SETS: [&str; 1] = ["finalizers"];

/// The deepest nesting of what is merged; JSON that was parsed is no deeper.
const DEEPEST: usize = 128;

/// Merges a patch into an object.
///
/// # Errors
/// A sentence about a directive that cannot be followed.
pub(super) fn merge(into: &mut Value, patch: &Value, rules: Rules) -> Result<(), String> {
    value(into, patch, rules, "", DEEPEST)
}

fn value(into: &mut Value, patch: &Value, rules: Rules, member: &str, depth: usize) -> Result<(), String> {
    let depth = depth.checked_sub(1).ok_or("the patch is nested too deeply")?;
    match patch {
        Value::Object(patch) => object(into, patch, rules, depth),
        Value::Array(patch) => list(into, patch, rules, member, depth),
        scalar => {
            *into = scalar.clone();
            Ok(())
        }
    }
}

fn object(into: &mut Value, patch: &Map<String, Value>, rules: Rules, depth: usize) -> Result<(), String> {
    let strategic = rules == Rules::Strategic;
    if strategic {
        match patch.get("$patch").and_then(Value::as_str) {
            None | Some("merge") => {}
            Some("replace") => {
                *into = Value::Object(
                    patch.iter().filter(|(name, _)| !name.starts_with('$')).map(owned).collect(),
                );
                return Ok(());
            }
            Some("delete") => {
                *into = json!({});
                return Ok(());
            }
            Some(_) => return Err("the value of $patch is not merge, replace or delete".to_owned()),
        }
    }
    if !into.is_object() {
        *into = json!({});
    }
    let Some(members) = into.as_object_mut() else { return Ok(()) };
    if let Some(kept) = patch.get("$retainKeys").and_then(Value::as_array).filter(|_| strategic) {
        members.retain(|name, _| kept.iter().any(|one| one == name.as_str()));
    }
    for (name, new) in patch {
        if strategic && name.starts_with('$') {
            directive(members, name, new);
        } else if new.is_null() && strategic {
            members.remove(name);
        } else {
            value(members.entry(name.as_str()).or_insert(Value::Null), new, rules, name, depth)?;
        }
    }
    if strategic {
        order(members, patch);
    }
    Ok(())
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// `$deleteFromPrimitiveList/NAME`; others are read elsewhere.
fn directive(members: &mut Map<String, Value>, name: &str, value: &Value) {
    let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") else { return };
    let gone = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(list) = members.get_mut(list).and_then(Value::as_array_mut) {
        list.retain(|one| !gone.contains(one));
    }
}

/// `$setElementOrder/NAME`: the elements that it names stand in its order, others after them.
fn order(members: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, wanted) in patch {
        let Some(list) = name.strip_prefix("$setElementOrder/") else { continue };
        let (Some(wanted), Some(found)) =
            (wanted.as_array(), members.get_mut(list).and_then(Value::as_array_mut))
        else {
            continue;
        };
        let key = key_of(list, found);
        found.sort_by_cached_key(|one| {
            let same = |other: &Value| key.map_or_else(|| other == one, |key| other[key] == one[key]);
            wanted.iter().position(same).unwrap_or(wanted.len())
        });
    }
}

fn list(into: &mut Value, patch: &[Value], rules: Rules, member: &str, depth: usize) -> Result<(), String> {
    let replaces = |one: &Value| rules == Rules::Strategic && one["$patch"] == "replace";
    if patch.iter().any(replaces) {
        *into = patch.iter().filter(|one| !replaces(one)).cloned().collect();
        return Ok(());
    }
    if SETS.contains(&member) {
        let mut all = into.as_array().cloned().unwrap_or_default();
        for one in patch {
            if !all.contains(one) {
                all.push(one.clone());
            }
        }
        *into = Value::Array(all);
        return Ok(());
    }
    let Some(key) = key_of(member, patch) else {
        *into = Value::Array(patch.to_vec());
        return Ok(());
    };
    let mut all = into.as_array().cloned().unwrap_or_default();
    for one in patch {
        let found = all.iter().position(|old| old[key] == one[key]);
        if rules == Rules::Strategic && one["$patch"] == "delete" {
            all.retain(|old| old[key] != one[key]);
        } else if let Some(found) = found.and_then(|found| all.get_mut(found)) {
            value(found, one, rules, "", depth)?;
        } else {
            let mut new = json!({});
            value(&mut new, one, rules, "", depth)?;
            all.push(new);
        }
    }
    *into = Value::Array(all);
    Ok(())
}

/// The key of a list's elements; `None`: the list is replaced as a whole.
fn key_of(member: &str, elements: &[Value]) -> Option<&'static str> {
    let (_, keys) = KEYS.iter().find(|(name, _)| *name == member)?;
    keys.iter().copied().find(|key| !elements.is_empty() && elements.iter().all(|one| !one[*key].is_null()))
}
