//! Options of writes, from queries and from the bodies of deletions.

use rp_simulator::objects::Kind;
use serde_json::Value;

use super::super::path::QueryParameters;
use super::super::status::Failure;

/// What is done about members that a kind does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum FieldValidation {
    Strict,
    #[default]
    Warn,
    Ignore,
}

/// Options of a create, update or patch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WriteOptions {
    /// Nothing is stored.
    pub dry_run: bool,
    pub validation: FieldValidation,
}

impl WriteOptions {
    /// Reads `dryRun` and `fieldValidation`.
    pub(super) fn read(query: &QueryParameters) -> Result<Self, Failure> {
        let validation = match query.get("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Strict") => FieldValidation::Strict,
            Some("Ignore") => FieldValidation::Ignore,
            Some(other) => {
                let other = rp_base::text::clean(other, 64);
                let why = format!(
                    "fieldValidation: Unsupported value: \"{other}\": supported values: \"Ignore\", \"Strict\", \"Warn\""
                );
                return Err(Failure::invalid("CreateOptions.meta.k8s.io", "", &why));
            }
        };
        Ok(Self { dry_run: dry_run(query.all("dryRun").filter(|value| !value.is_empty()))?, validation })
    }
}

/// Options of a deletion.
#[derive(Debug, Default)]
pub(super) struct DeleteOptions {
    pub dry_run: bool,
    uid: Option<String>,
    version: Option<String>,
}

impl DeleteOptions {
    /// Reads a `DeleteOptions` object; an empty body has no options.
    pub(super) fn read(body: &[u8], query: &QueryParameters) -> Result<Self, Failure> {
        let value: Value = match body.trim_ascii() {
            b"" => Value::Null,
            body if body.starts_with(b"k8s\0") => return Err(Failure::media_type(&["application/json"])),
            body => serde_json::from_slice(body)
                .map_err(|_| Failure::bad("the body of the request is no JSON"))?,
        };
        let texts = value["dryRun"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts =
            texts.iter().filter_map(Value::as_str).chain(query.all("dryRun").filter(|one| !one.is_empty()));
        let text = |name: &str| value["preconditions"][name].as_str().map(str::to_owned);
        Ok(Self { dry_run: dry_run(texts)?, uid: text("uid"), version: text("resourceVersion") })
    }

    /// Reads those of an `Eviction` object.
    pub(super) fn of_eviction(body: &[u8], query: &QueryParameters) -> Result<Self, Failure> {
        let eviction: Value =
            serde_json::from_slice(body).map_err(|_| Failure::bad("the body of the request is no JSON"))?;
        Self::read(eviction["deleteOptions"].to_string().as_bytes(), query)
    }

    /// Refuses an object that is not the one that is meant.
    pub(super) fn check(&self, kind: &Kind, name: &str, object: &Value) -> Result<(), Failure> {
        for (what, member, wanted) in
            [("UID", "uid", &self.uid), ("ResourceVersion", "resourceVersion", &self.version)]
        {
            let found = object["metadata"][member].as_str().unwrap_or_default();
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
                let wanted = rp_base::text::clean(wanted, 64);
                let why = format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                );
                return Err(Failure::conflict(kind, name, &why));
            }
        }
        Ok(())
    }
}

fn dry_run<'a>(values: impl Iterator<Item = &'a str>) -> Result<bool, Failure> {
    let mut any = false;
    for value in values {
        if value != "All" {
            let value = rp_base::text::clean(value, 64);
            let why = format!("dryRun: Unsupported value: \"{value}\": supported values: \"All\"");
            return Err(Failure::invalid("CreateOptions.meta.k8s.io", "", &why));
        }
        any = true;
    }
    Ok(any)
}
