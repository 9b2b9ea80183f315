//! Writes of objects. They are kept in memory, over what the cluster has by itself.

mod options;
mod prepare;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use rp_simulator::body::Body;
use rp_simulator::objects::{self, Kind};
use rp_simulator::written::{Write, WrittenObjects};
use serde_json::{Value, json};

use super::openapi::{self, Decoded};
use super::patch::{PatchForm, media_type, yaml};
use super::path::Resource;
use super::status::Failure;
use super::{Call, json_answer, list};
use options::{DeleteOptions, FieldValidation, WriteOptions};

/// The longest object.
const LONGEST: usize = 1024 * 1024;

/// Creates, replaces, patches or deletes objects.
pub(super) async fn answer(
    call: &Call<'_>,
    request: Request<Incoming>,
    verb: &str,
    kind: &'static Kind,
    at: &Resource,
) -> Result<Response<Body>, Failure> {
    let (parts, body) = request.into_parts();
    let content_type =
        parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let body = Limited::new(body, LONGEST).collect().await.map_err(|_| Failure::too_large())?.to_bytes();
    let options = WriteOptions::read(&call.query)?;
    let written = call.view.cluster.open_written();
    // From here to the end nothing waits.
    let _turn = written.turn();
    let writer = Writer { call, kind, at, options, written: &written };
    match verb {
        "create" if at.subresource.as_deref() == Some("eviction") => {
            writer.delete(&DeleteOptions::of_eviction(&body, &call.query)?)
        }
        "create" => writer.create(&document(&body, content_type)?),
        "update" => writer.update(document(&body, content_type)?),
        "patch" => writer.patch(&body, content_type),
        "delete" => writer.delete(&DeleteOptions::read(&body, &call.query)?),
        "deletecollection" => writer.delete_all(&DeleteOptions::read(&body, &call.query)?),
        _ => Err(Failure::read_only()),
    }
}

/// A body as an object; 415 for what is neither JSON nor YAML.
fn document(body: &[u8], content_type: &str) -> Result<Value, Failure> {
    match media_type(content_type) {
        "" | "application/json" => serde_json::from_slice(body)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| Failure::bad("the body of the request is no JSON object")),
        "application/yaml" => yaml(body),
        _ => Err(Failure::media_type(&["application/json", "application/yaml"])),
    }
}

/// One request that writes.
struct Writer<'a> {
    call: &'a Call<'a>,
    kind: &'static Kind,
    at: &'a Resource,
    options: WriteOptions,
    written: &'a WrittenObjects,
}

impl Writer<'_> {
    fn namespace(&self) -> Option<&str> {
        self.at.namespace.as_deref()
    }

    fn name(&self) -> &str {
        self.at.name.as_deref().unwrap_or_default()
    }

    /// The object that the path names, as it is now.
    fn current(&self) -> Result<Value, Failure> {
        self.call.find(self.kind, self.namespace(), self.name())
    }

    fn create(&self, given: &Value) -> Result<Response<Body>, Failure> {
        if self.at.name.is_some() || self.kind.plural == "projects" {
            return Err(Failure::read_only());
        }
        let mut object = given.clone();
        prepare::sound(&object)?;
        let warnings = self.decode(&mut object)?;
        prepare::addressed(self.kind, self.namespace(), None, &object)?;
        if let Some(namespace) = self.namespace() {
            let namespaces = objects::find("", "v1", "namespaces").ok_or_else(Failure::no_path)?;
            self.call.find(namespaces, None, namespace).map_err(|_| Failure::no_namespace(namespace))?;
        } else if self.kind.namespaced {
            return Err(Failure::bad("an empty namespace may not be set during creation"));
        }
        let name = self.new_name(&object)?;
        if self.call.find(self.kind, self.namespace(), &name).is_ok() {
            return Err(Failure::exists(self.kind, &name));
        }
        prepare::created(self.call, self.kind, self.namespace(), &name, &mut object);
        let made = self.put(&name, None, Some(object))?;
        if self.kind.plural == "namespaces" && !self.options.dry_run {
            prepare::namespace_contents(self.call, self.written, &name);
        }
        Ok(warned(json_answer(StatusCode::CREATED, &made), &warnings))
    }

    /// The name of a new object: the one it has, or one made of `generateName` that is free.
    fn new_name(&self, object: &Value) -> Result<String, Failure> {
        let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default();
        let (given, prefix) = (text("name"), text("generateName"));
        let name = if given.is_empty() && !prefix.is_empty() {
            let seed = self.call.view.cluster.version(self.call.api.clock.now());
            let mut dice = self.call.view.cluster.dice(&format!("{}/{prefix}/{seed}", self.kind.full()));
            let prefix: String = prefix.chars().take(58).collect();
            format!("{prefix}{}", dice.letters(5))
        } else {
            given.to_owned()
        };
        prepare::check_name(self.kind, &name)?;
        Ok(name)
    }

    fn update(&self, mut object: Value) -> Result<Response<Body>, Failure> {
        let before = self.current()?;
        prepare::sound(&object)?;
        let warnings = self.decode(&mut object)?;
        prepare::addressed(self.kind, self.namespace(), Some(self.name()), &object)?;
        let made = self.replace(before, object)?;
        Ok(warned(json_answer(StatusCode::OK, &made), &warnings))
    }

    fn patch(&self, body: &[u8], content_type: &str) -> Result<Response<Body>, Failure> {
        let form = PatchForm::read(content_type, self.kind)?;
        let applies = form == PatchForm::Apply;
        if applies && self.call.query.get("fieldManager").is_none() {
            let why = "fieldManager: Required value: is required for apply patch";
            return Err(Failure::invalid("PatchOptions.meta.k8s.io", "", why));
        }
        let before = match self.current() {
            Err(_) if applies && self.at.subresource.is_none() => {
                let mut object = yaml(body)?;
                prepare::sound(&object)?;
                object["metadata"]["name"] = json!(self.name());
                return Writer { at: &self.collection(), ..*self }.create(&object);
            }
            found => found?,
        };
        let mut object = form.apply(before.clone(), body)?;
        prepare::sound(&object)?;
        if applies {
            // What is applied names no version; a version that stands in it is a condition.
            object["metadata"]["resourceVersion"] = yaml(body)?["metadata"]["resourceVersion"].clone();
        }
        let warnings = self.decode(&mut object)?;
        prepare::addressed(self.kind, self.namespace(), Some(self.name()), &object)?;
        let made = self.replace(before, object)?;
        Ok(warned(json_answer(StatusCode::OK, &made), &warnings))
    }

    /// Where objects of this kind are made.
    fn collection(&self) -> Resource {
        Resource { name: None, ..self.at.clone() }
    }

    /// Puts an object in the place of another one.
    fn replace(&self, before: Value, mut object: Value) -> Result<Value, Failure> {
        self.check_version(&before, &object["metadata"]["resourceVersion"])?;
        prepare::replaced(self.kind, self.at.subresource.as_deref(), &before, &mut object);
        if object == before {
            return Ok(before);
        }
        let metadata = &object["metadata"];
        let finalizers = metadata["finalizers"].as_array().is_some_and(|all| !all.is_empty());
        if metadata["deletionTimestamp"].is_string() && !finalizers {
            self.put(self.name(), Some(before), None)?;
            return Ok(object);
        }
        self.put(self.name(), Some(before), Some(object))
    }

    /// Refuses an object that was read before the last change. A version that is newer than the object's own is good:
    /// versions are those of the cluster, so a client that has it saw the object as it is.
    fn check_version(&self, before: &Value, given: &Value) -> Result<(), Failure> {
        let Some(given) = given.as_str().filter(|given| !given.is_empty()) else { return Ok(()) };
        let number = given.parse::<u64>().map_err(|_| {
            Failure::bad(format!("invalid resource version: {}", rp_base::text::clean(given, 64)))
        })?;
        let current = before["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
        let newest = self.call.view.cluster.version(self.call.api.clock.now());
        if number < current.unwrap_or(0) || number > newest {
            let why =
                "the object has been modified; please apply your changes to the latest version and try again";
            return Err(Failure::conflict(self.kind, self.name(), why));
        }
        Ok(())
    }

    fn delete(&self, options: &DeleteOptions) -> Result<Response<Body>, Failure> {
        let before = self.current()?;
        options.check(self.kind, self.name(), &before)?;
        let answer = self.remove(before, options)?;
        Ok(json_answer(StatusCode::OK, &answer))
    }

    /// Deletes an object, or marks it while it has finalizers; gives what the API server answers.
    fn remove(&self, before: Value, options: &DeleteOptions) -> Result<Value, Failure> {
        let name = before["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let dry_run = self.options.dry_run || options.dry_run;
        let finalizers = before["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
        if finalizers {
            let mut object = before.clone();
            prepare::deleting(self.call, &mut object);
            return if dry_run || object == before {
                Ok(object)
            } else {
                self.put(&name, Some(before), Some(object))
            };
        }
        if !dry_run {
            if matches!(self.kind.plural, "namespaces" | "projects") {
                self.empty(&name)?;
            }
            self.put(&name, Some(before.clone()), None)?;
        }
        if self.kind.plural == "pods" {
            return Ok(before);
        }
        let details = json!({"name": name, "group": self.kind.group, "kind": self.kind.plural, "uid": before["metadata"]["uid"]});
        Ok(
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}),
        )
    }

    /// Deletes what is in a namespace.
    fn empty(&self, namespace: &str) -> Result<(), Failure> {
        for kind in objects::KINDS.iter().filter(|kind| kind.namespaced) {
            for object in objects::all(kind, &self.call.view) {
                if object["metadata"]["namespace"] == namespace {
                    let at = Resource { namespace: Some(namespace.to_owned()), ..Resource::default() };
                    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                    let options = WriteOptions::default();
                    let inner = Writer { call: self.call, kind, at: &at, options, written: self.written };
                    inner.put(&name, Some(object), None)?;
                }
            }
        }
        Ok(())
    }

    fn delete_all(&self, options: &DeleteOptions) -> Result<Response<Body>, Failure> {
        let all = list::select(self.call, self.kind, self.at)?;
        let mut gone = Vec::new();
        for object in all {
            let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
            let at = Resource { namespace, ..self.at.clone() };
            Writer { at: &at, ..*self }.remove(object.clone(), options)?;
            gone.push(object);
        }
        let version = self.call.view.cluster.version(self.call.api.clock.now()).to_string();
        let list = json!({"kind": format!("{}List", self.kind.kind), "apiVersion": self.kind.api_version(),
            "metadata": {"resourceVersion": version}, "items": gone});
        Ok(json_answer(StatusCode::OK, &list))
    }

    /// Stores a change, unless it is a dry run; gives the object as it is then.
    fn put(&self, name: &str, before: Option<Value>, after: Option<Value>) -> Result<Value, Failure> {
        if self.options.dry_run {
            return Ok(after.or(before).unwrap_or_default());
        }
        // A project is its namespace.
        let kind = match self.kind.plural {
            "projects" => objects::find("", "v1", "namespaces").ok_or_else(Failure::no_path)?,
            _ => self.kind,
        };
        let namespace = self.namespace();
        let generated = (kind.list)(&self.call.view)
            .iter()
            .any(|one| one["metadata"]["name"] == name && one["metadata"]["namespace"].as_str() == namespace);
        let key = (kind.full(), namespace.unwrap_or_default().to_owned(), name.to_owned());
        let write = Write { key, before, after, generated };
        let clock = &self.call.api.clock;
        let made = self.written.put(write, || clock.now()).map_err(|_| Failure::quota(kind, name))?;
        Ok(Value::clone(&made))
    }

    /// Reads an object by its kind's schema; gives warnings.
    fn decode(&self, object: &mut Value) -> Result<Vec<String>, Failure> {
        let expected = self.kind.api_version();
        let given = object["apiVersion"].as_str().unwrap_or(&expected);
        let same_kind = object["kind"].as_str().is_none_or(|kind| kind == self.kind.kind);
        if given != expected || !same_kind {
            let given = rp_base::text::clean(given, 253);
            return Err(Failure::bad(format!(
                "the API version in the data ({given}) does not match the expected API version ({expected})"
            )));
        }
        let Decoded { unknown, mistake } = openapi::decode(self.kind, object);
        let cannot = |why: &str| {
            let kind = self.kind.kind;
            Failure::bad(format!(
                "{kind} in version \"{}\" cannot be handled as a {kind}: {why}",
                self.kind.version
            ))
        };
        if let Some(mistake) = mistake {
            return Err(cannot(&mistake));
        }
        let unknown: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
        match self.options.validation {
            FieldValidation::Strict if !unknown.is_empty() => {
                Err(cannot(&format!("strict decoding error: {}", unknown.join(", "))))
            }
            FieldValidation::Ignore => Ok(Vec::new()),
            FieldValidation::Strict | FieldValidation::Warn => Ok(unknown),
        }
    }
}

/// An answer with a `Warning` for each text, which clients print.
fn warned(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    for warning in warnings {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            response.headers_mut().append(HeaderName::from_static("warning"), value);
        }
    }
    response
}
