//! Questions before something is done, and the way back after it.

use axum::response::Response;
use http::StatusCode;
use web::{AskField, AskPage, Frame, Link, Place};

use super::did::Did;
use super::{answer, see_other};
use crate::auth::return_path;
use crate::context::{Context, Wants};
use crate::fault::Fault;

/// What every question sends back.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// Where the person came from.
    pub(super) back: String,
    pub(super) why: String,
    /// Seconds of an extension or an overlap.
    pub(super) life: String,
    pub(super) note: String,
    pub(super) fine: String,
    pub(super) confirm: String,
    // Of "revoke all".
    pub(super) mine: String,
    pub(super) person: String,
    pub(super) cluster: String,
    pub(super) everything: String,
}

impl Answered {
    /// From a form; of a name the last counts, and what is not asked for is left out.
    pub(super) fn read(body: &[u8]) -> Self {
        let mut answered = Self::default();
        for (name, value) in url::form_urlencoded::parse(body) {
            let field = match name.as_ref() {
                "back" => &mut answered.back,
                "why" => &mut answered.why,
                "life" => &mut answered.life,
                "note" => &mut answered.note,
                "fine" => &mut answered.fine,
                "confirm" => &mut answered.confirm,
                "mine" => &mut answered.mine,
                "person" => &mut answered.person,
                "cluster" => &mut answered.cluster,
                "everything" => &mut answered.everything,
                _ => continue,
            };
            *field = value.into_owned();
        }
        answered
    }
}

/// Where a question leads back to: the page it was asked on, else `home`.
pub(super) fn back_to(context: &Context, home: &str) -> String {
    let came = context.came_from.as_str();
    let own = came.split('?').next() == Some(context.path());
    if came == "/" || own { home.to_owned() } else { came.to_owned() }
}

/// Back to where the question was asked, saying what was done.
pub(super) fn done(answered: &Answered, home: &str, did: Did) -> Response {
    let back = return_path(Some(&answered.back).filter(|back| !back.is_empty()).map(String::as_str));
    let back = if back == "/" { home } else { &back };
    did.carry(see_other(back))
}

/// The field for the reason.
pub(super) fn why(value: &str, required: bool, hint: &str) -> AskField {
    AskField {
        name: "why",
        label: "Why".to_owned(),
        hint: hint.to_owned(),
        value: value.to_owned(),
        required,
        ..AskField::default()
    }
}

/// A question with its frame and its way back.
pub(super) fn question(frame: Frame, place: Place, back: Link) -> AskPage {
    AskPage { frame: Frame { place, ..frame }, back, icon: "info", kind: "primary", ..AskPage::default() }
}

/// A question that was refused: as it stands, with what was typed, or in JSON.
pub(super) fn refused(context: &Context, mut page: AskPage, fault: Fault) -> Result<Response, Fault> {
    if context.wants == Wants::Json {
        return Err(fault);
    }
    let failure = fault.failure(&page.frame);
    // What another press may mend keeps the form; the rest takes its place.
    let mends = fault.status.is_server_error()
        || fault.code == "sign_in_again"
        || fault.status == StatusCode::UNPROCESSABLE_ENTITY;
    if mends {
        page.error = Some(failure);
    } else {
        page.failure = Some(failure);
    }
    answer(context, fault.status, &page)
}
