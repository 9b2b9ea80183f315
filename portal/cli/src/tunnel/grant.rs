//! The access behind a tunnel: an active one, or a new one.

use rp_base::{Clock as _, Secret, SystemClock, Timestamp};
use rp_tunnel::Destination;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::client::Client;
use crate::output::cell;
use crate::profile::Profile;
use crate::verbs::{items, put, segment};
use crate::{CliError, Output, files};

/// An access with less left than this is not begun with, seconds.
const LEAST_LEFT: i64 = 120;

/// The access that a person requests.
#[derive(Debug)]
pub(crate) struct TunnelRequest {
    /// None: what the cluster's console needs.
    pub(crate) to: Vec<Destination>,
    pub(crate) reason: Option<String>,
    pub(crate) ticket: Option<String>,
    pub(crate) life: Option<u64>,
}

/// An access of kind tunnel and its token, as it is kept in the profile's folder.
#[derive(Clone, Deserialize)]
pub(crate) struct Tunnel {
    pub(crate) id: String,
    pub(crate) token: Secret<String>,
    pub(crate) server: Url,
    /// The proxy's authority, PEM, where the system does not know it.
    #[serde(default)]
    pub(crate) ca: Option<String>,
    pub(crate) destinations: Vec<String>,
    pub(crate) not_after: Timestamp,
    /// No destinations were asked for.
    #[serde(default)]
    usual: bool,
}

impl Tunnel {
    fn fits(&self, wish: &TunnelRequest) -> bool {
        let has = |place: &Destination| self.destinations.contains(&place.to_string());
        if wish.to.is_empty() { self.usual } else { wish.to.iter().all(has) }
    }
}

/// Requests a new access and keeps it.
pub(crate) async fn request(
    client: &Client,
    profile: &Profile,
    resource: &str,
    wish: TunnelRequest,
    out: &mut Output,
) -> Result<Tunnel, CliError> {
    let reason = reason(wish.reason.as_deref(), resource, out)?;
    let mut body = json!({ "kind": "tunnel", "target": resource, "reason": reason });
    body["destinations"] = wish.to.iter().map(ToString::to_string).collect();
    put(&mut body, "ticket", wish.ticket);
    put(&mut body, "life", wish.life);
    let answer = client.post("/api/v1/grants", &body).await?;
    let known = json!({
        "id": answer.pointer("/grant/id"), "token": answer.get("token"), "server": answer.get("server"),
        "ca": answer.get("ca"), "destinations": answer.pointer("/grant/destinations"),
        "not_after": answer.pointer("/grant/not_after"), "usual": wish.to.is_empty(),
    });
    let tunnel: Tunnel = serde_json::from_value(known.clone())
        .map_err(|_| CliError::Answer("it is not an access of kind tunnel"))?;
    if tunnel.server.scheme() != "https" {
        return Err(CliError::Answer("the proxy is not reached over TLS"));
    }
    profile.make(&profile.tunnels())?;
    let text = Secret::new(known.to_string());
    files::write_private(&profile.tunnels().join(segment(&tunnel.id)?), text.expose())?;
    Ok(tunnel)
}

/// Forgets a kept access that is over.
pub(crate) fn forget(profile: &Profile, tunnel: &Tunnel) {
    // A file that cannot be removed holds a token that opens nothing.
    let _ = std::fs::remove_file(profile.tunnels().join(&tunnel.id));
}

/// An access that is active at the portal, whose token is stored here and that includes every destination.
pub(crate) async fn kept(
    client: &Client,
    profile: &Profile,
    resource: &str,
    wish: &TunnelRequest,
) -> Result<Option<Tunnel>, CliError> {
    let folder = profile.tunnels();
    if !folder.exists() {
        return Ok(None);
    }
    let query =
        [("mine", "true"), ("target", resource), ("kind", "tunnel"), ("state", "active"), ("limit", "500")];
    let answer = client.get("/api/v1/grants", &query).await?;
    let soon = SystemClock.now().seconds() + LEAST_LEFT;
    for grant in items(&answer) {
        let id = cell(grant, &["/id"]);
        let fits =
            cell(grant, &["/state"]) == "active" && cell(grant, &["/target"]).eq_ignore_ascii_case(resource);
        if !fits || segment(&id).is_err() {
            continue;
        }
        let kept = files::read_private(&folder.join(&id))?;
        let tunnel: Option<Tunnel> = kept.and_then(|text| serde_json::from_str(text.expose()).ok());
        if let Some(tunnel) = tunnel.filter(|one| one.fits(wish) && one.not_after.seconds() > soon) {
            return Ok(Some(tunnel));
        }
    }
    Ok(None)
}

/// The flag's, else the person's at the terminal.
pub(crate) fn reason(given: Option<&str>, resource: &str, out: &mut Output) -> Result<String, CliError> {
    use std::io::{BufRead as _, IsTerminal as _};
    if let Some(reason) = given {
        return Ok(reason.to_owned());
    }
    let name = resource.rsplit('/').next().unwrap_or(resource);
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(CliError::Usage(format!(
            "no access of yours to {name} lives: say by --reason why you need one"
        )));
    }
    out.note(&format!("Reason for access to {name} (goes into the audit):"));
    let mut line = String::new();
    input.lock().read_line(&mut line).map_err(CliError::Output)?;
    Ok(line.trim().to_owned())
}

/// For people and scripts.
pub(crate) fn to_json(tunnel: &Tunnel, address: std::net::SocketAddr) -> Value {
    json!({
        "address": address.to_string(), "socks": format!("socks5h://{address}"), "http": format!("http://{address}"),
        "grant": tunnel.id, "destinations": tunnel.destinations, "not_after": tunnel.not_after,
    })
}
