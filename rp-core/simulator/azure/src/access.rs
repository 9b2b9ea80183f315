//! Authorisation: locks, denials scripted by tests, deny assignments.

use hyper::{Method, StatusCode};
use serde_json::Value;

use super::id::Id;
use super::response::{ArmResponse, failure};
use super::tree::Tree;

/// A scripted denial of an action, temporary or permanent.
#[derive(Debug, Clone, Default)]
pub struct DenyRule {
    /// Application id or object id; `None`: everybody.
    pub subject: Option<String>,
    /// Substring of the action, case-insensitive: `subnets/join/action`; empty: every action.
    pub action: String,
    /// Prefix of the resource's id, case-insensitive.
    pub scope: String,
    /// Number of checks that are denied; `None`: until it is removed. Simulates delayed propagation.
    pub times: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Access {
    forbidden: Vec<DenyRule>,
}

/// The caller: application id and object id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Caller {
    pub(super) client_id: String,
    pub(super) object_id: String,
}

impl Access {
    pub(super) fn forbid(&mut self, one: DenyRule) {
        self.forbidden.push(DenyRule {
            subject: one.subject.map(|subject| subject.to_ascii_lowercase()),
            action: one.action.to_ascii_lowercase(),
            scope: one.scope.to_ascii_lowercase(),
            times: one.times,
        });
    }

    pub(super) fn clear(&mut self) {
        self.forbidden.clear();
    }

    /// Whether the caller may do that; counts the check.
    pub(super) fn allows(&mut self, who: &Caller, action: &str, scope: &str) -> bool {
        let (action, scope) = (action.to_ascii_lowercase(), scope.to_ascii_lowercase());
        let fits = |one: &&mut DenyRule| {
            let mine = |subject: &String| *subject == who.client_id || *subject == who.object_id;
            one.times != Some(0)
                && one.subject.as_ref().is_none_or(mine)
                && action.contains(&one.action)
                && scope.starts_with(&one.scope)
        };
        let Some(found) = self.forbidden.iter_mut().find(fits) else { return true };
        found.times = found.times.map(|times| times.saturating_sub(1));
        false
    }
}

/// The action that a request is: `microsoft.network/virtualnetworks/read`.
pub(super) fn action_of(method: &Method, kind: &str) -> String {
    match *method {
        Method::GET | Method::HEAD => format!("{kind}/read"),
        Method::DELETE => format!("{kind}/delete"),
        Method::POST => format!("{kind}/action"),
        _ => format!("{kind}/write"),
    }
}

pub(super) fn refused(who: &Caller, action: &str, scope: &str) -> ArmResponse {
    let message = format!(
        "The client '{}' with object id '{}' does not have authorization to perform action '{action}' over scope '{scope}' or the scope is invalid. If access was recently granted, please refresh your credentials.",
        who.client_id, who.object_id
    );
    failure(StatusCode::FORBIDDEN, "AuthorizationFailed", &message)
}

/// A lock on it, on what it is in, or (for what is deleted) on something inside.
pub(super) fn locked(tree: &Tree, method: &Method, id: &Id) -> Result<(), ArmResponse> {
    let delete = method == Method::DELETE;
    if matches!(*method, Method::GET | Method::HEAD) || id.kind.starts_with("microsoft.authorization/") {
        return Ok(());
    }
    for (key, lock) in tree.of_kind("microsoft.authorization/locks", |_| true) {
        let Some((scope, _)) = key.split_once("/providers/microsoft.authorization/") else { continue };
        let level = lock["properties"]["level"].as_str().unwrap_or_default();
        let covers = id.key == scope || id.key.starts_with(&format!("{scope}/"));
        let inside = delete && scope.starts_with(&format!("{}/", id.key));
        if (covers || inside) && (delete || level == "ReadOnly") {
            let (operation, asked) = (if delete { "delete" } else { "write" }, &id.asked);
            let message = format!(
                "The scope '{asked}' cannot perform {operation} operation because following scope(s) are locked: '{scope}'. Please remove the lock and try again."
            );
            return Err(failure(StatusCode::CONFLICT, "ScopeLocked", &message));
        }
    }
    Ok(())
}

/// A deny assignment that forbids it: everybody but those it leaves out.
pub(super) fn denied(tree: &Tree, who: &Caller, action: &str, scope: &str) -> Result<(), ArmResponse> {
    let scope = scope.to_ascii_lowercase();
    for (key, assignment) in tree.extensions("microsoft.authorization/denyassignments", &scope) {
        let Some((of, _)) = key.split_once("/providers/microsoft.authorization/") else { continue };
        let body = &assignment["properties"];
        let left_out = body["excludePrincipals"].as_array().into_iter().flatten();
        let mut left_out = left_out.filter_map(|principal| principal["id"].as_str());
        if left_out.any(|id| id.eq_ignore_ascii_case(&who.object_id)) {
            continue;
        }
        let permissions = body["permissions"].as_array().into_iter().flatten();
        let matches = |list: &Value| {
            list.as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .any(|pattern| fits(pattern, action))
        };
        if permissions.into_iter().any(|of| matches(&of["actions"]) && !matches(&of["notActions"])) {
            let message = format!(
                "The client '{}' with object id '{}' has permission to perform action '{action}' on scope '{scope}'; however, the access is denied because of the deny assignment with name '{}' and Id '{key}' at scope '{of}'.",
                who.client_id,
                who.object_id,
                body["denyAssignmentName"].as_str().unwrap_or_default()
            );
            return Err(failure(StatusCode::FORBIDDEN, "DenyAssignmentAuthorizationFailed", &message));
        }
    }
    Ok(())
}

/// `*` matches anything, including slashes.
fn fits(pattern: &str, action: &str) -> bool {
    let (pattern, action) = (pattern.to_ascii_lowercase(), action.to_ascii_lowercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = action.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}
