//! `/elevations/{id}/{approve|refuse|end|review}`: questions, and what is done on them.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use rp_access::ElevationError;
use rp_base::{Id, Timestamp};
use rp_documents::elevation::ElevationState;
use rp_documents::{Elevation, Role};
use web::{AskChoices, AskPage, ElevationRow, Link, Place};

use super::ask::{Answered, back_to, done, question, refused, why};
use super::did::Did;
use super::elevations::{HOME, row};
use super::{answer, frame};
use crate::api::grants::words;
use crate::context::{Context, Ctx};
use crate::fault::Fault;
use crate::refusals;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// A step that is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Approve,
    Refuse,
    End,
    Review,
}

fn parse(id: &str) -> Result<Id, Fault> {
    Id::parse(id).map_err(|_| refusals::elevation(&ElevationError::Unknown))
}

async fn find(state: &PortalState, user: &CurrentUser, id: &str) -> Result<Elevation, Fault> {
    let found = state.0.access.elevation(&user.caller, &parse(id)?).await;
    found.map_err(|error| refusals::elevation(&error))
}

fn step_page(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    elevation: &Elevation,
    step: Step,
) -> AskPage {
    let each = row(elevation, user, state.0.clock.now());
    let (rights, place, person) =
        (each.rights.badge().word.to_lowercase(), each.place().to_owned(), &each.person);
    let facts =
        [("Reason", each.reason.clone()), ("Ticket", each.ticket.clone()), ("For", each.life_words())];
    let base = AskPage {
        facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
        ..question(frame(state, context), Place::Elevations, Link::new("Elevations", back_to(context, HOME)))
    };
    match step {
        Step::Approve => AskPage {
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
        Step::Refuse => AskPage {
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
        Step::End => AskPage {
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
        Step::Review => review_page(base, &each),
    }
}

fn review_page(base: AskPage, each: &ElevationRow) -> AskPage {
    let values = [("yes", "In order"), ("no", "Not in order")];
    AskPage {
        name: "review",
        icon: "eye",
        title: format!("Review the break-glass of {}", each.person),
        text: vec![format!(
            "{} on {}. What they did is in the audit of their grants; your finding goes there too.",
            each.rights.badge().word,
            each.place()
        )],
        choices: Some(AskChoices {
            legend: "What was done is".to_owned(),
            name: "fine",
            values: values.map(|(value, words)| (value.to_owned(), words.to_owned())).into(),
            chosen: String::new(),
            error: None,
        }),
        fields: vec![web::AskField {
            name: "note",
            label: "Note".to_owned(),
            hint: "What you looked at, and what you found.".to_owned(),
            required: true,
            ..web::AskField::default()
        }],
        command: format!("aro elevations review {} --note WHAT", each.id),
        action: each.path("review"),
        submit: "Keep this review".to_owned(),
        running: "Keeping…".to_owned(),
        ..base
    }
}

/// Whether the step can still be taken, before it is asked about.
fn bar(elevation: &Elevation, user: &CurrentUser, step: Step, now: Timestamp) -> Result<(), ElevationError> {
    let (state, mine) = (elevation.state(now), elevation.owner.sub == user.caller.person.sub);
    match step {
        Step::Approve | Step::Refuse if !user.has(Role::Approver) => {
            Err(ElevationError::NotAllowed { role: Role::Approver })
        }
        Step::Approve | Step::Refuse | Step::Review if mine => Err(ElevationError::Own),
        Step::Approve | Step::Refuse => match state {
            ElevationState::Waiting => Ok(()),
            ElevationState::Lapsed => Err(ElevationError::Lapsed),
            ElevationState::Ended => Err(ElevationError::Over),
            ElevationState::Refused | ElevationState::Active | ElevationState::Expired => {
                Err(ElevationError::AlreadyDecided)
            }
        },
        Step::End if matches!(state, ElevationState::Waiting | ElevationState::Active) => Ok(()),
        Step::End => Err(ElevationError::Over),
        Step::Review if elevation.needs_review() => Ok(()),
        Step::Review => Err(ElevationError::NothingToReview),
    }
}

/// Who decided it already, and when.
fn told(fault: Fault, elevation: &Elevation, now: Timestamp) -> Fault {
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
    step: Step,
) -> Result<Response, Fault> {
    let elevation = find(state, user, id).await?;
    let page = step_page(state, context, user, &elevation, step);
    let now = state.0.clock.now();
    if let Err(error) = bar(&elevation, user, step, now) {
        return refused(context, page, told(refusals::elevation(&error), &elevation, now));
    }
    if step == Step::Approve
        && let Err(fault) = user.require_fresh(state, context)
    {
        // Nothing is typed yet: the way to sign in stands in place of the form.
        let failure = fault.failure(&page.frame);
        return answer(context, fault.status, &AskPage { failure: Some(failure), ..page });
    }
    answer(context, StatusCode::OK, &page)
}

async fn settle(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    id: &str,
    (step, mut answered): (Step, Answered),
) -> Result<Response, Fault> {
    if answered.back.is_empty() {
        // The banner stands on every page: back to that one.
        answered.back.clone_from(&context.came_from);
    }
    let (access, key) = (&state.0.access, parse(id)?);
    let why = words(Some(answered.why.clone()));
    let fresh = if step == Step::Approve { user.require_fresh(state, context) } else { Ok(()) };
    let mut missing_choice = false;
    let outcome = match (fresh, step) {
        (Err(fault), _) => Err(fault),
        (Ok(()), Step::Approve) => {
            access.decide(&user.caller, &key, true, why).await.map_err(|e| refusals::elevation(&e))
        }
        (Ok(()), Step::Refuse) => {
            access.decide(&user.caller, &key, false, why).await.map_err(|e| refusals::elevation(&e))
        }
        (Ok(()), Step::End) => {
            access.end_elevation(&user.caller, &key, why).await.map_err(|e| refusals::elevation(&e))
        }
        (Ok(()), Step::Review) => {
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
        Ok(after) => return Ok(done(&answered, HOME, did(step, &after))),
        Err(fault) => fault,
    };
    let Ok(elevation) = find(state, user, id).await else { return Err(fault) };
    // Pressing End twice is no error.
    if step == Step::End && fault.code == "elevation_over" && elevation.owner.sub == user.caller.person.sub {
        return Ok(done(&answered, HOME, Did::Ended));
    }
    let mut page = step_page(state, context, user, &elevation, step);
    page.back.href =
        crate::auth::return_path(Some(&answered.back).filter(|b| !b.is_empty()).map(String::as_str));
    retyped(&mut page, &answered, missing_choice);
    if fault.status == StatusCode::UNPROCESSABLE_ENTITY && step == Step::Review {
        return answer(context, fault.status, &page);
    }
    refused(context, page, told(fault, &elevation, state.0.clock.now()))
}

/// What was typed stays.
fn retyped(page: &mut AskPage, answered: &Answered, missing_choice: bool) {
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

fn did(step: Step, after: &Elevation) -> Did {
    match step {
        Step::Approve => Did::Approved,
        Step::Refuse => Did::Refused,
        Step::End if after.not_before.is_none() => Did::Withdrawn,
        Step::End => Did::Ended,
        Step::Review => Did::Reviewed,
    }
}

macro_rules! steps {
    ($($dialog:ident, $post:ident, $step:expr;)*) => {$(
        pub(crate) async fn $dialog(
            State(state): State<PortalState>,
            Ctx(context): Ctx,
            user: CurrentUser,
            Path(id): Path<String>,
        ) -> Result<Response, Fault> {
            ask(&state, &context, &user, &id, $step).await
        }

        pub(crate) async fn $post(
            State(state): State<PortalState>,
            Ctx(context): Ctx,
            user: CurrentUser,
            Path(id): Path<String>,
            body: Bytes,
        ) -> Result<Response, Fault> {
            let answered = Answered::read(&body);
            settle(&state, &context, &user, &id, ($step, answered)).await
        }
    )*};
}

steps! {
    approve_dialog, approve, Step::Approve;
    refuse_dialog, refuse, Step::Refuse;
    end_dialog, end, Step::End;
    review_dialog, review, Step::Review;
}
