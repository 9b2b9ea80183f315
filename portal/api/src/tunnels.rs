//! What tunnels need of a cluster: allowed destinations, certificate pins, and the admin's credential.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use portal_model::cluster_document::cluster_document;
use portal_model::state::PortalState;
use portal_model::tunnels::failed;
use portal_session::elevation::require_elevation;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use proxy::tunnel_endpoint::{Destination, Offer};
use rp_base::chain;
use rp_documents::cluster::ClusterSecret;
use rp_documents::{ResourceId, Rights, Side};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::RevealedSecret;
use crate::prom::{ClusterPath, cluster};

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TunnelOffer")]
pub struct TunnelView {
    /// Address of the web console; empty when there is none.
    console: String,
    /// What a grant names when nothing is asked for.
    destinations: Vec<String>,
    /// Every name below it may be asked for, at 443; empty for imported clusters.
    domain: String,
    /// Keys to pin, as `--ignore-certificate-errors-spki-list` takes them; none where the public authorities decide.
    pins: Vec<String>,
}

/// What a cluster offers to `aro tunnel` and `aro console`.
pub async fn offer(State(state): State<PortalState>, path: ClusterPath) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    let places = &state.model.clusters.places;
    let offer = places.offer(&id).await.map_err(|error| failed(&error))?;
    let mut pins = Vec::new();
    if let Some(place) = console_of(&offer)
        && let Some(pin) = places.pin(&id, &place).await.map_err(|error| failed(&error))?
    {
        pins.push(pin);
    }
    json(&TunnelView {
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

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ClusterCredentials")]
pub struct Credentials {
    username: &'static str,
    password: RevealedSecret<'static>,
    /// Address of the web console; empty when there is none.
    console: String,
}

fn no_credentials() -> Fault {
    let what = "No password is stored for this cluster";
    Fault::new(StatusCode::NOT_FOUND, "no_credentials", Side::You, what)
        .why("Imported clusters, and clusters that are being made, have none.")
}

/// The password of the cluster's own administrator, to a person with an elevation to admin rights; on the record
/// before it is shown.
pub async fn credentials(
    State(state): State<PortalState>,
    user: CurrentUser,
    path: ClusterPath,
) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    require_elevation(&state.session, &user.caller, &id, Rights::Admin).await?;
    if id.is_imported() {
        return Err(no_credentials());
    }
    let (password, console) = password(&state, &id).await?;
    let noted = state.session.promise(&user.caller, "cluster.credentials", |entry| {
        entry.target = Some(id.clone());
        "kubeadmin".clone_into(&mut entry.name);
    });
    noted.await.map_err(|error| Fault::audit(&error))?;
    let mut response =
        json(&Credentials { username: "kubeadmin", password: RevealedSecret::new(password), console })?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

async fn password(state: &PortalState, id: &ResourceId) -> Result<(String, String), Fault> {
    let document = cluster_document(&state.session.store, id).await?.value;
    let secret = ClusterSecret::KubeadminPassword;
    let sealed = secret.sealed_in(&document.cluster).ok_or_else(no_credentials)?;
    let opened = state.session.keyring.open_any(sealed, &secret.place(&document.id)).map_err(|error| {
        tracing::error!(error = %chain(&error), "a password cannot be opened");
        Fault::internal()
    });
    let password = String::from_utf8(opened?.0.expose().clone()).map_err(|_| Fault::internal())?;
    Ok((password, document.cluster.properties.console_profile.url.to_string()))
}
