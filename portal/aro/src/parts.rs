//! Settings into the parts of the portal and the proxy.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use ipnet::IpNet;
use proxy::prom::{Prom, PromLimits, PromParts};
use rp_access::{Access, AccessParts, KubeconfigParts, Outage, Policy, StoreDirectory};
use rp_base::Secret;
use rp_config::{PrivateWay as PrivateLink, Settings};
use rp_core::Foundation;
use rp_documents::{ResourceId, Rights, Role};
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls, client_config};
use rp_net::{
    Budget, BudgetLimits, ConnectProxy, Credential, Dialer, DialerOptions, Networks, PerMinute, PrivateWay,
};
use rp_observe::{ObserveLimits, Observer, ObserverParts};
use rp_prometheus::{Limits, Options, Prometheus, Way};
use rp_runtime::Farewell;
use rustls::pki_types::ServerName;

/// The rules about people and lives.
pub fn policy(settings: &Settings) -> Policy {
    let roles = &settings.roles;
    let groups = [
        (Role::Viewer, &roles.viewer),
        (Role::Sre, &roles.sre),
        (Role::Elevated, &roles.elevated),
        (Role::Approver, &roles.approver),
        (Role::Auditor, &roles.auditor),
        (Role::Admin, &roles.admin),
    ];
    Policy {
        groups: groups.into_iter().map(|(role, groups)| (role, groups.clone())).collect(),
        default_life: settings.access.default_life,
        max_life: settings.access.max_life,
        max_power_life: settings.access.max_power_life.min(settings.access.max_life),
        max_total_life: settings.access.max_total_life,
        renew_life: settings.access.renew_life,
        password_life: settings.access.password_life,
        min_reason: settings.access.min_reason,
        fresh_sign_in: settings.access.fresh_sign_in,
        max_grants: settings.access.max_grants,
        max_streams: settings.access.max_streams,
        elevation_self_service: settings.elevation.self_service.clone(),
        self_service_rights: if settings.elevation.self_service_admin {
            Rights::Admin
        } else {
            Rights::Write
        },
        max_elevation: settings.elevation.max_life,
        break_glass: settings.elevation.break_glass,
        max_robot_life: settings.robots.max_life,
        robot_clients: settings.robots.clients.clone(),
        rates: PerMinute {
            sign_in: settings.limits.sign_in_per_minute,
            issue: settings.limits.issue_per_minute,
            misses: settings.limits.misses_per_minute,
            streams: settings.limits.streams_per_minute,
        },
        outage: match settings.store.outage {
            rp_config::Outage::Refuse => Outage::Refuse,
            rp_config::Outage::Spool => Outage::Spool,
        },
    }
}

/// Grants over the store.
///
/// # Errors
/// The store cannot be read.
pub async fn access(foundation: &Foundation, settings: &Settings) -> anyhow::Result<Arc<Access>> {
    let parts = AccessParts {
        store: Arc::clone(&foundation.store),
        audit: foundation.audit.clone(),
        keyring: foundation.keyring.clone(),
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        policy: policy(settings),
        registry: foundation.registry.clone(),
    };
    Access::start(parts).await.context("cannot read the grants")
}

/// Targets over the store.
///
/// # Errors
/// The store cannot be read.
pub async fn directory(foundation: &Foundation) -> anyhow::Result<Arc<StoreDirectory>> {
    StoreDirectory::start(Arc::clone(&foundation.store), foundation.keyring.clone(), read_kubeconfig)
        .await
        .context("cannot read the clusters")
}

/// Requests to each cluster: one for a process, given to everything that asks clusters.
pub fn budget(settings: &Settings, foundation: &Foundation) -> Budget {
    let limits = BudgetLimits {
        per_second: settings.limits.cluster_requests_per_second,
        burst: settings.limits.cluster_requests_burst,
        ..BudgetLimits::default()
    };
    Budget::new(limits, &foundation.registry)
}

/// Watches of clusters that somebody looks at.
///
/// # Errors
/// The dialer cannot be made.
pub fn observer(
    settings: &Settings,
    foundation: &Foundation,
    directory: Arc<StoreDirectory>,
    budget: Budget,
) -> anyhow::Result<Observer> {
    let limits = ObserveLimits {
        clusters: settings.limits.watched_clusters,
        kept: settings.limits.kept_clusters,
        ..ObserveLimits::default()
    };
    Ok(Observer::new(ObserverParts {
        dialer: dialer(settings)?,
        directory,
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        registry: foundation.registry.clone(),
        budget,
        limits,
    }))
}

/// Questions to the Prometheus of clusters.
///
/// # Errors
/// A way cannot be used, or the dialer cannot be made.
pub fn prom(
    settings: &Settings,
    foundation: &Foundation,
    directory: Arc<StoreDirectory>,
    budget: Budget,
) -> anyhow::Result<Prom> {
    let told = &settings.prometheus;
    let limits =
        |time: Duration| Limits { time, series: told.series, drawn: told.drawn, bytes: told.answer_bytes };
    let prometheus = Prometheus::new(Options {
        dialer: dialer(settings)?,
        clock: Arc::clone(&foundation.clock),
        registry: foundation.registry.clone(),
        budget,
        ways: told.ways.iter().map(|text| way(text)).collect::<anyhow::Result<_>>()?,
        per_cluster: told.per_cluster,
        names: told.names_bytes,
        dial: Duration::from_secs(10),
        doubt: Duration::from_secs(3),
    });
    Ok(Prom::new(PromParts {
        prometheus,
        directory,
        audit: foundation.audit.clone(),
        clock: Arc::clone(&foundation.clock),
        limits: PromLimits {
            // The portal answers every request within 30 s.
            pages: limits(told.page_time.min(Duration::from_secs(25))),
            tools: limits(told.tool_time),
            fleet: limits(told.fleet_time.min(Duration::from_secs(60))),
            parallel: told.parallel,
        },
    }))
}

/// `NAME=WAY` of an imported cluster.
fn way(text: &str) -> anyhow::Result<(ResourceId, Way)> {
    let wrong = || anyhow!("prometheus.ways: {text:?} is not NAME=WAY");
    let (name, way) = text.split_once('=').ok_or_else(wrong)?;
    let id = ResourceId::imported(&name.to_ascii_lowercase()).map_err(|_| wrong())?;
    Ok((id, way.parse().with_context(|| format!("prometheus.ways: {text:?}"))?))
}

fn read_kubeconfig(text: &str) -> Result<KubeconfigParts, &'static str> {
    let plan = rp_kube::kubeconfig::read(text, None).map_err(|_| "its kubeconfig cannot be read")?;
    Ok(KubeconfigParts { ca_pem: plan.ca_pem, credential: plan.credential })
}

/// How long the end of a process takes.
pub const fn farewell(settings: &Settings) -> Farewell {
    Farewell { leave: settings.limits.leave, drain: settings.limits.drain }
}

/// Where imported clusters may be: never our own listeners.
pub fn networks(settings: &Settings) -> Networks {
    Networks::new(settings.imports.allow.clone(), vec![settings.listen.portal, settings.listen.admin])
}

/// The names of those networks, for people.
pub fn network_names(settings: &Settings) -> Vec<String> {
    settings.imports.allow.iter().map(IpNet::to_string).collect()
}

/// The one dialer.
///
/// # Errors
/// A certificate or key of the CONNECT proxy cannot be used.
pub fn dialer(settings: &Settings) -> anyhow::Result<Dialer> {
    let private = match &settings.private_link.way {
        PrivateLink::Direct => PrivateWay::Direct,
        PrivateLink::Connect { address, server_name, ca_file, client_cert_file, client_key_file } => {
            let ca = read(ca_file)?;
            let credential = Credential::Certificate {
                chain_pem: read(client_cert_file)?,
                key_pem: client_key_file.read()?,
            };
            let tls = client_config(&ca, Some(&credential), &[]).context("[private_link]")?;
            let server_name = ServerName::try_from(server_name.clone())
                .map_err(|_| anyhow!("[private_link] server_name is no server name"))?;
            PrivateWay::Connect(ConnectProxy { address: address.clone(), server_name, tls: Arc::new(tls) })
        }
    };
    let options = DialerOptions { private, networks: networks(settings), keepalive: Duration::from_secs(30) };
    Ok(Dialer::new(options))
}

/// The listener's TLS; `None` without a certificate, which only a process behind another TLS has.
///
/// # Errors
/// Certificate or key cannot be used.
pub fn server_tls(settings: &Settings) -> anyhow::Result<Option<Arc<ServerTls>>> {
    let Some(tls) = &settings.tls else { return Ok(None) };
    let files = ServerFiles { certificate: tls.cert_file.clone(), key: tls.key_file.path().to_owned() };
    let loaded = ServerTls::load(files, &[b"h2", b"http/1.1"], ClientAuth::None).context("[tls]")?;
    Ok(Some(loaded))
}

/// The CA that kubeconfigs carry; `None` when clients trust it anyway.
///
/// # Errors
/// The file cannot be read.
pub fn issuing_ca(settings: &Settings) -> anyhow::Result<Option<String>> {
    settings.tls.as_ref().and_then(|tls| tls.ca_file.as_deref()).map(read).transpose()
}

/// Reads a text file, naming it in the error.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Reads a secret file that need not be one of the settings'.
///
/// # Errors
/// The file cannot be read.
pub fn read_secret(path: &Path) -> anyhow::Result<Secret<String>> {
    rp_config::SecretFile::new(path).read().with_context(|| format!("cannot use {}", path.display()))
}
