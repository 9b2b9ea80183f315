//! Requests to the resource manager and what they get.

use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::access;
use super::answer::{Answer, failure};
use super::id::{GROUP, Id, Place, subscription_of};
use super::operations::End;
use super::token::Issued;
use super::world::{DEPLOYMENT, World};
use super::{kinds, links};

/// A request of ARM, read.
pub(super) struct Asked<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    /// `null` when there is none.
    pub(super) body: Result<Value, Answer>,
    pub(super) issued: &'a Issued,
    /// Whether deny assignments are meant for who asks.
    pub(super) guarded: bool,
}

impl Asked<'_> {
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let pairs = url::form_urlencoded::parse(self.query.as_bytes());
        pairs.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, text)| text.into_owned()).last()
    }

    pub(super) fn body(&self) -> Result<Value, Answer> {
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
    pub(super) fn answer(&self, asked: &Asked<'_>, place: Place) -> Answer {
        let done = self.allowed(asked, &place).and_then(|()| match place {
            Place::Subscriptions => Ok(self.subscriptions(asked)),
            Place::Subscription(subscription) => Ok(Answer::ok(self.subscription(&subscription))),
            Place::Groups(subscription) => {
                Ok(self.page(asked, &self.tree.list(&format!("/subscriptions/{subscription}"), GROUP)))
            }
            Place::Providers(subscription) => {
                Ok(self.page(asked, &self.facts.lock().providers(&subscription)))
            }
            Place::Provider { subscription, provider, action } => {
                let mut facts = self.facts.lock();
                match action.as_deref() {
                    Some("register") => facts.set_provider(&subscription, &provider, "Registered"),
                    Some(_) => facts.set_provider(&subscription, &provider, "NotRegistered"),
                    None => {}
                }
                Ok(Answer::ok(facts.provider(&subscription, &provider)))
            }
            Place::Everything(scope) => self.everything(asked, &scope),
            Place::Resource(id) => self.resource(asked, &id),
            Place::Below { parent, kind, word } => self.below(asked, &parent, &kind, &word),
        });
        done.unwrap_or_else(|refused| refused)
    }

    fn allowed(&self, asked: &Asked<'_>, place: &Place) -> Result<(), Answer> {
        let (kind, scope) = match place {
            Place::Resource(id) => (id.kind.clone(), id.asked.clone()),
            Place::Below { kind, parent, .. } => (kind.clone(), parent.clone()),
            Place::Everything(scope) => ("microsoft.resources/resources".to_owned(), scope.clone()),
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

    fn subscriptions(&self, asked: &Asked<'_>) -> Answer {
        let all = self.tree.subscriptions(asked.issued.tenant.as_deref());
        self.page(
            asked,
            &all.iter().map(|(subscription, _)| self.subscription(subscription)).collect::<Vec<_>>(),
        )
    }

    fn everything(&self, asked: &Asked<'_>, scope: &str) -> Result<Answer, Answer> {
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

    fn resource(&self, asked: &Asked<'_>, id: &Id) -> Result<Answer, Answer> {
        if let Some(answer) = self.made(asked, id) {
            return answer;
        }
        match *asked.method {
            Method::GET | Method::HEAD => {
                let body = self.found(id)?;
                if *asked.method == Method::HEAD {
                    return Ok(Answer::empty(StatusCode::NO_CONTENT));
                }
                Ok(Answer::ok(kinds::shown(self, id, body, asked.query)))
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

    /// A body by its id; also of an item that another resource has in a list, and a group that nobody put.
    pub(super) fn found(&self, id: &Id) -> Result<Value, Answer> {
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
    fn made(&self, asked: &Asked<'_>, id: &Id) -> Option<Result<Answer, Answer>> {
        let words: Vec<&str> = id.asked.split('/').collect();
        let last = |back: usize| words.get(words.len().checked_sub(back + 1)?).copied();
        match id.kind.as_str() {
            links::CONNECTION if *asked.method == Method::PUT => {
                let body = asked.body().ok()?;
                let done = links::change_connection(self, id, Some(&body));
                Some(done.map(Answer::ok).ok_or_else(|| kinds::missing(id)))
            }
            links::CONNECTION if *asked.method == Method::DELETE => {
                let gone = links::change_connection(self, id, None);
                Some(
                    Ok(gone.map_or_else(|| Answer::empty(StatusCode::NO_CONTENT), |_| Answer::ok(json!({})))),
                )
            }
            "microsoft.resources/locations/operationstatuses" => {
                let status = self.operations.lock().status(last(0)?.parse().ok()?);
                Some(status.map(|status| self.polite(Answer::ok(status))).ok_or_else(|| kinds::missing(id)))
            }
            "microsoft.resources/locations/operationresults" => {
                let end = self.operations.lock().end(last(0)?.parse().ok()?);
                Some(Ok(match end {
                    None => kinds::missing(id),
                    Some(None) => {
                        let here = format!("{}{}?{}", self.url, asked.path, asked.query);
                        self.polite(Answer::empty(StatusCode::ACCEPTED).header("location", &here))
                    }
                    Some(Some(End::Failed(error))) => {
                        Answer::of(StatusCode::CONFLICT, json!({ "error": error }))
                    }
                    Some(Some(End::Done(result))) if !result.is_null() => Answer::ok(result),
                    Some(Some(_)) => Answer::empty(StatusCode::NO_CONTENT),
                }))
            }
            kind if kind.ends_with("/features") && id.key.contains("/providers/microsoft.features/") => {
                let (provider, name) = (last(2)?, last(0)?);
                Some(Ok(Answer::ok(self.facts.lock().feature(subscription_of(&id.key), provider, name))))
            }
            "microsoft.compute/locations/publishers/artifacttypes/offers/skus/versions"
                if *asked.method == Method::GET =>
            {
                Some(Ok(Answer::ok(json!({"id": id.asked, "name": last(0)?, "location": last(10),
                    "properties": {"osDiskImage": {"operatingSystem": "Linux"}, "hyperVGeneration": "V2", "dataDiskImages": []}}))))
            }
            kind if kind.starts_with("microsoft.marketplaceordering/")
                && self.tree.get(&id.key).is_none()
                && *asked.method == Method::GET =>
            {
                Some(Ok(Answer::ok(
                    json!({"id": id.asked, "name": last(0)?, "properties": {"accepted": false, "plan": last(2)?}}),
                )))
            }
            _ => None,
        }
    }

    fn matches(&self, asked: &Asked<'_>, id: &Id) -> Result<(), Answer> {
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

    fn put(&self, asked: &Asked<'_>, id: &Id, body: Value) -> Result<Answer, Answer> {
        let created = self.write(id, body)?;
        let lasts = !self.operations.lock().time.is_zero()
            && id.kind.starts_with("microsoft.")
            && id.kind != GROUP
            && !id.kind.starts_with("microsoft.authorization/");
        let busy = if created { "Creating" } else { "Updating" };
        let number = lasts.then(|| {
            self.operations.lock().begin(self.clock.now(), End::Done(Value::Null), Some((&id.key, busy)))
        });
        let body = self.tree.get(&id.key).unwrap_or_default();
        let answer = Answer::of(
            if created { StatusCode::CREATED } else { StatusCode::OK },
            kinds::shown(self, id, body, asked.query),
        );
        Ok(match number {
            Some(number) => {
                self.polite(answer.header("azure-asyncoperation", &self.status_url(asked, id, number)))
            }
            None => answer,
        })
    }

    fn deployment(&self, asked: &Asked<'_>, id: &Id) -> Result<Answer, Answer> {
        let new = self.tree.get(&id.key).is_none();
        let number = self.deploy(id, &asked.body()?)?;
        let mut body = self.tree.get(&id.key).unwrap_or_default();
        // Even what is quick says first that it was taken.
        body["properties"]["provisioningState"] = json!("Accepted");
        let status = if new { StatusCode::CREATED } else { StatusCode::OK };
        let link = self.status_url(asked, id, number);
        Ok(self.polite(Answer::of(status, body).header("azure-asyncoperation", &link)))
    }

    fn delete(&self, asked: &Asked<'_>, id: &Id) -> Result<Answer, Answer> {
        let there = self.tree.get(&id.key).is_some() || self.tree.has_group(&id.key);
        if !there {
            let group = id.kind == GROUP;
            return if group {
                Err(kinds::no_group(id.name()))
            } else {
                Ok(Answer::empty(StatusCode::NO_CONTENT))
            };
        }
        self.deletable(id)?;
        let mut operations = self.operations.lock();
        if operations.time.is_zero() && id.kind != GROUP {
            drop(operations);
            self.remove(&id.key);
            return Ok(Answer::ok(json!({})));
        }
        let end = End::Gone(id.key.clone());
        let number = operations.begin(self.clock.now(), end, Some((&id.key, "Deleting")));
        drop(operations);
        let version = asked.parameter("api-version").unwrap_or_default();
        let results = format!(
            "{}/subscriptions/{}/providers/Microsoft.Resources/locations/global/operationResults/{number}?api-version={version}",
            self.url,
            subscription_of(&id.key)
        );
        let answer = Answer::empty(StatusCode::ACCEPTED).header("location", &results);
        let answer = match id.kind == GROUP {
            true => answer,
            false => answer.header("azure-asyncoperation", &self.status_url(asked, id, number)),
        };
        Ok(self.polite(answer))
    }

    pub(super) fn status_url(&self, asked: &Asked<'_>, id: &Id, number: u64) -> String {
        let version = asked.parameter("api-version").unwrap_or_default();
        format!(
            "{}/subscriptions/{}/providers/Microsoft.Resources/locations/global/operationStatuses/{number}?api-version={version}",
            self.url,
            subscription_of(&id.key)
        )
    }

    /// Tells when to come again, where a test wants that.
    pub(super) fn polite(&self, answer: Answer) -> Answer {
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

pub(super) fn not_allowed() -> Answer {
    failure(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "The resource does not take that method.")
}
