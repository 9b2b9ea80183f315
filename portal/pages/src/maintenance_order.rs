//! `POST {RES}/operations`: orders a task of maintenance by the form in the tab of operations.

use axum::extract::{Form, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::maintenance::{self, Order, OrderError, OrderField};
use portal_model::state::PortalState;
use portal_model::time_range::Range;
use portal_session::context::{Ctx, ResponseKind};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::refusals::sentence;
use portal_session::user::CurrentUser;
use rp_base::Timestamp;
use rp_documents::maintenance::Times;
use web::objects::{OrderErrors, OrderForm};

use crate::answer::{answer, see_other};
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::maintenance::operations_path;
use crate::operations;

/// Orders a task; 422 with the page and the form when something is wrong with it.
pub async fn order(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Form(form): Form<OrderForm>,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let outcome = match read(&form) {
        Ok(order) => maintenance::order(&state, &user, &id, order).await,
        Err(wrong) => Err(OrderError::Invalid(wrong)),
    };
    let error = match outcome {
        Ok(_) => return Ok(Flash::MaintenanceOrdered.set_cookie_on(see_other(&operations_path(&entry)))),
        Err(error) => error,
    };
    if context.wants == ResponseKind::Json {
        return Err(error.into());
    }
    let (status, errors) = match error {
        OrderError::Invalid(wrong) => (StatusCode::UNPROCESSABLE_ENTITY, at_fields(&form, wrong)),
        OrderError::Refused(fault) => {
            let failure = fault.failure(&frame(&state, &context));
            (fault.status, OrderErrors { form: Some(failure), ..OrderErrors::default() })
        }
    };
    let page = operations::tab(&state, &context, &user, &entry, "", Some((form, errors))).await?;
    answer(&context, status, &page)
}

/// The order that was filled in, or the fields that cannot be read.
fn read(form: &OrderForm) -> Result<Order, Vec<(OrderField, String)>> {
    let mut wrong = Vec::new();
    let seconds = |at: Option<Timestamp>| at.map_or(0, Timestamp::seconds);
    let run_after = Range::read(&form.run_after, "").map(|range| seconds(range.from));
    let run_before = Range::read("", &form.run_before).map(|range| seconds(range.to));
    let priority = match form.priority.trim() {
        "" => Ok(0),
        text => text.parse().map_err(|_| "It is a whole number from 0 (first) to 1000 (last)"),
    };
    let mut value = |field, read: Result<i64, &str>| {
        read.unwrap_or_else(|why| {
            wrong.push((field, why.trim_end_matches('.').to_owned()));
            0
        })
    };
    let times = Times {
        run_after: value(OrderField::RunAfter, run_after),
        run_before: value(OrderField::RunBefore, run_before),
    };
    let priority = value(OrderField::Priority, priority);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(Order {
        task: form.task.clone(),
        reason: form.reason.clone(),
        times,
        priority,
        machine: form.machine.clone(),
        force: !form.force.is_empty(),
    })
}

/// Puts each sentence at its field.
fn at_fields(form: &OrderForm, wrong: Vec<(OrderField, String)>) -> OrderErrors {
    let mut errors = OrderErrors::default();
    for (field, message) in wrong {
        let (place, words) = match field {
            OrderField::Task if form.task.trim().is_empty() => {
                (&mut errors.task, "Choose a task.".to_owned())
            }
            OrderField::Task => (&mut errors.task, sentence(&message)),
            OrderField::Reason => (&mut errors.reason, sentence(&message)),
            OrderField::RunAfter => (&mut errors.run_after, sentence(&message)),
            // The names of JSON are not those of the form.
            OrderField::RunBefore if message.contains("runAfter") => {
                (&mut errors.run_before, "It must be later than the start.".to_owned())
            }
            OrderField::RunBefore => (&mut errors.run_before, sentence(&message)),
            OrderField::Priority => (&mut errors.priority, sentence(&message)),
            OrderField::Machine | OrderField::Force => (&mut errors.machine, sentence(&message)),
        };
        *place = Some(words);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(run_after: &str, run_before: &str, priority: &str) -> OrderForm {
        OrderForm {
            run_after: run_after.to_owned(),
            run_before: run_before.to_owned(),
            priority: priority.to_owned(),
            ..OrderForm::default()
        }
    }

    #[test]
    fn empty_fields_are_not_named() {
        let order = read(&form("", " ", "")).unwrap();
        assert_eq!((order.times.run_after, order.times.run_before, order.priority), (0, 0, 0));
        let order = read(&form("2026-11-27T22:00", "2026-11-28", "7")).unwrap();
        assert_eq!(order.times.run_after, Timestamp::parse("2026-11-27T22:00:00Z").unwrap().seconds());
        assert_eq!(order.times.run_before, Timestamp::parse("2026-11-29T00:00:00Z").unwrap().seconds());
        assert_eq!(order.priority, 7);
    }

    #[test]
    fn each_field_that_cannot_be_read_says_so() {
        let sent = form("tomorrow", "28.11.", "high");
        let errors = at_fields(&sent, read(&sent).unwrap_err());
        assert!(errors.run_after.unwrap().starts_with("An instant is written as "));
        assert!(errors.run_before.is_some());
        assert_eq!(errors.priority.unwrap(), "It is a whole number from 0 (first) to 1000 (last).");
        assert_eq!(errors.form, None);
    }

    #[test]
    fn what_the_model_refuses_stands_at_its_field() {
        let wrong = vec![
            (OrderField::Task, "there is no such task".to_owned()),
            (OrderField::Reason, "the reason is too short".to_owned()),
            (OrderField::RunBefore, "Must be later than runAfter".to_owned()),
        ];
        let errors = at_fields(&OrderForm::default(), wrong);
        assert_eq!(errors.task.as_deref(), Some("Choose a task."));
        assert_eq!(errors.reason.as_deref(), Some("The reason is too short."));
        assert_eq!(errors.run_before.as_deref(), Some("It must be later than the start."));
    }
}
