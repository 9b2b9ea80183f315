//! The form that orders maintenance of a cluster. It posts its fields and the CSRF token to `{RES}/operations`; a mistake
//! answers 422 with the page of operations and everything that was typed.

use serde::Deserialize;

use crate::parts::{Failure, Link};

/// What a person may order for a cluster.
#[derive(Clone, Debug, Default)]
pub enum OrderPart {
    /// Nothing, and it needs no mention: the person may not change clusters.
    #[default]
    Hidden,
    /// Nothing now: why, and the way to it.
    Barred(String, Option<Link>),
    /// A task.
    Form(Box<OrderBox>),
}

/// The form with what it offers.
#[derive(Clone, Debug, Default)]
pub struct OrderBox {
    /// Where the form is sent.
    pub action: String,
    /// The tasks to choose from.
    pub tasks: Vec<TaskChoice>,
    /// Least length of the reason, in characters.
    pub least_reason: usize,
    /// Most length of the reason, in characters.
    pub most_reason: usize,
    /// What was filled in.
    pub form: OrderForm,
    /// What is wrong with it.
    pub errors: OrderErrors,
}

/// A task to choose.
#[derive(Clone, Debug, Default)]
pub struct TaskChoice {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
    /// What is missing for it to run; empty: nothing.
    pub missing: String,
}

/// The form as it is posted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct OrderForm {
    /// Id of the task.
    pub task: String,
    /// Reason.
    pub reason: String,
    /// It starts after this; UTC, empty means now.
    pub run_after: String,
    /// It does not start after this; UTC, empty means a week after the earliest start.
    pub run_before: String,
    /// 0 (first) to 1000 (last); empty means 0.
    pub priority: String,
    /// The machine that the task is about.
    pub machine: String,
    /// `on`: the steps in the cluster are skipped.
    pub force: String,
}

/// One sentence for each field that is wrong: what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderErrors {
    /// Task.
    pub task: Option<String>,
    /// Reason.
    pub reason: Option<String>,
    /// Earliest start.
    pub run_after: Option<String>,
    /// Latest start.
    pub run_before: Option<String>,
    /// Priority.
    pub priority: Option<String>,
    /// Machine.
    pub machine: Option<String>,
    /// About all of it: the cluster is deleted, the store is away.
    pub form: Option<Failure>,
}

impl OrderErrors {
    /// Whether anything is wrong.
    #[must_use]
    pub fn any(&self) -> bool {
        self != &Self::default()
    }
}
