//! The kinds of steps. A plan is an ordered list of them (`contract/backend.md` §9.1).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::context::Context;
use crate::errors::StepError;

/// The future that a step's function returns.
pub type StepFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StepError>> + Send + 'a>>;

/// The function of an action. It is idempotent.
pub type ActionFn = for<'a> fn(&'a Context) -> StepFuture<'a, ()>;

/// The function of a condition: checks once whether it is met.
pub type ConditionFn = for<'a> fn(&'a Context) -> StepFuture<'a, ConditionStatus>;

/// Result of one check of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionStatus {
    /// The condition is met.
    Yes,
    /// Not met yet, with the present state as text for people.
    NotYet(String),
}

impl ConditionStatus {
    /// Not yet.
    pub fn not_yet(text: impl Into<String>) -> Self {
        Self::NotYet(text.into())
    }
}

/// How a step runs.
#[derive(Clone, Copy)]
pub enum StepKind {
    /// Once.
    Action(ActionFn),
    /// As often as Azure does not know the rights yet; the first-party credential is made anew before each time.
    AuthorizationRetrying(ActionFn),
    /// Checked until it is met. Without `fail` the plan continues when the time is over.
    Condition { look: ConditionFn, fail: bool },
}

/// One step of a plan.
#[derive(Clone, Copy)]
pub struct Step {
    /// The contract's short name, such as `ensureInfraID`.
    pub name: &'static str,
    pub kind: StepKind,
    /// Time limit of one run of an action, or of all checks of a condition.
    pub limit: Duration,
}

/// Default limit of an action: longer than any single call of Azure takes with its retries.
pub const ACTION: Duration = Duration::from_mins(20);
/// For deployments and deletions of many resources.
pub const LONG_ACTION: Duration = Duration::from_mins(60);

impl Step {
    /// Runs once, within [`ACTION`].
    pub const fn action(name: &'static str, run: ActionFn) -> Self {
        Self { name, kind: StepKind::Action(run), limit: ACTION }
    }

    /// Runs until the rights are known.
    pub const fn authorization_retrying(name: &'static str, run: ActionFn) -> Self {
        Self { name, kind: StepKind::AuthorizationRetrying(run), limit: ACTION }
    }

    /// Waits at most `limit`, else the plan fails.
    pub const fn condition(name: &'static str, limit: Duration, look: ConditionFn) -> Self {
        Self { name, kind: StepKind::Condition { look, fail: true }, limit }
    }

    /// Waits at most `limit`; then the plan continues.
    pub const fn optional_condition(name: &'static str, limit: Duration, look: ConditionFn) -> Self {
        Self { name, kind: StepKind::Condition { look, fail: false }, limit }
    }

    /// With another deadline.
    #[must_use]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// As it is stored and measured: `action.ensureInfraID`.
    pub fn stored_name(&self) -> String {
        format!("{}.{}", self.kind.name(), self.name)
    }
}

impl StepKind {
    /// The word in stored names and metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Action(_) => "action",
            Self::AuthorizationRetrying(_) => "authorizationretryingaction",
            Self::Condition { .. } => "condition",
        }
    }
}

impl fmt::Debug for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stored_name())
    }
}

/// A step of the plan from an `async fn(&Context)`: `action!("ensureInfraID", values::ensure_infra_id)`.
#[macro_export]
macro_rules! action {
    ($name:literal, $run:path) => {
        $crate::Step::action($name, |context| Box::pin($run(context)))
    };
}

/// As `action!`, retried while Azure does not know the rights yet.
#[macro_export]
macro_rules! authorization_retrying {
    ($name:literal, $run:path) => {
        $crate::Step::authorization_retrying($name, |context| Box::pin($run(context)))
    };
}

/// A condition from an `async fn(&Context) -> Result<ConditionStatus, StepError>` and its limit in minutes.
#[macro_export]
macro_rules! condition {
    ($name:literal, $minutes:literal, $look:path) => {
        $crate::Step::condition($name, ::std::time::Duration::from_mins($minutes), |context| {
            Box::pin($look(context))
        })
    };
}
