//! `/access/revoke`: the confirmation dialog, and the revocation of all grants of a person, of a cluster, or of all.

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::grant_fields::words;
use portal_model::grant_search::{GrantStateFilter, Search, person, unknown_person};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::RevokeScope;
use rp_documents::{ResourceId, Role};
use serde::Deserialize;
use web::{ConfirmField, ConfirmPage, Link, NavItem};

use crate::answer::answer;
use crate::confirm::{DialogForm, back_to, done, question, refused, why};
use crate::frame::frame;
use crate::revoke::{HOME, READ_BY};

/// Living grants that are counted before "all of them" are ended.
const MOST_COUNTED: usize = 500;

/// Whose grants "all" are, as in the URL.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RevokeAllQuery {
    mine: String,
    person: String,
    cluster: String,
    everything: String,
}

impl From<&DialogForm> for RevokeAllQuery {
    fn from(answered: &DialogForm) -> Self {
        Self {
            mine: answered.mine.clone(),
            person: answered.person.clone(),
            cluster: answered.cluster.clone(),
            everything: answered.everything.clone(),
        }
    }
}

/// A resolved "revoke all": its scope, its title, and the text to type as confirmation.
struct BulkRevocation {
    scope: RevokeScope,
    title: String,
    who: String,
    command: String,
    hidden: (&'static str, String),
    typed: Option<&'static str>,
    search: Search,
}

async fn many(
    state: &PortalState,
    user: &CurrentUser,
    all: &RevokeAllQuery,
) -> Result<BulkRevocation, Fault> {
    let own = &user.caller.person;
    if !all.mine.is_empty() || (!all.person.is_empty() && user.is(&all.person)) {
        return Ok(BulkRevocation {
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
    user.require(Role::Admin, state.session.access.policy())?;
    if !all.person.is_empty() {
        let found = person(state, &all.person).await?.ok_or_else(|| unknown_person(&all.person))?;
        return Ok(BulkRevocation {
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
        let id = portal_model::named_cluster::cluster(state, &all.cluster).ok_or_else(Fault::no_cluster)?;
        return Ok(for_cluster(id));
    }
    Ok(BulkRevocation {
        scope: RevokeScope::Everything,
        title: "Revoke everything?".to_owned(),
        who: "anybody holds, person or robot".to_owned(),
        command: "aro grants revoke --everything".to_owned(),
        hidden: ("everything", "true".to_owned()),
        typed: Some("everything"),
        search: Search::default(),
    })
}

fn for_cluster(id: ResourceId) -> BulkRevocation {
    BulkRevocation {
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
    many: &BulkRevocation,
) -> Result<ConfirmPage, Fault> {
    let search = Search { wanted: GrantStateFilter::Active, limit: MOST_COUNTED, ..many.search.clone() };
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
        fields.push(ConfirmField {
            name: "confirm",
            label: format!("Type “{word}” to confirm"),
            hint: "It cannot be undone: everybody takes their access anew.".to_owned(),
            required: true,
            exact: true,
            ..ConfirmField::default()
        });
    }
    let page = ConfirmPage {
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
        ..question(frame(state, context), NavItem::Access, Link::new("Access", back_to(context, HOME)))
    };
    Ok(fresh(state, context, user, many, page))
}

/// Revoking everything needs a fresh sign-in: checked before anything is typed.
fn fresh(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    many: &BulkRevocation,
    mut page: ConfirmPage,
) -> ConfirmPage {
    if many.scope == RevokeScope::Everything
        && let Err(fault) = user.require_fresh(&state.session, &context.came_from)
    {
        page.failure = Some(fault.failure(&page.frame));
    }
    page
}

/// Asks whether to end all of a person, a cluster, or all.
pub async fn dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(all): Query<RevokeAllQuery>,
) -> Result<Response, Fault> {
    let many = many(&state, &user, &all).await?;
    answer(&context, StatusCode::OK, &many_page(&state, &context, &user, &many).await?)
}

/// Ends all of a person, a cluster, or all.
pub async fn post(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    body: Bytes,
) -> Result<Response, Fault> {
    let answered = DialogForm::read(&body);
    let many = many(&state, &user, &RevokeAllQuery::from(&answered)).await?;
    let mut page = many_page(&state, &context, &user, &many).await?;
    page.back.href = portal_session::return_path::return_path(Some(&answered.back));
    if page.failure.is_some() {
        user.require_fresh(&state.session, &context.came_from)?;
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
    match state.session.access.revoke_all(&user.caller, many.scope, why).await {
        Ok(n) => Ok(done(&answered, HOME, Flash::RevokedMany(n))),
        Err(error) => refused(&context, page, refusals::access(&error)),
    }
}
