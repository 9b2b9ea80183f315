//! `{RES}/kubeconfig` and `POST {RES}/kubeconfig/new` (`contract/portal.md` §10; `contract/rules.md` §5.1).

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use portal_model::access_kinds::KUBECONFIG;
use portal_model::access_offer;
use portal_model::access_offer::{AccessOffer, Standing};
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx, ResponseKind};
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::refusals::sentence;
use portal_session::user::CurrentUser;
use rp_access::{GrantFilter, IssueError, IssueRequest, IssuedGrant};
use rp_documents::{GrantKind, Rights, Side};
use serde::Deserialize;
use web::{AccessDialog, AccessDialogKind, AccessErrors, AccessForm, KubeconfigChoices, RightsChoice};

use crate::access_dialog;
use crate::access_dialog::what_is_missing;
use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::rows;

/// What its form asks.
const FIELDS: [&str; 4] = ["rights", "life", "reason", "ticket"];
/// The reason that is recorded for an empty POST, the contract's wire form.
const NO_REASON: &str = "not given (contract's empty request)";

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
    let offer = access_offer::offer(state, user, entry, &KUBECONFIG).await;
    let choices = KubeconfigChoices {
        rights: rights(state, entry, &offer),
        held: held(state, user, entry).await?,
        identity: identity(entry).to_owned(),
    };
    Ok(access_dialog::dialog(state, context, entry, &offer, AccessDialogKind::Kubeconfig(choices)))
}

/// How many kubeconfigs of the person for it are active.
async fn held(state: &PortalState, user: &CurrentUser, entry: &Entry) -> Result<u64, Fault> {
    let mine = GrantFilter {
        owner_sub: Some(user.caller.person.sub.clone()),
        target: Some(entry.id.clone()),
        active_only: true,
        limit: 200,
        ..GrantFilter::default()
    };
    let held = state.session.access.list(&mine).await.map_err(|error| Fault::store(&error))?;
    let held = held.items.iter().filter(|view| view.grant.kind == GrantKind::Kubeconfig).count();
    Ok(u64::try_from(held).unwrap_or(0))
}

/// Read-only stands first and is chosen; the rest is there while an elevation for this cluster is in force.
fn rights(state: &PortalState, entry: &Entry, offer: &AccessOffer) -> Vec<RightsChoice> {
    let choice = |rights: Rights, standing: Standing| {
        let plain = RightsChoice { rights: rows::rights(rights), ..RightsChoice::default() };
        match standing {
            Standing::Own => plain,
            Standing::Elevated(end) => {
                let end = web::when::exact(end.seconds());
                let note = format!("Your elevation ends at {end}; from then on it only reads.");
                RightsChoice { note, ..plain }
            }
            Standing::Lacks(lack) => {
                let back = access_dialog::address(entry, "kubeconfig", Some(rights));
                let (why, way) = what_is_missing(state, entry, rights, lack, &back);
                RightsChoice { barred: Some(why), way, ..plain }
            }
        }
    };
    offer.rights.iter().map(|each| choice(each.rights, each.standing)).collect()
}

fn identity(entry: &Entry) -> &'static str {
    match &entry.imported {
        None => "system:aro-sre with your name as an extra; above read-only, your name in system:masters",
        Some(imported) if imported.as_groups.is_empty() => "the imported credential, which everybody shares",
        Some(_) => "your name, in the groups that the import names",
    }
}

/// JSON of a script; all optional.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KubeconfigRequest {
    rights: Option<String>,
    reason: Option<String>,
    ticket: Option<String>,
    /// Seconds.
    life: Option<serde_json::Value>,
}

/// What was posted, in one form.
struct PostedForm {
    form: AccessForm,
    /// The contract's empty request.
    empty: bool,
}

fn posted(headers: &HeaderMap, body: &[u8]) -> Result<PostedForm, Fault> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        let form = access_dialog::read_form(body, &FIELDS)?;
        let empty = form == AccessForm::default();
        return Ok(PostedForm { form, empty });
    }
    if body.is_empty() {
        return Ok(PostedForm { form: AccessForm::default(), empty: true });
    }
    let ask: KubeconfigRequest = serde_json::from_slice(body)
        .map_err(|_| Fault::bad_input("The body is not the JSON that is expected here"))?;
    let life = match ask.life {
        None | Some(serde_json::Value::Null) => String::new(),
        Some(serde_json::Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    let form = AccessForm {
        rights: ask.rights.unwrap_or_default(),
        life,
        reason: ask.reason.unwrap_or_default(),
        ticket: ask.ticket.unwrap_or_default(),
        ..AccessForm::default()
    };
    // `{}` is the contract's empty request too.
    let empty = form == AccessForm::default();
    Ok(PostedForm { form, empty })
}

/// What is wrong with each field, or what is asked for.
fn ask(posted: &PostedForm, entry: &Entry) -> Result<IssueRequest, Box<AccessErrors>> {
    let form = &posted.form;
    let mut errors = AccessErrors::default();
    let rights = match form.rights.as_str() {
        "" | "read" => Rights::Read,
        "write" => Rights::Write,
        "admin" => Rights::Admin,
        _ => {
            errors.rights = Some("Choose read, write or admin.".to_owned());
            Rights::Read
        }
    };
    let life = access_dialog::life(form, &mut errors);
    if form.ticket.chars().count() > 100 {
        errors.ticket = Some("At most 100 characters.".to_owned());
    }
    if errors.any() {
        return Err(Box::new(errors));
    }
    let reason = if posted.empty { NO_REASON.to_owned() } else { form.reason.clone() };
    Ok(IssueRequest {
        rights,
        ticket: access_dialog::ticket(form),
        life,
        ..KUBECONFIG.request(entry.id.clone(), reason)
    })
}

/// Gives a kubeconfig: the file, or 422 with the dialog or JSON that says which field is wrong.
pub async fn issue(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let posted = posted(&headers, &body)?;
    let asked = match ask(&posted, &entry) {
        Ok(asked) => asked,
        Err(errors) => return mistakes(&state, &context, &user, &entry, posted.form, *errors).await,
    };
    match state.session.access.issue(&user.caller, asked).await {
        Ok(issued) => file(&state, &entry, &issued),
        Err(error) => refused(&state, &context, &user, &entry, posted.form, error).await,
    }
}

async fn refused(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
    form: AccessForm,
    error: IssueError,
) -> Result<Response, Fault> {
    let mut errors = AccessErrors::default();
    if access_dialog::shown_at_field(&mut errors, &error) {
        return mistakes(state, context, user, entry, form, errors).await;
    }
    let fault = refusals::issue(&error);
    if context.wants == ResponseKind::Json {
        return Err(fault);
    }
    if matches!(error, IssueError::NotAllowed { .. } | IssueError::ElevationNeeded { .. }) {
        errors.rights = Some(sentence(&error));
        return mistakes(state, context, user, entry, form, errors).await;
    }
    // Keeps the typed values.
    errors.form = Some(fault.failure(&frame(state, context)));
    filled_in(state, context, user, entry, (fault.status, form, errors)).await
}

async fn mistakes(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
    form: AccessForm,
    errors: AccessErrors,
) -> Result<Response, Fault> {
    if context.wants == ResponseKind::Json {
        let fields = [&errors.rights, &errors.life, &errors.reason, &errors.ticket];
        let text: Vec<&str> = fields.into_iter().flatten().map(String::as_str).collect();
        return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", Side::You, text.join(" ")));
    }
    filled_in(state, context, user, entry, (StatusCode::UNPROCESSABLE_ENTITY, form, errors)).await
}

/// The dialog with what was filled in, and what is wrong with it.
async fn filled_in(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
    (status, form, errors): (StatusCode, AccessForm, AccessErrors),
) -> Result<Response, Fault> {
    let mut page = page(state, context, user, entry).await?;
    page.question.form = form;
    page.question.errors = errors;
    answer(context, status, &page)
}

/// The wire form of `contract/portal.md` §10.
fn file(state: &PortalState, entry: &Entry, issued: &IssuedGrant) -> Result<Response, Fault> {
    let urls = &state.session.site.urls;
    let server = KUBECONFIG.address(&state.session.site, &entry.id).unwrap_or_default();
    let text = rp_kube::write::issued(&server, urls.ca_pem.as_deref(), &issued.token);
    let more = if issued.grant.rights > Rights::Read { "-elevated" } else { "" };
    // A name has letters, digits, `-_().` only, so it needs no quoting.
    let name = format!("attachment; filename=\"{}{more}.kubeconfig\"", entry.id.name().to_ascii_lowercase());
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(|_| Fault::internal())?);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let grant = HeaderValue::from_str(issued.grant.id.as_str()).map_err(|_| Fault::internal())?;
    headers.insert("x-aro-grant", grant);
    Ok(response)
}
