//! The portal over the process's services and its proxy.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use portal_model::live_limits::LiveLimits;
use portal_model::parts::{ClusterAccess, PortalParts};
use portal_model::state::PortalState;
use portal_model::vms::VmSource;
use portal_session::config::{AssertionAudience, ClientAuth, OidcConfig};
use portal_session::run_books::RunBooks;
use portal_session::site::{Link, Site, Urls};
use portal_session::state::SignInParts;
use proxy::ApiProxy;
use proxy::terminal::{Shells, TerminalParts, Terminals};
use rp_access::Access;
use rp_config::{OidcCredential, Settings};
use rp_core::files::read;
use rp_core::{Services, VERSION};
use rp_notify::Notifications;
use rp_observe::{ObserveLimits, Observer, ObserverParts};
use rp_recording::Recordings;
use rp_runtime::Lifecycle;

/// The portal as the settings say. `simulated`: everything here is a simulation, which every page says.
pub(crate) async fn portal(
    services: &Services,
    access: Arc<Access>,
    clusters: ClusterAccess,
    notifications: Notifications,
    simulated: bool,
    life: &Lifecycle,
) -> anyhow::Result<PortalState> {
    let settings = &services.settings;
    let parts = PortalParts {
        store: Arc::clone(&services.store),
        audit: services.audit.clone(),
        access,
        keyring: services.keyring.clone(),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        metrics: services.registry.clone(),
        site: site(settings, simulated)?,
        clusters,
        notifications,
        sign_in: SignInParts { oidc: oidc(settings)?, sessions: settings.session.clone(), exchange: None },
        vm_states: machines(services),
        live: LiveLimits {
            pages: settings.limits.live_pages,
            per_person: settings.limits.live_pages_per_person,
            ..LiveLimits::default()
        },
        stopping: life.stopping(),
    };
    PortalState::new(parts).await.context("the portal cannot start")
}

/// Where this portal is, and what it says of itself.
fn site(settings: &Settings, simulated: bool) -> anyhow::Result<Site> {
    let missing = |key: &str| anyhow!("{key} is not set");
    let urls = Urls {
        portal: settings.portal.url.clone().ok_or_else(|| missing("portal.url"))?,
        proxy: settings.proxy.url.clone().ok_or_else(|| missing("proxy.url"))?,
        ca_pem: issuing_ca(settings)?,
    };
    Ok(Site {
        regions: regions(settings, &urls.portal),
        urls,
        region: settings.azure.region.clone().unwrap_or_else(|| "local".to_owned()),
        version: VERSION.to_owned(),
        simulated,
        run_books: RunBooks::new(settings.portal.runbooks.clone()),
    })
}

/// The machines of clusters, for pages: how they are, what they say and show; `None`: Azure is not asked.
fn machines(services: &Services) -> Option<VmSource> {
    let azure = &services.azure;
    let states = azure.client()?.vm_states(azure.tenants());
    let source = VmSource::new(states);
    Some(match azure.boot_diagnostics() {
        Some(consoles) => source.with_consoles(consoles),
        None => source,
    })
}

/// The portals of other regions: those of the settings, and where a location has none there, by its name.
fn regions(settings: &Settings, portal: &url::Url) -> Vec<Link> {
    let told = &settings.portal.regions;
    let links = told.iter().map(|(name, url)| Link { text: name.clone(), url: url.to_string() });
    let derived =
        settings.azure.locations.iter().filter(|name| !told.iter().any(|(known, _)| known == *name));
    links.chain(derived.filter_map(|name| region_link(portal, settings, name))).collect()
}

/// Watches of clusters that are open in a browser.
pub(crate) async fn observer(services: &Services) -> anyhow::Result<Observer> {
    let settings = &services.settings;
    let limits = ObserveLimits {
        clusters: settings.limits.watched_clusters,
        kept: settings.limits.kept_clusters,
        ..ObserveLimits::default()
    };
    Ok(Observer::new(ObserverParts {
        dialer: services.dialer.clone(),
        directory: services.directory().await?,
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        registry: services.registry.clone(),
        budget: services.budget(),
        limits,
    }))
}

/// Shells in the browser: with what takes them down, and the way to machines.
pub(crate) fn terminals(
    services: &Services,
    access: &Arc<Access>,
    api: &Arc<ApiProxy>,
    recordings: Recordings,
    shells: Shells,
    life: &Lifecycle,
) -> Terminals {
    Terminals::new(TerminalParts {
        access: Arc::clone(access),
        api: Arc::clone(api),
        shells: Some(shells),
        recordings,
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        registry: services.registry.clone(),
        settings: services.settings.terminal.clone(),
        cut: life.cutting(),
    })
}

/// The portal of another region: this one's address with the region's name in its place.
fn region_link(portal: &url::Url, settings: &Settings, name: &str) -> Option<Link> {
    let (host, here) = (portal.host_str()?, settings.azure.region.as_deref()?);
    let host = host.strip_prefix(here).map(|rest| format!("{name}{rest}"))?;
    let mut url = portal.clone();
    url.set_host(Some(&host)).ok()?;
    Some(Link { text: name.to_owned(), url: url.to_string() })
}

/// The provider by the settings, with its files read.
///
/// # Errors
/// A file cannot be read, or `[oidc]` is not set.
pub(crate) fn oidc(settings: &Settings) -> anyhow::Result<OidcConfig> {
    let oidc = settings.oidc.as_ref().ok_or_else(|| anyhow!("oidc.issuer is not set"))?;
    let options = &oidc.options;
    let auth = match &oidc.credential {
        OidcCredential::Secret(file) => ClientAuth::Secret(file.read()?),
        OidcCredential::Key { key_file, cert_file } => {
            let certificate =
                cert_file.as_ref().ok_or_else(|| anyhow!("oidc.client_cert_file is not set"))?;
            ClientAuth::PrivateKey {
                key_pem: key_file.read()?,
                certificate_pem: read(certificate)?,
                audience: AssertionAudience::TokenEndpoint,
            }
        }
    };
    let ca_pem = options.ca_file.as_deref().map(read).transpose()?;
    // Providers compare the issuer as text: no slash at its end unless a path has one.
    let issuer = oidc.issuer.as_str().trim_end_matches('/');
    Ok(OidcConfig { ca_pem, options: options.clone(), ..OidcConfig::new(issuer, &oidc.client_id, auth) })
}

/// The CA that kubeconfigs carry; `None` when clients trust it anyway.
///
/// # Errors
/// The file cannot be read.
fn issuing_ca(settings: &Settings) -> anyhow::Result<Option<String>> {
    settings.tls.as_ref().and_then(|tls| tls.ca_file.as_deref()).map(read).transpose()
}
