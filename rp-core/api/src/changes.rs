//! What an update may change (`contract/api.md` §11.4).

use serde_json::Value;

use crate::convert::is_zero;
use crate::error::CloudError;
use crate::schema::{Change, Member, Members, Presence, Shape};
use crate::version::Version;

/// Compares the cluster with the requested one, in the order of declaration.
///
/// # Errors
/// 400 `PropertyChangeNotAllowed` with the path of the first member that may not change, or may not be sent.
pub fn check(version: &Version, is: &Value, wanted: &Value) -> Result<(), CloudError> {
    check_members(&version.cluster, is, wanted)
}

/// The same for any object.
///
/// # Errors
/// As [`check`].
pub fn check_members(members: &Members, is: &Value, wanted: &Value) -> Result<(), CloudError> {
    match in_members(members, "", is, wanted) {
        Some(path) => Err(CloudError::change(&path)),
        None => Ok(()),
    }
}

fn in_members(members: &Members, path: &str, is: &Value, wanted: &Value) -> Option<String> {
    members.0.iter().find_map(|member| {
        let path = if path.is_empty() { member.name.to_owned() } else { format!("{path}.{}", member.name) };
        let none = Value::Null;
        let is = is.get(member.name).unwrap_or(&none);
        let wanted = wanted.get(member.name).unwrap_or(&none);
        in_member(member, path, is, wanted)
    })
}

fn in_member(member: &Member, path: String, is: &Value, wanted: &Value) -> Option<String> {
    if member.change == Change::ReadOnly {
        return read_only_violation(member, &path, wanted);
    }
    if let Shape::Object(below) = &member.shape {
        let appeared = member.presence == Presence::Nullable && is.is_null() != wanted.is_null();
        if appeared && member.change != Change::Free {
            return Some(path);
        }
        return in_members(below, &path, is, wanted);
    }
    if member.change == Change::Free {
        return read_only_below(member, &path, wanted);
    }
    in_shape(&member.shape, member.change, path, is, wanted)
}

/// A read-only member that the request sets; a fixed object may be present if it is empty.
fn read_only_violation(member: &Member, path: &str, wanted: &Value) -> Option<String> {
    match &member.shape {
        Shape::Object(below) => below.0.iter().find_map(|one| {
            let value = wanted.get(one.name).unwrap_or(&Value::Null);
            (!is_zero(value)).then(|| format!("{path}.{}", one.name))
        }),
        _ => (!is_zero(wanted)).then(|| path.to_owned()),
    }
}

/// Read-only members inside of a member that may change.
fn read_only_below(member: &Member, path: &str, wanted: &Value) -> Option<String> {
    let members = member.shape.members()?;
    let check = |path: String, object: &Value| {
        members.0.iter().filter(|one| one.change == Change::ReadOnly).find_map(|one| {
            let value = object.get(one.name).unwrap_or(&Value::Null);
            read_only_violation(one, &format!("{path}.{}", one.name), value)
        })
    };
    match wanted {
        Value::Array(list) => {
            list.iter().enumerate().find_map(|(at, one)| check(format!("{path}{}", element(at, one)), one))
        }
        Value::Object(map) if matches!(member.shape, Shape::Map(_)) => {
            map.iter().find_map(|(key, one)| check(format!("{path}[{key:?}]"), one))
        }
        _ => None,
    }
}

fn in_shape(shape: &Shape, change: Change, path: String, is: &Value, wanted: &Value) -> Option<String> {
    if is_zero(is) && is_zero(wanted) {
        return None;
    }
    match (shape, is, wanted) {
        (Shape::Object(members), _, _) => in_members(members, &path, is, wanted),
        (Shape::List(of), Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(at, (is, wanted))| {
                in_shape(of, change, format!("{path}{}", element(at, is)), is, wanted)
            })
        }
        (Shape::Map(of), Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter().find_map(|(key, is)| match b.get(key) {
                Some(wanted) => in_shape(of, change, format!("{path}[{key:?}]"), is, wanted),
                None => Some(path.clone()),
            })
        }
        (Shape::Text, Value::String(a), Value::String(b))
            if change == Change::AnyCase && a.eq_ignore_ascii_case(b) =>
        {
            None
        }
        _ => (is != wanted).then_some(path),
    }
}

/// `['NAME']` for an element that has a name, else `[i]`.
fn element(at: usize, element: &Value) -> String {
    match element.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => format!("['{name}']"),
        _ => format!("[{at}]"),
    }
}
