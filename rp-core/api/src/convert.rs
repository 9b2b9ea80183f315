//! From the stored cluster to what a version shows, and back (`contract/api.md` §9).
//!
//! The stored cluster is its JSON with decrypted secrets: the caller has decrypted them, and seals them again before
//! the document is written. The external form is a copy of the members that the version has. On create, everything
//! that was sent is stored; on update, only what the request changed and the caller may change: members that the
//! version does not know, and those that we write ourselves, stay as they are (`contract/api.md` "Do better" 8 and 9).

use serde_json::{Map, Value};

use crate::schema::{Change, Member, Members, Presence, Shape};
use crate::version::Version;

const IDENTITIES: &str = "platformWorkloadIdentities";

/// The cluster as the version shows it, secrets included.
pub fn to_external(version: &Version, stored: &Value) -> Value {
    let mut shown = members_out(&version.cluster, stored);
    if version.shows_live_workers {
        let live = stored.pointer("/properties/workerProfilesStatus").filter(|live| live.is_array());
        let shape = version.cluster.at("properties.workerProfiles").map(|member| &member.shape);
        if let (Some(live), Some(shape)) = (live, shape) {
            set(&mut shown, "workerProfiles", shape_out(shape, live));
        }
    }
    // It is there when there are identities (`contract/api.md` §9.1).
    let named = stored.pointer("/properties/platformWorkloadIdentityProfile/platformWorkloadIdentities");
    if named.is_none_or(Value::is_null) {
        remove(&mut shown, "platformWorkloadIdentityProfile");
    }
    shown
}

/// The same as an answer: secrets are blanked.
pub fn to_answer(version: &Version, stored: &Value) -> Value {
    let mut shown = to_external(version, stored);
    strip(&version.cluster, &mut shown, &|member| member.secret);
    shown
}

/// What the body of a PUT is decoded over (`contract/api.md` §10 step 3); `repetition` adds what it leaves out and
/// cannot change.
pub fn put_base(version: &Version, stored: &Value) -> Value {
    let whole = to_external(version, stored);
    let mut base = members_out(&version.cluster, &Value::Null);
    for name in ["id", "name", "type", "systemData"] {
        copy(&whole, &mut base, &[name]);
    }
    copy(&whole, &mut base, &["properties", "provisioningState"]);
    copy(&whole, &mut base, &["properties", "clusterProfile", "pullSecret"]);
    copy(&whole, &mut base, &["properties", "clusterProfile", "version"]);
    if whole.pointer("/properties/servicePrincipalProfile").is_some() {
        copy(&whole, &mut base, &["properties", "servicePrincipalProfile", "clientSecret"]);
    }
    base
}

/// Clears what a request must not say (`contract/api.md` §9.3).
pub fn without_read_only(version: &Version, shown: &mut Value) {
    strip(&version.cluster, shown, &|member| member.change == Change::ReadOnly);
}

/// A new stored cluster of what was sent; read-only members are left out (`contract/api.md` "Do better" 10).
pub fn create(version: &Version, sent: &Value, stored: &mut Value) {
    let mut sent = sent.clone();
    without_read_only(version, &mut sent);
    members_in(&version.cluster, &sent, stored);
}

/// Applies a request's changes to the stored cluster: `base` is what the body was decoded over, `wanted` the result of
/// it.
pub fn update(version: &Version, base: &Value, wanted: &Value, stored: &mut Value) {
    changes_in(&version.cluster, base, wanted, stored);
}

fn members_out(members: &Members, stored: &Value) -> Value {
    let mut shown = Map::new();
    for member in &members.0 {
        let value = stored.get(member.stored).unwrap_or(&Value::Null);
        let out = match (&member.shape, member.presence) {
            (Shape::Object(below), Presence::Fixed) => members_out(below, value),
            (_, _) if value.is_null() => continue,
            (shape, _) => shape_out(shape, value),
        };
        if !is_zero(&out) || member.presence != Presence::Plain {
            shown.insert(member.name.to_owned(), out);
        }
    }
    Value::Object(shown)
}

pub(crate) fn shape_out(shape: &Shape, value: &Value) -> Value {
    match (shape, value) {
        (Shape::Object(members), _) => members_out(members, value),
        (Shape::List(of), Value::Array(list)) => list.iter().map(|one| shape_out(of, one)).collect(),
        (Shape::Map(of), Value::Object(map)) => {
            Value::Object(map.iter().map(|(key, one)| (key.clone(), shape_out(of, one))).collect())
        }
        _ => value.clone(),
    }
}

fn members_in(members: &Members, sent: &Value, stored: &mut Value) {
    for member in &members.0 {
        let Some(value) = sent.get(member.name).filter(|value| !value.is_null()) else { continue };
        let place = place(stored, member.stored);
        match &member.shape {
            Shape::Object(below) => members_in(below, value, place),
            shape => *place = shape_in(shape, value),
        }
    }
}

/// A list or a map is taken as sent: every form of an element is the stored one.
fn shape_in(shape: &Shape, value: &Value) -> Value {
    match (shape, value) {
        (Shape::Object(members), _) => {
            let mut stored = Value::Object(Map::new());
            members_in(members, value, &mut stored);
            stored
        }
        (Shape::List(of), Value::Array(list)) => list.iter().map(|one| shape_in(of, one)).collect(),
        (Shape::Map(of), Value::Object(map)) => {
            Value::Object(map.iter().map(|(key, one)| (key.clone(), shape_in(of, one))).collect())
        }
        _ => value.clone(),
    }
}

fn changes_in(members: &Members, base: &Value, wanted: &Value, stored: &mut Value) {
    for member in &members.0 {
        let none = Value::Null;
        let (was, is) = (base.get(member.name).unwrap_or(&none), wanted.get(member.name).unwrap_or(&none));
        if was == is {
            continue;
        }
        match &member.shape {
            Shape::Object(below) if !is.is_null() => {
                let into = place(stored, member.stored);
                changes_in(below, was, is, into);
                if member.name == "servicePrincipalProfile" && changed(was, is, "clientId") {
                    // Another principal has another object id: it is looked up again.
                    take(into, "spObjectId");
                }
            }
            _ if member.change != Change::Free => {}
            _ if is.is_null() => take(stored, member.stored),
            Shape::Map(_) if member.name == IDENTITIES => identities_in(is, place(stored, member.stored)),
            Shape::Map(of) if of.members().is_some() => keys_in(is, place(stored, member.stored)),
            shape => *place(stored, member.stored) = shape_in(shape, is),
        }
    }
}

/// Known operators keep their ids while the identity is the same; names that are missing stay
/// (`contract/api.md` §9.2).
fn identities_in(wanted: &Value, stored: &mut Value) {
    let Value::Object(wanted) = wanted else { return };
    for (operator, identity) in wanted {
        let known = place(stored, operator);
        let resource = identity.get("resourceId").cloned().unwrap_or_default();
        if known.get("resourceId") != Some(&resource) {
            take(known, "clientId");
            take(known, "objectId");
        }
        *place(known, "resourceId") = resource;
    }
}

/// The keys are replaced; what is known of one stays (`contract/api.md` "Do better" 8).
fn keys_in(wanted: &Value, stored: &mut Value) {
    let Value::Object(wanted) = wanted else { return };
    let known = stored.take();
    let kept = |key: &String| known.get(key).cloned().unwrap_or_else(|| Value::Object(Map::new()));
    *stored = Value::Object(wanted.keys().map(|key| (key.clone(), kept(key))).collect());
}

fn changed(was: &Value, is: &Value, name: &str) -> bool {
    was.get(name) != is.get(name)
}

/// Removes members that `which` names, at every depth.
fn strip(members: &Members, shown: &mut Value, which: &dyn Fn(&Member) -> bool) {
    let Value::Object(map) = shown else { return };
    for member in &members.0 {
        if which(member) {
            let fixed = matches!(member.shape, Shape::Object(_)) && member.presence == Presence::Fixed;
            if !fixed {
                map.remove(member.name);
                continue;
            }
            map.insert(member.name.to_owned(), Value::Object(Map::new()));
        }
        if let (Some(below), Some(value)) = (member.shape.members(), map.get_mut(member.name)) {
            each(&member.shape, value, &mut |object| strip(below, object, which));
        }
    }
}

/// Every object of a value of that form.
fn each(shape: &Shape, value: &mut Value, do_: &mut dyn FnMut(&mut Value)) {
    match (shape, value) {
        (Shape::List(of), Value::Array(list)) => list.iter_mut().for_each(|one| each(of, one, do_)),
        (Shape::Map(of), Value::Object(map)) => map.values_mut().for_each(|one| each(of, one, do_)),
        (Shape::Object(_), object) => do_(object),
        _ => {}
    }
}

/// Whether a value is left out of an answer.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

fn place<'a>(of: &'a mut Value, name: &str) -> &'a mut Value {
    if !of.is_object() {
        *of = Value::Object(Map::new());
    }
    // An object takes any member.
    &mut of[name]
}

fn take(of: &mut Value, name: &str) {
    if let Value::Object(map) = of {
        map.remove(name);
    }
}

fn copy(from: &Value, to: &mut Value, path: &[&str]) {
    let found = path.iter().try_fold(from, |value, name| value.get(name));
    if let Some(found) = found {
        *path.iter().fold(to, |value, name| place(value, name)) = found.clone();
    }
}

fn set(shown: &mut Value, name: &str, value: Value) {
    if let Some(Value::Object(properties)) = shown.get_mut("properties") {
        properties.insert(name.to_owned(), value);
    }
}

fn remove(shown: &mut Value, name: &str) {
    if let Some(properties) = shown.get_mut("properties") {
        take(properties, name);
    }
}
