//! The proxy behind its real listener, with a store and an audit trail that fail on request.

#[path = "../shared/person.rs"]
mod person;
#[path = "../shared/waits.rs"]
mod waits;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use http::{Request, Response};
use hyper::body::Incoming;
use parking_lot::Mutex;
use proxy::api::{ApiProxyParts, Timeouts};
use proxy::{ApiProxy, Body};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use rp_access::{Access, AccessParts, IssueRequest, IssuedGrant, Policy};
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Secret, SystemClock, SystemRandom};
use rp_database::{SharedStore, in_memory};
use rp_documents::{Entry, GrantKind, ResourceId, Rights};
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use rp_net::{
    Credential, Dialer, DialerOptions, Directory, DirectoryError, Endpoint, Networks, PerMinute, PrivateWay,
    Source, Target,
};
use rp_seal::Keyring;
use tokio_util::sync::CancellationToken;

use crate::faults::{Faulty, faulty};

pub(crate) use person::caller;
pub(crate) use waits::{SOON, soon, until};

pub(crate) const RES: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.RedHatOpenShift/openShiftClusters/harbor";
/// The reason that every grant here has.
pub(crate) const REASON: &str = "look at the ingress";

/// An authority for every certificate of a test.
pub(crate) struct Ca {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = named("test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self { pem: params.self_signed(&key).unwrap().pem(), issuer: Issuer::new(params, key) }
    }

    /// Chain and key of a leaf in PEM.
    pub(crate) fn leaf(&self, name: &str, hosts: &[&str]) -> (String, String) {
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name = named(name);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// A directory of what the test put in.
#[derive(Debug, Default)]
pub(crate) struct FixedDirectory(Mutex<HashMap<ResourceId, Arc<Target>>>);

impl FixedDirectory {
    pub(crate) fn put(&self, target: Target) {
        self.0.lock().insert(target.id.clone(), Arc::new(target.fingerprinted()));
    }
}

#[async_trait]
impl Directory for FixedDirectory {
    async fn find(&self, id: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        self.0.lock().get(id).cloned().ok_or(DirectoryError::Unknown)
    }
}

struct Front(Arc<ApiProxy>);

impl Handler for Front {
    type Body = Body;

    async fn handle(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        self.0.handle(request, peer).await
    }
}

/// What a test may choose.
pub(crate) struct Setup {
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: Limits,
    /// Of one person.
    pub(crate) max_streams: usize,
    /// Entries that wait to be written.
    pub(crate) audit_queue: usize,
    /// Of one person, at once.
    pub(crate) max_requests: usize,
    /// Of one grant; 0: no limit.
    pub(crate) streams_per_minute: u32,
    /// Whether write rights open releases of Helm.
    pub(crate) helm_secrets: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let timeouts = Timeouts { connect: SOON, head: SOON, idle: SOON };
        Self {
            timeouts,
            limits: Limits::default(),
            max_streams: 10_000,
            audit_queue: 4096,
            max_requests: 10_000,
            streams_per_minute: 0,
            helm_secrets: false,
        }
    }
}

pub(crate) struct World {
    pub(crate) ca: Ca,
    pub(crate) address: SocketAddr,
    pub(crate) directory: Arc<FixedDirectory>,
    pub(crate) access: Arc<Access>,
    pub(crate) audit: Audit,
    pub(crate) audit_store: Arc<Faulty>,
    pub(crate) store: Arc<Faulty>,
    stop: Stop,
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.stop.cancel();
        self.stop.cut.cancel();
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let clock = Arc::new(SystemClock);
        let store = faulty(in_memory(clock.clone()));
        let audit_store = faulty(in_memory(clock.clone()));
        let shared: SharedStore = audit_store.clone();
        let mut options = AuditOptions::new(CheckpointKey::generate().unwrap());
        options.queue = setup.audit_queue;
        let audit = Audit::start(shared, clock.clone(), options).await.unwrap();
        let access = Access::start(AccessParts {
            store: store.clone(),
            audit: audit.clone(),
            keyring: Keyring::generate(&SystemRandom),
            clock: clock.clone(),
            random: Arc::new(SystemRandom),
            policy: Policy {
                access: rp_config::Access {
                    max_streams: setup.max_streams,
                    max_requests: setup.max_requests,
                    ..rp_config::Access::default()
                },
                rates: PerMinute { streams: setup.streams_per_minute, ..PerMinute::default() },
                ..person::policy()
            },
            registry: rp_metrics::Registry::new(),
        })
        .await
        .unwrap();
        let directory = Arc::new(FixedDirectory::default());
        let allow = ["127.0.0.0/8", "::1/128"].map(|network| network.parse().unwrap());
        let networks = Networks::new(allow.into(), Vec::new());
        let proxy = ApiProxy::new(ApiProxyParts {
            access: access.clone(),
            directory: directory.clone(),
            dialer: Dialer::new(DialerOptions { private: PrivateWay::Direct, networks, keepalive: SOON }),
            clock,
            random: Arc::new(SystemRandom),
            registry: rp_metrics::Registry::new(),
            timeouts: setup.timeouts,
            recordings: rp_recording::Recordings::off(),
            helm_secrets: setup.helm_secrets,
            cut: CancellationToken::new(),
        });
        let (ca, stop) = (Ca::new(), Stop::default());
        let tcp = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = tcp.local_addr().unwrap();
        let listener = Listener {
            tcp,
            tls: Some(server_tls(&ca)),
            handler: Arc::new(Front(proxy)),
            limits: setup.limits,
            gauge: Arc::new(Gauge::default()),
        };
        tokio::spawn(listener.serve(stop.clone()));
        Self { ca, address, directory, access, audit, audit_store, store, stop }
    }

    /// Puts a cluster of ours at that port under the test's resource id.
    pub(crate) fn cluster(&self, port: u16) {
        self.directory.put(self.target(port));
    }

    pub(crate) fn target(&self, port: u16) -> Target {
        let credential = |name| {
            let (chain_pem, key) = self.ca.leaf(name, &[]);
            Credential::Certificate { chain_pem, key_pem: Secret::new(key) }
        };
        Target {
            id: id(),
            source: Source::Aro,
            endpoint: Endpoint::Direct { url: format!("https://127.0.0.1:{port}").parse().unwrap() },
            server_name: "127.0.0.1".to_owned(),
            ca_pem: self.ca.pem.clone(),
            read: credential("system:aro-sre"),
            admin: credential("system:aro-service"),
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 0,
        }
    }

    pub(crate) async fn issue(&self, kind: GrantKind, rights: Rights) -> IssuedGrant {
        let ask = IssueRequest::new(kind, Some(id()), rights, REASON.to_owned());
        if rights > Rights::Read {
            self.elevate(rights).await;
        }
        self.access.issue(&caller(&["power"]), ask).await.unwrap()
    }

    /// An elevation of the test's person; the policy here asks nobody else.
    pub(crate) async fn elevate(&self, rights: Rights) -> rp_documents::Elevation {
        let there = self.access.active_elevations("sub-ada");
        if let Some(there) = there.into_iter().find(|each| each.rights >= rights) {
            return rp_documents::Elevation::clone(&there);
        }
        let ask = rp_access::ElevationRequest {
            reason: REASON.to_owned(),
            ticket: None,
            target: None,
            rights,
            life: None,
            break_glass: false,
        };
        self.access.request_elevation(&caller(&["power"]), ask).await.unwrap()
    }

    pub(crate) async fn token(&self, rights: Rights) -> String {
        self.issue(GrantKind::Kubeconfig, rights).await.token.expose().clone()
    }

    /// Ends every grant of the test's person.
    pub(crate) async fn revoke(&self, issued: &IssuedGrant) {
        self.access.revoke(&caller(&["power"]), &issued.grant.id, None).await.unwrap();
    }

    /// Waits until the audit trail holds an entry that a look accepts.
    pub(crate) async fn audited(&self, what: &str, look: impl Fn(&Entry) -> bool) -> Entry {
        waits::audited(&self.audit, what, look).await
    }
}

pub(crate) fn id() -> ResourceId {
    ResourceId::parse(RES).unwrap()
}

pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn server_tls(ca: &Ca) -> Arc<ServerTls> {
    let (chain, key) = ca.leaf("proxy", &["127.0.0.1"]);
    let folder = tempfile::tempdir().unwrap();
    let files =
        ServerFiles { certificate: folder.path().join("tls.crt"), key: folder.path().join("tls.key") };
    std::fs::write(&files.certificate, chain).unwrap();
    std::fs::write(&files.key, key).unwrap();
    ServerTls::load(files, &[b"h2", b"http/1.1"], ClientAuth::None).unwrap()
}
