//! Roles and bindings. Who may do what in a simulated cluster does not follow from them.

use serde_json::{Value, json};

use super::{AGE, Cell, Kind, NAME, View, column, metadata};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) const ROLES: Kind = Kind {
    group: GROUP,
    version: "v1",
    plural: "roles",
    singular: "role",
    kind: "Role",
    namespaced: true,
    short: &[],
    categories: &[],
    list: roles,
    columns: &[NAME, AGE],
};

pub(super) const ROLEBINDINGS: Kind = Kind {
    plural: "rolebindings",
    singular: "rolebinding",
    kind: "RoleBinding",
    list: rolebindings,
    columns: &[NAME, column("Role", Cell::Of(role_of)), AGE],
    ..ROLES
};

pub(super) const CLUSTERROLES: Kind = Kind {
    plural: "clusterroles",
    singular: "clusterrole",
    kind: "ClusterRole",
    namespaced: false,
    list: clusterroles,
    ..ROLES
};

pub(super) const CLUSTERROLEBINDINGS: Kind = Kind {
    plural: "clusterrolebindings",
    singular: "clusterrolebinding",
    kind: "ClusterRoleBinding",
    namespaced: false,
    list: clusterrolebindings,
    columns: &[NAME, column("Role", Cell::Of(role_of)), AGE],
    ..ROLES
};

fn roles(view: &View<'_>) -> Vec<Value> {
    vec![role(view, &ROLES, Some("shop"), "orders-reader", &["get", "list", "watch"])]
}

fn rolebindings(view: &View<'_>) -> Vec<Value> {
    let group = json!({"kind": "Group", "apiGroup": GROUP, "name": "shop-people"});
    vec![binding(view, &ROLEBINDINGS, Some("shop"), ("Role", "orders-reader"), &group)]
}

fn clusterroles(view: &View<'_>) -> Vec<Value> {
    vec![
        role(view, &CLUSTERROLES, None, "cluster-admin", &["*"]),
        role(view, &CLUSTERROLES, None, "system:aro-sre", &["get", "list", "watch"]),
    ]
}

fn clusterrolebindings(view: &View<'_>) -> Vec<Value> {
    let masters = json!({"kind": "Group", "apiGroup": GROUP, "name": "system:masters"});
    let sre = json!({"kind": "User", "apiGroup": GROUP, "name": "system:aro-sre"});
    vec![
        binding(view, &CLUSTERROLEBINDINGS, None, ("ClusterRole", "cluster-admin"), &masters),
        binding(view, &CLUSTERROLEBINDINGS, None, ("ClusterRole", "system:aro-sre"), &sre),
    ]
}

fn role_of(binding: &Value) -> Value {
    let text = |name: &str| binding["roleRef"][name].as_str().unwrap_or_default();
    json!(format!("{}/{}", text("kind"), text("name")))
}

fn role(view: &View<'_>, kind: &Kind, namespace: Option<&str>, name: &str, verbs: &[&str]) -> Value {
    json!({"kind": kind.kind, "apiVersion": kind.api_version(),
        "metadata": metadata(view, kind.plural, namespace, name, &json!({})),
        "rules": [{"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}]})
}

/// A binding that has the name of its role.
fn binding(
    view: &View<'_>,
    kind: &Kind,
    namespace: Option<&str>,
    (role_kind, role): (&str, &str),
    subject: &Value,
) -> Value {
    json!({"kind": kind.kind, "apiVersion": kind.api_version(),
        "metadata": metadata(view, kind.plural, namespace, role, &json!({})),
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role}, "subjects": [subject]})
}
