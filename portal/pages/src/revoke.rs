//! `/access/{id}/revoke`: the confirmation dialog, and the revocation of one grant.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::grant_fields::{parse, words};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::{AccessError, GrantView};
use rp_documents::Role;
use rp_documents::grant::GrantState;
use web::{ConfirmPage, Link, NavItem};

use crate::answer::answer;
use crate::confirm::{DialogForm, back_to, done, question, refused, why};
use crate::frame::frame;
use crate::rows;

pub const HOME: &str = "/access";
pub const READ_BY: &str = "Goes into the audit. The owner of the grant reads it.";

pub async fn view(state: &PortalState, user: &CurrentUser, id: &str) -> Result<GrantView, Fault> {
    state.session.access.get(&user.caller, &parse(id)?).await.map_err(|error| refusals::access(&error))
}

pub fn about(view: &GrantView, user: &CurrentUser) -> Vec<(String, String)> {
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

fn revoke_page(state: &PortalState, context: &Context, user: &CurrentUser, view: &GrantView) -> ConfirmPage {
    let grant = &view.grant;
    let kind = rows::kind(grant.kind).words().to_lowercase();
    let streams = match view.streams {
        0 => "No stream is open with it now.".to_owned(),
        n => format!(
            "{} cut.",
            web::text::plural(u64::try_from(n).unwrap_or(u64::MAX), "stream is", "streams are")
        ),
    };
    ConfirmPage {
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
        ..question(frame(state, context), NavItem::Access, Link::new("Access", back_to(context, HOME)))
    }
}

/// Asks whether to end one.
pub async fn revoke_dialog(
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
pub async fn revoke(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Fault> {
    let answered = DialogForm::read(&body);
    let revoked =
        state.session.access.revoke(&user.caller, &parse(&id)?, words(Some(answered.why.clone()))).await;
    match revoked {
        // A second revocation is no error.
        Ok(_) | Err(AccessError::Ended) => Ok(done(&answered, HOME, Flash::Revoked)),
        Err(error @ (AccessError::Unknown | AccessError::NotYours)) => Err(refusals::access(&error)),
        Err(error) => {
            let mut page = revoke_page(&state, &context, &user, &view(&state, &user, &id).await?);
            page.back.href = portal_session::return_path::return_path(Some(&answered.back));
            page.fields = vec![why(&answered.why, false, READ_BY)];
            refused(&context, page, refusals::access(&error))
        }
    }
}
