//! `aro serve`: portal and API proxy in one process.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use portal::auth::{AssertionAudience, ClientAuth, OidcConfig};
use portal::{Link, PortalParts, PortalState, SessionTimes, Urls};
use proxy::api::{ApiProxyParts, Timeouts};
use proxy::ApiProxy;
use rp_access::Access;
use rp_base::chain;
use rp_config::{OidcCredential, Settings};
use rp_core::Foundation;
use rp_net::listen::{Gauge, Limits, Listener, Stop};
use rp_net::tls::ServerTls;
use rp_runtime::{Admin, Lifecycle, LogControl, Readiness};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::front::Front;
use crate::parts;

/// A process that serves.
#[derive(Debug)]
pub struct Serving {
    pub portal: PortalState,
    pub access: Arc<Access>,
    foundation: Foundation,
    front: JoinHandle<()>,
}

/// What the development server tells beside the settings.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras {
    /// Everything here is a simulation: said on every page.
    pub simulated: bool,
}

/// Opens the listener and serves until `life` ends.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    settings: &Settings,
    foundation: Foundation,
    life: &Lifecycle,
    log: Option<LogControl>,
    extras: Extras,
) -> anyhow::Result<Serving> {
    start_admin(settings, &foundation, life, log).await?;
    let access = parts::access(&foundation, settings).await?;
    let api = ApiProxy::new(ApiProxyParts {
        access: Arc::clone(&access),
        directory: parts::directory(&foundation).await?,
        dialer: parts::dialer(settings)?,
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        registry: foundation.registry.clone(),
        timeouts: Timeouts::default(),
        cut: life.cutting(),
    });
    let portal = portal_state(settings, &foundation, &access, extras).await?;
    let tls = parts::server_tls(settings)?;
    let address = settings.listen.portal;
    let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    reload_on_hangup(life, tls.clone(), &foundation, &access)?;
    let front = Front {
        api,
        pages: portal::app(portal.clone()),
        proxy_hosts: settings.proxy.hosts.clone(),
        portal_host: settings.portal.url.as_ref().and_then(url::Url::host_str).map(str::to_ascii_lowercase),
    };
    let listener =
        Listener { tcp, tls, handler: Arc::new(front), limits: limits(settings), gauge: Arc::new(Gauge::default()) };
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };
    tracing::info!(listen = %address, "serving");
    Ok(Serving { portal, access, foundation, front: tokio::spawn(listener.serve(stop)) })
}

impl Serving {
    /// Waits for the end: every request finished or cut, every audit entry written.
    pub async fn finished(self) {
        if let Err(error) = self.front.await {
            tracing::error!(error = %chain(&error), "the listener failed");
        }
        self.foundation.close().await;
        tracing::info!("stopped");
    }
}

/// Metrics, health, log filter and profiles, for this machine only.
async fn start_admin(
    settings: &Settings,
    foundation: &Foundation,
    life: &Lifecycle,
    log: Option<LogControl>,
) -> anyhow::Result<()> {
    let readiness = Readiness::new(life.stopping());
    let store = Arc::clone(&foundation.store);
    readiness.add("store", move || {
        let store = Arc::clone(&store);
        async move { store.ready().await.map_err(|error| error.to_string()) }
    });
    let audit = foundation.audit.clone();
    readiness.add("audit", move || {
        let ready = audit.ready().map_err(|error| error.to_string());
        async move { ready }
    });
    rp_runtime::register_runtime_metrics(&foundation.registry);
    rp_runtime::count_panics(&foundation.registry);
    rp_metrics::process::register(&foundation.registry);
    let admin = Admin { registry: foundation.registry.clone(), readiness, log };
    admin.serve(settings.listen.admin, life.cutting()).await?;
    Ok(())
}

async fn portal_state(
    settings: &Settings,
    foundation: &Foundation,
    access: &Arc<Access>,
    extras: Extras,
) -> anyhow::Result<PortalState> {
    let missing = |key: &str| anyhow!("{key} is not set");
    let urls = Urls {
        portal: settings.portal.url.clone().ok_or_else(|| missing("portal.url"))?,
        proxy: settings.proxy.url.clone().ok_or_else(|| missing("proxy.url"))?,
        ca_pem: parts::issuing_ca(settings)?,
    };
    let regions = settings.azure.locations.iter().filter_map(|name| region_link(&urls.portal, settings, name));
    let parts = PortalParts {
        store: Arc::clone(&foundation.store),
        audit: foundation.audit.clone(),
        access: Arc::clone(access),
        keyring: foundation.keyring.clone(),
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        oidc: oidc(settings)?,
        regions: regions.collect(),
        urls,
        region: settings.azure.region.clone().unwrap_or_else(|| "local".to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        simulated: extras.simulated,
        sessions: SessionTimes::default(),
        networks: parts::networks(settings),
        network_names: parts::network_names(settings),
        metrics: foundation.registry.clone(),
        exchange: None,
    };
    PortalState::new(parts).await.context("the portal cannot start")
}

/// The portal of another region: this one's address with the region's name in its place.
fn region_link(portal: &url::Url, settings: &Settings, name: &str) -> Option<Link> {
    let (host, here) = (portal.host_str()?, settings.azure.region.as_deref()?);
    let host = host.strip_prefix(here).map(|rest| format!("{name}{rest}"))?;
    let mut url = portal.clone();
    url.set_host(Some(&host)).ok()?;
    Some(Link { text: name.to_owned(), url: url.to_string() })
}

fn oidc(settings: &Settings) -> anyhow::Result<OidcConfig> {
    let oidc = settings.oidc.as_ref().ok_or_else(|| anyhow!("oidc.issuer is not set"))?;
    let auth = match &oidc.credential {
        OidcCredential::Secret(file) => ClientAuth::Secret(file.read()?),
        OidcCredential::Key { key_file, cert_file } => {
            let certificate = cert_file.as_ref().ok_or_else(|| anyhow!("oidc.client_cert_file is not set"))?;
            ClientAuth::PrivateKey {
                key_pem: key_file.read()?,
                certificate_pem: parts::read(certificate)?,
                audience: AssertionAudience::TokenEndpoint,
            }
        }
    };
    let ca_pem = oidc.ca_file.as_deref().map(parts::read).transpose()?;
    // Providers compare the issuer as text: no slash at its end unless a path has one.
    let issuer = oidc.issuer.as_str().trim_end_matches('/');
    Ok(OidcConfig {
        scopes: oidc.scopes.iter().filter(|scope| *scope != "openid").cloned().collect(),
        groups_claim: oidc.groups_claim.clone(),
        ca_pem,
        ..OidcConfig::new(issuer, &oidc.client_id, auth)
    })
}

fn limits(settings: &Settings) -> Limits {
    let limits = &settings.limits;
    Limits {
        connections: limits.connections,
        streams: limits.streams,
        handshake: limits.handshake,
        head: limits.head,
        head_bytes: limits.head_bytes,
        ping: Duration::from_secs(30),
    }
}

/// SIGHUP reads certificates and keyring again; what cannot be read leaves the old in use.
fn reload_on_hangup(
    life: &Lifecycle,
    tls: Option<Arc<ServerTls>>,
    foundation: &Foundation,
    access: &Arc<Access>,
) -> anyhow::Result<()> {
    let (keyring, access) = (foundation.keyring.clone(), Arc::clone(access));
    rp_runtime::on_hangup(life, move || {
        let reloaded = tls.as_ref().map_or(Ok(()), |tls| tls.reload());
        match reloaded {
            Ok(()) => tracing::info!("certificate read again"),
            Err(error) => tracing::error!(error = %chain(&error), "the old certificate stays in use"),
        }
        match keyring.reload() {
            Ok(changed) => {
                access.reload_keys();
                tracing::info!(changed, "keyring read again");
            }
            Err(error) => tracing::error!(error = %chain(&error), "the old keyring stays in use"),
        }
    })
    .context("cannot follow SIGHUP")
}
