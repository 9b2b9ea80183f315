//! Lists, and actions on resources.

use std::collections::HashMap;
use std::time::Duration;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::access::{self, Caller};
use super::consoles;
use super::effective_routes;
use super::functions::guid;
use super::id::{Id, group_of, subscription_of};
use super::kinds;
use super::machines::{self, MACHINE};
use super::network::NIC;
use super::operations::OperationOutcome;
use super::response::{ArmResponse, failure};
use super::routes::{ArmRequest, not_allowed};
use super::world::World;

/// Items of one page of a list.
const PAGE: usize = 100;

impl World {
    /// A list, or an action on a resource.
    pub(super) fn below(
        &self,
        asked: &ArmRequest<'_>,
        parent: &str,
        kind: &str,
        word: &str,
    ) -> Result<ArmResponse, ArmResponse> {
        if kind == "microsoft.authorization/checkaccess" {
            return Ok(self.check_access(&asked.body()?));
        }
        let subscription = subscription_of(parent);
        if *asked.method == Method::POST || word == "instanceview" {
            let id = Id::parse(parent).ok_or_else(not_allowed)?;
            return self.action(asked, &id, word);
        }
        if *asked.method != Method::GET {
            return Err(not_allowed());
        }
        let location = parent.rsplit('/').next().unwrap_or_default();
        let all = match kind {
            "microsoft.compute/skus" => {
                let filter = asked.parameter("$filter").unwrap_or_default();
                let location = filter.split('\'').nth(1).unwrap_or("eastus").to_owned();
                self.facts.lock().skus(subscription, &location)
            }
            "microsoft.compute/locations/usages" => self.compute_usages(subscription),
            "microsoft.network/locations/usages" => {
                let used = self
                    .tree
                    .list(&format!("/subscriptions/{subscription}"), "microsoft.network/publicipaddresses");
                let (more, limit) = self.facts.lock().quota(subscription, "PublicIPAddresses");
                let current = more + i64::try_from(used.len()).unwrap_or(i64::MAX);
                vec![
                    json!({"currentValue": current, "limit": limit, "unit": "Count", "id": format!("{location}/usages"),
                    "name": {"value": "PublicIPAddresses", "localizedValue": "Public IP Addresses"}}),
                ]
            }
            "microsoft.authorization/roleassignments"
            | "microsoft.authorization/denyassignments"
            | "microsoft.authorization/roledefinitions"
            | "microsoft.authorization/locks" => self.at_scope(asked, parent, kind),
            _ => {
                if let Some(group) = group_of(parent).filter(|group| !self.tree.has_group(group)) {
                    return Err(kinds::no_group(group.rsplit('/').next().unwrap_or_default()));
                }
                self.listed(asked, parent, kind)
            }
        };
        Ok(self.page(asked, &all))
    }

    fn listed(&self, asked: &ArmRequest<'_>, parent: &str, kind: &str) -> Vec<Value> {
        let mut all = self.tree.list(parent, kind);
        if all.is_empty()
            && let Some(body) = Id::parse(parent).and_then(|id| self.tree.get(&id.key))
        {
            // Items that the parent has in a list, and subnets that are there by themselves.
            let id = Id::parse(parent);
            let body = id.map_or(body.clone(), |id| kinds::shown(self, &id, body, ""));
            let word = kind.rsplit('/').next().unwrap_or_default();
            let lists = body["properties"].as_object().into_iter().flatten();
            let list = lists.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
            all = list.and_then(|(_, list)| list.as_array().cloned()).unwrap_or_default();
        }
        let show = |body: Value| match body["id"].as_str().and_then(Id::parse) {
            Some(id) => kinds::shown(self, &id, body, asked.query),
            None => body,
        };
        all.into_iter().map(show).collect()
    }

    /// Those at a scope; with `atScope()` those above too, else those below.
    fn at_scope(&self, asked: &ArmRequest<'_>, scope: &str, kind: &str) -> Vec<Value> {
        let filter = asked.parameter("$filter").unwrap_or_default().to_ascii_lowercase();
        let principal = filter.split("principalid eq '").nth(1).and_then(|rest| rest.split('\'').next());
        let fits = |key: &str| {
            let (of, _) = key.split_once("/providers/microsoft.authorization/").unwrap_or_default();
            let above = scope == of || scope.starts_with(&format!("{of}/"));
            above || (!filter.contains("atscope()") && of.starts_with(&format!("{scope}/")))
        };
        let all = self.tree.of_kind(kind, fits).into_iter().map(|(_, body)| body);
        all.filter(|body| {
            let of = body["properties"]["principalId"].as_str().unwrap_or_default();
            principal.is_none_or(|principal| principal.eq_ignore_ascii_case(of))
        })
        .collect()
    }

    fn compute_usages(&self, subscription: &str) -> Vec<Value> {
        let families = self.facts.lock().families();
        let cores = machines::cores(self, subscription);
        let mut names = vec![("cores".to_owned(), cores.values().sum())];
        names.extend(families.into_iter().map(|family| {
            let used = cores.get(&family).copied().unwrap_or_default();
            (family, used)
        }));
        let mut all: Vec<Value> = Vec::new();
        for (name, used) in names {
            let (more, limit) = self.facts.lock().quota(subscription, &name);
            let current: i64 = more + used;
            all.push(json!({"currentValue": current, "limit": limit, "unit": "Count",
                "name": {"value": name, "localizedValue": name}}));
        }
        for name in ["virtualMachines", "PremiumDiskCount"] {
            let (used, limit) = self.facts.lock().quota(subscription, name);
            all.push(json!({"currentValue": used, "limit": limit, "unit": "Count",
                "name": {"value": name, "localizedValue": name}}));
        }
        all
    }

    fn action(&self, asked: &ArmRequest<'_>, id: &Id, word: &str) -> Result<ArmResponse, ArmResponse> {
        let body = self.found(id)?;
        let power = match word {
            "start" | "restart" | "redeploy" => Some("running"),
            "poweroff" => Some("stopped"),
            "deallocate" => Some("deallocated"),
            _ => None,
        };
        Ok(match (id.kind.as_str(), word) {
            (MACHINE, "instanceview") => ArmResponse::ok(body["properties"]["instanceView"].clone()),
            (MACHINE, "retrievebootdiagnosticsdata") => consoles::addresses(self, asked, id, &body),
            (MACHINE, _) if power.is_some() => {
                access::locked(&self.tree, &Method::POST, id)?;
                machines::power(self, id, body, power.unwrap_or_default());
                let number =
                    self.operations.lock().begin(self.clock.now(), OperationOutcome::Done(Value::Null), None);
                let link = self.status_url(asked, id, number);
                self.with_retry_after(
                    ArmResponse::empty(StatusCode::ACCEPTED).header("azure-asyncoperation", &link),
                )
            }
            (NIC, "effectiveroutetable") => {
                let end = OperationOutcome::Done(json!({"value": effective_routes::of(&self.tree, &body)}));
                let number = self.operations.lock().begin(self.clock.now(), end, None);
                let link = self.results_url(asked, id, number);
                self.with_retry_after(ArmResponse::empty(StatusCode::ACCEPTED).header("location", &link))
            }
            (_, "listkeys") => ArmResponse::ok(self.account_keys(id.name())),
            (_, "listaccountsas") => ArmResponse::ok(self.account_sas(id.name(), &asked.body()?)),
            (_, "listservicesas") if body["properties"]["allowSharedKeyAccess"] == json!(false) => {
                let message = "Key based authentication is not permitted on this storage account.";
                return Err(failure(StatusCode::FORBIDDEN, "KeyBasedAuthenticationNotPermitted", message));
            }
            (_, "listservicesas") => ArmResponse::ok(self.service_sas(&asked.body()?)),
            (_, "generatecredentials") => {
                let asked = asked.body()?;
                let token =
                    asked["tokenId"].as_str().and_then(|id| id.rsplit('/').next()).unwrap_or_default();
                let name = asked["name"].as_str().unwrap_or("password1");
                let now = self.clock.now();
                let value = guid(&["password".to_owned(), token.to_owned(), self.number().to_string()]);
                let password = json!({"name": name, "value": value, "creationTime": now,
                    "expiry": now + Duration::from_hours(180 * 24)});
                if let Some(token) = asked["tokenId"].as_str() {
                    self.remember_password(token, name, &password);
                }
                ArmResponse::ok(json!({"username": token, "passwords": [password]}))
            }
            (_, "sign") | (_, "accept") => {
                let mut body = body;
                body["properties"]["accepted"] = json!(true);
                self.write(id, body.clone())?;
                ArmResponse::ok(body)
            }
            _ => return Err(not_allowed()),
        })
    }

    /// A registry's token shows which passwords it has, without their values.
    fn remember_password(&self, token: &str, name: &str, password: &Value) {
        self.tree.change(&token.to_ascii_lowercase(), |body| {
            let mut shown = password.clone();
            if let Some(members) = shown.as_object_mut() {
                members.remove("value");
            }
            let all = &mut body["properties"]["credentials"]["passwords"];
            let mut kept = all.as_array().cloned().unwrap_or_default();
            kept.retain(|old| old["name"] != name);
            kept.push(shown);
            *all = json!(kept);
        });
    }

    fn check_access(&self, body: &Value) -> ArmResponse {
        let who = Caller {
            client_id: String::new(),
            object_id: body["Subject"]["Attributes"]["ObjectId"]
                .as_str()
                .unwrap_or_default()
                .to_ascii_lowercase(),
        };
        let scope = body["Resource"]["Id"].as_str().unwrap_or_default();
        let mut access = self.access.lock();
        let actions = body["Actions"].as_array().into_iter().flatten();
        let decisions = actions.map(|action| {
            let id = action["Id"].as_str().unwrap_or_default();
            let decision = if access.allows(&who, id, scope) { "Allowed" } else { "NotAllowed" };
            json!({"actionId": id, "isDataAction": false, "accessDecision": decision})
        });
        ArmResponse::ok(json!({"value": decisions.collect::<Vec<_>>()}))
    }

    pub(super) fn page(&self, asked: &ArmRequest<'_>, all: &[Value]) -> ArmResponse {
        let number = |name: &str| asked.parameter(name).and_then(|text| text.parse().ok());
        let (skip, top) =
            (number("$skiptoken").unwrap_or(0_usize), number("$top").unwrap_or(PAGE).clamp(1, PAGE));
        let items: Vec<&Value> = all.iter().skip(skip).take(top).collect();
        let mut page = json!({ "value": items });
        if all.len() > skip + top {
            let pairs: HashMap<String, String> =
                url::form_urlencoded::parse(asked.query.as_bytes()).into_owned().collect();
            let kept = pairs.iter().filter(|(name, _)| !["$skiptoken", "$top"].contains(&name.as_str()));
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            kept.for_each(|(name, value)| {
                query.append_pair(name, value);
            });
            let next =
                format!("{}{}?{}&$top={top}&$skiptoken={}", self.url, asked.path, query.finish(), skip + top);
            page["nextLink"] = json!(next);
        }
        ArmResponse::ok(page)
    }
}
