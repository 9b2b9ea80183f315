//! `/elevations/{id}/{approve|refuse|end|review}`: the confirmation dialogs and the actions.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::grant_fields::words;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::ElevationError;
use rp_base::{Id, Timestamp};
use rp_documents::elevation::ElevationState;
use rp_documents::{Elevation, Role};
use web::{ConfirmChoices, ConfirmPage, ElevationRow, Link, NavItem};

use crate::answer::answer;
use crate::confirm::{DialogForm, back_to, done, question, refused, why};
use crate::elevations::{HOME, row};
use crate::frame::frame;

/// The action that a dialog confirms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ElevationAction {
    Approve,
    Refuse,
    End,
    Review,
}

fn parse(id: &str) -> Result<Id, Fault> {
    Id::parse(id).map_err(|_| refusals::elevation(&ElevationError::Unknown))
}

async fn find(state: &PortalState, user: &CurrentUser, id: &str) -> Result<Elevation, Fault> {
    let found = state.session.access.elevation(&user.caller, &parse(id)?).await;
    found.map_err(|error| refusals::elevation(&error))
}

fn step_page(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    elevation: &Elevation,
    step: ElevationAction,
) -> ConfirmPage {
    let each = row(elevation, user, state.session.clock.now());
    let (rights, place, person) =
        (each.rights.badge().word.to_lowercase(), each.place().to_owned(), &each.person);
    let facts =
        [("Reason", each.reason.clone()), ("Ticket", each.ticket.clone()), ("For", each.life_words())];
    let base = ConfirmPage {
        facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
        ..question(
            frame(state, context),
            NavItem::Elevations,
            Link::new("Elevations", back_to(context, HOME)),
        )
    };
    match step {
        ElevationAction::Approve => ConfirmPage {
            name: "approve",
            icon: "power",
            title: format!("Give {person} {rights} on {place}?"),
            text: vec![format!(
                "For {}, from now on. You can end it at any time, and so can they.",
                each.life_words()
            )],
            command: format!("aro elevations approve {}", each.id),
            action: each.path("approve"),
            fields: vec![why("", false, "They read it, and so does the audit.")],
            kind: "power",
            submit: "Approve".to_owned(),
            running: "Approving…".to_owned(),
            ..base
        },
        ElevationAction::Refuse => ConfirmPage {
            name: "refuse",
            icon: "lock",
            title: format!("Refuse {person} {rights} on {place}?"),
            text: vec!["They keep what they have. They can ask again.".to_owned()],
            command: format!("aro elevations refuse {}", each.id),
            action: each.path("refuse"),
            fields: vec![why("", false, "They read it: say what would be right.")],
            submit: "Refuse".to_owned(),
            running: "Refusing…".to_owned(),
            ..base
        },
        ElevationAction::End => ConfirmPage {
            name: "end",
            icon: "revoke",
            title: format!("End the elevation of {person}?"),
            text: vec![
                "Grants taken under it fall to read-only at once; shells and open changes are cut."
                    .to_owned(),
            ],
            command: format!("aro elevations end {}", each.id),
            action: each.path("end"),
            fields: vec![why("", false, "They read it, and so does the audit.")],
            kind: "danger",
            submit: "End it".to_owned(),
            running: "Ending…".to_owned(),
            ..base
        },
        ElevationAction::Review => review_page(base, &each),
    }
}

fn review_page(base: ConfirmPage, each: &ElevationRow) -> ConfirmPage {
    let values = [("yes", "In order"), ("no", "Not in order")];
    ConfirmPage {
        name: "review",
        icon: "eye",
        title: format!("Review the break-glass of {}", each.person),
        text: vec![format!(
            "{} on {}. What they did is in the audit of their grants; your finding goes there too.",
            each.rights.badge().word,
            each.place()
        )],
        choices: Some(ConfirmChoices {
            legend: "What was done is".to_owned(),
            name: "fine",
            values: values.map(|(value, words)| (value.to_owned(), words.to_owned())).into(),
            chosen: String::new(),
            error: None,
        }),
        fields: vec![web::ConfirmField {
            name: "note",
            label: "Note".to_owned(),
            hint: "What you looked at, and what you found.".to_owned(),
            required: true,
            ..web::ConfirmField::default()
        }],
        command: format!("aro elevations review {} --note WHAT", each.id),
        action: each.path("review"),
        submit: "Keep this review".to_owned(),
        running: "Keeping…".to_owned(),
        ..base
    }
}

/// Whether the action is still possible, checked before the dialog is shown.
fn bar(
    elevation: &Elevation,
    user: &CurrentUser,
    step: ElevationAction,
    now: Timestamp,
) -> Result<(), ElevationError> {
    let (state, mine) = (elevation.state(now), elevation.owner.sub == user.caller.person.sub);
    match step {
        ElevationAction::Approve | ElevationAction::Refuse if !user.has(Role::Approver) => {
            Err(ElevationError::NotAllowed { role: Role::Approver })
        }
        ElevationAction::Approve | ElevationAction::Refuse | ElevationAction::Review if mine => {
            Err(ElevationError::Own)
        }
        ElevationAction::Approve | ElevationAction::Refuse => match state {
            ElevationState::Waiting => Ok(()),
            ElevationState::Lapsed => Err(ElevationError::Lapsed),
            ElevationState::Ended => Err(ElevationError::Over),
            ElevationState::Refused | ElevationState::Active | ElevationState::Expired => {
                Err(ElevationError::AlreadyDecided)
            }
        },
        ElevationAction::End if matches!(state, ElevationState::Waiting | ElevationState::Active) => Ok(()),
        ElevationAction::End => Err(ElevationError::Over),
        ElevationAction::Review if elevation.needs_review() => Ok(()),
        ElevationAction::Review => Err(ElevationError::NothingToReview),
    }
}

/// Adds to the error who decided the request already, and when.
fn with_previous_decision(fault: Fault, elevation: &Elevation, now: Timestamp) -> Fault {
    let Some(decision) = elevation.decision.as_ref().filter(|_| fault.code == "already_decided") else {
        return fault;
    };
    let verb = if decision.approved { "approved" } else { "refused" };
    let ago = web::when::past(decision.at.seconds(), now.seconds());
    Fault { what: format!("{} has {verb} it already", decision.by.name), ..fault }.why(format!(
        "{} {ago}. Nothing was changed by you.",
        if decision.approved { "Approved" } else { "Refused" }
    ))
}

async fn ask(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    id: &str,
    step: ElevationAction,
) -> Result<Response, Fault> {
    let elevation = find(state, user, id).await?;
    let page = step_page(state, context, user, &elevation, step);
    let now = state.session.clock.now();
    if let Err(error) = bar(&elevation, user, step, now) {
        return refused(context, page, with_previous_decision(refusals::elevation(&error), &elevation, now));
    }
    if step == ElevationAction::Approve
        && let Err(fault) = user.require_fresh(&state.session, &context.came_from)
    {
        // Nothing is typed yet: the link to sign in replaces the form.
        let failure = fault.failure(&page.frame);
        return answer(context, fault.status, &ConfirmPage { failure: Some(failure), ..page });
    }
    answer(context, StatusCode::OK, &page)
}

async fn apply(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    id: &str,
    (step, mut answered): (ElevationAction, DialogForm),
) -> Result<Response, Fault> {
    if answered.back.is_empty() {
        // The banner is on every page: return to the page that sent the form.
        answered.back.clone_from(&context.came_from);
    }
    let (access, key) = (&state.session.access, parse(id)?);
    let why = words(Some(answered.why.clone()));
    let fresh = if step == ElevationAction::Approve {
        user.require_fresh(&state.session, &context.came_from)
    } else {
        Ok(())
    };
    let mut missing_choice = false;
    let outcome = match (fresh, step) {
        (Err(fault), _) => Err(fault),
        (Ok(()), ElevationAction::Approve) => {
            access.decide(&user.caller, &key, true, why).await.map_err(|e| refusals::elevation(&e))
        }
        (Ok(()), ElevationAction::Refuse) => {
            access.decide(&user.caller, &key, false, why).await.map_err(|e| refusals::elevation(&e))
        }
        (Ok(()), ElevationAction::End) => {
            access.end_elevation(&user.caller, &key, why).await.map_err(|e| refusals::elevation(&e))
        }
        (Ok(()), ElevationAction::Review) => {
            missing_choice = !matches!(answered.fine.as_str(), "yes" | "no");
            let note = words(Some(answered.note.clone())).unwrap_or_default();
            if missing_choice || note.is_empty() {
                Err(Fault::status(StatusCode::UNPROCESSABLE_ENTITY))
            } else {
                let fine = answered.fine == "yes";
                access.review(&user.caller, &key, fine, note).await.map_err(|e| refusals::elevation(&e))
            }
        }
    };
    let fault = match outcome {
        Ok(after) => return Ok(done(&answered, HOME, flash_for(step, &after))),
        Err(fault) => fault,
    };
    let Ok(elevation) = find(state, user, id).await else { return Err(fault) };
    // A second End is no error.
    if step == ElevationAction::End
        && fault.code == "elevation_over"
        && elevation.owner.sub == user.caller.person.sub
    {
        return Ok(done(&answered, HOME, Flash::Ended));
    }
    let mut page = step_page(state, context, user, &elevation, step);
    page.back.href = portal_session::return_path::return_path(
        Some(&answered.back).filter(|b| !b.is_empty()).map(String::as_str),
    );
    restore_input(&mut page, &answered, missing_choice);
    if fault.status == StatusCode::UNPROCESSABLE_ENTITY && step == ElevationAction::Review {
        return answer(context, fault.status, &page);
    }
    refused(context, page, with_previous_decision(fault, &elevation, state.session.clock.now()))
}

/// Keeps the typed values.
fn restore_input(page: &mut ConfirmPage, answered: &DialogForm, missing_choice: bool) {
    if let Some(choices) = &mut page.choices {
        choices.chosen.clone_from(&answered.fine);
        choices.error = missing_choice.then(|| "Choose one of the two.".to_owned());
    }
    for field in &mut page.fields {
        field.value = if field.name == "note" { answered.note.clone() } else { answered.why.clone() };
        if field.required && field.value.trim().is_empty() {
            field.error = Some("Say what you found.".to_owned());
        }
    }
}

fn flash_for(step: ElevationAction, after: &Elevation) -> Flash {
    match step {
        ElevationAction::Approve => Flash::Approved,
        ElevationAction::Refuse => Flash::Refused,
        ElevationAction::End if after.not_before.is_none() => Flash::Withdrawn,
        ElevationAction::End => Flash::Ended,
        ElevationAction::Review => Flash::Reviewed,
    }
}

macro_rules! decision_handlers {
    ($($dialog:ident, $post:ident, $step:expr;)*) => {$(
        pub async fn $dialog(
            State(state): State<PortalState>,
            Ctx(context): Ctx,
            user: CurrentUser,
            Path(id): Path<String>,
        ) -> Result<Response, Fault> {
            ask(&state, &context, &user, &id, $step).await
        }

        pub async fn $post(
            State(state): State<PortalState>,
            Ctx(context): Ctx,
            user: CurrentUser,
            Path(id): Path<String>,
            body: Bytes,
        ) -> Result<Response, Fault> {
            let answered = DialogForm::read(&body);
            apply(&state, &context, &user, &id, ($step, answered)).await
        }
    )*};
}

decision_handlers! {
    approve_dialog, approve, ElevationAction::Approve;
    refuse_dialog, refuse, ElevationAction::Refuse;
    end_dialog, end, ElevationAction::End;
    review_dialog, review, ElevationAction::Review;
}
