//! A stand-in for Azure as a real listener: the resource manager with the token endpoint in front of it, and beside it
//! key vaults (`/vault/NAME`), blobs (`/blob/ACCOUNT`), consoles of machines (`/serial`), the directory (`/v1.0`), AppLens
//! (`/applens/api/invoke`) and the authorization service.
//!
//! A resource is an id with a body. The written ones ([`tree`]) overlay a [`Contents`] (the simulated clusters'
//! networks and machines). The behaviour of special types is in [`network`], [`machines`], [`kinds`]. Templates are
//! deployed ([`template`]), the time of operations is configurable ([`ArmStandIn::slow`]), responses can be scripted
//! ([`Fault`]), and every request is logged. Limits of the simulation: `docs/guides/azure-stand-in.md`.

mod access;
mod blobs;
mod change_journal;
mod clusters;
mod consoles;
mod control;
mod diagnoses;
mod effective_routes;
mod expression;
mod facts;
mod functions;
mod id;
mod kinds;
mod links;
mod lists;
mod local;
mod machines;
mod network;
mod operations;
mod response;
mod routes;
mod script;
mod template;
#[cfg(test)]
mod tests;
mod token;
mod tree;
mod vaults;
mod world;

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use parking_lot::Mutex;
use rp_base::{SharedClock, SharedRandom};
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::ServerTls;
use rp_simulator::body::{self, Body};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

pub use access::DenyRule;
pub use clusters::{Clusters, tenant_of};
pub use control::ArmControl;
pub use diagnoses::{DIAGNOSES, DIAGNOSIS_TENANT};
pub use facts::Size;
use id::ArmPath;
pub use id::ResourcePath;
pub use kinds::object_id_of;
pub use local::{EmptyContents, LocalArm};
use response::{ArmResponse, failure};
use routes::ArmRequest;
pub use script::{Fault, FaultResponse, LoggedRequest};
use token::{IssuedToken, Issuer};
use tree::Tree;
use world::{World, scripted_answer};

/// Largest body of a request, bytes.
const MOST_BODY: usize = 4 * 1024 * 1024;

/// The resources that exist before any PUT: read on every request, never stored.
pub trait Contents: fmt::Debug + Send + Sync + 'static {
    /// The body of a resource; the id in lower case.
    fn get(&self, id: &ResourcePath) -> Option<Value>;

    /// Resources of a type (`microsoft.compute/virtualmachines`, lower case) in a group, or in a whole subscription.
    fn list(&self, subscription: &str, group: Option<&str>, kind: &str) -> Vec<Value>;

    /// Whether the resource group exists.
    fn has_group(&self, subscription: &str, group: &str) -> bool;

    /// The tenant of a subscription; `None`: it is in another cloud.
    fn tenant(&self, subscription: &str) -> Option<String>;
}

/// An application that may have tokens.
#[derive(Debug, Clone)]
pub struct Application {
    pub client_id: String,
    /// `None`: only assertions are taken.
    pub secret: Option<String>,
}

/// Options of the stand-in.
#[derive(Debug)]
pub struct ArmOptions {
    /// A bound listener.
    pub listener: TcpListener,
    /// `None`: plain HTTP, for tests.
    pub tls: Option<Arc<ServerTls>>,
    /// Its address as clients spell it: scheme, host and port. Both resource manager and authority.
    pub url: Url,
    pub applications: Vec<Application>,
    pub contents: Arc<dyn Contents>,
    /// Keeps what is put, deleted and changed for the next start; `None`: it ends with the process. Blobs, vaults and
    /// operations end with it in any case.
    pub file: Option<PathBuf>,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub stop: Stop,
}

/// A running stand-in.
#[derive(Debug)]
pub struct ArmStandIn {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    world: World,
    issuer: Issuer,
    /// Applications for which deny assignments are meant.
    guarded: Mutex<BTreeSet<String>>,
    consoles: Mutex<consoles::ScriptedConsoles>,
    diagnoses: Mutex<diagnoses::ScriptedDiagnoses>,
    stop: Stop,
}

impl ArmStandIn {
    /// Starts to serve.
    ///
    /// # Errors
    /// The listener has no address, or the file cannot be used.
    pub fn start(options: ArmOptions) -> std::io::Result<Self> {
        let address = options.listener.local_addr()?;
        let url = options.url.as_str().trim_end_matches('/').to_owned();
        let (clock, random) = (options.clock, options.random);
        let issuer = Issuer::new(&url, options.applications, Arc::clone(&clock), Arc::clone(&random));
        let tree = Tree::open(options.contents, options.file.as_deref())?;
        let world = World::new(url, tree, options.file.is_some(), clock, random);
        let shared = Arc::new(Shared {
            world,
            issuer,
            guarded: Mutex::default(),
            consoles: Mutex::default(),
            diagnoses: Mutex::default(),
            stop: options.stop.clone(),
        });
        let listener = Listener {
            tcp: options.listener,
            tls: options.tls,
            handler: Arc::new(Routes(Arc::clone(&shared))),
            limits: Limits::with_connections(1024),
            gauge: Arc::new(Gauge::default()),
        };
        let task = tokio::spawn(listener.serve(options.stop));
        Ok(Self { shared, address, task })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle for controlling it; cheap to clone, valid while the stand-in runs.
    pub fn control(&self) -> ArmControl {
        ArmControl(Arc::clone(&self.shared))
    }

    /// Scripts a response; faults are tried in the order in which they were added.
    pub fn fail(&self, fault: Fault) {
        self.control().fail(fault);
    }

    /// Forgets every scripted answer and everything that is forbidden.
    pub fn heal(&self) {
        self.control().heal();
    }

    /// The latest requests, oldest first.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.control().requests()
    }

    /// Puts a resource, as a PUT would; its group is made when it is not there.
    pub fn put(&self, id: &str, body: Value) -> bool {
        self.control().put(id, body)
    }

    /// Ends when the listener has stopped and its last connection has ended.
    pub async fn stopped(self) {
        if let Err(error) = self.task.await {
            tracing::error!(error = %rp_base::chain(&error), "the stand-in for Azure ended");
        }
    }
}

struct Routes(Arc<Shared>);

impl Handler for Routes {
    type Body = Body;

    async fn handle(&self, request: Request<Incoming>, _peer: SocketAddr) -> Response<Body> {
        let shared = &self.0;
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let query = match path == DIAGNOSES {
            true => diagnoses::question(request.headers()).to_owned(),
            false => request.uri().query().unwrap_or_default().to_owned(),
        };
        let agent = request.headers().get("user-agent").and_then(|value| value.to_str().ok());
        let agent = agent.unwrap_or_default().chars().take(200).collect();
        let came = shared.world.clock.now();
        let mut logged = LoggedRequest { number: 0, came, method, path, query, status: 0, agent };
        let scripted = shared.world.script.lock().answer(&logged.method, &logged.path);
        let answer = match scripted {
            Some(FaultResponse::Hang) => {
                // Until the client has enough of it, or the process ends.
                shared.world.script.lock().record(logged.clone());
                shared.stop.cut.cancelled().await;
                ArmResponse::with_body(StatusCode::SERVICE_UNAVAILABLE, json!({}))
            }
            Some(FaultResponse::Lost) => {
                let done = shared.answer(request, &logged.path, &logged.query).await;
                ArmResponse::lost(done.status)
            }
            Some(fault) => scripted_answer(&fault).unwrap_or_else(routes::not_allowed),
            None => shared.answer(request, &logged.path, &logged.query).await,
        };
        logged.status = answer.status.as_u16();
        shared.world.script.lock().record(logged);
        answer.into_response(&shared.world.random.uuid().to_string())
    }
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>, path: &str, query: &str) -> ArmResponse {
        let (parts, content) = request.into_parts();
        if let Some(tenant) = token::discovered_in(path) {
            return self.issuer.discovery(&tenant);
        }
        if path == token::METADATA {
            return self.issuer.metadata(&parts.headers, query);
        }
        let most = if path.starts_with("/blob/") { blobs::MOST_BLOB } else { MOST_BODY };
        let Some(content) = body::read(content, most).await else {
            return failure(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", "");
        };
        if let Some(tenant) = token::tenant_in(path) {
            return self.issuer.token(&tenant, &content);
        }
        self.world.settle();
        let issued = self.issuer.check(&parts.headers);
        if path.starts_with("/blob/") {
            let token = issued.is_ok();
            return blobs::answer(&self.world, &parts.method, path, query, &parts.headers, token, content);
        }
        if path.starts_with(consoles::PLACE) {
            return consoles::answer(&self.world, &self.consoles.lock(), path, query, &parts.headers);
        }
        let issued = match issued {
            Ok(issued) => issued,
            Err(code) => return self.unauthorized(path, code),
        };
        if path == DIAGNOSES {
            let told = self.diagnoses.lock();
            return diagnoses::answer(&self.world, &told, &parts.method, &parts.headers, &issued);
        }
        if path.starts_with("/vault/") {
            let body = serde_json::from_slice(&content).unwrap_or(Value::Null);
            return vaults::answer(&self.world, &parts.method, path, &body);
        }
        if path.starts_with("/v1.0/servicePrincipals") {
            return self.principals(query);
        }
        self.managed(&parts.method, path, query, &parts.headers, &content, &issued)
    }

    fn unauthorized(&self, path: &str, code: &str) -> ArmResponse {
        let subscription =
            ArmPath::parse(path).map(|place| place.subscription().to_owned()).unwrap_or_default();
        if !subscription.is_empty() && self.world.tree.tenant(&subscription).is_none() {
            return unknown_subscription(&subscription);
        }
        failure(StatusCode::UNAUTHORIZED, code, "The access token is missing, unknown or expired.")
    }

    /// The resource manager itself.
    fn managed(
        &self,
        method: &Method,
        path: &str,
        query: &str,
        headers: &HeaderMap,
        content: &[u8],
        issued: &IssuedToken,
    ) -> ArmResponse {
        let Some(place) = ArmPath::parse(path) else {
            return failure(StatusCode::NOT_FOUND, "InvalidResourceType", "There is nothing at this path.");
        };
        if let Err(refused) = api_version(query).and_then(|()| self.check_tenant(issued, &place)) {
            return refused;
        }
        let invalid = |_| failure(StatusCode::BAD_REQUEST, "InvalidRequestContent", "");
        let body = match content.is_empty() && *method == Method::POST {
            true => Ok(Value::Null),
            false => serde_json::from_slice(content).map_err(invalid),
        };
        let guarded = self.guarded.lock().contains(&issued.who.client_id);
        self.world.answer(&ArmRequest { method, path, query, headers, body, issued, guarded }, place)
    }

    /// The token is of the tenant that the subscription belongs to.
    fn check_tenant(&self, issued: &IssuedToken, place: &ArmPath) -> Result<(), ArmResponse> {
        let subscription = place.subscription();
        if subscription.is_empty() {
            return Ok(());
        }
        let Some(tenant) = self.world.tree.tenant(subscription) else {
            return Err(unknown_subscription(subscription));
        };
        match &issued.tenant {
            Some(of) if *of != tenant => Err(failure(
                StatusCode::UNAUTHORIZED,
                "InvalidAuthenticationTokenTenant",
                "The access token is from the wrong issuer. It must match the tenant associated with this subscription.",
            )),
            _ => Ok(()),
        }
    }

    /// Service principals of the directory, by `$filter=appId eq '…'`.
    fn principals(&self, query: &str) -> ArmResponse {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let filter = pairs.filter(|(name, _)| name == "$filter").map(|(_, value)| value.into_owned()).last();
        let client = filter.as_deref().and_then(|filter| filter.split('\'').nth(1)).unwrap_or_default();
        let found = self.issuer.knows(client).then(|| json!({"id": object_id_of(client), "appId": client}));
        ArmResponse::ok(json!({"value": found.into_iter().collect::<Vec<_>>()}))
    }
}

/// The boot log of a machine.
fn unknown_subscription(subscription: &str) -> ArmResponse {
    let message = format!("The subscription '{subscription}' could not be found.");
    failure(StatusCode::NOT_FOUND, "SubscriptionNotFound", &message)
}

/// ARM wants a version with every request: a date, perhaps with a word behind it.
fn api_version(query: &str) -> Result<(), ArmResponse> {
    let versions: Vec<String> = url::form_urlencoded::parse(query.as_bytes())
        .filter(|(key, _)| key.eq_ignore_ascii_case("api-version"))
        .map(|(_, text)| text.into_owned())
        .collect();
    let good = |text: &str| {
        let (date, word) = text.split_at_checked(10).unwrap_or((text, ""));
        let digits = |at: usize, b: u8| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() };
        date.len() == 10
            && date.bytes().enumerate().all(|(at, b)| digits(at, b))
            && (word.is_empty() || word == "-preview")
    };
    match versions.as_slice() {
        [one] if good(one) => Ok(()),
        [] => Err(failure(
            StatusCode::BAD_REQUEST,
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all requests.",
        )),
        _ => {
            Err(failure(StatusCode::BAD_REQUEST, "InvalidApiVersionParameter", "The api-version is invalid."))
        }
    }
}

/// Every response has a header that marks it as simulated.
const SIMULATED: HeaderValue = HeaderValue::from_static("true");
