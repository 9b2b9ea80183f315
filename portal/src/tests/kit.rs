//! A whole portal in memory: store, audit trail, access, a provider of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use http::{HeaderMap, Request, StatusCode, header};
use portal_model::live_limits::LiveLimits;
use portal_model::parts::{ClusterAccess, PortalParts};
use portal_model::state::PortalState;
use portal_session::config::{ClientAuth, OidcConfig};
use portal_session::site::{Site, Urls};
use portal_session::state::SignInParts;
use proxy::prom::{Prom, PromParts};
use rp_access::{Access, AccessParts, IssueRequest, Policy};
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Clock as _, Id, ManualClock, SharedClock, SystemRandom, Timestamp};
use rp_database::{Draft, SharedStore, in_memory};
use rp_documents::{Collection, GrantKind, Person, ResourceId, Rights, Role};
use rp_metrics::Registry;
use rp_net::{Budget, Dialer, DialerOptions, Directory, DirectoryError, Networks, PrivateWay, Target};
use rp_observe::{ObserveLimits, Observer, ObserverParts};
use rp_prometheus::{Options, Prometheus};
use rp_seal::Keyring;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::provider::FakeProvider;
use crate::app;

pub(super) const PORTAL: &str = "https://portal.example:8443";
pub(super) const RES: &str = "/subscriptions/0000aaaa-0000-0000-0000-00000000000f/resourcegroups/my.rg/providers/microsoft.redhatopenshift/openshiftclusters/harbor-01";
const ID: &str = "/subscriptions/0000aaaa-0000-0000-0000-00000000000F/resourceGroups/My.RG/providers/Microsoft.RedHatOpenShift/openShiftClusters/Harbor-01";
const DEADLINE: Duration = Duration::from_secs(30);

pub(super) struct Kit {
    pub(super) state: PortalState,
    pub(super) app: Router,
    pub(super) clock: ManualClock,
    pub(super) store: SharedStore,
    pub(super) provider: Arc<FakeProvider>,
}

#[derive(Debug)]
pub(super) struct TestResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
    /// Bytes of the body.
    pub(super) size: usize,
    /// The same as it was known before anything was sent; `None`: it was not.
    pub(super) exact: Option<u64>,
}

impl TestResponse {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// `name=value` of a cookie that is set.
    pub(super) fn cookie(&self, name: &str) -> Option<String> {
        let all = self.headers.get_all(header::SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut named = all.filter(|text| text.starts_with(&format!("{name}=")));
        named.next_back().and_then(|text| text.split(';').next()).map(str::to_owned)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The group that gives a role is called like it, with `g-` before.
pub(super) fn person(role: Option<Role>) -> Person {
    let name = role.map_or("nobody", Role::name);
    let groups = role.map(|role| format!("g-{}", role.name())).into_iter().collect();
    Person { sub: format!("sub-{name}"), name: format!("{name}@example.com"), groups }
}

pub(super) fn get(path: &str) -> http::request::Builder {
    Request::get(path).header("accept", "text/html").header("sec-fetch-mode", "navigate")
}

pub(super) fn script(method: &str, path: &str) -> http::request::Builder {
    Request::builder().method(method).uri(path).header("accept", "application/json")
}

/// No cluster can be reached.
fn prom(audit: &Audit, clock: &SharedClock) -> Prom {
    let time = Duration::from_secs(5);
    let options = DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::default(),
        keepalive: Duration::from_secs(30),
    };
    Prom::new(PromParts {
        prometheus: Prometheus::new(Options {
            dialer: Dialer::new(options),
            clock: Arc::clone(clock),
            registry: Registry::new(),
            budget: Budget::unlimited(),
            ways: std::collections::BTreeMap::new(),
            per_cluster: 2,
            names: 1 << 20,
            dial: Duration::from_secs(1),
            doubt: Duration::from_secs(1),
        }),
        directory: Arc::new(EmptyDirectory),
        audit: audit.clone(),
        clock: Arc::clone(clock),
        settings: rp_config::Prometheus {
            page_time: time,
            tool_time: time,
            fleet_time: time,
            series: 100,
            drawn: 100,
            answer_bytes: 1 << 20,
            parallel: 2,
            ..rp_config::Prometheus::default()
        },
    })
}

/// No cluster can be reached.
fn api(access: &Arc<Access>, clock: &SharedClock) -> Arc<proxy::ApiProxy> {
    let options = DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::default(),
        keepalive: Duration::from_secs(30),
    };
    proxy::ApiProxy::new(proxy::ApiProxyParts {
        access: Arc::clone(access),
        directory: Arc::new(EmptyDirectory),
        dialer: Dialer::new(options),
        clock: Arc::clone(clock),
        random: Arc::new(SystemRandom),
        registry: Registry::new(),
        timeouts: proxy::api::Timeouts::default(),
        recordings: rp_recording::Recordings::off(),
        helm_secrets: false,
        cut: CancellationToken::new(),
    })
}

/// No terminal opens.
fn terminals(access: &Arc<Access>, clock: &SharedClock) -> proxy::terminal::Terminals {
    proxy::terminal::Terminals::new(proxy::terminal::TerminalParts {
        access: Arc::clone(access),
        api: api(access, clock),
        shells: None,
        recordings: rp_recording::Recordings::off(),
        clock: Arc::clone(clock),
        random: Arc::new(SystemRandom),
        registry: Registry::new(),
        settings: rp_config::Terminal::default(),
        cut: CancellationToken::new(),
    })
}

/// Nobody outside is told.
fn notifications(store: &SharedStore, clock: &SharedClock) -> rp_notify::Notifications {
    let random: rp_base::SharedRandom = Arc::new(SystemRandom);
    rp_notify::Notifications::new((store, clock, &random), Vec::new(), Duration::from_secs(3600))
}

/// No tunnel leads anywhere.
fn places(store: &SharedStore) -> Arc<proxy::tunnel_endpoint::Destinations> {
    let options = DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::default(),
        keepalive: Duration::from_secs(30),
    };
    proxy::tunnel_endpoint::Destinations::new(
        Arc::clone(store),
        Arc::new(EmptyDirectory),
        Dialer::new(options),
    )
}

/// Nothing can be watched.
fn observer(clock: &SharedClock) -> Observer {
    let options = DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::default(),
        keepalive: Duration::from_secs(30),
    };
    Observer::new(ObserverParts {
        dialer: Dialer::new(options),
        directory: Arc::new(EmptyDirectory),
        clock: Arc::clone(clock),
        random: Arc::new(SystemRandom),
        registry: Registry::new(),
        budget: Budget::unlimited(),
        limits: ObserveLimits::default(),
    })
}

#[derive(Debug)]
struct EmptyDirectory;

#[async_trait::async_trait]
impl Directory for EmptyDirectory {
    async fn find(&self, _: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        Err(DirectoryError::Unknown)
    }
}

fn sign_in(provider: &Arc<FakeProvider>, sessions: rp_config::Session) -> SignInParts {
    let secret = ClientAuth::Secret("s3cret".to_owned().into());
    SignInParts {
        oidc: OidcConfig::new(super::provider::ISSUER, "client", secret),
        sessions,
        exchange: Some(Arc::clone(provider) as _),
    }
}

impl Kit {
    pub(super) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// With other settings.
    pub(super) async fn with(change: impl FnOnce(&mut PortalParts)) -> Self {
        let clock = ManualClock::at(Timestamp::parse("2026-11-21T12:00:00Z").unwrap());
        let shared: SharedClock = Arc::new(clock.clone());
        let store = in_memory(Arc::clone(&shared));
        cluster(&store).await;
        let trail = in_memory(Arc::clone(&shared));
        let options = AuditOptions::new(CheckpointKey::generate().unwrap());
        let audit = Audit::start(trail, Arc::clone(&shared), options).await.unwrap();
        let keyring = Keyring::generate(&SystemRandom);
        let group = |role: Role| vec![format!("g-{}", role.name())];
        let roles = rp_config::Roles {
            viewer: group(Role::Viewer),
            sre: group(Role::Sre),
            elevated: group(Role::Elevated),
            approver: group(Role::Approver),
            auditor: group(Role::Auditor),
            admin: group(Role::Admin),
        };
        let clients = [("app-1".to_owned(), "deployer".to_owned())].into();
        let access = Access::start(AccessParts {
            store: Arc::clone(&store),
            audit: audit.clone(),
            keyring: keyring.clone(),
            clock: Arc::clone(&shared),
            random: Arc::new(SystemRandom),
            policy: Policy {
                roles,
                robots: rp_config::Robots { clients, ..rp_config::Robots::default() },
                ..Policy::default()
            },
            registry: Registry::new(),
        })
        .await
        .unwrap();
        let provider = Arc::new(FakeProvider::new(clock.clone()));
        let prom = prom(&audit, &shared);
        let networks = Networks::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new());
        let mut parts = PortalParts {
            clusters: ClusterAccess {
                prom,
                api: api(&access, &shared),
                terminals: terminals(&access, &shared),
                places: places(&store),
                budget: Budget::unlimited(),
                observer: observer(&shared),
                recordings: rp_recording::Recordings::off(),
                ssh: None,
                networks,
                network_names: Vec::new(),
            },
            notifications: notifications(&store, &shared),
            live: LiveLimits::default(),
            stopping: CancellationToken::new(),
            store: Arc::clone(&store),
            audit,
            access,
            keyring,
            clock: shared,
            random: Arc::new(SystemRandom),
            sign_in: sign_in(&provider, rp_config::Session::default()),
            site: Site {
                urls: Urls {
                    portal: PORTAL.parse().unwrap(),
                    proxy: "https://proxy.example:8444".parse().unwrap(),
                    ca_pem: Some("-----BEGIN CERTIFICATE-----\n".to_owned()),
                },
                region: "westeurope".to_owned(),
                version: "abc".to_owned(),
                simulated: true,
                regions: Vec::new(),
                run_books: portal_session::run_books::RunBooks::default(),
            },
            metrics: Registry::new(),
            vm_states: None,
        };
        change(&mut parts);
        let state = PortalState::new(parts).await.unwrap();
        Self { app: app(state.clone()), state, clock, store, provider }
    }

    /// Another process on the same store.
    pub(super) async fn replica(&self) -> Self {
        let state = PortalState::new(PortalParts {
            clusters: ClusterAccess {
                prom: prom(&self.state.session.audit, &self.state.session.clock),
                api: api(&self.state.session.access, &self.state.session.clock),
                terminals: terminals(&self.state.session.access, &self.state.session.clock),
                places: places(&self.state.session.store),
                budget: Budget::unlimited(),
                observer: observer(&self.state.session.clock),
                recordings: self.state.model.clusters.recordings.clone(),
                ssh: None,
                networks: Networks::new(Vec::new(), Vec::new()),
                network_names: Vec::new(),
            },
            notifications: self.state.model.notifications.clone(),
            live: LiveLimits::default(),
            stopping: CancellationToken::new(),
            store: Arc::clone(&self.state.session.store),
            audit: self.state.session.audit.clone(),
            access: Arc::clone(&self.state.session.access),
            keyring: self.state.session.keyring.clone(),
            clock: Arc::clone(&self.state.session.clock),
            random: Arc::clone(&self.state.session.random),
            sign_in: sign_in(&self.provider, self.state.session.sign_in.rules.clone()),
            site: Site {
                regions: Vec::new(),
                run_books: portal_session::run_books::RunBooks::default(),
                ..self.state.session.site.clone()
            },
            metrics: Registry::new(),
            vm_states: None,
        })
        .await
        .unwrap();
        Self {
            app: app(state.clone()),
            state,
            clock: self.clock.clone(),
            store: Arc::clone(&self.store),
            provider: Arc::clone(&self.provider),
        }
    }

    pub(super) async fn send(&self, mut request: Request<Body>) -> TestResponse {
        let peer: SocketAddr = "192.0.2.7:4711".parse().unwrap();
        request.extensions_mut().insert(ConnectInfo(peer));
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let exact = http_body::Body::size_hint(&body).exact();
        let body = to_bytes(body, 16 << 20).await.unwrap();
        let (size, body) = (body.len(), String::from_utf8_lossy(&body).into_owned());
        TestResponse { status: parts.status, headers: parts.headers, body, size, exact }
    }

    /// A session's cookie.
    pub(super) async fn cookie(&self, role: Option<Role>) -> String {
        self.state.mint_session(person(role)).await.unwrap()
    }

    /// The CSRF token of a session.
    pub(super) async fn csrf(&self, cookie: &str) -> String {
        let answer =
            self.send(script("GET", "/api/info").header("cookie", cookie).body(Body::empty()).unwrap()).await;
        answer.json()["csrf"].as_str().unwrap_or_default().to_owned()
    }

    /// A page, with the session of a role.
    pub(super) async fn page(&self, role: Role, path: &str) -> TestResponse {
        let cookie = self.cookie(Some(role)).await;
        self.send(get(path).header("cookie", cookie).body(Body::empty()).unwrap()).await
    }

    /// An unsafe call as a script with a cookie makes it.
    pub(super) async fn unsafe_call(&self, role: Role, method: &str, path: &str, body: &str) -> TestResponse {
        let cookie = self.cookie(Some(role)).await;
        let csrf = self.csrf(&cookie).await;
        let request = script(method, path)
            .header("cookie", &cookie)
            .header("origin", PORTAL)
            .header("x-csrf-token", csrf)
            .header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    /// A robot of that name; the settings say that the client `app-1` is `deployer`.
    pub(super) async fn robot(&self, name: &str) {
        let person = person(Some(Role::Admin));
        let access = &self.state.session.access;
        let caller = rp_access::Caller {
            roles: access.policy().roles_of(&person.groups),
            person,
            from: "192.0.2.7".to_owned(),
            request_id: Id::random(&SystemRandom),
            via: rp_access::Via::default(),
        };
        let ask = rp_access::RobotRequest {
            name: name.to_owned(),
            clusters: rp_documents::robot::Scope::All,
            kinds: vec![GrantKind::Kubeconfig],
            rights: Rights::Read,
            reason: "for this very test".to_owned(),
            life: None,
            max_grants: None,
        };
        access.create_robot(&caller, ask).await.unwrap();
    }

    /// A token of that kind.
    pub(super) async fn token(&self, role: Role, kind: GrantKind) -> String {
        let person = person(Some(role));
        let access = &self.state.session.access;
        let caller = rp_access::Caller {
            roles: access.policy().roles_of(&person.groups),
            person,
            from: "192.0.2.7".to_owned(),
            request_id: Id::random(&SystemRandom),
            via: rp_access::Via::Session,
        };
        let ask = IssueRequest::new(
            kind,
            (kind == GrantKind::Kubeconfig).then(|| ResourceId::parse(ID).unwrap()),
            Rights::Read,
            "for this very test".to_owned(),
        );
        access.issue(&caller, ask).await.unwrap().token.expose().clone()
    }

    /// Somebody of that role who is elevated for every cluster.
    pub(super) async fn elevated(&self, role: Role, rights: &str) -> String {
        let body = format!(
            r#"{{"reason": "elevated for this test", "rights": "{rights}", "break_glass": true, "life": 3600}}"#
        );
        let answer = self.unsafe_call(role, "POST", "/api/v1/elevations", &body).await;
        assert_eq!(answer.json()["state"], "active", "{answer:?}");
        answer.json()["id"].as_str().unwrap_or_default().to_owned()
    }

    /// A form as a browser posts it.
    pub(super) async fn form(&self, role: Role, path: &str, fields: &[(&str, &str)]) -> TestResponse {
        let cookie = self.cookie(Some(role)).await;
        let csrf = self.csrf(&cookie).await;
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair(web::CSRF_FIELD, &csrf).extend_pairs(fields);
        let request = Request::post(path)
            .header("accept", "text/html")
            .header("sec-fetch-mode", "navigate")
            .header("cookie", &cookie)
            .header("origin", PORTAL)
            .header("content-type", "application/x-www-form-urlencoded");
        self.send(request.body(Body::from(form.finish())).unwrap()).await
    }

    /// The newest entry of that verb, once there is one.
    pub(super) async fn audited(&self, verb: &str) -> rp_documents::Entry {
        let asked = rp_audit::Query { verb: Some(verb.to_owned()), ..rp_audit::Query::default() };
        let started = tokio::time::Instant::now();
        loop {
            let found = self.state.session.audit.search(&asked).await.unwrap();
            if let Some(entry) = found.entries.iter().find(|entry| entry.verb == verb) {
                return entry.clone();
            }
            assert!(started.elapsed() < DEADLINE, "no entry {verb}");
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn now(&self) -> i64 {
        self.clock.now().seconds()
    }
}

/// Waits for a condition, with a generous limit.
pub(super) async fn until<F: AsyncFnMut() -> bool>(what: &str, mut condition: F) {
    let started = tokio::time::Instant::now();
    while !condition().await {
        assert!(started.elapsed() < DEADLINE, "never: {what}");
        tokio::task::yield_now().await;
    }
}

/// A failed cluster whose texts would hurt a careless page.
async fn cluster(store: &SharedStore) {
    let body = json!({
        "id": "11111111-0000-0000-0000-000000000001", "key": RES, "partitionKey": "0000aaaa-0000-0000-0000-00000000000f",
        "openShiftCluster": {
            "id": ID, "location": "westeurope",
            "systemData": {"lastModifiedAt": "2026-11-20T00:00:00Z", "lastModifiedBy": "<b>eve</b>"},
            "properties": {
                "provisioningState": "Failed", "failedProvisioningState": "Updating", "createdAt": "2026-01-02T03:04:05Z",
                "lastAdminUpdateError": "<script>alert(1)</script>\u{202e}", "infraId": "harbor-x7k2p",
                "clusterProfile": {"version": "4.18.3", "resourceGroupId": "/subscriptions/s/resourceGroups/aro-harbor"}, "consoleProfile": {"url": "https://console.harbor.example/"},
                "apiserverProfile": {"visibility": "Private", "url": "https://api.harbor.example:6443/"},
                "networkProfile": {"privateEndpointIp": "10.0.0.4"}
            }
        }
    });
    let draft = Draft {
        id: "11111111-0000-0000-0000-000000000001".to_owned(),
        partition: "0000aaaa-0000-0000-0000-00000000000f".to_owned(),
        unique_key: Some(RES.to_owned()),
        body: body.to_string(),
        expires_at: None,
    };
    store.create(Collection::OpenShiftClusters, draft).await.unwrap();
}
