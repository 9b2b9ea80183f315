//! Requests to the resource manager and what they get.

use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::access;
use super::id::{ArmPath, GROUP, Id, subscription_of};
use super::operations::OperationOutcome;
use super::response::{ArmResponse, failure};
use super::token::IssuedToken;
use super::world::{DEPLOYMENT, World};
use super::{kinds, links};

/// A parsed ARM request.
pub(super) struct ArmRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    /// `null` when there is none.
    pub(super) body: Result<Value, ArmResponse>,
    pub(super) issued: &'a IssuedToken,
    /// Whether deny assignments apply to the caller.
    pub(super) guarded: bool,
}

impl ArmRequest<'_> {
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let pairs = url::form_urlencoded::parse(self.query.as_bytes());
        pairs.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, text)| text.into_owned()).last()
    }

    pub(super) fn body(&self) -> Result<Value, ArmResponse> {
        match &self.body {
            Ok(body) => Ok(body.clone()),
            Err(_) => {
                let message = "The request content was invalid and could not be deserialized.";
                Err(failure(StatusCode::BAD_REQUEST, "InvalidRequestContent", message))
            }
        }
    }
}

impl World {
    /// Answers a request whose token and version are good.
    pub(super) fn answer(&self, asked: &ArmRequest<'_>, place: ArmPath) -> ArmResponse {
        let done = self.allowed(asked, &place).and_then(|()| match place {
            ArmPath::Subscriptions => Ok(self.subscriptions(asked)),
            ArmPath::Subscription(subscription) => Ok(ArmResponse::ok(self.subscription(&subscription))),
            ArmPath::Groups(subscription) => {
                Ok(self.page(asked, &self.tree.list(&format!("/subscriptions/{subscription}"), GROUP)))
            }
            ArmPath::Providers(subscription) => {
                Ok(self.page(asked, &self.facts.lock().providers(&subscription)))
            }
            ArmPath::Provider { subscription, provider, action } => {
                let mut facts = self.facts.lock();
                match action.as_deref() {
                    Some("register") => facts.set_provider(&subscription, &provider, "Registered"),
                    Some(_) => facts.set_provider(&subscription, &provider, "NotRegistered"),
                    None => {}
                }
                Ok(ArmResponse::ok(facts.provider(&subscription, &provider)))
            }
            ArmPath::Everything(scope) => self.everything(asked, &scope),
            ArmPath::Resource(id) => self.resource(asked, &id),
            ArmPath::Below { parent, kind, word } => self.below(asked, &parent, &kind, &word),
        });
        done.unwrap_or_else(|refused| refused)
    }

    fn allowed(&self, asked: &ArmRequest<'_>, place: &ArmPath) -> Result<(), ArmResponse> {
        let (kind, scope) = match place {
            ArmPath::Resource(id) => (id.kind.clone(), id.asked.clone()),
            ArmPath::Below { kind, parent, .. } => (kind.clone(), parent.clone()),
            ArmPath::Everything(scope) => ("microsoft.resources/resources".to_owned(), scope.clone()),
            _ => return Ok(()),
        };
        if kind.ends_with("/checkaccess") || kind.starts_with("microsoft.resources/locations/") {
            return Ok(());
        }
        let (who, action) = (&asked.issued.who, access::action_of(asked.method, &kind));
        if !self.access.lock().allows(who, &action, &scope) {
            return Err(access::refused(who, &action, &scope));
        }
        if asked.guarded { access::denied(&self.tree, who, &action, &scope) } else { Ok(()) }
    }

    fn subscription(&self, subscription: &str) -> Value {
        json!({"id": format!("/subscriptions/{subscription}"), "subscriptionId": subscription,
            "tenantId": self.tree.tenant(subscription), "displayName": subscription, "state": "Enabled"})
    }

    fn subscriptions(&self, asked: &ArmRequest<'_>) -> ArmResponse {
        let all = self.tree.subscriptions(asked.issued.tenant.as_deref());
        self.page(
            asked,
            &all.iter().map(|(subscription, _)| self.subscription(subscription)).collect::<Vec<_>>(),
        )
    }

    fn everything(&self, asked: &ArmRequest<'_>, scope: &str) -> Result<ArmResponse, ArmResponse> {
        if scope.contains("/resourcegroups/") && !self.tree.has_group(scope) {
            return Err(kinds::no_group(scope.rsplit('/').next().unwrap_or_default()));
        }
        let all = self.tree.everything(scope).into_iter().map(|body| {
            let words = ["id", "name", "type", "location", "tags", "managedBy", "sku", "kind", "zones"];
            let kept = words.iter().filter(|word| !body[**word].is_null());
            kept.map(|word| ((*word).to_owned(), body[*word].clone()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        });
        Ok(self.page(asked, &all.collect::<Vec<_>>()))
    }

    fn resource(&self, asked: &ArmRequest<'_>, id: &Id) -> Result<ArmResponse, ArmResponse> {
        if let Some(answer) = self.made(asked, id) {
            return answer;
        }
        match *asked.method {
            Method::GET | Method::HEAD => {
                let body = self.found(id)?;
                if *asked.method == Method::HEAD {
                    return Ok(ArmResponse::empty(StatusCode::NO_CONTENT));
                }
                Ok(ArmResponse::ok(kinds::shown(self, id, body, asked.query)))
            }
            Method::PUT if id.kind == DEPLOYMENT => self.deployment(asked, id),
            Method::PUT => {
                self.matches(asked, id)?;
                self.put(asked, id, asked.body()?)
            }
            Method::PATCH => {
                let mut body = self.found(id)?;
                merge(&mut body, &asked.body()?);
                self.put(asked, id, body)
            }
            Method::DELETE => {
                self.matches(asked, id)?;
                self.delete(asked, id)
            }
            _ => Err(not_allowed()),
        }
    }

    /// A body by its id; also of a list item of another resource, and of an implicit group.
    pub(super) fn found(&self, id: &Id) -> Result<Value, ArmResponse> {
        if let Some(body) = self.tree.get(&id.key) {
            return Ok(body);
        }
        if id.kind == GROUP && self.tree.has_group(&id.key) {
            return Ok(
                json!({"id": id.asked, "name": id.name(), "type": "Microsoft.Resources/resourceGroups",
                "location": "eastus", "properties": {"provisioningState": "Succeeded"}}),
            );
        }
        if let Some(group) = id.group().filter(|group| !self.tree.has_group(group)) {
            return Err(kinds::no_group(group.rsplit('/').next().unwrap_or_default()));
        }
        let item = id.parent().and_then(|parent| {
            let body = self.tree.get(parent)?;
            let list = id.key.rsplit('/').nth(1)?;
            let items =
                body["properties"].as_object()?.iter().find(|(name, _)| name.eq_ignore_ascii_case(list))?.1;
            let own = |item: &&Value| {
                item["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(id.name()))
            };
            items.as_array()?.iter().find(own).cloned()
        });
        item.ok_or_else(|| kinds::missing(id))
    }

    /// What is there without having been put: features, images, operations, connections.
    fn made(&self, asked: &ArmRequest<'_>, id: &Id) -> Option<Result<ArmResponse, ArmResponse>> {
        let words: Vec<&str> = id.asked.split('/').collect();
        let last = |back: usize| words.get(words.len().checked_sub(back + 1)?).copied();
        match id.kind.as_str() {
            links::CONNECTION if *asked.method == Method::PUT => {
                let body = asked.body().ok()?;
                let done = links::change_connection(self, id, Some(&body));
                Some(done.map(ArmResponse::ok).ok_or_else(|| kinds::missing(id)))
            }
            links::CONNECTION if *asked.method == Method::DELETE => {
                let gone = links::change_connection(self, id, None);
                Some(Ok(gone.map_or_else(
                    || ArmResponse::empty(StatusCode::NO_CONTENT),
                    |_| ArmResponse::ok(json!({})),
                )))
            }
            "microsoft.resources/locations/operationstatuses" => {
                let status = self.operations.lock().status(last(0)?.parse().ok()?);
                Some(
                    status
                        .map(|status| self.with_retry_after(ArmResponse::ok(status)))
                        .ok_or_else(|| kinds::missing(id)),
                )
            }
            "microsoft.resources/locations/operationresults" => {
                let end = self.operations.lock().end(last(0)?.parse().ok()?);
                Some(Ok(match end {
                    None => kinds::missing(id),
                    Some(None) => {
                        let here = format!("{}{}?{}", self.url, asked.path, asked.query);
                        self.with_retry_after(
                            ArmResponse::empty(StatusCode::ACCEPTED).header("location", &here),
                        )
                    }
                    Some(Some(OperationOutcome::Failed(error))) => {
                        ArmResponse::with_body(StatusCode::CONFLICT, json!({ "error": error }))
                    }
                    Some(Some(OperationOutcome::Done(result))) if !result.is_null() => {
                        ArmResponse::ok(result)
                    }
                    Some(Some(_)) => ArmResponse::empty(StatusCode::NO_CONTENT),
                }))
            }
            kind if kind.ends_with("/features") && id.key.contains("/providers/microsoft.features/") => {
                let (provider, name) = (last(2)?, last(0)?);
                Some(Ok(ArmResponse::ok(self.facts.lock().feature(subscription_of(&id.key), provider, name))))
            }
            "microsoft.compute/locations/publishers/artifacttypes/offers/skus/versions"
                if *asked.method == Method::GET =>
            {
                Some(Ok(ArmResponse::ok(json!({"id": id.asked, "name": last(0)?, "location": last(10),
                    "properties": {"osDiskImage": {"operatingSystem": "Linux"}, "hyperVGeneration": "V2", "dataDiskImages": []}}))))
            }
            kind if kind.starts_with("microsoft.marketplaceordering/")
                && self.tree.get(&id.key).is_none()
                && *asked.method == Method::GET =>
            {
                Some(Ok(ArmResponse::ok(
                    json!({"id": id.asked, "name": last(0)?, "properties": {"accepted": false, "plan": last(2)?}}),
                )))
            }
            _ => None,
        }
    }

    fn matches(&self, asked: &ArmRequest<'_>, id: &Id) -> Result<(), ArmResponse> {
        let of = |name: &str| asked.headers.get(name).and_then(|value| value.to_str().ok());
        let etag = self.tree.get(&id.key).map(|body| body["etag"].as_str().unwrap_or_default().to_owned());
        let absent = of("if-none-match") == Some("*");
        let changed = of("if-match")
            .is_some_and(|wanted| etag.as_deref() != Some(wanted) && !(wanted == "*" && etag.is_some()));
        if (absent && etag.is_some()) || changed {
            let message =
                "The condition '*' in the If-None-Match header or the etag in If-Match was not satisfied.";
            return Err(failure(StatusCode::PRECONDITION_FAILED, "PreconditionFailed", message));
        }
        Ok(())
    }

    fn put(&self, asked: &ArmRequest<'_>, id: &Id, body: Value) -> Result<ArmResponse, ArmResponse> {
        let created = self.write(id, body)?;
        let lasts = !self.operations.lock().time.is_zero()
            && id.kind.starts_with("microsoft.")
            && id.kind != GROUP
            && !id.kind.starts_with("microsoft.authorization/");
        let busy = if created { "Creating" } else { "Updating" };
        let number = lasts.then(|| {
            self.operations.lock().begin(
                self.clock.now(),
                OperationOutcome::Done(Value::Null),
                Some((&id.key, busy)),
            )
        });
        let body = self.tree.get(&id.key).unwrap_or_default();
        let answer = ArmResponse::with_body(
            if created { StatusCode::CREATED } else { StatusCode::OK },
            kinds::shown(self, id, body, asked.query),
        );
        Ok(match number {
            Some(number) => self
                .with_retry_after(answer.header("azure-asyncoperation", &self.status_url(asked, id, number))),
            None => answer,
        })
    }

    fn deployment(&self, asked: &ArmRequest<'_>, id: &Id) -> Result<ArmResponse, ArmResponse> {
        let new = self.tree.get(&id.key).is_none();
        let number = self.deploy(id, &asked.body()?)?;
        let mut body = self.tree.get(&id.key).unwrap_or_default();
        // Even a quick deployment first answers that it was accepted.
        body["properties"]["provisioningState"] = json!("Accepted");
        let status = if new { StatusCode::CREATED } else { StatusCode::OK };
        let link = self.status_url(asked, id, number);
        Ok(self.with_retry_after(ArmResponse::with_body(status, body).header("azure-asyncoperation", &link)))
    }

    fn delete(&self, asked: &ArmRequest<'_>, id: &Id) -> Result<ArmResponse, ArmResponse> {
        let there = self.tree.get(&id.key).is_some() || self.tree.has_group(&id.key);
        if !there {
            let group = id.kind == GROUP;
            return if group {
                Err(kinds::no_group(id.name()))
            } else {
                Ok(ArmResponse::empty(StatusCode::NO_CONTENT))
            };
        }
        self.deletable(id)?;
        let mut operations = self.operations.lock();
        if operations.time.is_zero() && id.kind != GROUP {
            drop(operations);
            self.remove(&id.key);
            return Ok(ArmResponse::ok(json!({})));
        }
        let end = OperationOutcome::Gone(id.key.clone());
        let number = operations.begin(self.clock.now(), end, Some((&id.key, "Deleting")));
        drop(operations);
        let results = self.results_url(asked, id, number);
        let answer = ArmResponse::empty(StatusCode::ACCEPTED).header("location", &results);
        let answer = match id.kind == GROUP {
            true => answer,
            false => answer.header("azure-asyncoperation", &self.status_url(asked, id, number)),
        };
        Ok(self.with_retry_after(answer))
    }

    /// Where the result of an operation is read, 202 until there is one.
    pub(super) fn results_url(&self, asked: &ArmRequest<'_>, id: &Id, number: u64) -> String {
        let version = asked.parameter("api-version").unwrap_or_default();
        format!(
            "{}/subscriptions/{}/providers/Microsoft.Resources/locations/global/operationResults/{number}?api-version={version}",
            self.url,
            subscription_of(&id.key)
        )
    }

    pub(super) fn status_url(&self, asked: &ArmRequest<'_>, id: &Id, number: u64) -> String {
        let version = asked.parameter("api-version").unwrap_or_default();
        format!(
            "{}/subscriptions/{}/providers/Microsoft.Resources/locations/global/operationStatuses/{number}?api-version={version}",
            self.url,
            subscription_of(&id.key)
        )
    }

    /// Adds `Retry-After`, where a test configures it.
    pub(super) fn with_retry_after(&self, answer: ArmResponse) -> ArmResponse {
        match self.operations.lock().retry_after {
            Some(seconds) => answer.header("retry-after", &seconds.to_string()),
            None => answer,
        }
    }
}

/// JSON Merge Patch (RFC 7396).
fn merge(target: &mut Value, patch: &Value) {
    let Some(members) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in members {
        if value.is_null() {
            if let Some(target) = target.as_object_mut() {
                target.remove(name);
            }
        } else {
            merge(&mut target[name.as_str()], value);
        }
    }
}

pub(super) fn not_allowed() -> ArmResponse {
    failure(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "The resource does not take that method.")
}
