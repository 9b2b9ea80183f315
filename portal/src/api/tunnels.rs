//! What tunnels need of a cluster: allowed destinations, certificate pins, and the admin's credential.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use proxy::tunnel_endpoint::{Destination, DestinationError, Offer};
use rp_base::chain;
use rp_database::Typed;
use rp_documents::cluster::ClusterSecret;
use rp_documents::{ClusterDocument, ImportedTunnel, ResourceId, Rights, Side};
use serde::{Deserialize, Serialize};

use super::prom::{ClusterPath, cluster};
use crate::fault::Fault;
use crate::refusals;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// Places that one grant, or one import, may name.
const MOST: usize = 64;

#[derive(Serialize)]
struct TunnelView {
    /// Address of the web console; empty when there is none.
    console: String,
    /// What a grant names when nothing is asked for.
    destinations: Vec<String>,
    /// Every name below it may be asked for, at 443; empty for imported clusters.
    domain: String,
    /// Keys to pin, as `--ignore-certificate-errors-spki-list` takes them; none where the public authorities decide.
    pins: Vec<String>,
}

pub(crate) fn failed(error: &DestinationError) -> Fault {
    if error.side() != Side::You {
        tracing::warn!(side = error.side().name(), error = %chain(error), "what a cluster offers to tunnels");
    }
    let status = match error {
        DestinationError::Directory(rp_net::DirectoryError::Unknown) => StatusCode::NOT_FOUND,
        DestinationError::NotNamed => StatusCode::CONFLICT,
        DestinationError::Slow => StatusCode::GATEWAY_TIMEOUT,
        DestinationError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_GATEWAY,
    };
    let fault = Fault::new(status, error.code(), error.side(), error.sentence().trim_end_matches('.'));
    match error {
        DestinationError::NotNamed => fault
            .action("Import it with what tunnels may reach: aro clusters import --destination HOST:PORT."),
        _ => fault.action("Look at the cluster's page; its ingress operator says more."),
    }
}

/// What a cluster offers to `aro tunnel` and `aro console`.
pub(crate) async fn offer(State(state): State<PortalState>, path: ClusterPath) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    let places = &state.0.clusters.places;
    let offer = places.offer(&id).await.map_err(|error| failed(&error))?;
    let mut pins = Vec::new();
    if let Some(place) = console_of(&offer)
        && let Some(pin) = places.pin(&id, &place).await.map_err(|error| failed(&error))?
    {
        pins.push(pin);
    }
    super::json(&TunnelView {
        destinations: offer.usual.iter().map(ToString::to_string).collect(),
        console: offer.console,
        domain: offer.domain,
        pins,
    })
}

fn console_of(offer: &Offer) -> Option<Destination> {
    let url = url::Url::parse(&offer.console).ok()?;
    Destination::new(url.host_str()?, url.port_or_known_default()?).ok()
}

/// The places of a new grant: those asked for, each of which the cluster must offer, or the usual ones.
pub(crate) async fn destinations(
    state: &PortalState,
    id: &ResourceId,
    asked: &[String],
) -> Result<Vec<String>, Fault> {
    if asked.len() > MOST {
        return Err(Fault::bad_input(format!("A tunnel has at most {MOST} destinations")));
    }
    let offer = state.0.clusters.places.offer(id).await.map_err(|error| failed(&error))?;
    let mut places = Vec::new();
    for text in asked {
        let place = Destination::parse(text)
            .map_err(|error| Fault::bad_input(format!("A destination cannot be read: {error}")))?;
        if !offer.allows(&place) {
            let what = format!("The cluster does not offer {place}");
            return Err(Fault::new(StatusCode::FORBIDDEN, "not_offered", Side::You, what).why(
                "A tunnel leads to routes of the cluster's ingress at 443, or to what the import names.",
            ));
        }
        places.push(place);
    }
    if places.is_empty() {
        places = offer.usual;
    }
    if places.is_empty() {
        let what = "The cluster has no console";
        return Err(Fault::new(StatusCode::CONFLICT, "no_destinations", Side::You, what)
            .action("Name destinations: aro tunnel CLUSTER --to HOST:443."));
    }
    places.sort();
    places.dedup();
    Ok(places.iter().map(ToString::to_string).collect())
}

/// What an import may say about tunnels.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ImportTunnelRequest {
    destinations: Vec<String>,
    console: Option<String>,
    /// PEM.
    ca: Option<String>,
}

impl ImportTunnelRequest {
    /// The validated section, with each destination normalized.
    pub(crate) fn checked(self) -> Result<Option<ImportedTunnel>, String> {
        if self.destinations.is_empty() {
            return match (self.console, self.ca) {
                (None, None) => Ok(None),
                _ => Err("A console or an authority for tunnels needs destinations.".to_owned()),
            };
        }
        if self.destinations.len() > MOST {
            return Err(format!("A tunnel has at most {MOST} destinations."));
        }
        let mut hosts = Vec::new();
        let mut destinations = Vec::new();
        for text in &self.destinations {
            let (place, at) = proxy::tunnel_endpoint::entry(text).ok_or_else(|| {
                format!("{} is not host:port or host:port=address:port.", rp_base::text::clean(text, 100))
            })?;
            destinations.push(at.map_or_else(|| place.to_string(), |at| format!("{place}={at}")));
            hosts.push(place);
        }
        let console = self.console.as_deref().map(|text| console(text, &hosts)).transpose()?;
        if let Some(ca) = &self.ca {
            rp_net::tls::client_config(ca, None, &[])
                .map_err(|_| "The authority of the destinations is not PEM of certificates.".to_owned())?;
        }
        Ok(Some(ImportedTunnel { destinations, console, ca_pem: self.ca }))
    }
}

fn console(text: &str, hosts: &[Destination]) -> Result<String, String> {
    let wrong = || "The console is an https address of a host among the destinations.".to_owned();
    let url = url::Url::parse(text).ok().filter(|url| url.scheme() == "https").ok_or_else(wrong)?;
    let place =
        Destination::new(url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(443));
    place.ok().filter(|place| hosts.contains(place)).ok_or_else(wrong)?;
    Ok(url.into())
}

#[derive(Serialize)]
struct Credentials {
    username: &'static str,
    password: String,
    console: String,
}

fn no_credentials() -> Fault {
    let what = "No password is stored for this cluster";
    Fault::new(StatusCode::NOT_FOUND, "no_credentials", Side::You, what)
        .why("Imported clusters, and clusters that are being made, have none.")
}

/// The password of the cluster's own administrator, to a person with an elevation to admin rights; on the record
/// before it is shown.
pub(crate) async fn credentials(
    State(state): State<PortalState>,
    user: CurrentUser,
    path: ClusterPath,
) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    let elevated = state.0.access.is_elevated(&user.caller, &id, Rights::Admin).await;
    if !elevated.map_err(|error| Fault::store(&error))? {
        return Err(refusals::issue(&rp_access::IssueError::ElevationNeeded { rights: Rights::Admin }));
    }
    if id.is_imported() {
        return Err(no_credentials());
    }
    let (password, console) = password(&state, &id).await?;
    let noted = state.0.promise(&user.caller, "cluster.credentials", |entry| {
        entry.target = Some(id.clone());
        "kubeadmin".clone_into(&mut entry.name);
    });
    noted.await.map_err(|error| Fault::audit(&error))?;
    let mut response = super::json(&Credentials { username: "kubeadmin", password, console })?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

async fn password(state: &PortalState, id: &ResourceId) -> Result<(String, String), Fault> {
    let clusters: Typed<ClusterDocument> = Typed::new(std::sync::Arc::clone(&state.0.store));
    let found = clusters.get_by_key(id.key()).await.map_err(|error| Fault::store(&error))?;
    let document = found.ok_or_else(Fault::no_cluster)?.value;
    let secret = ClusterSecret::KubeadminPassword;
    let sealed = secret.sealed_in(&document.cluster).ok_or_else(no_credentials)?;
    let opened = state.0.keyring.open_any(sealed, &secret.place(&document.id)).map_err(|error| {
        tracing::error!(error = %chain(&error), "a password cannot be opened");
        Fault::internal()
    });
    let password = String::from_utf8(opened?.0.expose().clone()).map_err(|_| Fault::internal())?;
    Ok((password, document.cluster.properties.console_profile.url.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(destinations: &[&str], console: Option<&str>) -> Result<Option<ImportedTunnel>, String> {
        let destinations = destinations.iter().map(|&text| text.to_owned()).collect();
        ImportTunnelRequest { destinations, console: console.map(str::to_owned), ca: None }.checked()
    }

    #[test]
    fn an_import_names_places_in_one_form() {
        assert_eq!(ask(&[], None), Ok(None));
        let console = Some("https://console.example/x");
        let said = ask(&["Console.Example.:443=10.0.0.1:8443"], console).unwrap().unwrap();
        assert_eq!(said.destinations, ["console.example:443=10.0.0.1:8443"]);
        assert_eq!(said.console.as_deref(), console);
        assert!(ask(&["a"], None).is_err());
        assert!(ask(&["a.example:443"], Some("https://b.example/")).is_err());
        assert!(ask(&["a.example:443"], Some("http://a.example:443/")).is_err());
        assert!(ask(&[], Some("https://a.example/")).is_err());
        assert!(ask(&vec!["a.example:443"; MOST + 1], None).is_err());
        let destinations = vec!["a.example:1".to_owned()];
        assert!(
            ImportTunnelRequest { destinations, console: None, ca: Some("x".to_owned()) }.checked().is_err()
        );
    }
}
