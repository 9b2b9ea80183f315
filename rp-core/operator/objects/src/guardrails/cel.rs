//! Expressions of the Common Expression Language, for policies. Everything in them is a constant of this crate.

use super::namespaces;

/// Users of the platform that pass, besides service accounts.
const USERS: [&str; 4] =
    ["system:kube-controller-manager", "system:kube-scheduler", "system:admin", "system:aro-service"];
/// Groups that pass.
const GROUPS: [&str; 2] = ["system:masters", "system:nodes"];

/// A text. The constants have no quote and no backslash; a test holds that.
pub(super) fn text(text: &str) -> String {
    format!("'{text}'")
}

/// A list of texts.
pub(super) fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts: Vec<_> = texts.into_iter().map(text).collect();
    format!("[{}]", texts.join(", "))
}

/// Whether the request comes from somebody whom the policies are for. Names are compared as a whole.
pub(super) fn is_not_exempt() -> String {
    let accounts: Vec<_> =
        namespaces::exempt().map(|namespace| format!("system:serviceaccounts:{namespace}")).collect();
    let groups = list(GROUPS.into_iter().chain(accounts.iter().map(String::as_str)));
    let users = list(USERS);
    format!(
        "!(request.userInfo.username in {users} || (has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in {groups})))"
    )
}

/// Whether the old object has this label, with this value where one is given.
pub(super) fn old_label(label: &str, value: Option<&str>) -> String {
    let label = text(label);
    let present = format!("has(oldObject.metadata.labels) && {label} in oldObject.metadata.labels");
    match value {
        None => present,
        Some(value) => format!("{present} && oldObject.metadata.labels[{label}] == {}", text(value)),
    }
}
