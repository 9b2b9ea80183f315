//! What a cluster offers to tunnels, and how each place is reached.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::{ImportedCluster, ImportedTunnel, ResourceId, Side};
use rp_kube::connect::{ClientError, ClientOptions, Identity, client, dial_error};
use rp_kube::{KubeClient, KubeError, PortForward, ReadyPod, api_status, port_forward, ready_pods};
use rp_net::{DialError, Dialer, Directory, DirectoryError, Stage, Stream};
use rp_openshift::{self as openshift, Whole};
use rp_tunnel::Destination;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout};

use super::pin;

const NAMESPACE: &str = "openshift-ingress";
const ROUTER: &str = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default";
/// The router's port for TLS.
const HTTPS: u16 = 443;
/// Until a stream is open.
const WITHIN: Duration = Duration::from_secs(30);
/// Which router pods are ready is asked again after this.
const PODS_FOR: Duration = Duration::from_secs(30);
/// A cluster without tunnels is forgotten after this time.
const FORGET: Duration = Duration::from_secs(600);
/// Clusters that are remembered.
const MOST: usize = 1000;

const INGRESS: &str = "/apis/config.openshift.io/v1/ingresses/cluster";
const CONSOLE: &str = "/apis/config.openshift.io/v1/consoles/cluster";
const OAUTH: &str = "/apis/route.openshift.io/v1/namespaces/openshift-authentication/routes/oauth-openshift";

/// Why a destination cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum DestinationError {
    #[error("no target")]
    Directory(#[source] DirectoryError),
    #[error("the store did not answer")]
    Store(#[source] StoreError),
    #[error("the stored access cannot be used")]
    Unusable(#[source] ClientError),
    #[error("the cluster did not answer")]
    Cluster(#[source] Box<KubeError>),
    #[error("the place could not be dialled")]
    Dial(#[source] DialError),
    #[error("no router pod is ready")]
    NoRouter,
    #[error("the import names no destinations, or not this one")]
    NotNamed,
    #[error("the cluster does not say its ingress domain")]
    NoDomain,
    #[error("the certificate that it shows cannot be used: {0}")]
    Certificate(&'static str),
    #[error("it took too long")]
    Slow,
}

impl DestinationError {
    /// A stable error code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Directory(DirectoryError::Unknown) => "no_cluster",
            Self::Directory(_) | Self::Cluster(_) => "cluster_away",
            Self::Store(_) => "store_away",
            Self::Unusable(_) => "stored_access",
            Self::Dial(_) => "place_away",
            Self::NoRouter => "no_router",
            Self::NotNamed => "not_offered",
            Self::NoDomain => "no_domain",
            Self::Certificate(_) => "bad_certificate",
            Self::Slow => "slow",
        }
    }

    /// A sentence for people, without internal details.
    pub const fn sentence(&self) -> &'static str {
        match self {
            Self::Directory(DirectoryError::Unknown) => "No cluster has this resource id.",
            Self::Directory(_) => {
                "The cluster cannot be reached: its private endpoint or credentials are missing."
            }
            Self::Store(_) => "The store does not answer.",
            Self::Unusable(_) => "What is stored about the cluster cannot be used.",
            Self::Cluster(_) => "The cluster's API server did not answer, or refused.",
            Self::Dial(error) => match error.stage {
                Stage::Resolve => "The name of the destination could not be resolved.",
                Stage::Allow => "The destination's address is not one that this service may dial.",
                Stage::Connect | Stage::Proxy | Stage::Tls => {
                    "The destination did not accept the connection."
                }
            },
            Self::NoRouter => "No router pod of the cluster's ingress is ready.",
            Self::NotNamed => "The cluster's import does not name this destination.",
            Self::NoDomain => "The cluster does not say the domain of its ingress.",
            Self::Certificate(_) => "The certificate of the destination is not what the import says.",
            Self::Slow => "The destination did not answer in time.",
        }
    }

    /// Whose fault it is.
    pub const fn side(&self) -> Side {
        match self {
            Self::Directory(DirectoryError::Unknown) | Self::NotNamed => Side::You,
            Self::Store(_) | Self::Unusable(_) | Self::Directory(DirectoryError::Unavailable(_)) => Side::Us,
            Self::Dial(error) => error.side,
            Self::Directory(_)
            | Self::Cluster(_)
            | Self::NoRouter
            | Self::NoDomain
            | Self::Certificate(_)
            | Self::Slow => Side::Cluster,
        }
    }
}

/// What may be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The web console, `https://…`; empty when there is none.
    pub console: String,
    /// What a grant names when nothing is asked for: console and OAuth server, or all that an import names.
    pub usual: Vec<Destination>,
    /// Every name below it may be asked for, at 443; empty for imported clusters.
    pub domain: String,
}

impl Offer {
    /// Whether a grant may name this place.
    pub fn allows(&self, place: &Destination) -> bool {
        self.usual.contains(place)
            || !self.domain.is_empty() && place.port() == HTTPS && place.is_below(&self.domain)
    }
}

/// The far end of a stream.
pub(super) trait RemoteStream: AsyncRead + AsyncWrite + Send + Unpin {
    /// Whether the end of one direction can be passed on.
    fn ends_by_halves(&self) -> bool;
}

impl RemoteStream for Stream {
    fn ends_by_halves(&self) -> bool {
        true
    }
}

impl RemoteStream for PortForward {
    /// A port-forward knows one end for both.
    fn ends_by_halves(&self) -> bool {
        false
    }
}

struct Ingress {
    fingerprint: u64,
    client: KubeClient,
    pods: Mutex<Option<(Instant, Arc<[ReadyPod]>)>>,
    turn: AtomicUsize,
    used: Mutex<Instant>,
}

/// Knows what clusters offer and opens connections. Shared.
pub struct Destinations {
    imports: Typed<ImportedCluster>,
    directory: Arc<dyn Directory>,
    dialer: Dialer,
    ingresses: Mutex<HashMap<ResourceId, Arc<Ingress>>>,
}

impl std::fmt::Debug for Destinations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Places").finish_non_exhaustive()
    }
}

impl Destinations {
    /// Over the store's imports and the one dialer.
    pub fn new(store: SharedStore, directory: Arc<dyn Directory>, dialer: Dialer) -> Arc<Self> {
        Arc::new(Self { imports: Typed::new(store), directory, dialer, ingresses: Mutex::default() })
    }

    /// What a cluster offers now.
    ///
    /// # Errors
    /// [`DestinationError`].
    pub async fn offer(&self, id: &ResourceId) -> Result<Offer, DestinationError> {
        if id.is_imported() {
            let import = self.import(id).await?;
            let usual = import.destinations.iter().filter_map(|text| entry(text)).map(|(place, _)| place);
            return Ok(Offer {
                console: import.console.clone().unwrap_or_default(),
                usual: usual.collect(),
                domain: String::new(),
            });
        }
        let ingress = self.ingress(id).await?;
        let read = async {
            tokio::try_join!(
                object::<openshift::Ingress<Whole>>(&ingress.client, INGRESS),
                object::<openshift::Console<Whole>>(&ingress.client, CONSOLE),
                object::<openshift::Route<Whole>>(&ingress.client, OAUTH),
            )
        };
        let (cluster, console, oauth) = timeout(WITHIN, read).await.map_err(|_| DestinationError::Slow)??;
        let (domain, console) = (cluster.spec.domain.as_str(), console.status.url.as_str());
        offered(domain, console, oauth.spec.host.as_str()).ok_or(DestinationError::NoDomain)
    }

    /// Opens a connection to a place that a grant names.
    ///
    /// # Errors
    /// [`DestinationError`]; nothing was sent.
    pub(super) async fn reach(
        &self,
        id: &ResourceId,
        place: &Destination,
    ) -> Result<Box<dyn RemoteStream>, DestinationError> {
        timeout(WITHIN, self.open(id, place)).await.map_err(|_| DestinationError::Slow)?
    }

    async fn open(
        &self,
        id: &ResourceId,
        place: &Destination,
    ) -> Result<Box<dyn RemoteStream>, DestinationError> {
        if !id.is_imported() {
            let ingress = self.ingress(id).await?;
            return ingress.forward(place.port()).await.map(|forward| Box::new(forward) as _);
        }
        // Read again for each connection, so that removed destinations take effect at once.
        let import = self.import(id).await?;
        let mut named = import.destinations.iter().filter_map(|text| entry(text));
        let (_, at) = named.find(|(named, _)| named == place).ok_or(DestinationError::NotNamed)?;
        let at = at.as_ref().unwrap_or(place);
        let stream =
            self.dialer.dial_address(at.host(), at.port(), WITHIN).await.map_err(DestinationError::Dial)?;
        Ok(Box::new(stream))
    }

    /// Base64 of SHA-256 of the public key (SPKI) that a place shows; `None` where the public authorities decide.
    ///
    /// For a cluster of ours the way is authenticated (the API server, then the pod), for an imported one the
    /// authority that the import names must have signed it.
    ///
    /// # Errors
    /// [`DestinationError`].
    pub async fn pin(
        &self,
        id: &ResourceId,
        place: &Destination,
    ) -> Result<Option<String>, DestinationError> {
        let ca = match id.is_imported() {
            true => match self.import(id).await?.ca_pem {
                Some(ca) => Some(ca),
                None => return Ok(None),
            },
            false => None,
        };
        let far = self.reach(id, place).await?;
        let shown = timeout(WITHIN, pin::served_key(far, place.host(), ca.as_deref())).await;
        shown.map_err(|_| DestinationError::Slow)?.map(Some)
    }

    async fn import(&self, id: &ResourceId) -> Result<ImportedTunnel, DestinationError> {
        let found =
            self.imports.get(&id.name().to_ascii_lowercase()).await.map_err(DestinationError::Store)?;
        let import = found.ok_or(DestinationError::Directory(DirectoryError::Unknown))?.value;
        import.tunnel.filter(|tunnel| !tunnel.destinations.is_empty()).ok_or(DestinationError::NotNamed)
    }

    async fn ingress(&self, id: &ResourceId) -> Result<Arc<Ingress>, DestinationError> {
        let target = self.directory.find(id).await.map_err(DestinationError::Directory)?;
        let mut ingresses = self.ingresses.lock();
        if let Some(known) = ingresses.get(id).filter(|known| known.fingerprint == target.fingerprint) {
            *known.used.lock() = Instant::now();
            return Ok(Arc::clone(known));
        }
        ingresses.retain(|_, known| known.used.lock().elapsed() < FORGET);
        if ingresses.len() >= MOST {
            ingresses.clear();
        }
        let fingerprint = target.fingerprint;
        let options = ClientOptions { user_agent: "aro (tunnel)".to_owned(), ..ClientOptions::default() };
        let client = client(self.dialer.clone(), target, Identity::Admin, &options)
            .map_err(DestinationError::Unusable)?;
        let ingress = Arc::new(Ingress {
            fingerprint,
            client,
            pods: Mutex::default(),
            turn: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
        });
        ingresses.insert(id.clone(), Arc::clone(&ingress));
        Ok(ingress)
    }
}

impl Ingress {
    /// A stream to a ready router, the next one's turn; when it is gone meanwhile, another's.
    async fn forward(&self, port: u16) -> Result<PortForward, DestinationError> {
        let mut last = DestinationError::NoRouter;
        for _ in 0..2 {
            let pods = self.pods().await?;
            let count = pods.len();
            for _ in 0..count {
                let turn = self.turn.fetch_add(1, Ordering::Relaxed) % count.max(1);
                let Some(pod) = pods.get(turn) else { break };
                match port_forward(&self.client, &pod.namespace, &pod.name, port).await {
                    Ok(forward) => return Ok(forward),
                    Err(error) if dial_error(&error).is_some() => return Err(from_kube(error)),
                    Err(error) => last = from_kube(error),
                }
            }
            *self.pods.lock() = None;
        }
        Err(last)
    }

    async fn pods(&self) -> Result<Arc<[ReadyPod]>, DestinationError> {
        let known = self.pods.lock().clone();
        if let Some((_, pods)) = known.filter(|(at, pods)| at.elapsed() < PODS_FOR && !pods.is_empty()) {
            return Ok(pods);
        }
        let found = ready_pods(&self.client, Some(NAMESPACE), ROUTER).await.map_err(from_kube)?;
        let pods: Arc<[ReadyPod]> = found.into();
        *self.pods.lock() = Some((Instant::now(), Arc::clone(&pods)));
        if pods.is_empty() { Err(DestinationError::NoRouter) } else { Ok(pods) }
    }
}

fn from_kube(error: KubeError) -> DestinationError {
    DestinationError::Cluster(Box::new(error))
}

/// One object; an empty one where the cluster has none.
async fn object<T: DeserializeOwned + Default>(
    client: &KubeClient,
    path: &str,
) -> Result<T, DestinationError> {
    let request = http::Request::get(path).body(Vec::new());
    let request = request.map_err(|error| from_kube(KubeError::HttpError(error)))?;
    match client.request(request).await {
        Ok(object) => Ok(object),
        Err(error) if api_status(&error) == Some(404) => Ok(T::default()),
        Err(error) => Err(from_kube(error)),
    }
}

/// The destinations that a cluster's own objects name. Only hosts below its ingress domain are accepted.
fn offered(domain: &str, console: &str, oauth: &str) -> Option<Offer> {
    let below = |host: &str| Destination::new(host, HTTPS).ok().filter(|place| place.is_below(domain));
    let console = url::Url::parse(console).ok().filter(|url| url.scheme() == "https" && url.port().is_none());
    let console = console.filter(|url| url.host_str().and_then(below).is_some());
    let hosts = console.as_ref().and_then(url::Url::host_str).into_iter().chain([oauth]);
    let mut usual: Vec<Destination> = hosts.filter_map(below).collect();
    usual.dedup();
    let sound = Destination::new(domain, HTTPS).is_ok();
    sound.then(|| Offer {
        console: console.map(String::from).unwrap_or_default(),
        usual,
        domain: domain.to_ascii_lowercase(),
    })
}

/// `host:port` or `host:port=address:port`: what a browser asks for, and where that is.
pub fn entry(text: &str) -> Option<(Destination, Option<Destination>)> {
    match text.split_once('=') {
        None => Some((Destination::parse(text).ok()?, None)),
        Some((place, at)) => Some((Destination::parse(place).ok()?, Some(Destination::parse(at).ok()?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Destination {
        Destination::parse(text).unwrap()
    }

    #[test]
    fn a_cluster_offers_its_console_its_oauth_server_and_what_is_below_its_domain() {
        let offer = offered(
            "Apps.harbor.example",
            "https://console-openshift-console.apps.harbor.example",
            "oauth-openshift.apps.harbor.example",
        )
        .unwrap();
        let usual = ["console-openshift-console", "oauth-openshift"];
        assert_eq!(offer.usual, usual.map(|name| place(&format!("{name}.apps.harbor.example:443"))));
        assert!(offer.allows(&place("grafana.apps.harbor.example:443")));
        for other in [
            "grafana.apps.harbor.example:80",
            "apps.harbor.example:443",
            "api.harbor.example:443",
            "x.apps.harbor.example.evil:443",
            "10.0.0.1:443",
        ] {
            assert!(!offer.allows(&place(other)), "{other}");
        }
    }

    #[test]
    fn a_cluster_cannot_offer_what_is_not_its_own() {
        let offer = offered("apps.harbor.example", "https://169.254.169.254/", "evil.example").unwrap();
        assert_eq!((offer.console.as_str(), offer.usual.len()), ("", 0));
        assert_eq!(offered("", "https://console.example", ""), None);
        assert_eq!(offered("not a domain", "", ""), None);
        let odd = offered("apps.harbor.example", "https://c.apps.harbor.example:8443/", "").unwrap();
        assert_eq!(odd.console, "", "the router has one port");
    }

    #[test]
    fn an_import_names_hosts_and_where_they_are() {
        assert_eq!(entry("A.example:443"), Some((place("a.example:443"), None)));
        let at = Some((place("a.example:443"), Some(place("10.0.0.1:8443"))));
        assert_eq!(entry("a.example:443=10.0.0.1:8443"), at);
        for bad in ["a.example", "a.example:443=", "=", "a.example:443=b"] {
            assert_eq!(entry(bad), None, "{bad}");
        }
    }
}
