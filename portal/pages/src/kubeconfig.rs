//! `{RES}/kubeconfig` and `POST {RES}/kubeconfig/new` (`contract/portal.md` §10; `contract/rules.md` §5.1).

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx, ResponseKind};
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::refusals::sentence;
use portal_session::user::{CurrentUser, missing};
use rp_access::{GrantFilter, IssueError, IssueRequest, IssuedGrant};
use rp_documents::{GrantKind, Rights, Role, Side};
use serde::Deserialize;
use web::{AccessDecision, KubeconfigErrors, KubeconfigForm, KubeconfigPage, Link, NavItem, RightsChoice};

use crate::answer::answer;
use crate::cluster_head::may_take;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::rows;

/// The reason that is recorded for an empty POST, the contract's wire form.
const NO_REASON: &str = "not given (contract's empty request)";

/// The dialog, or its page.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let page = page(&state, &context, &user, &entry).await?;
    answer(&context, StatusCode::OK, &page)
}

async fn page(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
) -> Result<KubeconfigPage, Fault> {
    let mut frame = frame(state, context);
    frame.place = NavItem::Clusters;
    let mine = GrantFilter {
        owner_sub: Some(user.caller.person.sub.clone()),
        target: Some(entry.id.clone()),
        active_only: true,
        limit: 200,
        ..GrantFilter::default()
    };
    let held = state.session.access.list(&mine).await.map_err(|error| Fault::store(&error))?;
    let held = held.items.iter().filter(|view| view.grant.kind == GrantKind::Kubeconfig).count();
    let failure = match may_take(entry, user) {
        AccessDecision::Yes => None,
        AccessDecision::No(why) if user.has(Role::Sre) => Some(
            Fault::new(
                StatusCode::CONFLICT,
                "not_reachable",
                Side::Cluster,
                "This cluster cannot be reached yet",
            )
            .why(why)
            .failure(&frame),
        ),
        AccessDecision::No(_) => Some(missing(Role::Sre).failure(&frame)),
    };
    Ok(KubeconfigPage {
        cluster: entry.id.name().to_owned(),
        path: entry.path(),
        choices: choices(state, user, entry),
        lives: lives(state),
        form: KubeconfigForm::default(),
        errors: KubeconfigErrors::default(),
        held: u64::try_from(held).unwrap_or(0),
        identity: identity(entry).to_owned(),
        failure,
        frame,
    })
}

/// Read-only stands first and is chosen; the rest is there while an elevation for this cluster is in force.
fn choices(state: &PortalState, user: &CurrentUser, entry: &Entry) -> Vec<RightsChoice> {
    let access = &state.session.access;
    let active = access.active_elevations(&user.caller.person.sub);
    let covers = |rights: Rights| {
        let covering = active.iter().filter(|each| each.rights >= rights && each.covers(Some(&entry.id)));
        covering.max_by_key(|each| each.not_after)
    };
    let choice = |rights: Rights| {
        let plain = RightsChoice { rights: rows::rights(rights), ..RightsChoice::default() };
        if rights == Rights::Read {
            return plain;
        }
        if let Some(elevation) = covers(rights) {
            let end = elevation.not_after.unwrap_or(elevation.asked).seconds();
            let note =
                format!("Your elevation ends at {}; from then on it only reads.", web::when::exact(end));
            return RightsChoice { note, ..plain };
        }
        if !user.has(Role::Elevated) {
            return RightsChoice { barred: Some("Needs the role elevated.".to_owned()), ..plain };
        }
        let form = web::ElevateForm {
            cluster: entry.id.to_string(),
            rights: rights.name().to_owned(),
            ..web::ElevateForm::default()
        };
        let why = format!("You are not elevated to {} on this cluster.", rights.name());
        RightsChoice { barred: Some(why), way: Some(Link::new("Elevate first", form.href())), ..plain }
    };
    [Rights::Read, Rights::Write, Rights::Admin].map(choice).into()
}

/// Lengths of life to choose from, in seconds, up to what the policy allows.
pub fn lives(state: &PortalState) -> Vec<u64> {
    let policy = state.session.access.policy();
    let (most, default) = (policy.max_life.as_secs(), policy.default_life.as_secs());
    let mut lives: Vec<u64> =
        [3600, default, 8 * 3600, most].into_iter().filter(|life| *life <= most && *life >= 60).collect();
    lives.sort_unstable();
    lives.dedup();
    lives
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
    form: KubeconfigForm,
    /// The contract's empty request.
    empty: bool,
}

fn posted(headers: &HeaderMap, body: &[u8]) -> Result<PostedForm, Fault> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        let form: KubeconfigForm =
            parse_form(body).ok_or_else(|| Fault::bad_input("The form cannot be read"))?;
        let empty = form == KubeconfigForm::default();
        return Ok(PostedForm { form, empty });
    }
    if body.is_empty() {
        return Ok(PostedForm { form: KubeconfigForm::default(), empty: true });
    }
    let ask: KubeconfigRequest = serde_json::from_slice(body)
        .map_err(|_| Fault::bad_input("The body is not the JSON that is expected here"))?;
    let life = match ask.life {
        None | Some(serde_json::Value::Null) => String::new(),
        Some(serde_json::Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    let form = KubeconfigForm {
        rights: ask.rights.unwrap_or_default(),
        life,
        reason: ask.reason.unwrap_or_default(),
        ticket: ask.ticket.unwrap_or_default(),
    };
    // `{}` is the contract's empty request too.
    let empty = form == KubeconfigForm::default();
    Ok(PostedForm { form, empty })
}

/// The fields of a form by name; unknown ones are ignored, the last of a name wins.
pub fn parse_form(body: &[u8]) -> Option<KubeconfigForm> {
    std::str::from_utf8(body).ok()?;
    let mut form = KubeconfigForm::default();
    for (name, value) in url::form_urlencoded::parse(body) {
        let field = match name.as_ref() {
            "rights" => &mut form.rights,
            "life" => &mut form.life,
            "reason" => &mut form.reason,
            "ticket" => &mut form.ticket,
            _ => continue,
        };
        *field = value.into_owned();
    }
    Some(form)
}

/// What is wrong with each field, or what is asked for.
fn ask(posted: &PostedForm, entry: &Entry) -> Result<IssueRequest, Box<KubeconfigErrors>> {
    let form = &posted.form;
    let mut errors = KubeconfigErrors::default();
    let rights = match form.rights.as_str() {
        "" | "read" => Rights::Read,
        "write" => Rights::Write,
        "admin" => Rights::Admin,
        _ => {
            errors.rights = Some("Choose read, write or admin.".to_owned());
            Rights::Read
        }
    };
    let life = match form.life.trim() {
        "" => None,
        text => text.parse::<u64>().ok().map(Duration::from_secs).or_else(|| {
            errors.life = Some("A number of seconds.".to_owned());
            None
        }),
    };
    if form.ticket.chars().count() > 100 {
        errors.ticket = Some("At most 100 characters.".to_owned());
    }
    if errors.any() {
        return Err(Box::new(errors));
    }
    let ticket = form.ticket.trim();
    Ok(IssueRequest {
        ticket: (!ticket.is_empty()).then(|| ticket.to_owned()),
        life,
        ..IssueRequest::new(
            GrantKind::Kubeconfig,
            Some(entry.id.clone()),
            rights,
            if posted.empty { NO_REASON.to_owned() } else { form.reason.clone() },
        )
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
    form: KubeconfigForm,
    error: IssueError,
) -> Result<Response, Fault> {
    let mut errors = KubeconfigErrors::default();
    match &error {
        IssueError::Reason { .. } => errors.reason = Some(sentence(&error)),
        IssueError::Ticket { .. } => errors.ticket = Some(sentence(&error)),
        IssueError::Life { .. } => errors.life = Some(sentence(&error)),
        IssueError::NotAllowed { .. } | IssueError::ElevationNeeded { .. } => {
            if context.wants == ResponseKind::Json {
                return Err(refusals::issue(&error));
            }
            errors.rights = Some(sentence(&error));
        }
        IssueError::OutOfScope { .. }
        | IssueError::TooOften(_)
        | IssueError::TooMany { .. }
        | IssueError::Store(_)
        | IssueError::Audit(_)
        | IssueError::NoKey => {
            let fault = refusals::issue(&error);
            if context.wants == ResponseKind::Json {
                return Err(fault);
            }
            // Keeps the typed values.
            errors.form = Some(fault.failure(&frame(state, context)));
            let page = KubeconfigPage { form, errors, ..page(state, context, user, entry).await? };
            return answer(context, fault.status, &page);
        }
    }
    mistakes(state, context, user, entry, form, errors).await
}

async fn mistakes(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Entry,
    form: KubeconfigForm,
    errors: KubeconfigErrors,
) -> Result<Response, Fault> {
    if context.wants == ResponseKind::Json {
        let fields = [&errors.rights, &errors.life, &errors.reason, &errors.ticket];
        let text: Vec<&str> = fields.into_iter().flatten().map(String::as_str).collect();
        return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", Side::You, text.join(" ")));
    }
    let page = KubeconfigPage { form, errors, ..page(state, context, user, entry).await? };
    answer(context, StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// The wire form of `contract/portal.md` §10.
fn file(state: &PortalState, entry: &Entry, issued: &IssuedGrant) -> Result<Response, Fault> {
    let urls = &state.session.site.urls;
    let server = format!("{}{}/kubeconfig/proxy", urls.proxy.origin().ascii_serialization(), entry.id.key());
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
