//! `{RES}/ssh` and `POST {RES}/ssh/new` (`contract/portal.md` §15): a shell on a machine, by page and by
//! JSON.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use portal_model::access_kinds::SSH;
use portal_model::access_offer;
use portal_model::index::Entry;
use portal_model::ssh;
use portal_model::ssh::{SshParts, SshRequest};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::IssuedGrant;
use rp_documents::Side;
use serde::{Deserialize, Serialize};
use serde_json::ser::PrettyFormatter;
use web::{
    AccessDialog, AccessDialogKind, AccessErrors, AccessForm, AccessGiven, SshChoices, SshCredentials,
    SshMachineRow,
};

use crate::access_dialog;
use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;

/// What its form asks.
const FIELDS: [&str; 6] = ["machine", "life", "reason", "ticket", "agent_forwarding", "destinations"];
/// The reason that is recorded for the contract's request, which has none.
const NO_REASON: &str = "not given (contract's request)";
/// Masters that the contract's request can name.
const MASTERS: std::ops::RangeInclusive<i64> = 0..=2;

/// The dialog, or its page, with what the address fills in.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let form = access_dialog::read_form(query.unwrap_or_default().as_bytes(), &FIELDS)?;
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let mut page = page(&state, &context, &user, &entry).await?;
    page.question.form = form;
    answer(&context, StatusCode::OK, &page)
}

async fn page(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
) -> Result<AccessDialog, Fault> {
    let offer = access_offer::offer(state, user, entry, &SSH).await;
    let choices = if offer.refusal.is_none() && offer.barred().is_none() {
        choices(state.ssh()?, entry).await
    } else {
        SshChoices::default()
    };
    Ok(access_dialog::dialog(state, context, entry, &offer, AccessDialogKind::Ssh(choices)))
}

/// The machines to choose from, or why there are none.
async fn choices(parts: &SshParts, entry: &Entry) -> SshChoices {
    let machines = match parts.list(&entry.id).await {
        Ok(machines) => machines,
        Err(fault) => {
            let note = format!("{}: name a machine yourself, such as master-0.", fault.message());
            return SshChoices { machines: Vec::new(), machines_note: note };
        }
    };
    let row = |machine: &proxy::ssh::machines::Machine| SshMachineRow {
        name: machine.name.clone(),
        control_plane: machine.control_plane,
        ready: machine.ready,
        way: ssh::way(machine),
    };
    let note = if machines.is_empty() { "The cluster names no machines: name one yourself." } else { "" };
    SshChoices { machines: machines.iter().map(row).collect(), machines_note: note.to_owned() }
}

/// JSON of a script; the contract knows `master` alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SshGrantRequest {
    master: Option<i64>,
    machine: Option<String>,
    reason: Option<String>,
    ticket: Option<String>,
    /// Seconds.
    life: Option<u64>,
    agent_forwarding: bool,
    destinations: Vec<String>,
}

impl SshGrantRequest {
    fn is_contracts(&self) -> bool {
        self.machine.is_none()
            && self.reason.is_none()
            && self.ticket.is_none()
            && self.life.is_none()
            && !self.agent_forwarding
            && self.destinations.is_empty()
    }
}

/// Gives a shell: the dialog with its password, or the contract's JSON.
pub async fn issue(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" => by_form(&state, &context, &user, &id, &body).await,
        "application/json" => by_json(&state, &user, &id, &body).await,
        _ => Err(Fault::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media_type",
            Side::You,
            "The body must be JSON, and say so",
        )),
    }
}

async fn by_json(
    state: &PortalState,
    user: &CurrentUser,
    id: &rp_documents::ResourceId,
    body: &[u8],
) -> Result<Response, Fault> {
    // Parsed as an object first, because serde would accept an array of values too.
    let members = serde_json::from_slice::<serde_json::Map<_, _>>(body);
    let asked = members.and_then(|members| serde_json::from_value(members.into()));
    let asked: SshGrantRequest = asked.map_err(|error| {
        Fault::bad_input("The body is not the JSON that is expected here")
            .why(rp_base::text::clean(&error.to_string(), 200))
    })?;
    let master = asked.master.unwrap_or(0);
    if !MASTERS.contains(&master) {
        return Err(Fault::bad_input("master is 0, 1 or 2"));
    }
    let entry = state.model.index.snapshot().get(id).cloned().ok_or_else(Fault::no_cluster)?;
    let parts = state.ssh()?;
    let name = ssh::user(user)?;
    let contracts = asked.is_contracts();
    let invalid = |what: String| Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", Side::You, what);
    let machine = match &asked.machine {
        // The contract's request is answered without asking the cluster.
        None => format!("master-{master}"),
        Some(machine) => parts.name(&entry.id, machine).await.map_err(|error| invalid(error.to_string()))?,
    };
    let wanted = SshRequest {
        machine,
        reason: if contracts { NO_REASON.to_owned() } else { asked.reason.unwrap_or_default() },
        ticket: asked.ticket.filter(|ticket| !ticket.trim().is_empty()),
        life: asked.life.map(Duration::from_secs),
        agent_forwarding: asked.agent_forwarding,
        destinations: ssh::destinations(&asked.destinations).map_err(|error| invalid(error.to_string()))?,
    };
    let issued = state.session.access.issue(&user.caller, ssh::ask(entry.id.clone(), wanted)).await;
    let issued = issued.map_err(|error| refusals::issue(&error))?;
    let more = (!contracts).then(|| SshDetails::new(state, parts, &issued));
    wire(&SshResponse { command: parts.command(name), password: issued.token.expose(), more })
}

/// The response of `contract/portal.md` §15, with additional fields for newer clients.
#[derive(Serialize)]
struct SshResponse<'a> {
    command: String,
    password: &'a str,
    #[serde(flatten)]
    more: Option<SshDetails>,
}

#[derive(Serialize)]
struct SshDetails {
    grant: rp_base::Id,
    machine: String,
    not_after: rp_base::Timestamp,
    password_not_after: rp_base::Timestamp,
    host: String,
    port: u16,
    /// Lines of a `known_hosts` file.
    known_hosts: Vec<String>,
}

impl SshDetails {
    fn new(state: &PortalState, parts: &SshParts, issued: &IssuedGrant) -> Self {
        Self {
            grant: issued.grant.id.clone(),
            machine: issued.grant.machine.clone().unwrap_or_default(),
            not_after: issued.grant.not_after,
            password_not_after: ssh::password_until(&state.session.access, issued),
            host: parts.host.clone(),
            port: parts.port,
            known_hosts: parts.keys.known_hosts(&parts.host, parts.port),
        }
    }
}

/// Four spaces, a newline at the end, nothing escaped for HTML (`contract/portal.md` §15).
fn wire(value: &SshResponse<'_>) -> Result<Response, Fault> {
    let mut out = Vec::with_capacity(512);
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(b"    "));
    value.serialize(&mut serializer).map_err(|_| Fault::internal())?;
    out.push(b'\n');
    let mut response = Response::new(Body::from(out));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

async fn by_form(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    id: &rp_documents::ResourceId,
    body: &[u8],
) -> Result<Response, Fault> {
    let form = access_dialog::read_form(body, &FIELDS)?;
    let entry = state.model.index.snapshot().get(id).cloned().ok_or_else(Fault::no_cluster)?;
    let parts = state.ssh()?;
    let name = ssh::user(user)?;
    let mut errors = AccessErrors::default();
    let wanted = wanted(parts, &entry, &form, &mut errors).await;
    if !errors.any() {
        match state.session.access.issue(&user.caller, ssh::ask(entry.id.clone(), wanted)).await {
            Ok(issued) => {
                let mut page = page(state, context, user, &entry).await?;
                page.given = Some(AccessGiven::Shell(given(state, parts, name, &issued)));
                let mut response = answer(context, StatusCode::OK, &page)?;
                response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                return Ok(response);
            }
            Err(error) if access_dialog::shown_at_field(&mut errors, &error) => {}
            Err(error) => errors.form = Some(refusals::issue(&error).failure(&frame(state, context))),
        }
    }
    let mut page = page(state, context, user, &entry).await?;
    page.question.form = form;
    page.question.errors = errors;
    answer(context, StatusCode::UNPROCESSABLE_ENTITY, &page)
}

async fn wanted(parts: &SshParts, entry: &Entry, form: &AccessForm, errors: &mut AccessErrors) -> SshRequest {
    let machine = parts.name(&entry.id, form.machine.trim()).await;
    let words: Vec<String> = access_dialog::destinations(form).map(str::to_owned).collect();
    let destinations = ssh::destinations(&words);
    SshRequest {
        machine: machine.unwrap_or_else(|why| {
            errors.machine = Some(why.to_string());
            String::new()
        }),
        reason: form.reason.clone(),
        ticket: access_dialog::ticket(form),
        life: access_dialog::life(form, errors),
        agent_forwarding: !form.agent_forwarding.is_empty(),
        destinations: destinations.unwrap_or_else(|why| {
            errors.destinations = Some(why.to_string());
            Vec::new()
        }),
    }
}

fn given(state: &PortalState, parts: &SshParts, user: &str, issued: &IssuedGrant) -> SshCredentials {
    SshCredentials {
        machine: issued.grant.machine.clone().unwrap_or_default(),
        command: parts.command(user),
        password: issued.token.expose().clone(),
        password_until: ssh::password_until(&state.session.access, issued).seconds(),
        ends: issued.grant.not_after.seconds(),
        grant: format!("/access/{}", issued.grant.id),
    }
}
