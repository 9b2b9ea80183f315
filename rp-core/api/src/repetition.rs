//! A request that repeats what is there, or leaves it out (the deviations from `contract/api.md` §10 and §11.4 that
//! `docs/contract/README.md` lists): clients send the body of a creation again, or the answer to a GET, and change
//! nothing by it.

use serde_json::Value;

use crate::convert::shape_out;
use crate::schema::{Change, Member, Members, Presence, Shape};
use crate::version::Version;

/// Takes the read-only members out of a request that have the value that an answer shows.
pub fn drop_repeated(version: &Version, shown: &Value, wanted: &mut Value) {
    drop_in(&version.cluster, shown, wanted);
}

fn drop_in(members: &Members, shown: &Value, wanted: &mut Value) {
    for member in &members.0 {
        let Some(is) = shown.get(member.name) else { continue };
        let Some(said) = wanted.get_mut(member.name) else { continue };
        if member.change != Change::ReadOnly {
            drop_below(&member.shape, is, said);
        } else if *said == *is {
            *said = Value::Null;
        } else if let (Shape::Object(_), Value::Object(said)) = (&member.shape, said) {
            said.retain(|name, value| is.get(name.as_str()) != Some(&*value));
        }
    }
    if let Value::Object(wanted) = wanted {
        wanted.retain(|_, value| !value.is_null());
    }
}

fn drop_below(shape: &Shape, shown: &Value, wanted: &mut Value) {
    match (shape, shown, wanted) {
        (Shape::Object(members), shown, wanted) => drop_in(members, shown, wanted),
        (Shape::List(of), Value::Array(shown), Value::Array(wanted)) => {
            shown.iter().zip(wanted).for_each(|(shown, wanted)| drop_below(of, shown, wanted));
        }
        (Shape::Map(of), Value::Object(shown), Value::Object(wanted)) => {
            for (key, wanted) in wanted {
                if let Some(shown) = shown.get(key.as_str()) {
                    drop_below(of, shown, wanted);
                }
            }
        }
        _ => {}
    }
}

/// Gives a PUT the members that it leaves out, or gives as `null`, and that no request can change. `null` for a member that
/// may change clears it where `contract/api.md` §8.3 says so. `stored` is the cluster, `is` what the
/// version shows of it without read-only members.
pub fn keep_left_out(version: &Version, stored: &Value, is: &Value, wanted: &mut Value) {
    keep_sent_workers(version, stored, is, wanted);
    keep_in(&version.cluster, is, wanted);
}

fn keep_in(members: &Members, is: &Value, wanted: &mut Value) {
    for member in &members.0 {
        let Some(is) = is.get(member.name).filter(|is| !is.is_null()) else { continue };
        if matches!(member.change, Change::Free | Change::ReadOnly) {
            continue;
        }
        let left_out = wanted.get(member.name).is_none_or(Value::is_null);
        match (&member.shape, &mut *wanted) {
            (shape, wanted) if !left_out => keep_below(shape, is, &mut wanted[member.name]),
            // A fixed object has members that the caller may change; it is there if it was sent or not.
            (Shape::Object(_), _) if member.presence == Presence::Fixed => {}
            (_, Value::Object(wanted)) => {
                wanted.insert(member.name.to_owned(), is.clone());
            }
            _ => {}
        }
    }
}

fn keep_below(shape: &Shape, is: &Value, wanted: &mut Value) {
    match (shape, is, wanted) {
        (Shape::Object(members), is, wanted) if wanted.is_object() => keep_in(members, is, wanted),
        (Shape::List(of), Value::Array(is), Value::Array(wanted)) if is.len() == wanted.len() => {
            is.iter().zip(wanted).for_each(|(is, wanted)| keep_below(of, is, wanted));
        }
        _ => {}
    }
}

/// Versions that show the workers as they are take those of the creation, too: a caller who repeats them changes nothing.
fn keep_sent_workers(version: &Version, stored: &Value, is: &Value, wanted: &mut Value) {
    const WORKERS: &str = "/properties/workerProfiles";
    let declared: Option<&Member> = version.cluster.at("properties.workerProfiles");
    let (Some(member), Some(sent)) = (declared, stored.pointer(WORKERS)) else { return };
    let (Some(shown), Some(said)) = (is.pointer(WORKERS), wanted.pointer_mut(WORKERS)) else { return };
    let sent = shape_out(&member.shape, sent);
    let mut repeated = said.clone();
    keep_below(&member.shape, &sent, &mut repeated);
    if version.shows_live_workers && repeated == sent {
        shown.clone_into(said);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{all, changes, convert, decode, find};

    fn stored() -> Value {
        json!({
            "id": "/id", "name": "c", "type": "t", "location": "eastus", "tags": {"a": "b"},
            "properties": {
                "provisioningState": "Succeeded",
                "clusterProfile": {"pullSecret": "ps", "domain": "d", "version": "4.19.1",
                    "resourceGroupId": "/subscriptions/s/resourcegroups/managed"},
                "consoleProfile": {"url": "https://console.example/"},
                "servicePrincipalProfile": {"clientId": "cid", "clientSecret": "cs"},
                "networkProfile": {"podCidr": "10.128.0.0/14", "serviceCidr": "172.30.0.0/16",
                    "outboundType": "Loadbalancer", "preconfiguredNSG": "Disabled",
                    "loadBalancerProfile": {"managedOutboundIps": {"count": 3}, "effectiveOutboundIps": [{"id": "/ip"}]}},
                "masterProfile": {"vmSize": "Standard_D8s_v3", "subnetId": "/m", "encryptionAtHost": "Disabled"},
                "workerProfiles": [{"name": "worker", "vmSize": "Standard_D4s_v3", "diskSizeGB": 128, "subnetId": "/w",
                    "count": 3, "encryptionAtHost": "Disabled"}],
                "workerProfilesStatus": [
                    {"name": "c-worker-1", "vmSize": "Standard_D4s_v3", "diskSizeGB": 128, "subnetId": "/w", "count": 2},
                    {"name": "c-worker-2", "vmSize": "Standard_D4s_v3", "diskSizeGB": 128, "subnetId": "/w", "count": 1}
                ],
                "apiserverProfile": {"visibility": "Public", "url": "https://api.example:6443/", "ip": "192.0.2.1"},
                "ingressProfiles": [{"name": "default", "visibility": "Public", "ip": "192.0.2.2"}],
            },
        })
    }

    /// What was sent when the cluster was made.
    fn creation() -> Value {
        json!({
            "location": "eastus", "tags": {"a": "b"},
            "properties": {
                "clusterProfile": {"pullSecret": "ps", "domain": "d", "version": "4.19.1",
                    "resourceGroupId": "/subscriptions/s/resourceGroups/Managed"},
                "servicePrincipalProfile": {"clientId": "cid", "clientSecret": "cs"},
                "networkProfile": {"podCidr": "10.128.0.0/14", "serviceCidr": "172.30.0.0/16"},
                "masterProfile": {"vmSize": "Standard_D8s_v3", "subnetId": "/m"},
                "workerProfiles": [{"name": "worker", "vmSize": "Standard_D4s_v3", "diskSizeGB": 128, "subnetId": "/w",
                    "count": 3}],
                "apiserverProfile": {"visibility": "Public"},
                "ingressProfiles": [{"name": "default", "visibility": "Public"}],
            },
        })
    }

    /// The outcome of a PUT: the member that may not change, or the cluster afterwards.
    fn put(version: &Version, body: &Value) -> Result<Value, String> {
        let shown = convert::to_external(version, &stored());
        let (mut is, mut wanted) = (shown.clone(), convert::put_base(version, &stored()));
        convert::without_read_only(version, &mut is);
        convert::without_read_only(version, &mut wanted);
        decode::decode_into(version, &mut wanted, body.to_string().as_bytes()).unwrap();
        drop_repeated(version, &shown, &mut wanted);
        keep_left_out(version, &stored(), &is, &mut wanted);
        changes::check(version, &is, &wanted).map_err(|error| error.body.target)?;
        let mut updated = stored();
        convert::update(version, &is, &wanted, &mut updated);
        Ok(updated)
    }

    #[test]
    fn the_body_of_a_creation_changes_nothing() {
        for version in all() {
            assert_eq!(put(version, &creation()), Ok(stored()), "{}", version.name);
        }
    }

    #[test]
    fn what_was_shown_changes_nothing() {
        for version in all() {
            let shown = convert::to_answer(version, &stored());
            assert_eq!(put(version, &shown), Ok(stored()), "{}", version.name);
        }
    }

    #[test]
    fn another_value_is_refused() {
        for version in all() {
            let refused = |pointer: &str, value: Value| {
                let mut body = convert::to_answer(version, &stored());
                let (parent, name) = pointer.rsplit_once('/').unwrap();
                body.pointer_mut(parent).unwrap()[name] = value;
                put(version, &body).err()
            };
            let url = refused("/properties/consoleProfile/url", json!("https://other.example/"));
            assert_eq!(url.as_deref(), Some("properties.consoleProfile.url"), "{}", version.name);
            let group = json!("/subscriptions/s/resourceGroups/other");
            let group = refused("/properties/clusterProfile/resourceGroupId", group);
            assert_eq!(
                group.as_deref(),
                Some("properties.clusterProfile.resourceGroupId"),
                "{}",
                version.name
            );
            let size = refused("/properties/masterProfile/vmSize", json!("Standard_D16s_v3"));
            assert_eq!(size.as_deref(), Some("properties.masterProfile.vmSize"), "{}", version.name);
            let workers = refused("/properties/workerProfiles", json!([]));
            assert_eq!(workers.as_deref(), Some("properties.workerProfiles"), "{}", version.name);
        }
    }

    #[test]
    fn null_is_left_out_where_nothing_may_change_and_clears_tags() {
        for version in all() {
            for member in ["ingressProfiles", "workerProfiles"] {
                let mut body = creation();
                body["properties"][member] = Value::Null;
                assert_eq!(put(version, &body), Ok(stored()), "{} {member}", version.name);
            }
            let mut body = creation();
            body["tags"] = Value::Null;
            let updated = put(version, &body).unwrap();
            assert!(updated["tags"].is_null(), "{}: {}", version.name, updated["tags"]);
        }
    }

    #[test]
    fn what_a_caller_may_change_has_to_be_said() {
        let version = find("2025-07-25").unwrap();
        let mut body = creation();
        body.as_object_mut().unwrap().remove("tags");
        assert!(put(version, &body).unwrap().get("tags").is_none());
        body["properties"]["networkProfile"]["loadBalancerProfile"] =
            json!({"managedOutboundIps": {"count": 5}});
        let updated = put(version, &body).unwrap();
        let profile = &updated["properties"]["networkProfile"]["loadBalancerProfile"];
        assert_eq!(
            *profile,
            json!({"managedOutboundIps": {"count": 5}, "effectiveOutboundIps": [{"id": "/ip"}]})
        );
    }
}
