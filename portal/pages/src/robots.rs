//! `/robots`: identities of programs; an admin makes, rotates and revokes them.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::grant_fields::{rights, words};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::refusals;
use portal_session::refusals::sentence;
use portal_session::user::CurrentUser;
use rp_access::{IssuedGrant, RobotError, RobotRequest, RobotView};
use rp_base::Timestamp;
use rp_documents::grant::GrantState;
use rp_documents::robot::Scope;
use rp_documents::{GrantKind, Rights};
use web::{
    ConfirmChoices, ConfirmPage, Link, NavItem, NewToken, RobotErrors, RobotForm, RobotRow, RobotState,
    RobotsPage,
};

use crate::answer::answer;
use crate::confirm::{DialogForm, back_to, done, question, refused, why};
use crate::frame::frame;
use crate::rows;

const HOME: &str = "/robots";
const DAY: u64 = 86_400;
/// What a program is given by the JSON API.
const KINDS: [GrantKind; 2] = [GrantKind::Kubeconfig, GrantKind::Metrics];
/// Overlaps of a rotation, in seconds.
const OVERLAPS: [u64; 4] = [0, 3600, DAY, 7 * DAY];

fn row(view: &RobotView, now: Timestamp) -> RobotRow {
    let robot = &view.robot;
    let living = view.tokens.iter().filter(|token| token.state(now) == GrantState::Active).count();
    RobotRow {
        name: robot.name.clone(),
        clusters: match &robot.clusters {
            Scope::All => Vec::new(),
            Scope::Only(ids) => ids.iter().map(|id| id.name().to_owned()).collect(),
        },
        kinds: robot.kinds.iter().map(|kind| rows::kind(*kind)).collect(),
        rights: rows::rights(robot.rights),
        reason: robot.reason.clone(),
        by: robot.created_by.name.clone(),
        created: robot.created.seconds(),
        ends: robot.not_after.seconds(),
        last_used: view.last_used.map(Timestamp::seconds),
        tokens: u64::try_from(living).unwrap_or(u64::MAX),
        most_grants: u64::try_from(robot.max_grants).unwrap_or(u64::MAX),
        state: match &robot.revoked {
            Some(end) => RobotState::Revoked(end.by.clone()),
            None if view.lives => RobotState::Active,
            None => RobotState::Expired,
        },
    }
}

async fn robots_page(state: &PortalState, context: &Context) -> RobotsPage {
    let mut frame = frame(state, context);
    frame.place = NavItem::Robots;
    let mut page = RobotsPage {
        kinds: KINDS.map(rows::kind).into(),
        most_days: state.session.access.policy().robots.max_life.as_secs() / DAY,
        frame,
        ..RobotsPage::default()
    };
    match state.session.access.robots().await {
        Ok(views) => {
            let now = state.session.clock.now();
            page.robots = views.iter().map(|view| row(view, now)).collect();
            // Those that work come first.
            page.robots.sort_by_key(|robot| !robot.active());
        }
        Err(error) => page.failure = Some(Fault::store(&error).failure(&page.frame)),
    }
    page
}

/// All of them, and the form.
pub async fn page(State(state): State<PortalState>, Ctx(context): Ctx) -> Result<Response, Fault> {
    answer(&context, StatusCode::OK, &robots_page(&state, &context).await)
}

/// The fields by name; of kinds there may be several.
fn read(body: &[u8]) -> RobotForm {
    let mut form = RobotForm::default();
    for (name, value) in url::form_urlencoded::parse(body) {
        let value = value.into_owned();
        match name.as_ref() {
            "name" => form.name = value,
            "clusters" => form.clusters = value,
            "kinds" => form.kinds.push(value),
            "rights" => form.rights = value,
            "days" => form.days = value,
            "reason" => form.reason = value,
            _ => {}
        }
    }
    form
}

fn scope(state: &PortalState, text: &str) -> Result<Scope, String> {
    let names: Vec<&str> = text.split([',', ' ', '\n', '\r', '\t']).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Err("Name its clusters; a star alone means every one.".to_owned());
    }
    if names == ["*"] {
        return Ok(Scope::All);
    }
    let snapshot = state.model.index.snapshot();
    let (mut ids, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        match portal_model::named_cluster::cluster(state, name).filter(|id| snapshot.get(id).is_some()) {
            Some(id) if ids.contains(&id) => {}
            Some(id) => ids.push(id),
            None => unknown.push(rp_base::text::clean(name, 80)),
        }
    }
    if unknown.is_empty() {
        return Ok(Scope::Only(ids));
    }
    unknown.truncate(5);
    Err(format!("No single cluster of this region is called {}.", unknown.join(", ")))
}

fn ask(state: &PortalState, form: &RobotForm) -> Result<RobotRequest, Box<RobotErrors>> {
    let mut errors = RobotErrors::default();
    let clusters = scope(state, &form.clusters).map_err(|why| errors.clusters = Some(why));
    let kinds = portal_model::grant_fields::kinds(&form.kinds).unwrap_or_default();
    if kinds.is_empty() {
        errors.kinds = Some("Choose at least one.".to_owned());
    }
    let wanted = if form.rights.is_empty() { Some(Rights::Read) } else { rights(&form.rights) };
    if wanted.is_none() {
        errors.rights = Some("Choose read, write or admin.".to_owned());
    }
    let most = state.session.access.policy().robots.max_life.as_secs() / DAY;
    let days = form.days.trim().parse::<u64>().ok().filter(|days| (1..=most).contains(days));
    if days.is_none() {
        errors.days = Some(format!("A number between 1 and {most}."));
    }
    match (clusters, wanted, days) {
        (Ok(clusters), Some(rights), Some(days)) if errors == RobotErrors::default() => Ok(RobotRequest {
            name: form.name.trim().to_owned(),
            clusters,
            kinds,
            rights,
            reason: form.reason.clone(),
            life: Some(Duration::from_secs(days.saturating_mul(DAY))),
            max_grants: None,
        }),
        _ => Err(Box::new(errors)),
    }
}

fn token(state: &PortalState, name: &str, issued: &IssuedGrant, older_end: Option<i64>) -> NewToken {
    NewToken {
        robot: name.to_owned(),
        token: issued.token.expose().clone(),
        ends: issued.grant.not_after.seconds(),
        older_end,
        portal: state.session.site.urls.portal.origin().ascii_serialization(),
    }
}

/// Makes one; this answer shows its token, and no other does.
pub async fn create(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    body: Bytes,
) -> Result<Response, Fault> {
    let form = read(&body);
    let outcome = match ask(&state, &form) {
        Err(errors) => Err((StatusCode::UNPROCESSABLE_ENTITY, *errors)),
        Ok(asked) => match user.require_fresh(&state.session, &context.came_from) {
            Err(fault) => Err(about_all(&state, &context, &fault)),
            Ok(()) => match state.session.access.create_robot(&user.caller, asked).await {
                Ok(made) => Ok(made),
                Err(error) => Err(mistake(&state, &context, &error)),
            },
        },
    };
    let mut page = robots_page(&state, &context).await;
    let status = match outcome {
        Ok((robot, issued)) => {
            page.token = Some(token(&state, &robot.name, &issued, None));
            StatusCode::OK
        }
        Err((status, errors)) => {
            (page.form, page.errors) = (form, errors);
            status
        }
    };
    answer(&context, status, &page)
}

fn about_all(state: &PortalState, context: &Context, fault: &Fault) -> (StatusCode, RobotErrors) {
    let form = Some(fault.failure(&frame(state, context)));
    (fault.status, RobotErrors { form, ..RobotErrors::default() })
}

/// Puts the error at the field that it concerns.
fn mistake(state: &PortalState, context: &Context, error: &RobotError) -> (StatusCode, RobotErrors) {
    let mut errors = RobotErrors::default();
    let said = Some(sentence(error));
    match error {
        RobotError::Exists => errors.name = said,
        RobotError::Invalid(what) if what.contains("name is") => errors.name = said,
        RobotError::Invalid(what) if what.contains("scope") => errors.clusters = said,
        RobotError::Invalid(_) => errors.kinds = said,
        RobotError::Reason { .. } => errors.reason = said,
        RobotError::Life { .. } => errors.days = said,
        _ => return about_all(state, context, &refusals::robot(error)),
    }
    (StatusCode::UNPROCESSABLE_ENTITY, errors)
}

fn question_page(state: &PortalState, context: &Context, name: &str) -> ConfirmPage {
    let facts = vec![("Robot".to_owned(), rp_base::text::clean(name, 80))];
    let back = Link::new("Robots", back_to(context, HOME));
    ConfirmPage { facts, ..question(frame(state, context), NavItem::Robots, back) }
}

fn rotate_page(state: &PortalState, context: &Context, name: &str) -> ConfirmPage {
    let words = |seconds: u64| match seconds {
        0 => "Not at all".to_owned(),
        n => web::when::span(i64::try_from(n).unwrap_or(i64::MAX)),
    };
    ConfirmPage {
        name: "rotate",
        icon: "refresh",
        title: "Give it a new token?".to_owned(),
        text: vec![
            "The new token is shown once, on the next page. Until the older ones end, both work.".to_owned(),
        ],
        choices: Some(ConfirmChoices {
            legend: "The older tokens go on for".to_owned(),
            name: "life",
            values: OVERLAPS.map(|n| (n.to_string(), words(n))).into(),
            chosen: DAY.to_string(),
            error: None,
        }),
        command: format!("aro robots rotate {name} --overlap 1d"),
        action: format!("/robots/{}/rotate", web::text::encode(name)),
        submit: "Rotate and show the token".to_owned(),
        running: "Rotating…".to_owned(),
        ..question_page(state, context, name)
    }
}

/// Asks for the overlap.
pub async fn rotate_dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    let mut page = rotate_page(&state, &context, &name);
    if let Err(fault) = user.require_fresh(&state.session, &context.came_from) {
        page.failure = Some(fault.failure(&page.frame));
    }
    answer(&context, StatusCode::OK, &page)
}

/// Makes a new token; this answer shows it, and no other does.
pub async fn rotate(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Response, Fault> {
    let answered = DialogForm::read(&body);
    let overlap = answered.life.parse().unwrap_or(0);
    let outcome = match user.require_fresh(&state.session, &context.came_from) {
        Err(fault) => Err(fault),
        Ok(()) => {
            let rotated =
                state.session.access.rotate_robot(&user.caller, &name, Duration::from_secs(overlap)).await;
            rotated.map_err(|error| refusals::robot(&error))
        }
    };
    match outcome {
        Ok(issued) => {
            let older = state
                .session
                .clock
                .now()
                .seconds()
                .saturating_add(i64::try_from(overlap).unwrap_or(i64::MAX));
            let mut page = robots_page(&state, &context).await;
            page.token = Some(token(&state, &name, &issued, Some(older)));
            answer(&context, StatusCode::OK, &page)
        }
        Err(fault) => refused(&context, rotate_page(&state, &context, &name), fault),
    }
}

fn revoke_page(state: &PortalState, context: &Context, name: &str) -> ConfirmPage {
    ConfirmPage {
        name: "revoke-robot",
        icon: "revoke",
        title: "Revoke this robot?".to_owned(),
        text: vec![
            "Its tokens and every grant taken with them end within a second. Its name is not used again."
                .to_owned(),
        ],
        fields: vec![why("", true, "Goes into the audit, and stands in the list.")],
        kind: "danger",
        command: format!("aro robots revoke {name}"),
        action: format!("/robots/{}/revoke", web::text::encode(name)),
        submit: "Revoke".to_owned(),
        running: "Revoking…".to_owned(),
        ..question_page(state, context, name)
    }
}

/// Asks for the reason.
pub async fn revoke_dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    answer(&context, StatusCode::OK, &revoke_page(&state, &context, &name))
}

/// Revokes a robot and all its tokens.
pub async fn revoke(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Response, Fault> {
    let answered = DialogForm::read(&body);
    let mut page = revoke_page(&state, &context, &name);
    let why = words(Some(answered.why.clone()));
    if let Some(field) = page.fields.first_mut() {
        field.value.clone_from(&answered.why);
        if why.is_none() {
            field.error = Some("Say why.".to_owned());
            return answer(&context, StatusCode::UNPROCESSABLE_ENTITY, &page);
        }
    }
    match state.session.access.revoke_robot(&user.caller, &name, why).await {
        Ok(n) => Ok(done(&answered, HOME, Flash::RobotRevoked(n))),
        Err(error) => refused(&context, page, refusals::robot(&error)),
    }
}
