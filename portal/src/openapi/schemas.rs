//! The schemas of the OpenAPI document, made from the types that handlers read and write.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::route::Shape;

/// Where definitions stand in the document.
const DEFINITIONS: &str = "/components/schemas";

/// The definitions that the rows need so far. Requests and answers have a generator each: a member with a default may be
/// left out of a request, and is in every answer.
#[derive(Debug)]
pub(super) struct Schemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = DEFINITIONS.into();
            settings.meta_schema = None;
        });
        Self {
            requests: settings.clone().for_deserialize().into_generator(),
            answers: settings.for_serialize().into_generator(),
        }
    }

    /// The schema of what a call sends.
    pub(super) fn request(&mut self, shape: Shape) -> Value {
        tidied(shape(&mut self.requests).to_value(), false)
    }

    /// The schema of what is answered.
    pub(super) fn answer(&mut self, shape: Shape) -> Value {
        tidied(shape(&mut self.answers).to_value(), true)
    }

    /// The members of a query as parameters.
    pub(super) fn parameters(&mut self, shape: Shape) -> Vec<Value> {
        let mut query = self.request(shape);
        let required = required(&query);
        let Some(Value::Object(members)) = query.get_mut("properties").map(Value::take) else {
            return Vec::new();
        };
        let parameter = |(name, mut schema): (String, Value)| {
            without_null(&mut schema);
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            json!({
                "name": name, "in": "query", "required": required.contains(&name),
                "description": description.unwrap_or_else(|| "".into()), "schema": schema,
            })
        };
        members.into_iter().map(parameter).collect()
    }

    /// Whether a body of the schema has members that must be there.
    pub(super) fn has_required(&self, schema: &Value) -> bool {
        let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        let defined = name.and_then(|name| self.requests.definitions().get(name));
        !required(defined.unwrap_or(schema)).is_empty()
    }

    /// All that was defined, by name: of requests, and of answers.
    pub(super) fn both(mut self) -> [Map<String, Value>; 2] {
        let tidy_all = |definitions: Map<String, Value>, answer| {
            definitions.into_iter().map(|(name, schema)| (name, tidied(schema, answer))).collect()
        };
        [
            tidy_all(self.requests.take_definitions(false), false),
            tidy_all(self.answers.take_definitions(false), true),
        ]
    }

    /// All that was defined, by name.
    pub(super) fn definitions(self) -> Map<String, Value> {
        let [mut all, answers] = self.both();
        all.extend(answers);
        all
    }
}

fn required(schema: &Value) -> Vec<String> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn tidied(mut schema: Value, answer: bool) -> Value {
    tidy(&mut schema, answer);
    schema
}

/// Says the same in the words that generators of clients read best.
fn tidy(schema: &mut Value, answer: bool) {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
    let Some(members) = schema.as_object_mut() else { return };
    one_enum(members);
    if members.get("format").is_some_and(|format| format == "uint") {
        members.insert("format".to_owned(), "uint64".into());
    }
    default_in_words(members, answer);
    narrow_null(members, answer);
    for (keyword, inner) in members.iter_mut() {
        match (keyword.as_str(), inner) {
            ("properties" | "patternProperties", Value::Object(inner)) => {
                inner.values_mut().for_each(|schema| tidy(schema, answer));
            }
            ("oneOf" | "anyOf" | "allOf" | "prefixItems", Value::Array(inner)) => {
                inner.iter_mut().for_each(|schema| tidy(schema, answer));
            }
            ("items", inner) => tidy(inner, answer),
            ("additionalProperties", inner) if inner.is_object() => tidy(inner, answer),
            _ => {}
        }
    }
}

/// A default is told in the description. Generators take a member with a `default` for one that is always there: a call
/// would have to send it, and an answer may not leave it out. In an answer it tells nothing at all.
fn default_in_words(members: &mut Map<String, Value>, answer: bool) {
    let Some(default) = members.remove("default") else { return };
    if answer || is_nothing(&default) {
        return;
    }
    let head = members.get("description").and_then(Value::as_str).map(|text| format!("{text} "));
    let description = format!("{}Without it: `{default}`.", head.unwrap_or_default());
    members.insert("description".to_owned(), description.into());
}

/// A default that says no more than that the member is absent.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// A choice between words is one enumeration; what each word means goes into the description.
fn one_enum(members: &mut Map<String, Value>) {
    let Some(choices) = members.get("oneOf").and_then(Value::as_array) else { return };
    let Some(words) = choices.iter().map(words).collect::<Option<Vec<_>>>() else { return };
    let words = words.concat();
    let meanings = choices.iter().filter_map(|choice| {
        Some(format!("- `{}`: {}", choice["const"].as_str()?, choice["description"].as_str()?))
    });
    let head = members.get("description").and_then(Value::as_str).map(str::to_owned);
    let description: Vec<String> = head.into_iter().chain(meanings).collect();
    members.remove("oneOf");
    members.insert("type".to_owned(), "string".into());
    members.insert("enum".to_owned(), words.into());
    if !description.is_empty() {
        members.insert("description".to_owned(), description.join("\n").into());
    }
}

/// The words of a schema that allows words only.
fn words(choice: &Value) -> Option<Vec<Value>> {
    if choice["type"] != "string" {
        return None;
    }
    match choice.get("const") {
        Some(word) => Some(vec![word.clone()]),
        None => choice.get("enum")?.as_array().cloned(),
    }
}

/// What may be left out of an answer is never null there; what must be in a request is not null either.
fn narrow_null(members: &mut Map<String, Value>, answer: bool) {
    let always: Vec<String> = match members.get("required") {
        Some(Value::Array(names)) => {
            names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = members.get_mut("properties") else { return };
    for (_, property) in properties.iter_mut().filter(|(name, _)| always.contains(name) != answer) {
        without_null(property);
    }
}

/// The same schema without the null that it allows.
fn without_null(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(kinds)) = members.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(choices)) = members.get_mut("anyOf") else { return };
    choices.retain(|choice| choice["type"] != "null");
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        members.remove("anyOf");
        for (keyword, value) in only {
            members.entry(keyword).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;

    /// How much.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Amount {
        /// Not one.
        None,
        /// A few.
        Some,
        All,
    }

    #[derive(Default, Deserialize, JsonSchema)]
    #[serde(default)]
    #[schemars(extend("required" = ["name"]))]
    struct SearchQuery {
        /// Whose.
        name: String,
        limit: Option<usize>,
        amount: Option<Amount>,
        anything: Value,
    }

    #[derive(Serialize, JsonSchema)]
    struct SearchAnswer {
        always: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        often: Option<Amount>,
    }

    #[test]
    fn queries_are_typed_parameters() {
        let mut schemas = Schemas::new();
        let parameters = schemas.parameters(SearchQuery::json_schema);
        let find = |name: &str| parameters.iter().find(|parameter| parameter["name"] == name).unwrap();
        assert_eq!(find("name")["required"], true);
        assert_eq!(find("name")["description"], "Whose.");
        assert_eq!(find("name")["schema"], json!({"type": "string"}));
        assert_eq!(find("limit")["schema"]["type"], "integer");
        // The format of a `usize` has no name in OpenAPI's registry.
        assert_eq!(find("limit")["schema"]["format"], "uint64");
        assert_eq!(find("amount")["schema"], json!({"$ref": "#/components/schemas/Amount"}));
        assert_eq!(find("anything")["schema"], json!({}));
        let amount = &schemas.definitions()["Amount"];
        let words: Vec<&str> = amount["enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!((amount["type"].as_str(), words.len()), (Some("string"), 3), "{amount}");
        assert!(amount["description"].as_str().unwrap().contains("- `none`: Not one."), "{amount}");
    }

    #[test]
    fn what_may_be_left_out_of_an_answer_is_not_null() {
        let mut schemas = Schemas::new();
        let schema = schemas.answer(SchemaGenerator::subschema_for::<SearchAnswer>);
        assert_eq!(schema, json!({"$ref": "#/components/schemas/SearchAnswer"}));
        let definitions = schemas.definitions();
        let members = &definitions["SearchAnswer"]["properties"];
        assert_eq!(members["always"]["type"], json!(["integer", "null"]));
        assert_eq!(members["often"], json!({"$ref": "#/components/schemas/Amount"}));
        assert_eq!(definitions["SearchAnswer"]["required"], json!(["always"]));
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(default)]
    #[schemars(extend("required" = ["target"]))]
    struct Request {
        target: Option<String>,
        /// A TCP port.
        port: u16,
        plugin: bool,
    }

    impl Default for Request {
        fn default() -> Self {
            Self { target: None, port: 22, plugin: false }
        }
    }

    #[test]
    fn members_with_a_default_may_be_left_out_and_required_ones_are_not_null() {
        let mut schemas = Schemas::new();
        schemas.request(SchemaGenerator::subschema_for::<Request>);
        let members = schemas.definitions()["Request"]["properties"].clone();
        for name in ["target", "port", "plugin"] {
            assert_eq!(members[name].get("default"), None, "{name}");
        }
        assert_eq!(members["port"]["description"], "A TCP port. Without it: `22`.");
        assert_eq!(members["target"]["type"], "string");
    }

    #[test]
    fn a_body_is_needed_where_a_member_is() {
        let mut schemas = Schemas::new();
        let query = schemas.request(SchemaGenerator::subschema_for::<SearchQuery>);
        assert!(schemas.has_required(&query));
        assert!(!schemas.has_required(&json!({"type": "object"})));
    }
}
