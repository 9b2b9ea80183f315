//! `/access/{id}/revoke`, `/access/{id}/extend` and `/access/revoke`: questions, and what is done on them.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::StatusCode;
use rp_access::{AccessError, GrantView, RevokeScope};
use rp_base::Timestamp;
use rp_documents::elevation::ElevationState;
use rp_documents::grant::GrantState;
use rp_documents::{ResourceId, Role};
use serde::Deserialize;
use web::{AskChoices, AskField, AskPage, Link, Place};

use super::ask::{Answered, back_to, done, question, refused, why};
use super::did::Did;
use super::{answer, frame, rows};
use crate::api::grants::{parse, words};
use crate::context::{Context, Ctx};
use crate::fault::Fault;
use crate::find::{Search, Wanted, nobody, person};
use crate::refusals;
use crate::state::PortalState;
use crate::user::CurrentUser;

const HOME: &str = "/access";
const READ_BY: &str = "Goes into the audit. The owner of the grant reads it.";
/// Living grants that are counted before "all of them" are ended.
const MOST_COUNTED: usize = 500;

async fn view(state: &PortalState, user: &CurrentUser, id: &str) -> Result<GrantView, Fault> {
    state.0.access.get(&user.caller, &parse(id)?).await.map_err(|error| refusals::access(&error))
}

fn about(view: &GrantView, user: &CurrentUser) -> Vec<(String, String)> {
    let row = rows::grant_row(view, user);
    let facts = [
        ("Owner", row.owner.clone()),
        ("Cluster", row.place().to_owned()),
        ("Rights", row.rights.badge().word),
        ("Reason", row.reason.clone()),
        ("Ticket", row.ticket.clone()),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

fn revoke_page(state: &PortalState, context: &Context, user: &CurrentUser, view: &GrantView) -> AskPage {
    let grant = &view.grant;
    let kind = rows::kind(grant.kind).words().to_lowercase();
    let streams = match view.streams {
        0 => "No stream is open with it now.".to_owned(),
        n => format!(
            "{} cut.",
            web::text::plural(u64::try_from(n).unwrap_or(u64::MAX), "stream is", "streams are")
        ),
    };
    AskPage {
        name: "revoke",
        icon: "revoke",
        title: format!("Revoke this {kind}?"),
        text: vec![format!("It stops working everywhere within a second. {streams}")],
        facts: about(view, user),
        command: format!("aro grants revoke {}", grant.id),
        action: format!("/access/{}/revoke", grant.id),
        fields: vec![why("", false, READ_BY)],
        kind: "danger",
        submit: "Revoke".to_owned(),
        running: "Revoking…".to_owned(),
        ..question(frame(state, context), Place::Access, Link::new("Access", back_to(context, HOME)))
    }
}

/// Asks whether to end one.
pub(crate) async fn revoke_dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let view = view(&state, &user, &id).await?;
    let page = revoke_page(&state, &context, &user, &view);
    let own = view.grant.owner.sub == user.caller.person.sub;
    if !own && !user.has(Role::Admin) {
        return refused(&context, page, refusals::access(&AccessError::NotYours));
    }
    if view.state != GrantState::Active {
        return refused(&context, page, refusals::access(&AccessError::Ended));
    }
    answer(&context, StatusCode::OK, &page)
}

/// Ends one of my grants (an admin: anybody's), everywhere within a second.
pub(crate) async fn revoke(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Fault> {
    let answered = Answered::read(&body);
    let revoked = state.0.access.revoke(&user.caller, &parse(&id)?, words(Some(answered.why.clone()))).await;
    match revoked {
        // Pressing twice is no error.
        Ok(_) | Err(AccessError::Ended) => Ok(done(&answered, HOME, Did::Revoked)),
        Err(error @ (AccessError::Unknown | AccessError::NotYours)) => Err(refusals::access(&error)),
        Err(error) => {
            let mut page = revoke_page(&state, &context, &user, &view(&state, &user, &id).await?);
            page.back.href = crate::auth::return_path(Some(&answered.back));
            page.fields = vec![why(&answered.why, false, READ_BY)];
            refused(&context, page, refusals::access(&error))
        }
    }
}

/// The latest end that a grant may be given.
fn latest(state: &PortalState, view: &GrantView) -> Timestamp {
    let now = state.0.clock.now();
    let latest = view.grant.created + state.0.access.policy().max_total_life;
    let active = view.elevation.as_ref().filter(|each| each.state(now) == ElevationState::Active);
    active.and_then(|each| each.not_after).map_or(latest, |end| latest.min(end))
}

fn extend_page(state: &PortalState, context: &Context, user: &CurrentUser, view: &GrantView) -> AskPage {
    let (now, grant) = (state.0.clock.now(), &view.grant);
    let latest = latest(state, view);
    let left = grant.not_after.since(now);
    // The policy counts from the moment of the press: some seconds are left for it.
    let most = latest.since(now).saturating_sub(Duration::from_secs(120)).as_secs() / 60 * 60;
    let mut lives: Vec<u64> = [3600, 4 * 3600, 8 * 3600]
        .into_iter()
        .filter(|life| *life < most && *life > left.as_secs())
        .collect();
    if most > left.as_secs() {
        lives.push(most);
    }
    let values: Vec<(String, String)> = lives
        .iter()
        .map(|life| {
            let words = web::when::span(i64::try_from(*life).unwrap_or(i64::MAX));
            (life.to_string(), if *life == most { format!("{words}, the most") } else { words })
        })
        .collect();
    let end = web::when::exact(latest.seconds());
    let mut page = AskPage {
        name: "extend",
        icon: "clock",
        title: format!("Extend this {}?", rows::kind(grant.kind).words().to_lowercase()),
        text: vec![format!(
            "It ends {}, and may live until {end} at most.",
            web::when::coming(grant.not_after.seconds(), now.seconds())
        )],
        facts: about(view, user),
        command: format!("aro grants extend {} --life 4h", grant.id),
        action: format!("/access/{}/extend", grant.id),
        submit: "Extend".to_owned(),
        running: "Extending…".to_owned(),
        ..question(frame(state, context), Place::Access, Link::new("Access", back_to(context, HOME)))
    };
    if values.is_empty() {
        let fault =
            Fault::new(StatusCode::CONFLICT, "at_the_most", rp_documents::Side::You, "It cannot be longer")
                .why(format!("It may live until {end} at most, which it does. Take a new one when it ends."));
        page.failure = Some(fault.failure(&page.frame));
    }
    let chosen = values.first().map(|(value, _)| value.clone()).unwrap_or_default();
    let legend = "From now on for".to_owned();
    page.choices = Some(AskChoices { legend, name: "life", values, chosen, error: None });
    page
}

/// Asks how long to extend one.
pub(crate) async fn extend_dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let view = view(&state, &user, &id).await?;
    let page = extend_page(&state, &context, &user, &view);
    if view.grant.owner.sub != user.caller.person.sub {
        return refused(&context, page, refusals::extend(&rp_access::ExtendError::NotYours));
    }
    if view.state != GrantState::Active {
        return refused(&context, page, refusals::extend(&rp_access::ExtendError::Ended));
    }
    answer(&context, StatusCode::OK, &page)
}

/// Moves the end of one of my grants.
pub(crate) async fn extend(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Fault> {
    let answered = Answered::read(&body);
    let life = answered.life.parse().map(Duration::from_secs).unwrap_or_default();
    match state.0.access.extend(&user.caller, &parse(&id)?, life).await {
        Ok(_) => Ok(done(&answered, HOME, Did::Extended)),
        Err(error) => {
            let fault = refusals::extend(&error);
            let Ok(view) = view(&state, &user, &id).await else { return Err(fault) };
            let mut page = extend_page(&state, &context, &user, &view);
            page.back.href = crate::auth::return_path(Some(&answered.back));
            refused(&context, page, fault)
        }
    }
}

/// Whose grants "all" are, as in the URL.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct All {
    mine: String,
    person: String,
    cluster: String,
    everything: String,
}

impl From<&Answered> for All {
    fn from(answered: &Answered) -> Self {
        Self {
            mine: answered.mine.clone(),
            person: answered.person.clone(),
            cluster: answered.cluster.clone(),
            everything: answered.everything.clone(),
        }
    }
}

/// What "all" came to: the scope, how it is called, what must be typed.
struct Many {
    scope: RevokeScope,
    title: String,
    who: String,
    command: String,
    hidden: (&'static str, String),
    typed: Option<&'static str>,
    search: Search,
}

async fn many(state: &PortalState, user: &CurrentUser, all: &All) -> Result<Many, Fault> {
    let own = &user.caller.person;
    if !all.mine.is_empty() || (!all.person.is_empty() && user.is(&all.person)) {
        return Ok(Many {
            scope: RevokeScope::Person(own.sub.clone()),
            title: "Revoke all of your grants?".to_owned(),
            who: "you hold".to_owned(),
            command: "aro grants revoke --person me".to_owned(),
            hidden: ("mine", "true".to_owned()),
            typed: None,
            search: Search { owner_sub: Some(own.sub.clone()), ..Search::default() },
        });
    }
    if all.person.is_empty() && all.cluster.is_empty() && all.everything.is_empty() {
        return Err(Fault::bad_input("Whose grants is not said"));
    }
    user.require(Role::Admin)?;
    if !all.person.is_empty() {
        let found = person(state, &all.person).await?.ok_or_else(|| nobody(&all.person))?;
        return Ok(Many {
            title: format!("Revoke all of {}?", found.name),
            who: format!("{} holds", found.name),
            command: format!("aro grants revoke --person {}", found.name),
            hidden: ("person", found.sub.clone()),
            typed: None,
            search: Search { owner_sub: Some(found.sub.clone()), ..Search::default() },
            scope: RevokeScope::Person(found.sub),
        });
    }
    if !all.cluster.is_empty() {
        let id = super::audit::cluster(state, &all.cluster).ok_or_else(Fault::no_cluster)?;
        return Ok(of_cluster(id));
    }
    Ok(Many {
        scope: RevokeScope::Everything,
        title: "Revoke everything?".to_owned(),
        who: "anybody holds, person or robot".to_owned(),
        command: "aro grants revoke --everything".to_owned(),
        hidden: ("everything", "true".to_owned()),
        typed: Some("everything"),
        search: Search::default(),
    })
}

fn of_cluster(id: ResourceId) -> Many {
    Many {
        title: format!("Revoke all on {}?", id.name()),
        who: format!("anybody holds on {}", id.name()),
        command: format!("aro grants revoke --cluster {}", id.name()),
        hidden: ("cluster", id.to_string()),
        typed: None,
        search: Search { target: Some(id.clone()), ..Search::default() },
        scope: RevokeScope::Cluster(id),
    }
}

async fn many_page(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    many: &Many,
) -> Result<AskPage, Fault> {
    let search = Search { wanted: Wanted::Active, limit: MOST_COUNTED, ..many.search.clone() };
    let found = search.run(state).await?;
    let number = web::text::number(u64::try_from(found.items.len()).unwrap_or(u64::MAX));
    let number = if found.next.is_some() { format!("more than {number}") } else { number };
    let mut text = vec![format!(
        "Every grant that {} ends within a second: {number} now. Open streams are cut.",
        many.who
    )];
    if many.typed.is_some() {
        text.push(
            "Everybody who works on a cluster through this portal is cut off. Sessions of the portal go on."
                .to_owned(),
        );
    }
    let mut fields = vec![why("", many.hidden.0 != "mine", READ_BY)];
    if let Some(word) = many.typed {
        fields.push(AskField {
            name: "confirm",
            label: format!("Type “{word}” to confirm"),
            hint: "It cannot be undone: everybody takes their access anew.".to_owned(),
            required: true,
            exact: true,
            ..AskField::default()
        });
    }
    let page = AskPage {
        name: "revoke-many",
        icon: "revoke",
        title: many.title.clone(),
        text,
        command: many.command.clone(),
        action: "/access/revoke".to_owned(),
        hidden: vec![(many.hidden.0.to_owned(), many.hidden.1.clone())],
        fields,
        kind: "danger",
        submit: "Revoke them all".to_owned(),
        running: "Revoking…".to_owned(),
        ..question(frame(state, context), Place::Access, Link::new("Access", back_to(context, HOME)))
    };
    Ok(fresh(state, context, user, many, page))
}

/// Everything needs a fresh sign-in: said before anything is typed.
fn fresh(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    many: &Many,
    mut page: AskPage,
) -> AskPage {
    if many.scope == RevokeScope::Everything
        && let Err(fault) = user.require_fresh(state, context)
    {
        page.failure = Some(fault.failure(&page.frame));
    }
    page
}

/// Asks whether to end all of a person, a cluster, or all.
pub(crate) async fn many_dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(all): Query<All>,
) -> Result<Response, Fault> {
    let many = many(&state, &user, &all).await?;
    answer(&context, StatusCode::OK, &many_page(&state, &context, &user, &many).await?)
}

/// Ends all of a person, a cluster, or all.
pub(crate) async fn revoke_many(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    body: Bytes,
) -> Result<Response, Fault> {
    let answered = Answered::read(&body);
    let many = many(&state, &user, &All::from(&answered)).await?;
    let mut page = many_page(&state, &context, &user, &many).await?;
    page.back.href = crate::auth::return_path(Some(&answered.back));
    if page.failure.is_some() {
        user.require_fresh(&state, &context)?;
    }
    let needed = many.hidden.0 != "mine";
    let mut mistaken = false;
    if let Some(field) = page.fields.first_mut() {
        field.value.clone_from(&answered.why);
        if needed && answered.why.trim().is_empty() {
            field.error = Some("Say why: the owners read it.".to_owned());
            mistaken = true;
        }
    }
    if let (Some(word), Some(field)) = (many.typed, page.fields.get_mut(1)) {
        field.value.clone_from(&answered.confirm);
        if answered.confirm.trim() != word {
            field.error = Some(format!("Type “{word}”, in these letters."));
            mistaken = true;
        }
    }
    if mistaken {
        return answer(&context, StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    let why = words(Some(answered.why.clone()));
    match state.0.access.revoke_all(&user.caller, many.scope, why).await {
        Ok(n) => Ok(done(&answered, HOME, Did::RevokedMany(n))),
        Err(error) => refused(&context, page, refusals::access(&error)),
    }
}
