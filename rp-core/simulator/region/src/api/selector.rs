//! Label and field selectors.

use rp_simulator::objects::Kind;
use serde_json::Value;

use super::path::QueryParameters;
use super::status::Failure;

/// One condition on a text.
#[derive(Debug)]
enum Test {
    Is(String),
    IsNot(String),
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Missing,
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        match self {
            Self::Is(wanted) => value == Some(wanted),
            Self::IsNot(refused) => value != Some(refused),
            Self::In(wanted) => value.is_some_and(|value| wanted.iter().any(|one| one == value)),
            Self::NotIn(refused) => !value.is_some_and(|value| refused.iter().any(|one| one == value)),
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
        }
    }
}

/// Which objects a request is about.
#[derive(Debug, Default)]
pub(super) struct Selector {
    labels: Vec<(String, Test)>,
    fields: Vec<(Vec<String>, Test)>,
}

/// Conditions in one selector.
const MOST: usize = 64;

impl Selector {
    /// Reads `labelSelector` and `fieldSelector` of a kind.
    pub(super) fn read(kind: &Kind, query: &QueryParameters) -> Result<Self, Failure> {
        let mut selector = Self::default();
        for text in split(query.get("labelSelector").unwrap_or_default()) {
            selector.labels.push(label(text)?);
        }
        for text in split(query.get("fieldSelector").unwrap_or_default()) {
            let (path, test) =
                equality(text).ok_or_else(|| Failure::bad(format!("invalid selector: '{text}'")))?;
            if !fields(kind).any(|known| known == path) {
                let path = rp_base::text::clean(path, 253);
                return Err(Failure::bad(format!("field label not supported: {path}")));
            }
            selector.fields.push((path.split('.').map(str::to_owned).collect(), test));
        }
        if selector.labels.len() + selector.fields.len() > MOST {
            return Err(Failure::bad("the selector is too long"));
        }
        Ok(selector)
    }

    /// Whether every object is meant.
    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object is meant.
    pub(super) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels.iter().all(|(key, test)| test.holds(labels[key].as_str()))
            && self.fields.iter().all(|(path, test)| {
                let found = path.iter().fold(object, |at, member| &at[member]);
                match found {
                    Value::Bool(found) => test.holds(Some(if *found { "true" } else { "false" })),
                    Value::Number(found) => test.holds(Some(&found.to_string())),
                    found => test.holds(Some(found.as_str().unwrap_or(default(path)))),
                }
            })
    }
}

/// The fields that selectors of a kind may name, as the API server has them.
fn fields(kind: &Kind) -> impl Iterator<Item = &'static str> {
    let own: &[&str] = match (kind.group, kind.plural) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("", "secrets") => &["type"],
        ("", "namespaces") => &["status.phase"],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("batch", "jobs") => &["status.successful"],
        ("route.openshift.io", "routes") => &["spec.host", "spec.path", "spec.to.name"],
        _ => &[],
    };
    ["metadata.name", "metadata.namespace"].into_iter().chain(own.iter().copied())
}

/// The value of a field that an object does not have.
fn default(path: &[String]) -> &'static str {
    match path.last().map(String::as_str) {
        Some("unschedulable" | "hostNetwork") => "false",
        _ => "",
    }
}

/// Parts between commas outside of parentheses.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

fn equality(text: &str) -> Option<(&str, Test)> {
    let value = |text: &str| text.trim().to_owned();
    if let Some((key, refused)) = text.split_once("!=") {
        return Some((key.trim(), Test::IsNot(value(refused))));
    }
    let (key, wanted) = text.split_once("==").or_else(|| text.split_once('='))?;
    Some((key.trim(), Test::Is(value(wanted))))
}

fn label(text: &str) -> Result<(String, Test), Failure> {
    if let Some((key, test)) = equality(text) {
        return Ok((key.to_owned(), test));
    }
    if let Some(key) = text.strip_prefix('!') {
        return Ok((key.trim().to_owned(), Test::Missing));
    }
    let Some((head, set)) = text.split_once('(') else {
        return if text.contains(char::is_whitespace) {
            Err(Failure::bad(format!("unable to parse requirement: '{text}'")))
        } else {
            Ok((text.to_owned(), Test::Exists))
        };
    };
    let values = set.trim_end_matches(')').split(',').map(|value| value.trim().to_owned()).collect();
    let mut words = head.split_whitespace();
    match (words.next(), words.next()) {
        (Some(key), Some("in")) => Ok((key.to_owned(), Test::In(values))),
        (Some(key), Some("notin")) => Ok((key.to_owned(), Test::NotIn(values))),
        _ => Err(Failure::bad(format!("unable to parse requirement: '{text}'"))),
    }
}
