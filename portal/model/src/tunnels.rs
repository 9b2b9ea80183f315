//! Destinations of tunnels: those of a new grant, and those that an import names.

use http::StatusCode;
use portal_session::fault::Fault;
use proxy::tunnel_endpoint::{Destination, DestinationError};
use rp_base::chain;
use rp_documents::{ImportedTunnel, ResourceId, Side};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::state::PortalState;

/// Places that one grant, or one import, may name.
const MOST: usize = 64;

/// Why the destinations of a cluster are not known.
pub fn failed(error: &DestinationError) -> Fault {
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

/// The places of a new grant: those asked for, each of which the cluster must offer, or the usual ones.
pub async fn destinations(
    state: &PortalState,
    id: &ResourceId,
    asked: &[String],
) -> Result<Vec<String>, Fault> {
    if asked.len() > MOST {
        return Err(Fault::bad_input(format!("A tunnel has at most {MOST} destinations")));
    }
    let offer = state.model.clusters.places.offer(id).await.map_err(|error| failed(&error))?;
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

/// Why what an import says about tunnels cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportTunnelError {
    #[error("A console or an authority for tunnels needs destinations.")]
    NoDestinations,
    #[error("A tunnel has at most {MOST} destinations.")]
    TooMany,
    #[error("{0} is not host:port or host:port=address:port.")]
    NoDestination(String),
    #[error("The console is an https address of a host among the destinations.")]
    Console,
    #[error("The authority of the destinations is not PEM of certificates.")]
    Authority,
}

/// What an import may say about tunnels.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ImportTunnelRequest {
    destinations: Vec<String>,
    console: Option<String>,
    /// PEM.
    ca: Option<String>,
}

impl ImportTunnelRequest {
    /// The validated section, with each destination normalized.
    ///
    /// # Errors
    /// [`ImportTunnelError`].
    pub fn checked(self) -> Result<Option<ImportedTunnel>, ImportTunnelError> {
        if self.destinations.is_empty() {
            return match (self.console, self.ca) {
                (None, None) => Ok(None),
                _ => Err(ImportTunnelError::NoDestinations),
            };
        }
        if self.destinations.len() > MOST {
            return Err(ImportTunnelError::TooMany);
        }
        let mut hosts = Vec::new();
        let mut destinations = Vec::new();
        for text in &self.destinations {
            let (place, at) = proxy::tunnel_endpoint::entry(text)
                .ok_or_else(|| ImportTunnelError::NoDestination(rp_base::text::clean(text, 100)))?;
            destinations.push(at.map_or_else(|| place.to_string(), |at| format!("{place}={at}")));
            hosts.push(place);
        }
        let console = self.console.as_deref().map(|text| console(text, &hosts)).transpose()?;
        if let Some(ca) = &self.ca {
            rp_net::tls::client_config(ca, None, &[]).map_err(|_| ImportTunnelError::Authority)?;
        }
        Ok(Some(ImportedTunnel { destinations, console, ca_pem: self.ca }))
    }
}

fn console(text: &str, hosts: &[Destination]) -> Result<String, ImportTunnelError> {
    let url = url::Url::parse(text).ok().filter(|url| url.scheme() == "https");
    let url = url.ok_or(ImportTunnelError::Console)?;
    let place =
        Destination::new(url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(443));
    place.ok().filter(|place| hosts.contains(place)).ok_or(ImportTunnelError::Console)?;
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(
        destinations: &[&str],
        console: Option<&str>,
    ) -> Result<Option<ImportedTunnel>, ImportTunnelError> {
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
