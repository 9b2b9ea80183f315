//! What somebody may do: the authorization service's own answer (`contract/cluster.md` §7.2), and the
//! directory.

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use url::Url;

use crate::arm::{HttpRequest, JSON};
use crate::client::Client;
use crate::cloud::Audience;
use crate::error::{AzureError, ErrorKind};
use crate::transport::CallName;

const API_VERSION: &str = "2021-06-01-preview";
const CHECK: CallName = CallName { client: "checkaccess", operation: "post", shown: "check access" };
const FIND: CallName = CallName { client: "graph", operation: "get", shown: "find service principal" };

/// Whose rights are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Object id of a user, group or service principal.
    pub object_id: String,
    /// Object ids of the groups that its token tells; empty: the service looks them up.
    pub groups: Vec<String>,
}

impl Subject {
    /// By object id alone.
    pub fn new(object_id: &str) -> Self {
        Self { object_id: object_id.to_owned(), groups: Vec::new() }
    }

    /// As a token tells it ([`Client::claims`]); `None`: it names nobody.
    pub fn in_token(claims: &Value) -> Option<Self> {
        let object_id = claims["oid"].as_str().filter(|id| !id.is_empty())?.to_owned();
        let groups = claims["groups"].as_array().into_iter().flatten();
        Some(Self {
            object_id,
            groups: groups.filter_map(|group| group.as_str().map(str::to_owned)).collect(),
        })
    }
}

/// The answer to one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub action: String,
    pub allowed: bool,
}

/// Asks what somebody may do.
#[async_trait]
pub trait AccessChecks: Send + Sync {
    /// Asks for every action on a resource, by the service of that region. One decision per action, in their order;
    /// what the service does not answer is not allowed.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn check_access(
        &self,
        location: &str,
        subject: &Subject,
        resource: &str,
        actions: &[&str],
    ) -> Result<Vec<Decision>, AzureError>;
}

/// Reads the directory (Microsoft Graph).
#[async_trait]
pub trait Directory: Send + Sync {
    /// The object id of the service principal of an application; `None`: there is none in the tenant.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn service_principal(&self, client_id: &str) -> Result<Option<String>, AzureError>;
}

#[async_trait]
impl AccessChecks for Client {
    async fn check_access(
        &self,
        location: &str,
        subject: &Subject,
        resource: &str,
        actions: &[&str],
    ) -> Result<Vec<Decision>, AzureError> {
        let url = self.decision_point(location)?;
        let mut attributes = json!({"ObjectId": subject.object_id});
        if !subject.groups.is_empty() {
            attributes["Groups"] = json!(subject.groups);
        }
        let asked: Vec<Value> = actions.iter().map(|id| json!({"Id": id, "IsDataAction": false})).collect();
        let body =
            json!({"Subject": {"Attributes": attributes}, "Actions": asked, "Resource": {"Id": resource}});
        let body = Some((JSON, Bytes::from(body.to_string())));
        let answer = self.call(CHECK, Audience::Authorization, Method::POST, url, body).await?;
        let told = answer["value"].as_array().or_else(|| answer.as_array());
        let allowed = |action: &str| {
            told.into_iter().flatten().any(|told| {
                let id = told["actionId"].as_str().unwrap_or_default();
                id.eq_ignore_ascii_case(action) && told["accessDecision"] == "Allowed"
            })
        };
        Ok(actions.iter().map(|id| Decision { action: (*id).to_owned(), allowed: allowed(id) }).collect())
    }
}

#[async_trait]
impl Directory for Client {
    async fn service_principal(&self, client_id: &str) -> Result<Option<String>, AzureError> {
        let not = |why: &str| AzureError::new(FIND.shown, ErrorKind::Request, why);
        if !client_id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return Err(not("the application id is no UUID"));
        }
        let graph = &self.arm.endpoints().graph;
        let mut url = graph.join("/v1.0/servicePrincipals").map_err(|_| not("the address is none"))?;
        url.query_pairs_mut()
            .append_pair("$filter", &format!("appId eq '{client_id}'"))
            .append_pair("$select", "id,appId");
        let answer = self.call(FIND, Audience::Graph, Method::GET, url, None).await?;
        Ok(answer["value"][0]["id"].as_str().map(str::to_owned))
    }
}

impl Client {
    fn decision_point(&self, location: &str) -> Result<Url, AzureError> {
        let not = || AzureError::new(CHECK.shown, ErrorKind::Request, "the location is none");
        if location.is_empty() || !location.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(not());
        }
        let ends = self.arm.endpoints();
        let path = format!("/providers/Microsoft.Authorization/checkAccess?api-version={API_VERSION}");
        match ends.authorization {
            Some(host) => format!("https://{location}.{host}{path}").parse().map_err(|_| not()),
            None => ends.resource_manager.join(&path).map_err(|_| not()),
        }
    }

    /// One request to another part than the resource manager, with all its tries; the answer as JSON.
    pub(crate) async fn call(
        &self,
        name: CallName,
        audience: Audience,
        method: Method,
        url: Url,
        body: Option<(http::HeaderValue, Bytes)>,
    ) -> Result<Value, AzureError> {
        let http_request =
            HttpRequest { name, scope: Some(self.scope(audience)), method, url, headers: Vec::new(), body };
        let answer =
            self.arm.retrier().repeat(self.repeat, name.shown, || self.arm.exchange(&http_request)).await?;
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body)
            .map_err(|_| AzureError::new(name.shown, ErrorKind::Malformed, ""))
    }
}
