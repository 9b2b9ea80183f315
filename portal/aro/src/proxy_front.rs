//! The proxy of a process and its listeners, web and SSH: what `aro serve`, `aro portal` and `aro proxy serve` start and
//! end alike.

use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use proxy::ApiProxy;
use proxy::prom::Prom;
use proxy::tunnel_endpoint::{Destinations, TunnelApi};
use rp_access::Access;
use rp_base::chain;
use rp_core::{Services, listener_limits, process};
use rp_net::listen::{Gauge, Listener, Stop};
use rp_recording::Recordings;
use rp_runtime::{Lifecycle, LogControl, Watch};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::front::Front;
use crate::ssh::{self, MachineAccess, Ssh};
use crate::{control, metrics, proxy_parts, recording};

/// The service's name in statsd; a proxy without pages has it too, because the listener is the portal's.
const STATSD: &str = "portal";

/// The parts of the proxy, which serve nothing yet.
pub(crate) struct ProxyFront {
    pub(crate) access: Arc<Access>,
    pub(crate) recordings: Recordings,
    pub(crate) api: Arc<ApiProxy>,
    pub(crate) destinations: Arc<Destinations>,
    pub(crate) machines: MachineAccess,
    /// `None`: no SSH is configured.
    pub(crate) ssh: Option<Ssh>,
    tunnels: Arc<TunnelApi>,
    gauge: Arc<Gauge>,
    watch: Watch,
}

/// What answers beside the proxy, at the same listener.
pub(crate) struct Pages {
    pub(crate) router: Router,
    /// The portal's host name, lower case; `None`: balancers alone ask, for health.
    pub(crate) host: Option<String>,
}

impl ProxyFront {
    /// Starts the admin listener, makes the parts of the proxy, and opens the SSH listener.
    ///
    /// # Errors
    /// A part cannot be started; the message names it.
    pub(crate) async fn prepare(
        services: &Services,
        life: &Lifecycle,
        log: Option<LogControl>,
    ) -> anyhow::Result<Self> {
        let gauge = Arc::new(Gauge::default());
        metrics::register(&services.registry, &gauge);
        let watch = Watch::new(services.settings.followed(&["tls", "keys"]));
        process::start_admin(services, life, log).await?;
        services.statsd.beat(STATSD, life);
        let access = services.access().await?;
        let recordings = recording::recordings(services, life).await?;
        let api = proxy_parts::api_proxy(services, &access, recordings.clone(), life).await?;
        let destinations = proxy_parts::destinations(services).await?;
        let tunnels = proxy_parts::tunnel_api(services, &access, &destinations, life);
        let machines = ssh::machine_access(services);
        let ssh = Ssh::open(services, &machines).await?;
        Ok(Self { access, recordings, api, destinations, machines, ssh, tunnels, gauge, watch })
    }

    /// Opens the web listener and the control socket, and serves until `life` ends.
    ///
    /// # Errors
    /// A listener cannot be started; the message names it.
    pub(crate) async fn serve(
        self,
        services: &Services,
        prom: Prom,
        pages: Pages,
        life: &Lifecycle,
    ) -> anyhow::Result<RunningProxy> {
        let settings = &*services.settings;
        let tls = proxy_parts::server_tls(settings)?;
        if let Some(tls) = &tls {
            tls.show_end(&services.registry, "portal");
        }
        let address = settings.listen.portal;
        let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        process::follow_files(services, life, self.watch, tls.clone(), Some(Arc::clone(&self.access)))?;
        control::start(services, &self.access, life);
        let limits = listener_limits::web(settings, "web", &services.registry);
        let front = Front {
            api: self.api,
            metrics: proxy_parts::metrics_api(services, &self.access, prom),
            tunnels: Arc::clone(&self.tunnels),
            pages: pages.router,
            proxy_hosts: settings.proxy.hosts.clone(),
            portal_host: pages.host,
            origins: Arc::clone(&limits.origins),
            leaving: life.leaving(),
        };
        let listener = Listener { tcp, tls, handler: Arc::new(front), limits, gauge: self.gauge };
        let stop = Stop { stop: life.stopping(), cut: life.cutting() };
        let ssh = match self.ssh {
            Some(ssh) => ssh.serve(services, &self.access, &self.recordings, life)?,
            None => None,
        };
        let front = tokio::spawn(listener.serve(stop));
        Ok(RunningProxy { front, ssh, tunnels: self.tunnels, recordings: self.recordings })
    }
}

/// The proxy at its listeners.
#[derive(Debug)]
pub(crate) struct RunningProxy {
    front: JoinHandle<()>,
    /// `None`: no SSH is served here.
    ssh: Option<JoinHandle<()>>,
    tunnels: Arc<TunnelApi>,
    recordings: Recordings,
}

impl RunningProxy {
    /// Waits until every request, tunnel and shell has ended or was cut, and recordings stand.
    pub(crate) async fn finished(self) {
        if let Err(error) = self.front.await {
            tracing::error!(error = %chain(&error), "the listener failed");
        }
        self.tunnels.finished().await;
        ssh::finished(self.ssh).await;
        self.recordings.close(recording::CLOSE_WITHIN).await;
    }
}
