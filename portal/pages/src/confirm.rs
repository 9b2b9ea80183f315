//! Confirmation dialogs, and the redirect after the action.

use axum::response::Response;
use http::StatusCode;
use portal_model::saved::{ChangeError, reason_limits};
use portal_model::state::PortalState;
use portal_session::context::{Context, ResponseKind};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::refusals::sentence;
use portal_session::return_path::return_path;
use web::{ConfirmField, ConfirmPage, Frame, Link, NavItem};

use crate::answer::{answer, see_other};

/// The fields that confirmation dialogs post.
#[derive(Debug, Default)]
pub(crate) struct DialogForm {
    /// Where the person came from.
    pub(crate) back: String,
    pub(crate) why: String,
    /// Seconds of an extension or an overlap.
    pub(crate) life: String,
    pub(crate) note: String,
    pub(crate) fine: String,
    pub(crate) confirm: String,
    // Of "revoke all".
    pub(crate) mine: String,
    pub(crate) person: String,
    pub(crate) cluster: String,
    pub(crate) everything: String,
}

impl DialogForm {
    /// From a form; of a name the last counts, and what is not asked for is left out.
    pub(crate) fn read(body: &[u8]) -> Self {
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

/// The page to return to: the one that opened the dialog, else `home`.
pub(crate) fn back_to(context: &Context, home: &str) -> String {
    let came = context.came_from.as_str();
    let own = came.split('?').next() == Some(context.path());
    if came == "/" || own { home.to_owned() } else { came.to_owned() }
}

/// Redirects to the page that opened the dialog, with a notice of the action.
pub(crate) fn done(answered: &DialogForm, home: &str, flash: Flash) -> Response {
    let back = return_path(Some(&answered.back).filter(|back| !back.is_empty()).map(String::as_str));
    let back = if back == "/" { home } else { &back };
    flash.set_cookie_on(see_other(back))
}

/// The field for the reason.
pub(crate) fn why(value: &str, required: bool, hint: &str) -> ConfirmField {
    ConfirmField {
        name: "why",
        label: "Why".to_owned(),
        hint: hint.to_owned(),
        value: value.to_owned(),
        required,
        ..ConfirmField::default()
    }
}

/// A confirmation dialog with its frame and its return link.
pub(crate) fn question(frame: Frame, place: NavItem, back: Link) -> ConfirmPage {
    ConfirmPage {
        frame: Frame { place, ..frame },
        back,
        icon: "info",
        kind: "primary",
        ..ConfirmPage::default()
    }
}

/// What a dialog says of the reason for a change of a cluster.
pub(crate) fn why_hint(state: &PortalState) -> String {
    let least = reason_limits(state).least;
    format!("At least {least} characters. Goes into the audit; the customer may read it.")
}

/// Puts a sentence at the field of that name.
pub(crate) fn at_field(page: &mut ConfirmPage, name: &str, message: &str) {
    for field in page.fields.iter_mut().filter(|field| field.name == name) {
        field.error = Some(message.to_owned());
    }
}

/// The response to a refused change of a cluster: the dialog, which a bad reason leaves open at its field.
pub(crate) fn change_refused(
    context: &Context,
    mut page: ConfirmPage,
    back: &str,
    error: ChangeError,
) -> Result<Response, Fault> {
    page.back.href = return_path(Some(back));
    match error {
        ChangeError::Reason(bad) if context.wants != ResponseKind::Json => {
            at_field(&mut page, "why", &sentence(&bad));
            answer(context, StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
        error => refused(context, page, error.into()),
    }
}

/// The response to a refused action: the dialog with the typed values, or JSON.
pub(crate) fn refused(context: &Context, mut page: ConfirmPage, fault: Fault) -> Result<Response, Fault> {
    if context.wants == ResponseKind::Json {
        return Err(fault);
    }
    let failure = fault.failure(&page.frame);
    // Errors that another attempt may resolve keep the form; others replace it.
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
