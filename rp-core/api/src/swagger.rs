//! The published descriptions: Swagger 2.0 with `x-ms-*`, one document and one example for each operation in every
//! version that was ever published (`contract/api.md` §17). The description of a member comes from the tree that
//! decodes and answers ([`crate::schema`]); operations stand in one table ([`operations`]).

mod clusters;
mod compare;
mod definitions;
mod differences;
mod examples;
mod operations;
mod parameters;
mod samples;

use serde_json::{Map, Value, json};

pub use compare::surface;
pub use differences::markdown;
pub use examples::examples;

use crate::version::{JsonDialect, Publication, Version};

/// The name of a version's document below its folder.
pub const FILE: &str = "redhatopenshift.json";

/// Context for writing the document of a published version.
#[derive(Debug, Clone, Copy)]
struct SwaggerContext<'a> {
    version: &'a Version,
    published: Publication,
}

impl SwaggerContext<'_> {
    /// The newest form: string types are inlined where they are used, lists require `value`, long-running operations
    /// name the header to poll.
    fn newest(self) -> bool {
        self.version.json == JsonDialect::Sorted
    }

    /// Lists say that their elements have no names.
    fn identifiers(self) -> bool {
        !matches!(self.version.name, "2020-04-30" | "2021-09-01-preview")
    }

    /// Every resource has system data: ARM's common types say so since `v3`, their `v6` does not need it said again.
    fn common_system_data(self) -> bool {
        self.published.common_types == "v6"
    }
}

/// The version's document; `None`: it was never published.
pub fn document(version: &Version) -> Option<Value> {
    let context = SwaggerContext { version, published: version.published? };
    Some(json!({
        "swagger": "2.0",
        "info": {
            "title": "Azure Red Hat OpenShift Client",
            "description": "The REST API of Azure Red Hat OpenShift 4.",
            "version": version.name,
        },
        "host": "management.azure.com",
        "schemes": ["https"],
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "security": [{"azure_auth": ["user_impersonation"]}],
        "securityDefinitions": {"azure_auth": {
            "type": "oauth2",
            "description": "A token of Microsoft Entra ID for Azure Resource Manager.",
            "flow": "implicit",
            "authorizationUrl": "https://login.microsoftonline.com/common/oauth2/authorize",
            "scopes": {"user_impersonation": "Act as the signed-in user."},
        }},
        "paths": operations::paths(context),
        "definitions": definitions::all(context),
        "parameters": parameters::all(context),
    }))
}

/// Every file of a version, as paths below its folder and texts; none when it was never published.
pub fn files(version: &Version) -> Vec<(String, String)> {
    let Some(document) = document(version) else { return Vec::new() };
    let mut files = vec![(FILE.to_owned(), text(&document))];
    let examples = examples(version);
    files.extend(examples.iter().map(|(operation, example)| (example_file(operation), text(example))));
    files
}

fn example_file(operation: &str) -> String {
    format!("examples/{operation}.json")
}

fn text(value: &Value) -> String {
    // Only a map whose keys are no text could fail.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// A reference to a definition.
fn reference(definition: &str) -> Value {
    json!({"$ref": format!("#/definitions/{definition}")})
}

/// The same with members beside it.
fn with(mut value: Value, more: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    if let Value::Object(map) = &mut value {
        map.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    value
}

fn object(says: &str, properties: &Map<String, Value>) -> Value {
    json!({"type": "object", "description": says, "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_version_has_a_document_and_an_example_for_each_operation() {
        for version in crate::all() {
            let files = files(version);
            assert_eq!(files.is_empty(), version.published.is_none(), "{}", version.name);
            let Some(document) = document(version) else { continue };
            let operations: usize = document["paths"]
                .as_object()
                .unwrap()
                .values()
                .map(|path| path.as_object().unwrap().len())
                .sum();
            assert_eq!(files.len(), operations + 1, "{}", version.name);
        }
        assert!(document(crate::admin()).is_none());
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_definition_is_used() {
        for document in crate::all().iter().filter_map(document) {
            let text = document.to_string();
            for kind in ["definitions", "parameters"] {
                let there: Vec<&String> = document[kind].as_object().unwrap().keys().collect();
                let version = &document["info"]["version"];
                for name in &there {
                    assert!(text.contains(&format!("\"#/{kind}/{name}\"")), "{version}: {name} is not used");
                }
                for used in text.split(&format!("\"#/{kind}/")).skip(1) {
                    let used = used.split('"').next().unwrap().to_owned();
                    assert!(there.contains(&&used), "{version}: {used} is not there");
                }
            }
        }
    }
}
