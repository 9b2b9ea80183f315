//! What the functions of templates give.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::sha256;
use serde_json::{Map, Value, json};

use super::expression::{Expression, parse};

/// What an expression can refer to.
pub(super) trait Scope {
    fn parameter(&self, name: &str) -> Option<Value>;
    fn variable(&self, name: &str) -> Result<Value, EvaluationError>;
    /// Key of the group, as it is written.
    fn group(&self) -> &str;
    fn location(&self) -> String;
    /// The index of that loop; the innermost for an empty name.
    fn copy_index(&self, name: &str) -> Option<i64>;
    /// The body of a resource, by id or by a name in the template.
    fn resource(&self, id: &str) -> Result<Value, EvaluationError>;
    /// What `listKeys`, `listAccountSas` give.
    fn listed(&self, function: &str, id: &str, body: Option<&Value>) -> Result<Value, EvaluationError>;
}

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EvaluationError {
    /// The template is wrong.
    Template(String),
    /// It needs a resource that is not deployed yet.
    NotYet(String),
}

impl From<String> for EvaluationError {
    fn from(why: String) -> Self {
        Self::Template(why)
    }
}

impl From<&str> for EvaluationError {
    fn from(why: &str) -> Self {
        Self::Template(why.to_owned())
    }
}

/// A value with its expressions replaced.
pub(super) fn evaluate(value: &Value, scope: &dyn Scope) -> Result<Value, EvaluationError> {
    match value {
        Value::String(text) => match text.strip_prefix('[') {
            Some(rest) if rest.starts_with('[') => Ok(json!(rest)),
            Some(rest) if rest.ends_with(']') => {
                let inside = rest.get(..rest.len() - 1).unwrap_or_default();
                value_of(&parse(inside).map_err(|why| format!("'{text}': {why}"))?, scope)
            }
            _ => Ok(value.clone()),
        },
        Value::Array(all) => all.iter().map(|one| evaluate(one, scope)).collect(),
        Value::Object(members) => {
            let each = members.iter().map(|(name, one)| Ok((name.clone(), evaluate(one, scope)?)));
            each.collect::<Result<Map<String, Value>, EvaluationError>>().map(Value::Object)
        }
        _ => Ok(value.clone()),
    }
}

fn value_of(expression: &Expression, scope: &dyn Scope) -> Result<Value, EvaluationError> {
    match expression {
        Expression::Text(text) => Ok(json!(text)),
        Expression::Number(number) => Ok(json!(number)),
        Expression::Member(of, name) => {
            let of = value_of(of, scope)?;
            let found = of.as_object().and_then(|members| {
                let named = members.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                named.map(|(_, value)| value.clone())
            });
            found.ok_or_else(|| EvaluationError::Template(format!("there is no member '{name}'")))
        }
        Expression::Index(of, index) => {
            let (of, index) = (value_of(of, scope)?, value_of(index, scope)?);
            let found = match &index {
                Value::String(name) => of.get(name),
                index => index.as_u64().and_then(|at| of.get(usize::try_from(at).unwrap_or(usize::MAX))),
            };
            found.cloned().ok_or_else(|| EvaluationError::Template(format!("there is no item {index}")))
        }
        Expression::Call(name, arguments) => {
            if name == "if" {
                // Only the chosen one is looked at.
                let [when, yes, no] = arguments.as_slice() else { return Err("if wants three".into()) };
                let chosen = if value_of(when, scope)? == json!(true) { yes } else { no };
                return value_of(chosen, scope);
            }
            let arguments: Vec<Value> =
                arguments.iter().map(|one| value_of(one, scope)).collect::<Result<_, _>>()?;
            call(name, &arguments, scope)
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A UUID that is always the same for the same texts.
pub(super) fn guid(parts: &[String]) -> String {
    let digest = sha256(parts.join("\u{1f}").as_bytes()).to_string();
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    format!("{}-{}-5{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

fn call(name: &str, arguments: &[Value], scope: &dyn Scope) -> Result<Value, EvaluationError> {
    let texts: Vec<String> = arguments.iter().map(text).collect();
    let first = || texts.first().cloned().unwrap_or_default();
    let one =
        || arguments.first().ok_or_else(|| EvaluationError::Template(format!("{name} wants an argument")));
    Ok(match name {
        "parameters" => {
            let missing = || format!("the template parameter '{}' is not found", first());
            scope.parameter(&first()).ok_or_else(missing)?
        }
        "variables" => scope.variable(&first())?,
        "concat" => match arguments.iter().all(Value::is_array) && !arguments.is_empty() {
            true => arguments.iter().flat_map(|all| all.as_array().cloned().unwrap_or_default()).collect(),
            false => json!(texts.concat()),
        },
        "resourceid" => json!(resource_id(scope.group(), &texts)?),
        "subscriptionresourceid" => {
            let subscription = scope.group().split('/').take(3).collect::<Vec<_>>().join("/");
            json!(resource_id(&subscription, &texts)?)
        }
        "reference" => {
            let mut body = scope.resource(&first())?;
            if texts.get(2).is_some_and(|word| word.eq_ignore_ascii_case("full")) {
                body
            } else {
                body["properties"].take()
            }
        }
        "guid" | "uniquestring" => {
            let whole = guid(&texts);
            let short = whole.replace('-', "").chars().take(13).collect::<String>();
            json!(if name == "guid" { whole } else { short })
        }
        "base64" => json!(STANDARD.encode(first())),
        "base64tostring" => {
            let bytes = STANDARD.decode(first()).map_err(|_| "it is no base64")?;
            json!(String::from_utf8_lossy(&bytes))
        }
        "resourcegroup" => {
            let name = scope.group().rsplit('/').next().unwrap_or_default();
            json!({"id": scope.group(), "name": name, "location": scope.location()})
        }
        "subscription" => {
            let id = scope.group().split('/').nth(2).unwrap_or_default();
            json!({"id": format!("/subscriptions/{id}"), "subscriptionId": id})
        }
        "copyindex" => {
            let named = one().ok().and_then(Value::as_str).unwrap_or_default();
            let offset = arguments.last().and_then(Value::as_i64).unwrap_or_default();
            json!(scope.copy_index(named).ok_or("copyIndex stands in no loop")? + offset)
        }
        "format" => {
            let placed = texts.iter().skip(1).enumerate();
            json!(placed.fold(first(), |text, (at, one)| text.replace(&format!("{{{at}}}"), one)))
        }
        "tolower" => json!(first().to_lowercase()),
        "toupper" => json!(first().to_uppercase()),
        "string" => json!(first()),
        "int" => json!(first().parse::<i64>().map_err(|_| "it is no number")?),
        "json" => serde_json::from_str(&first()).map_err(|_| "it is no JSON")?,
        "split" => json!(first().split(texts.get(1).map_or("", String::as_str)).collect::<Vec<_>>()),
        "replace" => {
            let part = |at: usize| texts.get(at).map_or("", String::as_str);
            json!(first().replace(part(1), part(2)))
        }
        "equals" => json!(arguments.first() == arguments.get(1)),
        "not" => json!(*one()? != json!(true)),
        "and" => json!(arguments.iter().all(|one| *one == json!(true))),
        "or" => json!(arguments.contains(&json!(true))),
        "true" => json!(true),
        "false" => json!(false),
        "null" => Value::Null,
        "add" | "sub" | "mul" => {
            let number = |at: usize| arguments.get(at).and_then(Value::as_i64).ok_or("it is no number");
            let (a, b) = (number(0)?, number(1)?);
            json!(match name {
                "add" => a.saturating_add(b),
                "sub" => a.saturating_sub(b),
                _ => a.saturating_mul(b),
            })
        }
        "length" => match one()? {
            Value::Array(all) => json!(all.len()),
            Value::Object(members) => json!(members.len()),
            other => json!(text(other).chars().count()),
        },
        "empty" => json!(match one()? {
            Value::Array(all) => all.is_empty(),
            Value::Object(members) => members.is_empty(),
            other => text(other).is_empty(),
        }),
        "first" => one()?[0].clone(),
        "last" => one()?.as_array().and_then(|all| all.last()).cloned().unwrap_or_default(),
        "createarray" => json!(arguments),
        _ if name.starts_with("list") => scope.listed(name, &first(), arguments.get(2))?,
        _ => return Err(EvaluationError::Template(format!("the template function '{name}' is not valid"))),
    })
}

/// `resourceId([subscription], [group], type, names…)` at a scope.
fn resource_id(scope: &str, texts: &[String]) -> Result<String, EvaluationError> {
    let at = texts.iter().position(|text| text.contains('/')).ok_or("resourceId wants a type")?;
    let words: Vec<&str> = scope.split('/').collect();
    let place = match texts.get(..at).unwrap_or_default() {
        [] => scope.to_owned(),
        [group] => {
            let subscription = words.get(2).copied().unwrap_or_default();
            format!("/subscriptions/{subscription}/resourceGroups/{group}")
        }
        [subscription, group, ..] => format!("/subscriptions/{subscription}/resourceGroups/{group}"),
    };
    let kind = texts.get(at).map_or("", String::as_str);
    joined(&place, kind, texts.get(at + 1..).unwrap_or_default())
}

/// `A.B/c/d` with names `x`, `y` at a place: `{place}/providers/A.B/c/x/d/y`.
pub(super) fn joined(place: &str, kind: &str, names: &[String]) -> Result<String, EvaluationError> {
    let mut types = kind.split('/');
    let provider = types.next().unwrap_or_default();
    let names: Vec<&str> = names.iter().flat_map(|name| name.split('/')).collect();
    let types: Vec<&str> = types.collect();
    if types.len() != names.len() || types.is_empty() {
        return Err(EvaluationError::Template(format!(
            "the type '{kind}' wants {} names, there are {}",
            types.len(),
            names.len()
        )));
    }
    let pairs: String = types.iter().zip(names).map(|(kind, name)| format!("/{kind}/{name}")).collect();
    Ok(format!("{place}/providers/{provider}{pairs}"))
}
