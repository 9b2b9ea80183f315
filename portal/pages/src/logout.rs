//! `POST /api/logout`: ends our session and the provider's (`contract/portal.md` "Do better" 8).

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx, ResponseKind};
use portal_session::fault::Fault;
use portal_session::session_user::SessionUser;
use portal_session::user::CurrentUser;
use rp_access::GrantFilter;
use tower_sessions::Session;
use web::SoloPage;

use crate::frame::frame;
use crate::login::answer;

/// Ends the session at once; grants stay. A script gets 204 and the provider's address in `Location`.
pub async fn logout(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    session: Session,
) -> Result<Response, Fault> {
    state.session.promise(&user.caller, "sign-out", |_| {}).await.map_err(|error| Fault::audit(&error))?;
    let id_token = SessionUser::id_token(&session).await;
    session.flush().await.map_err(|error| {
        tracing::error!(error = %rp_base::chain(&error), "a session could not be ended");
        Fault::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store_unavailable",
            rp_documents::Side::Us,
            "You are still signed in",
        )
        .why("The store did not answer, so the session could not be ended.")
        .action("Try again in a moment.")
    })?;
    let away = state.session.sign_in.provider.end_session(id_token.as_ref()).await;
    if away.is_none() && context.wants == ResponseKind::Page {
        // The provider cannot end its session: a redirect to it would sign the person in again immediately.
        return signed_out(&state, &context, &user).await;
    }
    let location = away.map_or_else(|| "/".to_owned(), |url| url.to_string());
    let mut response = Response::default();
    *response.status_mut() =
        if context.wants == ResponseKind::Json { StatusCode::NO_CONTENT } else { StatusCode::SEE_OTHER };
    let location = HeaderValue::from_str(&location).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

/// Reports how many grants stay active.
async fn signed_out(state: &PortalState, context: &Context, user: &CurrentUser) -> Result<Response, Fault> {
    let filter = GrantFilter {
        owner_sub: Some(user.caller.person.sub.clone()),
        active_only: true,
        limit: 500,
        ..GrantFilter::default()
    };
    let held = state.session.access.list(&filter).await.map_err(|error| Fault::store(&error))?.items.len();
    let mut frame = frame(state, context);
    frame.person = None;
    Ok(answer(context, "signed_out", &SoloPage::signed_out(frame, u64::try_from(held).unwrap_or(0))))
}
