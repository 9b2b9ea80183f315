//! The definitions of a cluster, made of the tree of members.

use serde_json::{Map, Value, json};

use super::{SwaggerContext, object, reference, with};
use crate::schema::{Change, Choice, Member, Members, Shape};

/// Definitions whose names are not those of their members.
const NAMES: &[(&str, &str)] = &[
    ("properties", "OpenShiftClusterProperties"),
    ("systemData", "systemData"),
    ("identity", "ManagedServiceIdentity"),
    ("userAssignedIdentities", "UserAssignedIdentity"),
    ("platformWorkloadIdentities", "PlatformWorkloadIdentity"),
    ("apiserverProfile", "APIServerProfile"),
    ("ingressProfiles", "IngressProfile"),
    ("workerProfiles", "WorkerProfile"),
    ("workerProfilesStatus", "WorkerProfile"),
    ("managedOutboundIps", "ManagedOutboundIPs"),
    ("effectiveOutboundIps", "EffectiveOutboundIP"),
    ("outboundIps", "OutboundIP"),
    ("outboundIpPrefixes", "OutboundIPPrefix"),
];

/// Texts that had definitions of their own up to `2024-08-12-preview`.
const TEXTS: &[(&str, &str)] =
    &[("vmSize", "VMSize"), ("oidcIssuer", "OIDCIssuer"), ("upgradeableTo", "UpgradeableTo")];

/// Forms of texts.
const FORMATS: &[(&str, &str)] = &[("createdAt", "date-time"), ("lastModifiedAt", "date-time")];

/// Members that ARM's common types describe.
pub(super) const COMMON: &[&str] = &["id", "name", "type", "location", "tags"];

/// Sizes that `2020-04-30` named, without prefix. No server ever kept to that list.
const SIZES_2020: &[&str] = &[
    "D16as_v4", "D16s_v3", "D2s_v3", "D32as_v4", "D32s_v3", "D4as_v4", "D4s_v3", "D8as_v4", "D8s_v3",
    "E16s_v3", "E32s_v3", "E4s_v3", "E8s_v3", "F16s_v2", "F32s_v2", "F4s_v2", "F8s_v2",
];
/// Those that `2021-09-01-preview` added.
const SIZES_2021: &[&str] = &["E64i_v3", "E64is_v3", "F72s_v2", "G5", "GS5", "M128ms"];

/// Definitions by name.
pub(super) type Definitions = Map<String, Value>;

/// Writes the definitions of a cluster's members.
pub(super) fn add(context: SwaggerContext<'_>, to: &mut Definitions) {
    let members = &context.version.cluster;
    let mut own = Map::new();
    for member in members.0.iter().filter(|member| !COMMON.contains(&member.name)) {
        let described = property(context, member, to);
        if member.name != "systemData" {
            own.insert(member.name.to_owned(), described);
        } else if !context.common_system_data() {
            own.insert(member.name.to_owned(), with(described, [("readOnly", json!(true))]));
        }
    }
    if let Some(properties) = own.get_mut("properties") {
        properties["x-ms-client-flatten"] = json!(true);
    }
    let tracked = json!({"allOf": [reference("TrackedResource")]});
    let cluster = object("A cluster of Azure Red Hat OpenShift.", &own);
    to.insert("OpenShiftCluster".to_owned(), merged(cluster, tracked));
    own.insert("tags".to_owned(), tags(context, members, to));
    let update = object("What is to be changed of a cluster of Azure Red Hat OpenShift.", &own);
    to.insert("OpenShiftClusterUpdate".to_owned(), update);
}

fn tags(context: SwaggerContext<'_>, members: &Members, to: &mut Definitions) -> Value {
    let Some(member) = members.get("tags") else { return json!({}) };
    let described = property(context, member, to);
    if context.newest() {
        return described;
    }
    to.insert("Tags".to_owned(), described);
    with(reference("Tags"), [("description", json!(member.says))])
}

/// The schema of a member; definitions that it refers to are added.
pub(super) fn property(context: SwaggerContext<'_>, member: &Member, to: &mut Definitions) -> Value {
    let mut said = shape(context, member, &member.shape, to);
    if let Some(choice) = member.choice {
        said = reference(choice.name);
        to.entry(choice.name).or_insert_with(|| choices(context, choice));
    }
    said["description"] = json!(member.says);
    if member.change == Change::ReadOnly {
        said["readOnly"] = json!(true);
    }
    if member.secret {
        said["x-ms-secret"] = json!(true);
    }
    said
}

fn shape(context: SwaggerContext<'_>, member: &Member, shape_: &Shape, to: &mut Definitions) -> Value {
    match shape_ {
        Shape::Text => text(context, member, to),
        Shape::Int => json!({"type": "integer", "format": "int32"}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Object(members) => {
            let name = name(member);
            if !to.contains_key(&name) {
                // It holds its place while its members are written.
                to.insert(name.clone(), Value::Null);
                let properties =
                    members.0.iter().map(|one| (one.name.to_owned(), property(context, one, to))).collect();
                to.insert(name.clone(), object(member.says, &properties));
            }
            reference(&name)
        }
        Shape::List(of) => list(context, &shape(context, member, of, to)),
        Shape::Map(of) => json!({"type": "object", "additionalProperties": shape(context, member, of, to)}),
    }
}

/// A list of such elements.
pub(super) fn list(context: SwaggerContext<'_>, items: &Value) -> Value {
    let list = json!({"type": "array", "items": items});
    if context.identifiers() { with(list, [("x-ms-identifiers", json!([]))]) } else { list }
}

fn text(context: SwaggerContext<'_>, member: &Member, to: &mut Definitions) -> Value {
    let own = TEXTS.iter().find(|(name, _)| *name == member.name).filter(|_| !context.newest());
    if let Some((_, name)) = own {
        let sizes = sizes(context).filter(|_| *name == "VMSize");
        let plain = || json!({"type": "string", "description": member.says});
        let said = sizes.map_or_else(plain, |sizes| {
            with(plain(), [("enum", json!(sizes)), ("x-ms-enum", named("VMSize"))])
        });
        to.entry(*name).or_insert(said);
        return reference(name);
    }
    let format = FORMATS.iter().find(|(name, _)| *name == member.name);
    match format {
        Some((_, format)) => json!({"type": "string", "format": format}),
        None => json!({"type": "string"}),
    }
}

fn sizes(context: SwaggerContext<'_>) -> Option<Vec<String>> {
    let more: &[&str] = match context.version.name {
        "2020-04-30" => &[],
        "2021-09-01-preview" => SIZES_2021,
        _ => return None,
    };
    let mut sizes: Vec<String> =
        SIZES_2020.iter().chain(more).map(|size| format!("Standard_{size}")).collect();
    sizes.sort();
    Some(sizes)
}

fn choices(context: SwaggerContext<'_>, choice: Choice) -> Value {
    let mut values = choice.values.to_vec();
    if choice.name == "ProvisioningState" {
        values.extend(context.version.extra_state);
        values.sort_unstable();
    }
    let says = format!("The values of {}.", choice.name);
    json!({"type": "string", "description": says, "enum": values, "x-ms-enum": named(choice.name)})
}

/// Values that are not listed are taken too: newer servers may know more.
fn named(name: &str) -> Value {
    json!({"name": name, "modelAsString": true})
}

fn name(member: &Member) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(of, _)| *of == member.name) {
        return (*name).to_owned();
    }
    let mut letters = member.name.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

fn merged(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Object(mut a), Value::Object(b)) => {
            a.extend(b);
            Value::Object(a)
        }
        (a, _) => a,
    }
}
