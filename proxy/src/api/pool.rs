//! Connections to clusters.
//!
//! Several HTTP/2 connections per cluster, each filled up to the peer's own stream limit: the stock client
//! opens one and silently queues what is over the limit (`contract/parts.md` §2). A peer that speaks only
//! HTTP/1.1 gets a stack of idle connections. Pools are dropped when address or credentials change.

mod h1;
mod h2_connection;
mod send;
mod upstream_body;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::uri::Authority;
use parking_lot::{Mutex, RwLock};
use rp_documents::{ResourceId, Side};
use rp_net::{Credential, DialError, Dialer, Port, PrivateWay, Stage, Stream, Target, tls};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

pub(super) use send::{BROKEN_BODY, OutBody, Outgoing};
pub(super) use upstream_body::UpstreamBody;

use super::error::ProxyError;
use super::impersonation::ImpersonationMode;
use super::reach::PoolDial;
use super::redirect;
use h1::IdleConnection;
use h2_connection::H2Connection;

/// Connections of one kind to one cluster at most: 64,000 streams at a limit of 250.
const MOST_CONNECTIONS: usize = 256;
/// Idle HTTP/1.1 connections kept.
const MOST_IDLE: usize = 32;
/// A pool that was unused for this long is dropped.
const FORGET_AFTER: Duration = Duration::from_secs(600);

/// Which of a cluster's credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Class {
    Read,
    Admin,
}

/// All pools of the process.
#[derive(Debug)]
pub(super) struct Pools {
    dialer: Dialer,
    connect: Duration,
    pools: RwLock<HashMap<(ResourceId, Class), Arc<Upstream>>>,
}

/// The connections to one cluster with one credential.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) target: Arc<Target>,
    pub(super) class: Class,
    dialer: Dialer,
    connect: Duration,
    tls: Arc<ClientConfig>,
    tls_h1: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    pub(super) authority: Authority,
    /// The stored token's header, when the credential is one.
    pub(super) authorization: Option<HeaderValue>,
    h2: RwLock<Vec<Arc<H2Connection>>>,
    h1: Mutex<Vec<IdleConnection>>,
    /// One dial at a time decides whether another connection is needed.
    dialling: tokio::sync::Mutex<()>,
    used: Mutex<Instant>,
    dialled: Mutex<Option<PoolDial>>,
    /// One request at a time asks how the cluster sees people.
    pub(super) asking: tokio::sync::Mutex<()>,
    /// How the cluster sees people, asked once.
    pub(super) seen: tokio::sync::OnceCell<ImpersonationMode>,
}

impl Upstream {
    /// What a `Location` of an answer is compared with; `path`: the path that was asked of the cluster.
    pub(super) fn redirect_context<'a>(&'a self, path: &'a str) -> redirect::RedirectContext<'a> {
        redirect::RedirectContext {
            cluster: &self.target.id,
            authority: self.authority.as_str(),
            base: self.target.base_path(),
            path,
        }
    }
}

impl Pools {
    pub(super) fn new(dialer: Dialer, connect: Duration) -> Arc<Self> {
        Arc::new(Self { dialer, connect, pools: RwLock::default() })
    }

    /// The pool of a target; a new one when its address or credentials changed.
    pub(super) fn for_target(&self, target: &Arc<Target>, class: Class) -> Result<Arc<Upstream>, ProxyError> {
        let key = (target.id.clone(), class);
        let found = self.pools.read().get(&key).cloned();
        if let Some(upstream) = found.filter(|upstream| upstream.target.fingerprint == target.fingerprint) {
            return Ok(upstream);
        }
        let upstream = Upstream::new(target, class, &self.dialer, self.connect).map_err(ProxyError::Dial)?;
        let upstream = Arc::new(upstream);
        self.pools.write().insert(key, Arc::clone(&upstream));
        Ok(upstream)
    }

    /// The last dial to a cluster, with either credential.
    pub(super) fn last_dial(&self, id: &ResourceId) -> Option<PoolDial> {
        let pools = self.pools.read();
        let both =
            [Class::Read, Class::Admin].into_iter().filter_map(|class| pools.get(&(id.clone(), class)));
        both.filter_map(|upstream| upstream.dialled.lock().clone()).max_by_key(|noted| noted.at)
    }

    /// How private addresses are reached.
    pub(super) fn private_way(&self) -> &PrivateWay {
        self.dialer.private_way()
    }

    /// Closes unused pools and connections. Call it periodically.
    pub(super) fn sweep(&self) {
        self.pools.write().retain(|_, upstream| {
            upstream.sweep();
            upstream.used.lock().elapsed() < FORGET_AFTER || upstream.connections() > 0
        });
    }
}

impl Upstream {
    fn new(
        target: &Arc<Target>,
        class: Class,
        dialer: &Dialer,
        connect: Duration,
    ) -> Result<Self, DialError> {
        let unusable = |error: tls::TlsError| DialError::new(Side::Us, Stage::Tls, error);
        let credential = match class {
            Class::Read => &target.read,
            Class::Admin => &target.admin,
        };
        let config =
            |alpn: &[&[u8]]| tls::client_config(&target.ca_pem, Some(credential), alpn).map_err(unusable);
        let server_name = ServerName::try_from(target.server_name.clone())
            .map_err(|error| DialError::new(Side::Us, Stage::Tls, error))?;
        let authority =
            authority_of(target).map_err(|error| DialError::new(Side::Us, Stage::Resolve, error))?;
        let authorization = match credential {
            Credential::Token(token) => {
                let mut value =
                    HeaderValue::from_str(&format!("Bearer {}", token.expose())).map_err(|_| {
                        DialError::new(Side::Us, Stage::Tls, "the stored token is no header value")
                    })?;
                value.set_sensitive(true);
                Some(value)
            }
            Credential::Certificate { .. } => None,
        };
        Ok(Self {
            target: Arc::clone(target),
            class,
            dialer: dialer.clone(),
            connect,
            tls: Arc::new(config(&[b"h2", b"http/1.1"])?),
            tls_h1: Arc::new(config(&[b"http/1.1"])?),
            server_name,
            authority,
            authorization,
            h2: RwLock::default(),
            h1: Mutex::default(),
            dialling: tokio::sync::Mutex::default(),
            used: Mutex::new(Instant::now()),
            dialled: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
            seen: tokio::sync::OnceCell::new(),
        })
    }

    /// Waits for the lock with a timeout, so that waits behind an unreachable cluster do not add up.
    pub(super) async fn turn<'a>(
        &self,
        lock: &'a tokio::sync::Mutex<()>,
    ) -> Result<tokio::sync::MutexGuard<'a, ()>, ProxyError> {
        tokio::time::timeout(self.connect, lock.lock()).await.map_err(|_| {
            let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
            ProxyError::Dial(DialError::new(Side::Cluster, Stage::Connect, late))
        })
    }

    pub(super) const fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    pub(super) fn tls(&self) -> (Arc<ClientConfig>, ServerName<'static>) {
        (Arc::clone(&self.tls_h1), self.server_name.clone())
    }

    /// Dials a new connection with TLS; the outcome is kept for the network page.
    async fn dial(&self, config: &Arc<ClientConfig>) -> Result<TlsStream<Stream>, ProxyError> {
        let began = Instant::now();
        let dialled = self.try_dial(config).await;
        let error = dialled.as_ref().err().map(|error| error.words().1).unwrap_or_default();
        *self.dialled.lock() = Some(PoolDial { at: Instant::now(), took: began.elapsed(), error });
        dialled
    }

    async fn try_dial(&self, config: &Arc<ClientConfig>) -> Result<TlsStream<Stream>, ProxyError> {
        let deadline = Instant::now() + self.connect;
        let stream =
            self.dialer.dial(&self.target, Port::Api, self.connect).await.map_err(ProxyError::Dial)?;
        let handshake = tls::connect(Arc::clone(config), self.server_name.clone(), stream);
        tokio::time::timeout_at(deadline, handshake)
            .await
            .map_err(|_| {
                let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
                ProxyError::Dial(DialError::new(Side::Cluster, Stage::Tls, late))
            })?
            .map_err(ProxyError::Dial)
    }

    /// A connection of its own that speaks HTTP/1.1, for an upgrade.
    pub(super) async fn dial_h1(&self) -> Result<TlsStream<Stream>, ProxyError> {
        self.dial(&self.tls_h1).await
    }

    fn connections(&self) -> usize {
        self.h2.read().len() + self.h1.lock().len()
    }

    fn sweep(&self) {
        self.h2.write().retain(|connection| !connection.finished());
        self.h1.lock().retain(IdleConnection::fresh);
    }
}

fn authority_of(target: &Target) -> Result<Authority, http::uri::InvalidUri> {
    match &target.endpoint {
        // `contract/portal.md` §11.3.
        rp_net::Endpoint::Private { .. } => Ok(Authority::from_static("kubernetes:6443")),
        rp_net::Endpoint::Direct { url } => {
            let port = url.port_or_known_default().unwrap_or(443);
            format!("{}:{port}", url.host_str().unwrap_or_default()).parse()
        }
    }
}
