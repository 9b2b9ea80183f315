//! The parameters of a path. Their bounds are those of the types that handlers read them into.

use serde_json::{Value, json};

use crate::route::Route;

/// The parameters of a route's path, in its order.
pub(super) fn in_path(route: &Route) -> Vec<Value> {
    let of_cluster = route.path.contains("{sub}");
    route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            let (rest, name) = (name.starts_with('*'), name.trim_start_matches('*'));
            let (what, mut schema) = described(name, rest, of_cluster);
            if let Some((_, values)) = route.values.filter(|(parameter, _)| *parameter == name) {
                schema = json!({ "type": "string", "enum": values() });
            }
            json!({ "name": name, "in": "path", "required": true, "description": what, "schema": schema })
        })
        .collect()
}

/// The meaning and the schema of a parameter; `rest`: it is the rest of the path; `of_cluster`: the path names a cluster.
fn described(name: &str, rest: bool, of_cluster: bool) -> (&'static str, Value) {
    match name {
        // OpenAPI has no pattern for the rest of a path.
        _ if rest => ("The rest of the path, with its slashes", text()),
        "sub" => ("Subscription id of the cluster", json!({ "type": "string", "format": "uuid" })),
        "group" if of_cluster => ("Resource group of the cluster", resource_name()),
        "name" if of_cluster => ("Name of the cluster", resource_name()),
        "name" => ("Name, as the list has it", text()),
        "id" => ("Id, as an answer gave it", json!({ "type": "string", "pattern": "^[a-z0-9-]{1,64}$" })),
        "item" => ("Name of the object or machine", text()),
        "namespace" => ("Namespace of the object", text()),
        "api" => ("Group of the object's API; `core` for the group without a name", text()),
        "version" => ("Version of the object's API", text()),
        "plural" => ("Kind of the object, in the plural as in paths of its API", text()),
        "kind" => ("Kind of the workload, or name of the statistic", text()),
        "destination" => ("Name of the destination, as the settings have it", text()),
        "node" => ("Name of the node", text()),
        "csr" => ("Name of the certificate signing request", text()),
        _ => ("As an answer or the guide names it", text()),
    }
}

fn text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

/// As `rp_documents::ResourceId` reads the segments of a resource id.
fn resource_name() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9_().-]*[A-Za-z0-9_()-]$", "minLength": 1, "maxLength": 90 })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::routes::table;

    #[test]
    fn every_parameter_of_a_path_has_a_meaning_and_bounds() {
        let described = table().filter(|route| route.doc.is_some());
        for (path, parameter) in
            described.flat_map(|route| in_path(route).into_iter().map(move |p| (route.path, p)))
        {
            let general = "As an answer or the guide names it";
            assert_ne!(parameter["description"], general, "{path}: say what {} is", parameter["name"]);
            let schema = &parameter["schema"];
            let bounds = ["format", "pattern", "minLength", "enum"];
            assert!(bounds.iter().any(|bound| schema.get(*bound).is_some()), "{path}: {parameter}");
        }
    }

    #[test]
    fn a_parameter_has_the_values_that_its_row_names() {
        for route in table() {
            let Some((name, values)) = route.values else { continue };
            let parameter = in_path(route).into_iter().find(|parameter| parameter["name"] == name);
            let parameter = parameter.unwrap_or_else(|| panic!("{}: no {name}", route.path));
            let values: HashSet<&str> = values().into_iter().collect();
            let named = parameter["schema"]["enum"].as_array().unwrap();
            assert!(!values.is_empty() && named.len() == values.len(), "{}: {named:?}", route.path);
        }
    }
}
