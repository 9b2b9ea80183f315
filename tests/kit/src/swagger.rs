//! Answers of the resource provider's API against its published description (`docs/reference/swagger`): the status is
//! listed, the body matches its schema, has no member that is not described, and no secret where none belongs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result};
use rp_client::{Exchange, Observer};
use serde_json::{Map, Value, json};

use crate::workspace;

/// The descriptions of every published version.
#[derive(Debug)]
pub struct Checker {
    /// By version.
    documents: BTreeMap<String, Value>,
}

/// An answer, wherever it came from.
#[derive(Debug, Clone, Copy)]
pub struct ApiExchange<'a> {
    pub method: &'a str,
    /// As asked, in any case.
    pub path: &'a str,
    /// As asked; empty: none.
    pub api_version: &'a str,
    pub status: u16,
    pub body: &'a [u8],
}

impl Checker {
    /// Reads the committed descriptions.
    ///
    /// # Errors
    /// They are not there.
    pub fn load() -> Result<Self> {
        let folder = workspace().join("docs/reference/swagger");
        let mut documents = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let file: PathBuf = entry.path().join("redhatopenshift.json");
            let text = std::fs::read(&file).with_context(|| file.display().to_string())?;
            documents
                .insert(entry.file_name().to_string_lossy().into_owned(), serde_json::from_slice(&text)?);
        }
        Ok(Self { documents })
    }

    /// The one of this process, for clients: `ClientOptions { observer: Some(Checker::shared()?), .. }`.
    ///
    /// # Errors
    /// As [`Checker::load`].
    pub fn shared() -> Result<Arc<Self>> {
        static SHARED: OnceLock<Arc<Checker>> = OnceLock::new();
        if let Some(shared) = SHARED.get() {
            return Ok(shared.clone());
        }
        let loaded = Arc::new(Self::load()?);
        Ok(SHARED.get_or_init(|| loaded).clone())
    }

    /// What is wrong with an answer; nothing for versions that were never published and paths that no version has.
    pub fn faults(&self, told: &ApiExchange<'_>) -> Vec<String> {
        let mut faults = Vec::new();
        let body: Option<Value> = serde_json::from_slice(told.body).ok();
        if body.is_none() && !told.body.is_empty() && !told.path.to_ascii_lowercase().starts_with("/admin") {
            faults.push("the body is no JSON".to_owned());
        }
        let Some(document) = self.documents.get(told.api_version) else { return faults };
        let mut look = BodyValidator { document, secrets: told.method == "POST", faults };
        match look.expected(told) {
            Expected::Nothing if !told.body.is_empty() => look.fault("", "a body where none is described"),
            Expected::Schema(schema) => match &body {
                Some(body) => look.schema(&schema, body, ""),
                None => look.fault("", "no body"),
            },
            Expected::Status => look.fault("", &format!("the status {} is not described", told.status)),
            Expected::Nothing | Expected::Anything => {}
        }
        look.faults
    }

    /// As [`Checker::faults`], in one text.
    ///
    /// # Errors
    /// Something is wrong.
    pub fn check(&self, told: &ApiExchange<'_>) -> Result<(), String> {
        let faults = self.faults(told);
        if faults.is_empty() {
            return Ok(());
        }
        let ApiExchange { method, path, api_version, status, .. } = told;
        Err(format!("{method} {path} in {api_version} gave {status}: {}", faults.join("; ")))
    }
}

impl Observer for Checker {
    fn observe(&self, exchange: &Exchange<'_>) -> Result<(), String> {
        let version = exchange.url.query_pairs().find(|(name, _)| name.eq_ignore_ascii_case("api-version"));
        self.check(&ApiExchange {
            method: exchange.method.as_str(),
            path: exchange.url.path(),
            api_version: version.as_ref().map(|(_, value)| value.as_ref()).unwrap_or_default(),
            status: exchange.status,
            body: exchange.body,
        })
    }
}

enum Expected {
    Schema(Value),
    Nothing,
    /// The description does not speak of it.
    Anything,
    /// The status is not among the described ones.
    Status,
}

struct BodyValidator<'a> {
    document: &'a Value,
    /// A secret may be in the answer.
    secrets: bool,
    faults: Vec<String>,
}

impl BodyValidator<'_> {
    fn fault(&mut self, at: &str, what: &str) {
        self.faults.push(if at.is_empty() { what.to_owned() } else { format!("{at}: {what}") });
    }

    fn expected(&self, told: &ApiExchange<'_>) -> Expected {
        let error = || Expected::Schema(json!({"$ref": "#/definitions/CloudError"}));
        if let Some(followed) = followed(told) {
            return if told.status >= 400 { error() } else { followed };
        }
        let Some(paths) = self.document["paths"].as_object() else { return Expected::Anything };
        let Some((_, path)) = paths.iter().find(|(template, _)| matches(template, told.path)) else {
            return Expected::Anything;
        };
        let Some(operation) = path.get(told.method.to_ascii_lowercase()) else { return Expected::Anything };
        match operation["responses"].get(told.status.to_string()) {
            Some(answer) => answer.get("schema").cloned().map_or(Expected::Nothing, Expected::Schema),
            // `default` is for errors: a success must be named.
            None if told.status >= 400 => error(),
            None => Expected::Status,
        }
    }

    fn schema(&mut self, schema: &Value, value: &Value, at: &str) {
        let schema = resolved(self.document, schema);
        self.rules(schema, value, at);
        match (schema["type"].as_str(), value) {
            (Some("object"), Value::Object(members)) => self.object(schema, members, at),
            (Some("array"), Value::Array(list)) => {
                for (place, one) in list.iter().enumerate() {
                    self.schema(&schema["items"], one, &format!("{at}[{place}]"));
                }
            }
            (Some("string"), Value::String(_)) | (Some("boolean"), Value::Bool(_)) | (None, _) => {}
            (Some("integer"), Value::Number(number)) if number.is_i64() || number.is_u64() => {}
            (Some(kind), _) => self.fault(at, &format!("no {kind}")),
        }
    }

    fn rules(&mut self, schema: &Value, value: &Value, at: &str) {
        let open = schema["x-ms-enum"]["modelAsString"] == json!(true);
        if let Some(values) = schema["enum"].as_array()
            && !open
            && !values.contains(value)
        {
            self.fault(at, &format!("{value} is not one of {values:?}"));
        }
        if let (Some(format), Some(text)) = (schema["format"].as_str(), value.as_str())
            && !formed(format, text)
        {
            self.fault(at, &format!("{text} is no {format}"));
        }
        if schema["format"] == json!("int32") && value.as_i64().is_some_and(|n| i32::try_from(n).is_err()) {
            self.fault(at, &format!("{value} has more than 32 bits"));
        }
    }

    fn object(&mut self, schema: &Value, members: &Map<String, Value>, at: &str) {
        let mut properties = Map::new();
        let mut required = Vec::new();
        gather(self.document, schema, &mut properties, &mut required);
        for name in required.iter().filter(|name| !members.contains_key(*name)) {
            self.fault(at, &format!("{name} is missing"));
        }
        for (name, value) in members {
            let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            match (properties.get(name), schema.get("additionalProperties")) {
                (Some(property), _) => {
                    if property["x-ms-secret"] == json!(true) && !self.secrets {
                        self.fault(&at, "a secret");
                    }
                    self.schema(property, value, &at);
                }
                (None, Some(each)) if each.is_object() => self.schema(each, value, &at),
                (None, _) => self.fault(&at, "is not described"),
            }
        }
    }
}

/// Operations under way: no description of a version has them, every client reads them
/// (`contract/clients.md` §2.3).
fn followed(told: &ApiExchange<'_>) -> Option<Expected> {
    let path = told.path.to_ascii_lowercase();
    let text = json!({"type": "string"});
    let instant = json!({"type": "string", "format": "date-time"});
    if path.contains("/operationsstatus/") {
        return Some(Expected::Schema(json!({
            "type": "object",
            "required": ["id", "name", "status", "startTime"],
            "properties": {
                "id": text, "name": text, "status": text, "startTime": instant, "endTime": instant,
                "error": {"$ref": "#/definitions/CloudErrorBody"},
            },
        })));
    }
    path.contains("/operationresults/").then(|| match told.status {
        200 => Expected::Schema(json!({"$ref": "#/definitions/OpenShiftCluster"})),
        202 | 204 => Expected::Nothing,
        _ => Expected::Status,
    })
}

/// Members and demands of an object and of those that it is made of.
fn gather(document: &Value, schema: &Value, properties: &mut Map<String, Value>, required: &mut Vec<String>) {
    let schema = resolved(document, schema);
    for parent in schema["allOf"].as_array().into_iter().flatten() {
        gather(document, parent, properties, required);
    }
    properties.extend(schema["properties"].as_object().cloned().unwrap_or_default());
    let names = schema["required"].as_array().into_iter().flatten();
    required.extend(names.filter_map(Value::as_str).map(str::to_owned));
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

/// Whether a path is one of a template, in any case.
fn matches(template: &str, path: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !part.is_empty()).map(str::to_ascii_lowercase).collect()
    };
    let (template, path) = (parts(template), parts(path));
    template.len() == path.len()
        && template.iter().zip(&path).all(|(known, asked)| known.starts_with('{') || known == asked)
}

fn formed(format: &str, text: &str) -> bool {
    match format {
        // RFC 3339: a date, T, a time, Z or an offset.
        "date-time" => {
            let shape =
                |at: usize, wanted: &[u8]| text.as_bytes().get(at).is_some_and(|b| wanted.contains(b));
            text.len() >= 20 && shape(4, b"-") && shape(10, b"Tt") && shape(13, b":")
        }
        "uri" => text.starts_with("https://") || text.starts_with("http://"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str =
        "/SUBSCRIPTIONS/s/resourcegroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";

    fn faults(method: &str, path: &str, status: u16, body: &Value) -> Vec<String> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let told = ApiExchange { method, path, api_version: "2025-07-25", status, body: body.as_bytes() };
        Checker::load().unwrap().faults(&told)
    }

    fn example(operation: &str, status: &str) -> Value {
        let file = format!("docs/reference/swagger/2025-07-25/examples/{operation}.json");
        let text = std::fs::read(workspace().join(file)).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["responses"][status]["body"].clone()
    }

    #[test]
    fn what_is_described_passes() {
        let none: Vec<String> = Vec::new();
        assert_eq!(faults("GET", PATH, 200, &example("OpenShiftClusters_Get", "200")), none);
        assert_eq!(faults("PUT", PATH, 201, &example("OpenShiftClusters_CreateOrUpdate", "201")), none);
        assert_eq!(faults("DELETE", PATH, 202, &Value::Null), none);
        let error =
            json!({"error": {"code": "c", "message": "m", "details": [{"code": "d", "message": "m"}]}});
        assert_eq!(faults("GET", PATH, 404, &error), none);
        let credentials = json!({"kubeadminUsername": "kubeadmin", "kubeadminPassword": "x"});
        assert_eq!(faults("POST", &format!("{PATH}/listcredentials"), 200, &credentials), none);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut cluster = example("OpenShiftClusters_Get", "200");
        cluster["properties"]["clusterProfile"]["pullSecret"] = json!("hush");
        cluster["properties"]["workerProfiles"][0]["odd"] = json!(1);
        cluster["properties"]["workerProfiles"][0]["count"] = json!("3");
        cluster["systemData"]["createdAt"] = json!("yesterday");
        cluster.as_object_mut().unwrap().remove("location");
        let mut found = faults("GET", PATH, 200, &cluster);
        found.sort();
        let wanted = [
            "location is missing",
            "properties.clusterProfile.pullSecret: a secret",
            "properties.workerProfiles[0].count: no integer",
            "properties.workerProfiles[0].odd: is not described",
            "systemData.createdAt: yesterday is no date-time",
        ];
        assert_eq!(found, wanted);
        assert_eq!(faults("GET", PATH, 202, &cluster), ["the status 202 is not described"]);
        assert_eq!(faults("DELETE", PATH, 202, &json!({})), ["a body where none is described"]);
        assert_eq!(faults("GET", PATH, 404, &json!({"message": "m"})), ["message: is not described"]);
        let status =
            format!("{}/locations/l/operationsstatus/i", PATH.split("/resourcegroups").next().unwrap());
        assert_eq!(
            faults("GET", &status, 200, &json!({"id": "i", "name": "n", "status": "s"})),
            ["startTime is missing"]
        );
    }
}
