//! The parts of the proxy over the process's services: what tools reach clusters by.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use proxy::ApiProxy;
use proxy::api::{ApiProxyParts, Timeouts};
use proxy::prom::{MetricsApi, MetricsApiParts, Prom, PromParts};
use proxy::tunnel_endpoint::{Destinations, TunnelApi, TunnelApiParts};
use rp_access::Access;
use rp_config::Settings;
use rp_core::Services;
use rp_documents::ResourceId;
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use rp_prometheus::{Options, Prometheus, UpstreamAddress};
use rp_recording::Recordings;
use rp_runtime::Lifecycle;

/// The Kubernetes API of clusters.
pub(crate) async fn api_proxy(
    services: &Services,
    access: &Arc<Access>,
    recordings: Recordings,
    life: &Lifecycle,
) -> anyhow::Result<Arc<ApiProxy>> {
    Ok(ApiProxy::new(ApiProxyParts {
        access: Arc::clone(access),
        directory: services.directory().await? as _,
        dialer: services.dialer.clone(),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        registry: services.registry.clone(),
        timeouts: Timeouts::default(),
        recordings,
        helm_secrets: services.settings.access.helm_secrets,
        cut: life.cutting(),
    }))
}

/// The destinations of tunnels.
pub(crate) async fn destinations(services: &Services) -> anyhow::Result<Arc<Destinations>> {
    let directory = services.directory().await?;
    Ok(Destinations::new(Arc::clone(&services.store), directory as _, services.dialer.clone()))
}

/// The endpoint of `aro tunnel`.
pub(crate) fn tunnel_api(
    services: &Services,
    access: &Arc<Access>,
    destinations: &Arc<Destinations>,
    life: &Lifecycle,
) -> Arc<TunnelApi> {
    TunnelApi::new(TunnelApiParts {
        access: Arc::clone(access),
        places: Arc::clone(destinations),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        registry: services.registry.clone(),
        keepalive: proxy::tunnel_endpoint::Keepalive::default(),
        stopping: life.stopping(),
        cut: life.cutting(),
    })
}

/// Prometheus' API for tools.
pub(crate) fn metrics_api(services: &Services, access: &Arc<Access>, prom: Prom) -> Arc<MetricsApi> {
    MetricsApi::new(MetricsApiParts {
        access: Arc::clone(access),
        prom,
        random: Arc::clone(&services.random),
        registry: services.registry.clone(),
    })
}

/// Questions to the Prometheus of clusters.
///
/// # Errors
/// A way cannot be used, or the clusters cannot be read.
pub(crate) async fn prom(services: &Services) -> anyhow::Result<Prom> {
    let told = &services.settings.prometheus;
    let prometheus = Prometheus::new(Options {
        dialer: services.dialer.clone(),
        clock: Arc::clone(&services.clock),
        registry: services.registry.clone(),
        budget: services.budget(),
        ways: told.ways.iter().map(|text| upstream_address(text)).collect::<anyhow::Result<_>>()?,
        per_cluster: told.per_cluster,
        names: told.names_bytes,
        dial: Duration::from_secs(10),
        doubt: Duration::from_secs(3),
    });
    Ok(Prom::new(PromParts {
        prometheus,
        directory: services.directory().await?,
        audit: services.audit.clone(),
        clock: Arc::clone(&services.clock),
        settings: told.clone(),
    }))
}

/// `NAME=WAY` of an imported cluster.
fn upstream_address(text: &str) -> anyhow::Result<(ResourceId, UpstreamAddress)> {
    let wrong = || anyhow!("prometheus.ways: {text:?} is not NAME=WAY");
    let (name, way) = text.split_once('=').ok_or_else(wrong)?;
    let id = ResourceId::imported(&name.to_ascii_lowercase()).map_err(|_| wrong())?;
    Ok((id, way.parse().with_context(|| format!("prometheus.ways: {text:?}"))?))
}

/// The listener's TLS; `None` without a certificate, which only a process behind another TLS has.
///
/// # Errors
/// Certificate or key cannot be used.
pub(crate) fn server_tls(settings: &Settings) -> anyhow::Result<Option<Arc<ServerTls>>> {
    let Some(tls) = &settings.tls else { return Ok(None) };
    let files = ServerFiles { certificate: tls.cert_file.clone(), key: tls.key_file.path().to_owned() };
    let loaded = ServerTls::load(files, &[b"h2", b"http/1.1"], ClientAuth::None).context("[tls]")?;
    Ok(Some(loaded))
}
