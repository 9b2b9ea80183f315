//! Definitions beside the cluster's: ARM's common types, errors, credentials, what can be installed.

use serde_json::{Map, json};

use super::clusters::{self, Definitions, list, property};
use super::{SwaggerContext, object, reference, with};
use crate::schema::{Member, text};

pub(super) fn all(context: SwaggerContext<'_>) -> Definitions {
    let mut all = Map::new();
    clusters::add(context, &mut all);
    common(context, &mut all);
    errors(context, &mut all);
    operations(context, &mut all);
    credentials(context, &mut all);
    lists(context, &mut all, "OpenShiftCluster", "OpenShift clusters");
    if context.version.openshift_versions {
        versions(context, &mut all);
    }
    if context.version.role_sets {
        role_sets(context, &mut all);
    }
    all
}

/// Writes a definition of members as they stand in the tree.
fn members(context: SwaggerContext<'_>, all: &mut Definitions, name: &str, says: &str, members: &[Member]) {
    let properties = members.iter().map(|member| (member.name.to_owned(), property(context, member, all)));
    let properties = properties.collect();
    all.insert(name.to_owned(), object(says, &properties));
}

/// What every resource of ARM has.
fn common(context: SwaggerContext<'_>, all: &mut Definitions) {
    let top = &context.version.cluster;
    let mut resource = Map::new();
    for member in ["id", "name", "type"].iter().filter_map(|name| top.get(name)) {
        let said = with(property(context, member, all), [("readOnly", json!(true))]);
        resource.insert(member.name.to_owned(), said);
    }
    if let Some(member) = top.get("systemData").filter(|_| context.common_system_data()) {
        resource.insert(member.name.to_owned(), property(context, member, all));
    }
    let resource = with(object("A resource of ARM.", &resource), [("x-ms-azure-resource", json!(true))]);
    all.insert("Resource".to_owned(), resource);
    let mut tracked = Map::new();
    if let Some(tags) = top.get("tags") {
        let mutable = json!(["read", "create", "update"]);
        tracked.insert("tags".to_owned(), with(property(context, tags, all), [("x-ms-mutability", mutable)]));
    }
    if let Some(location) = top.get("location") {
        let said = with(property(context, location, all), [("x-ms-mutability", json!(["read", "create"]))]);
        tracked.insert("location".to_owned(), said);
    }
    let says = "A resource of ARM that has tags and a location.";
    let tracked = with(
        object(says, &tracked),
        [("required", json!(["location"])), ("allOf", json!([reference("Resource")]))],
    );
    all.insert("TrackedResource".to_owned(), tracked);
    if context.version.openshift_versions {
        let says = "A resource of ARM that has neither tags nor a location.";
        let proxy = with(object(says, &Map::new()), [("allOf", json!([reference("Resource")]))]);
        all.insert("ProxyResource".to_owned(), proxy);
    }
}

fn errors(context: SwaggerContext<'_>, all: &mut Definitions) {
    let body = [
        text("code", "What kind of error it is; codes do not change."),
        text("message", "What happened, for people."),
        text("target", "What of the request is wrong, such as the path of a member."),
    ];
    members(context, all, "CloudErrorBody", "An error.", &body);
    let details = with(
        list(context, &reference("CloudErrorBody")),
        [("description", json!("More errors that belong to this one."))],
    );
    if let Some(body) = all.get_mut("CloudErrorBody") {
        body["properties"]["details"] = details;
    }
    let error = with(reference("CloudErrorBody"), [("description", json!("What went wrong."))]);
    let properties = Map::from_iter([("error".to_owned(), error)]);
    all.insert("CloudError".to_owned(), object("The answer to a request that failed.", &properties));
}

fn operations(context: SwaggerContext<'_>, all: &mut Definitions) {
    let display = [
        text("provider", "The name of the resource provider."),
        text("resource", "The type of resource."),
        text("operation", "What is done with it."),
        text("description", "More about it."),
    ];
    members(context, all, "Display", "An operation in words.", &display);
    let operation = [
        text("name", "The name of the operation: provider, resource, operation."),
        text("origin", "Who may call it: user, system, or both."),
    ];
    members(context, all, "Operation", "An operation of the resource provider.", &operation);
    if let Some(operation) = all.get_mut("Operation") {
        operation["properties"]["display"] =
            with(reference("Display"), [("description", json!("The operation in words."))]);
    }
    lists(context, all, "Operation", "operations");
}

fn credentials(context: SwaggerContext<'_>, all: &mut Definitions) {
    let says = "The user and the password of a cluster's first administrator.";
    let pair = [
        text("kubeadminUsername", "The name of the user."),
        text("kubeadminPassword", "The password of the user.").secret(),
    ];
    members(context, all, "OpenShiftClusterCredentials", says, &pair);
    // The first stable version did not mark it.
    if !context.version.admin_kubeconfig {
        unmark(all, "OpenShiftClusterCredentials", "kubeadminPassword");
    } else {
        let file = [text("kubeconfig", "The kubeconfig, in base64.").secret()];
        members(context, all, "OpenShiftClusterAdminKubeconfig", "An admin's kubeconfig.", &file);
    }
    if context.newest() {
        for (definition, member) in [
            ("OpenShiftClusterCredentials", "kubeadminPassword"),
            ("OpenShiftClusterAdminKubeconfig", "kubeconfig"),
        ] {
            if let Some(said) = all.get_mut(definition) {
                said["properties"][member]["format"] = json!("password");
            }
        }
    }
}

fn unmark(all: &mut Definitions, definition: &str, member: &str) {
    let scope = all.get_mut(definition).and_then(|said| said["properties"][member].as_object_mut());
    if let Some(said) = scope {
        said.remove("x-ms-secret");
    }
}

fn versions(context: SwaggerContext<'_>, all: &mut Definitions) {
    let says = "What a version of OpenShift is.";
    let version = [text("version", "The version, such as 4.19.1.")];
    members(context, all, "OpenShiftVersionProperties", says, &version);
    proxy(all, "OpenShiftVersion", "A version of OpenShift that can be installed.");
    lists(context, all, "OpenShiftVersion", "versions of OpenShift");
}

fn role_sets(context: SwaggerContext<'_>, all: &mut Definitions) {
    let role = [
        text("operatorName", "The operator."),
        text("roleDefinitionName", "The name of the role that its identity needs."),
        text("roleDefinitionId", "The resource id of the role that its identity needs."),
    ];
    members(
        context,
        all,
        "PlatformWorkloadIdentityRole",
        "The role that an operator's identity needs.",
        &role,
    );
    let says = "Which roles the operators of a minor version need.";
    let minor = [text("openShiftVersion", "The minor version, such as 4.19.")];
    members(context, all, "PlatformWorkloadIdentityRoleSetProperties", says, &minor);
    let roles = with(
        list(context, &reference("PlatformWorkloadIdentityRole")),
        [("description", json!("The roles of the operators."))],
    );
    if let Some(properties) = all.get_mut("PlatformWorkloadIdentityRoleSetProperties") {
        properties["properties"]["platformWorkloadIdentityRoles"] = roles;
    }
    proxy(all, "PlatformWorkloadIdentityRoleSet", "The roles that the operators of a minor version need.");
    lists(context, all, "PlatformWorkloadIdentityRoleSet", "sets of roles");
}

/// A resource with properties, neither tags nor location.
fn proxy(all: &mut Definitions, name: &str, says: &str) {
    let more = [("description", json!("What it is.")), ("x-ms-client-flatten", json!(true))];
    let properties =
        Map::from_iter([("properties".to_owned(), with(reference(&format!("{name}Properties")), more))]);
    let said = with(object(says, &properties), [("allOf", json!([reference("ProxyResource")]))]);
    all.insert(name.to_owned(), said);
}

/// The list of a definition.
fn lists(context: SwaggerContext<'_>, all: &mut Definitions, name: &str, of_what: &str) {
    let value = with(list(context, &reference(name)), [("description", json!("What stands on this page."))]);
    let link = json!({"type": "string", "description": "Where the next page is; none on the last."});
    let link = if context.newest() { with(link, [("format", json!("uri"))]) } else { link };
    let properties = Map::from_iter([("value".to_owned(), value), ("nextLink".to_owned(), link)]);
    let said = object(&format!("A page of {of_what}."), &properties);
    let said = if context.newest() { with(said, [("required", json!(["value"]))]) } else { said };
    all.insert(format!("{name}List"), said);
}
