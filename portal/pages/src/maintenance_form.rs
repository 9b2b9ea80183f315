//! The form that orders a task of maintenance, in the tab of operations.

use portal_model::access_offer::{Standing, standing_now};
use portal_model::index::Entry;
use portal_model::maintenance::task_named;
use portal_model::saved::reason_limits;
use portal_model::state::PortalState;
use portal_session::user::CurrentUser;
use rp_documents::Rights;
use rp_documents::maintenance::{Build, TASKS, Task};
use web::objects::{OrderBox, OrderErrors, OrderForm, OrderPart, TaskChoice};

use crate::access_dialog::what_is_missing;
use crate::maintenance::operations_path;

/// What was filled into the form, and what is wrong with it.
pub(crate) type FilledOrder = (OrderForm, OrderErrors);

/// What a person may order for the cluster. A form that was sent is shown again whatever they may, so that what was typed
/// is not lost.
pub(crate) async fn order_part(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    query: &str,
    filled: Option<FilledOrder>,
) -> OrderPart {
    let standing = standing_now(state, user, entry, Rights::Write).await;
    let (form, errors) = match (standing, filled) {
        (_, Some(filled)) => filled,
        (Standing::Own | Standing::Elevated(_), None) => (asked_for(query), OrderErrors::default()),
        (Standing::Lacks(lack), None) => {
            let back = match asked_for(query).task.is_empty() {
                true => operations_path(entry),
                false => format!("{}?{query}", operations_path(entry)),
            };
            let (why, way) = what_is_missing(state, entry, Rights::Write, lack, &back);
            return OrderPart::Barred(why, way);
        }
    };
    let limits = reason_limits(state);
    OrderPart::Form(Box::new(OrderBox {
        action: operations_path(entry),
        tasks: TASKS.into_iter().map(choice).collect(),
        least_reason: limits.least,
        most_reason: limits.most,
        form,
        errors,
    }))
}

/// The form as a link fills it in: `task=restart+machine&machine=worker-1`.
fn asked_for(query: &str) -> OrderForm {
    let mut form = OrderForm::default();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "task" => form.task = task_named(&value).map_or_else(String::new, |task| task.id().to_owned()),
            "machine" => form.machine = value.into_owned(),
            _ => {}
        }
    }
    form
}

fn choice(task: Task) -> TaskChoice {
    let missing = match task.build() {
        Build::Ready => "",
        Build::Missing(what) | Build::Ordered(what) => what,
    };
    TaskChoice {
        id: task.id().to_owned(),
        name: task.name().to_owned(),
        about: task.about().to_owned(),
        missing: missing.to_owned(),
    }
}
