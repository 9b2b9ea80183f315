//! The API server of one simulated cluster: authentication, authorisation, routing.

mod attach;
mod auth;
mod discovery;
mod exec;
mod list;
mod log;
mod openapi;
mod patch;
mod path;
mod port_forward;
mod remote_streams;
mod review;
mod selector;
pub(super) mod shell;
mod spdy;
mod status;
mod table;
mod watch;
mod write;

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use rp_base::SharedClock;
use rp_simulator::body::{self, Body};
use rp_simulator::fleet::{Cluster, ClusterShape, Fleet};
use rp_simulator::objects::{self, Kind, View};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(super) use auth::Identity;
use path::{QueryParameters, RequestPath};
use status::Failure;

use super::files::FileTrees;
use super::ingress::Routers;

/// What all API servers share.
#[derive(Debug)]
pub(super) struct Api {
    pub fleet: Arc<Fleet>,
    pub clock: SharedClock,
    pub tick: Duration,
    pub routers: Arc<Routers>,
    pub files: Arc<FileTrees>,
    pub stop: CancellationToken,
}

/// One request, taken apart.
struct Call<'a> {
    api: &'a Api,
    view: View<'a>,
    identity: &'a Identity,
    query: QueryParameters,
    headers: HeaderMap,
}

impl Api {
    /// A cluster as it is now.
    pub(super) fn now(&self, cluster: &Arc<Cluster>) -> Arc<Cluster> {
        self.fleet.changed(cluster, self.clock.now()).map_or_else(|| Arc::clone(cluster), Arc::new)
    }

    /// The same, when its API server answers.
    pub(super) async fn wait_until_reachable(&self, cluster: &Arc<Cluster>) -> Arc<Cluster> {
        loop {
            let now = self.now(cluster);
            if now.shape != ClusterShape::Silent || self.stop.is_cancelled() {
                return now;
            }
            tokio::select! {
                () = tokio::time::sleep(self.tick) => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    /// Answers one request to one cluster.
    pub(super) async fn handle(
        &self,
        cluster: &Cluster,
        identity: &Identity,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let mut response = match self.route(cluster, identity, request).await {
            Ok(response) => response,
            Err(failure) => failure.answer(),
        };
        let headers = response.headers_mut();
        headers.insert("x-aro-simulated", HeaderValue::from_static("true"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
        if let Ok(id) = HeaderValue::from_str(&cluster.name) {
            headers.insert(HeaderName::from_static("x-aro-simulated-cluster"), id);
        }
        response
    }

    async fn route(
        &self,
        cluster: &Cluster,
        identity: &Identity,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Failure> {
        let identity = auth::impersonate(identity, request.headers())?;
        let query = QueryParameters::parse(request.uri().query().unwrap_or_default())?;
        let place = RequestPath::parse(request.uri().path())?;
        let call = Call {
            api: self,
            view: View { cluster, now: self.clock.now() },
            identity: &identity,
            query,
            headers: request.headers().clone(),
        };
        match place {
            RequestPath::Other(path) => call.other(request.method(), &path),
            RequestPath::Resource(resource) => call.resource(request, &resource).await,
        }
    }
}

impl Call<'_> {
    /// Paths that are no resources; everybody may read them.
    fn other(&self, method: &Method, path: &str) -> Result<Response<Body>, Failure> {
        if method != Method::GET && method != Method::HEAD {
            return Err(Failure::read_only());
        }
        match path {
            "/version" => Ok(json_answer(StatusCode::OK, &self.version())),
            "/healthz" | "/livez" | "/readyz" | "/healthz/ping" | "/livez/ping" | "/readyz/ping" => {
                let all = "[+]ping ok\n[+]simulated ok\ncheck passed\n";
                Ok(text_answer(if self.query.flag("verbose") { all } else { "ok" }))
            }
            "/" => Ok(json_answer(StatusCode::OK, &json!({"paths": discovery::paths()}))),
            path if path.starts_with("/openapi/") => {
                openapi::answer(path, &self.headers).unwrap_or_else(|| Err(Failure::no_path()))
            }
            path => discovery::answer(path, &self.headers).ok_or_else(Failure::no_path),
        }
    }

    fn version(&self) -> Value {
        let version = self.view.cluster.kubernetes;
        let mut numbers = version.trim_start_matches('v').split('.');
        json!({
            "major": numbers.next(), "minor": numbers.next(), "gitVersion": format!("{version}+simulated"),
            "gitCommit": "0000000000000000000000000000000000000000", "gitTreeState": "clean",
            "buildDate": "2026-01-01T00:00:00Z", "goVersion": "simulated", "compiler": "simulated",
            "platform": "linux/amd64",
        })
    }

    async fn resource(
        &self,
        request: Request<Incoming>,
        at: &path::Resource,
    ) -> Result<Response<Body>, Failure> {
        let verb = at.verb(request.method(), &self.query);
        self.identity.authorize(verb, at)?;
        if let Some(done) = review::answer(self, request.method(), at) {
            return done.review(self, request.into_body()).await;
        }
        let kind = objects::find(&at.group, &at.version, &at.plural).ok_or_else(Failure::no_path)?;
        if at.namespace.is_some() && !kind.namespaced {
            return Err(Failure::no_path());
        }
        let whole = matches!(at.subresource.as_deref(), None | Some("status"));
        if whole && !discovery::verbs(kind).contains(&verb) {
            return Err(Failure::read_only());
        }
        let is_pod = kind.group.is_empty() && kind.plural == "pods";
        match (at.subresource.as_deref(), verb) {
            (Some("log"), "get") if is_pod => log::answer(self, at),
            (Some("exec"), _) if is_pod => exec::answer(self, request, at),
            (Some("attach"), _) if is_pod => attach::answer(self, request, at),
            (Some("portforward"), _) if is_pod => port_forward::answer(self, request, at),
            (None, "watch") => watch::answer(self, kind, at),
            (None, "list") => list::answer(self, kind, at),
            (None | Some("status" | "scale"), "get") => self.get(kind, at),
            (None | Some("status"), _) => write::answer(self, request, verb, kind, at).await,
            // It is a deletion, for no simulated cluster has budgets of disruption.
            (Some("eviction"), "create") if is_pod => write::answer(self, request, verb, kind, at).await,
            (Some("scale" | "binding" | "eviction"), _) => Err(Failure::read_only()),
            (Some(_), _) => Err(Failure::not_simulated()),
        }
    }

    fn get(&self, kind: &'static Kind, at: &path::Resource) -> Result<Response<Body>, Failure> {
        let name = at.name.as_deref().unwrap_or_default();
        let object = self.find(kind, at.namespace.as_deref(), name)?;
        if at.subresource.as_deref() == Some("scale") {
            return Err(Failure::not_simulated());
        }
        let answer = match table::wanted(&self.headers) {
            Some(version) => table::from_objects(kind, &[object], &self.view, version, &json!({})),
            None => object,
        };
        Ok(json_answer(StatusCode::OK, &answer))
    }

    /// The object of that name, or 404.
    fn find(&self, kind: &'static Kind, namespace: Option<&str>, name: &str) -> Result<Value, Failure> {
        if kind.plural == "users" && name == "~" {
            return Ok(objects::me(&self.view, &self.identity.user, &self.identity.groups));
        }
        objects::all(kind, &self.view)
            .into_iter()
            .find(|object| {
                object["metadata"]["name"] == name
                    && (!kind.namespaced || object["metadata"]["namespace"].as_str() == namespace)
            })
            .ok_or_else(|| Failure::not_found(kind, name))
    }
}

/// A JSON answer.
fn json_answer(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(body::full(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn text_answer(text: &'static str) -> Response<Body> {
    let mut response = Response::new(body::full(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
