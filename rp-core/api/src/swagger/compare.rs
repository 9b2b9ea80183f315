//! The surface of a document as comparable lines: a later version may not remove outputs or add requirements.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The promises of a document. A line `has …` may come, but not go; a line `must …` may go, but not come.
pub fn surface(document: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (path, operations) in entries(document.get("paths")) {
        for (method, operation) in entries(Some(operations)) {
            operation_lines(document, &format!("{} {path}", method.to_uppercase()), operation, &mut lines);
        }
    }
    for (name, definition) in entries(document.get("definitions")) {
        schema_lines(name, definition, &mut lines);
    }
    lines
}

fn operation_lines(document: &Value, at: &str, operation: &Value, lines: &mut BTreeSet<String>) {
    lines.insert(format!("has {at} {}", text(operation, "operationId")));
    for (status, answer) in entries(operation.get("responses")) {
        let schema = answer.get("schema").map(form).unwrap_or_default();
        lines.insert(format!("has {at} {status} {schema}").trim_end().to_owned());
    }
    let parameters = operation.get("parameters").and_then(Value::as_array);
    for parameter in parameters.into_iter().flatten() {
        let parameter = resolved(document, parameter);
        let name = text(parameter, "name");
        let schema = parameter.get("schema").unwrap_or(parameter);
        lines.insert(format!("has {at} {}:{name} {}", text(parameter, "in"), form(schema)));
        if parameter.get("required") == Some(&Value::Bool(true)) {
            lines.insert(format!("must {at} {name}"));
        }
        requirement_lines(&format!("{at} {name}"), parameter, lines);
    }
    for mark in ["x-ms-long-running-operation", "x-ms-pageable"] {
        if operation.get(mark).is_some() {
            lines.insert(format!("has {at} {mark}"));
        }
    }
}

fn schema_lines(at: &str, schema: &Value, lines: &mut BTreeSet<String>) {
    lines.insert(format!("has {at} {}", form(schema)));
    for value in schema.get("enum").and_then(Value::as_array).into_iter().flatten() {
        lines.insert(format!("has {at} = {}", value.as_str().unwrap_or_default()));
    }
    let parents = schema.get("allOf").and_then(Value::as_array);
    for parent in parents.into_iter().flatten() {
        lines.insert(format!("has {at} all of {}", form(parent)));
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        lines.insert(format!("must {at}.{}", name.as_str().unwrap_or_default()));
    }
    if schema.get("readOnly") == Some(&Value::Bool(true)) {
        lines.insert(format!("must {at} is read-only"));
    }
    requirement_lines(at, schema, lines);
    for (name, property) in entries(schema.get("properties")) {
        schema_lines(&format!("{at}.{name}"), property, lines);
    }
}

/// Rules that make a value narrower.
fn requirement_lines(at: &str, schema: &Value, lines: &mut BTreeSet<String>) {
    for rule in ["pattern", "minLength", "maxLength", "minimum", "maximum"] {
        if let Some(value) = schema.get(rule) {
            lines.insert(format!("must {at} {rule} {value}"));
        }
    }
}

/// The form of a schema in one word.
fn form(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return name.rsplit('/').next().unwrap_or_default().to_owned();
    }
    match text(schema, "type") {
        "array" => format!("[{}]", schema.get("items").map(form).unwrap_or_default()),
        "object" => match schema.get("additionalProperties") {
            Some(value) => format!("{{{}}}", form(value)),
            None => "object".to_owned(),
        },
        kind => match text(schema, "format") {
            "" => kind.to_owned(),
            format => format!("{kind} {format}"),
        },
    }
}

fn resolved<'a>(document: &'a Value, parameter: &'a Value) -> &'a Value {
    let pointer = parameter.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(parameter)
}

fn entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn promises_and_demands_are_told_apart() {
        let document = json!({
            "paths": {"/a": {"get": {"operationId": "A_Get", "parameters": [{"$ref": "#/parameters/P"}],
                "responses": {"200": {"schema": {"$ref": "#/definitions/A"}}, "204": {}}}}},
            "definitions": {"A": {"type": "object", "required": ["x"], "properties": {
                "x": {"type": "string", "enum": ["one"], "readOnly": true},
                "y": {"type": "array", "items": {"type": "integer", "format": "int32"}}}}},
            "parameters": {"P": {"name": "p", "in": "query", "required": true, "type": "string", "minLength": 1}},
        });
        let lines: Vec<String> = surface(&document).into_iter().collect();
        let wanted = [
            "has A object",
            "has A.x = one",
            "has A.x string",
            "has A.y [integer int32]",
            "has GET /a 200 A",
            "has GET /a 204",
            "has GET /a A_Get",
            "has GET /a query:p string",
            "must A.x",
            "must A.x is read-only",
            "must GET /a p",
            "must GET /a p minLength 1",
        ];
        assert_eq!(lines, wanted);
    }
}
