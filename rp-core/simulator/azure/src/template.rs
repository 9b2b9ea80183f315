//! Deployments of templates: order, loops, conditions, outputs.

use std::collections::BTreeMap;

use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::functions::{EvaluationError, Scope, evaluate, joined};
use super::id::Id;
use super::response::{ArmResponse, failure};
use super::world::World;

/// Resources of one template, loops counted.
const MOST: usize = 800;

struct DeploymentScope<'a> {
    world: &'a World,
    group: &'a str,
    parameters: Map<String, Value>,
    variables: &'a Value,
    /// Ids of the template's resources in lower case, by name in lower case.
    names: BTreeMap<String, String>,
    /// Those that are not deployed yet.
    left: BTreeMap<String, ()>,
    index: Vec<(String, i64)>,
}

struct Node {
    told: Value,
    id: String,
    index: Vec<(String, i64)>,
}

/// The result of a deployment.
pub(super) struct DeploymentResult {
    pub(super) outputs: Value,
    /// ARM's error when it failed.
    pub(super) error: Option<Value>,
}

/// Deploys; an error is a template that is refused at once.
pub(super) fn deploy(
    world: &World,
    group: &str,
    properties: &Value,
) -> Result<DeploymentResult, ArmResponse> {
    let template = &properties["template"];
    let mut scope = DeploymentScope {
        world,
        group,
        parameters: parameters(template, &properties["parameters"])?,
        variables: &template["variables"],
        names: BTreeMap::new(),
        left: BTreeMap::new(),
        index: Vec::new(),
    };
    // Default values may be expressions of other parameters.
    for (name, value) in scope.parameters.clone() {
        let value = evaluate(&value, &scope).map_err(refused)?;
        scope.parameters.insert(name, value);
    }
    let mut nodes = nodes(&mut scope, template).map_err(refused)?;
    scope.left = nodes.iter().map(|node| (node.id.to_ascii_lowercase(), ())).collect();
    let mut errors = Vec::new();
    while !nodes.is_empty() && errors.is_empty() {
        let before = nodes.len();
        let mut later = Vec::new();
        for node in nodes {
            scope.index.clone_from(&node.index);
            match one(&scope, &node) {
                Ok(Ok(())) => {
                    scope.left.remove(&node.id.to_ascii_lowercase());
                }
                Ok(Err(answer)) => errors.push(detail(&answer)),
                Err(EvaluationError::NotYet(_)) => later.push(node),
                Err(wrong) => return Err(refused(wrong)),
            }
        }
        nodes = later;
        if nodes.len() == before && errors.is_empty() {
            return Err(refused("the resources depend on each other in a circle".into()));
        }
    }
    scope.index.clear();
    if !errors.is_empty() {
        let error = json!({"code": "DeploymentFailed",
            "message": "At least one resource deployment operation failed. Please list deployment operations for details. Please see https://aka.ms/arm-deployment-operations for usage details.",
            "details": errors});
        return Ok(DeploymentResult { outputs: Value::Null, error: Some(error) });
    }
    let mut outputs = Map::new();
    for (name, told) in template["outputs"].as_object().into_iter().flatten() {
        let value = evaluate(&told["value"], &scope).map_err(refused)?;
        outputs.insert(name.clone(), json!({"type": told["type"], "value": value}));
    }
    Ok(DeploymentResult { outputs: Value::Object(outputs), error: None })
}

fn refused(wrong: EvaluationError) -> ArmResponse {
    let (EvaluationError::Template(why) | EvaluationError::NotYet(why)) = wrong;
    let message = format!("Deployment template validation failed: '{why}'.");
    failure(StatusCode::BAD_REQUEST, "InvalidTemplate", &message)
}

/// As the deployment engine wraps what a provider answered.
fn detail(answer: &ArmResponse) -> Value {
    let code = match answer.status {
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::CONFLICT => "Conflict",
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        status if status.is_server_error() => "InternalServerError",
        _ => "BadRequest",
    };
    json!({"code": code, "message": answer.content().to_string()})
}

fn parameters(template: &Value, given: &Value) -> Result<Map<String, Value>, ArmResponse> {
    let mut all = Map::new();
    for (name, told) in template["parameters"].as_object().into_iter().flatten() {
        let value = given[name].get("value").or_else(|| told.get("defaultValue"));
        let missing = || {
            refused(EvaluationError::Template(format!(
                "The value for the template parameter '{name}' is not provided"
            )))
        };
        all.insert(name.clone(), value.cloned().ok_or_else(missing)?);
    }
    for name in given.as_object().into_iter().flatten().map(|(name, _)| name) {
        if !all.contains_key(name) {
            let why = format!(
                "The template parameters '{name}' are not valid; they are not present in the template"
            );
            return Err(refused(EvaluationError::Template(why)));
        }
    }
    Ok(all)
}

/// The resources that the template makes, loops unrolled, those whose condition is false left out.
fn nodes(scope: &mut DeploymentScope<'_>, template: &Value) -> Result<Vec<Node>, EvaluationError> {
    let mut found = Vec::new();
    for told in template["resources"].as_array().into_iter().flatten() {
        let copy = &told["copy"];
        let count = match copy.is_object() {
            true => evaluate(&copy["count"], scope)?.as_i64().ok_or("copy wants a count")?,
            false => 1,
        };
        for at in 0..count {
            let name = copy["name"].as_str().unwrap_or_default().to_owned();
            let index = if copy.is_object() { vec![(name, at)] } else { Vec::new() };
            scope.index.clone_from(&index);
            let wanted = told.get("condition").map(|when| evaluate(when, scope)).transpose()?;
            if wanted == Some(json!(false)) {
                continue;
            }
            let name = evaluate(&told["name"], scope)?.as_str().unwrap_or_default().to_owned();
            let kind = told["type"].as_str().ok_or("a resource has no type")?;
            let place = told.get("scope").map(|place| evaluate(place, scope)).transpose()?;
            let place = place.as_ref().and_then(Value::as_str).unwrap_or(scope.group).to_owned();
            let id = joined(&place, kind, std::slice::from_ref(&name))?;
            scope.names.insert(name.to_ascii_lowercase(), id.to_ascii_lowercase());
            if told["apiVersion"].as_str().is_none() {
                return Err(EvaluationError::Template(format!("the resource '{name}' has no apiVersion")));
            }
            found.push(Node { told: told.clone(), id, index });
            if found.len() > MOST {
                return Err("there are too many resources".into());
            }
        }
    }
    Ok(found)
}

/// Deploys one resource when what it depends on is there.
fn one(scope: &DeploymentScope<'_>, node: &Node) -> Result<Result<(), ArmResponse>, EvaluationError> {
    for told in node.told["dependsOn"].as_array().into_iter().flatten() {
        let on = evaluate(told, scope)?.as_str().unwrap_or_default().to_ascii_lowercase();
        let key = scope.names.get(&on).cloned().unwrap_or(on);
        if scope.left.contains_key(&key) {
            return Err(EvaluationError::NotYet(key));
        }
    }
    let mut body = Map::new();
    for (name, value) in node.told.as_object().into_iter().flatten() {
        if !["type", "name", "apiVersion", "dependsOn", "copy", "condition", "comments", "scope"]
            .contains(&name.as_str())
        {
            body.insert(name.clone(), evaluate(value, scope)?);
        }
    }
    let id = Id::parse(&node.id)
        .ok_or_else(|| EvaluationError::Template(format!("'{}' is no resource", node.id)))?;
    Ok(scope.world.write_in_deployment(&id, Value::Object(body)))
}

impl Scope for DeploymentScope<'_> {
    fn parameter(&self, name: &str) -> Option<Value> {
        let mut found = self.parameters.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.clone())
    }

    fn variable(&self, name: &str) -> Result<Value, EvaluationError> {
        let found = self.variables.as_object().into_iter().flatten();
        let found = found.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let missing = || EvaluationError::Template(format!("the template variable '{name}' is not found"));
        evaluate(found.ok_or_else(missing)?.1, self)
    }

    fn group(&self) -> &str {
        self.group
    }

    fn location(&self) -> String {
        let group = self.world.tree.find(self.group);
        group.and_then(|group| group["location"].as_str().map(str::to_owned)).unwrap_or_default()
    }

    fn copy_index(&self, name: &str) -> Option<i64> {
        let fits = |(known, _): &&(String, i64)| name.is_empty() || known.eq_ignore_ascii_case(name);
        self.index.iter().find(fits).map(|(_, at)| *at)
    }

    fn resource(&self, id: &str) -> Result<Value, EvaluationError> {
        let key = id.to_ascii_lowercase();
        let key = self.names.get(&key).cloned().unwrap_or(key);
        if self.left.contains_key(&key) {
            return Err(EvaluationError::NotYet(key));
        }
        let missing = || EvaluationError::Template(format!("the resource '{id}' is not defined"));
        self.world.tree.get(&key).ok_or_else(missing)
    }

    fn listed(&self, function: &str, id: &str, body: Option<&Value>) -> Result<Value, EvaluationError> {
        self.resource(id)?;
        let account = id.rsplit('/').next().unwrap_or_default();
        match function {
            "listkeys" => Ok(self.world.account_keys(account)),
            "listaccountsas" => Ok(self.world.account_sas(account, body.unwrap_or(&Value::Null))),
            _ => Err(EvaluationError::Template(format!("the template function '{function}' is not valid"))),
        }
    }
}
