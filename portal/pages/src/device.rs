//! `/device`: a person lets a program act for them that runs anywhere (RFC 8628).

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::state::PortalState;
use portal_session::codes::{CodeError, Decision, PendingDevice};
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use serde::Deserialize;
use web::{ConsentPage, DevicePage, SoloPage};

use crate::answer::answer;
use crate::frame::frame;
use crate::signin::{agree, by_session_only, consent, form, not_stored};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeviceForm {
    user_code: String,
    answer: String,
}

/// `GET /device`: asks for the letters, then the person.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(ask): Query<DeviceForm>,
) -> Result<Response, Fault> {
    by_session_only(&user)?;
    if ask.user_code.trim().is_empty() {
        let page = DevicePage { frame: frame(&state, &context), ..DevicePage::default() };
        return answer(&context, StatusCode::OK, &page);
    }
    count_guess(&state, &user)?;
    match state.session.sign_in.codes.waiting(&ask.user_code).await {
        Ok(asked) => {
            answer(&context, StatusCode::OK, &device_consent(&state, &context, &user, &asked, &ask.user_code))
        }
        Err(error) => unknown(&state, &context, &error, &ask.user_code),
    }
}

fn device_consent(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    asked: &PendingDevice,
    user_code: &str,
) -> ConsentPage {
    let mut about = vec![("Address".to_owned(), asked.from.clone())];
    if !asked.client.is_empty() {
        about.insert(0, ("Calls itself".to_owned(), asked.client.clone()));
    }
    if asked.from != context.from.to_string() {
        about.push(("Your address".to_owned(), format!("{}, another one", context.from)));
    }
    ConsentPage {
        action: "/device".to_owned(),
        fields: vec![("user_code".to_owned(), letters(user_code))],
        code: letters(user_code),
        asked: Some(asked.at.seconds()),
        elsewhere: true,
        about,
        ..consent(state, context, user)
    }
}

/// As the program shows them.
fn letters(typed: &str) -> String {
    let plain: String =
        typed.chars().filter(char::is_ascii_alphabetic).take(64).map(|c| c.to_ascii_uppercase()).collect();
    match plain.split_at_checked(4) {
        Some((first, rest)) if !rest.is_empty() => format!("{first}-{rest}"),
        _ => plain,
    }
}

/// `POST /device`: yes or no.
pub async fn decide(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    body: Bytes,
) -> Result<Response, Fault> {
    by_session_only(&user)?;
    count_guess(&state, &user)?;
    let ask: DeviceForm = form(&body);
    let asked = match state.session.sign_in.codes.waiting(&ask.user_code).await {
        Ok(asked) => asked,
        Err(error) => return unknown(&state, &context, &error, &ask.user_code),
    };
    let agreed = ask.answer == "yes";
    let decision = if agreed {
        let what = format!("a program at {}: {}", asked.from, asked.client);
        Decision::Agreed(agree(&state, &context, &user, &what).await?)
    } else {
        Decision::Refused
    };
    if let Err(error) = state.session.sign_in.codes.decide(&ask.user_code, decision).await {
        return unknown(&state, &context, &error, &ask.user_code);
    }
    let frame = frame(&state, &context);
    let page = if agreed { SoloPage::program_let_in(frame) } else { SoloPage::program_refused(frame) };
    answer(&context, StatusCode::OK, &page)
}

/// An unknown user code: shows the form again.
fn unknown(
    state: &PortalState,
    context: &Context,
    error: &CodeError,
    typed: &str,
) -> Result<Response, Fault> {
    if !matches!(error, CodeError::Unknown) {
        return Err(not_stored(error));
    }
    let page = DevicePage {
        frame: frame(state, context),
        typed: rp_base::text::clean(typed, 20),
        error: Some("No program waits with this code. It may have ended, for a code lives 10 min, or was used already.".to_owned()),
    };
    answer(context, StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// Limits guesses per person, so that nobody approves another person's program by chance.
fn count_guess(state: &PortalState, user: &CurrentUser) -> Result<(), Fault> {
    state
        .session
        .sign_in
        .letters
        .count(&user.caller.person.sub, state.session.clock.now())
        .map_err(Fault::too_often)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_read_as_people_type_them() {
        for typed in ["BCDF-GHJK", "bcdfghjk", " bcdf ghjk ", "B-C-D-F-G-H-J-K"] {
            assert_eq!(letters(typed), "BCDF-GHJK");
        }
        assert_eq!(letters("äbc"), "BC");
    }
}
