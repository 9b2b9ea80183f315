//! The kinds of steps. A plan is an ordered list of them (`contract/backend.md` §9.1).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::context::Context;
use crate::errors::StepError;

/// What a step's function gives.
pub type Running<'a, T> = Pin<Box<dyn Future<Output = Result<T, StepError>> + Send + 'a>>;

/// Does something; doing it again changes nothing.
pub type Act = for<'a> fn(&'a Context) -> Running<'a, ()>;

/// Looks whether something is so.
pub type Look = for<'a> fn(&'a Context) -> Running<'a, Seen>;

/// What a look saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It is so.
    Yes,
    /// Not yet, and what there is instead, for people.
    NotYet(String),
}

impl Seen {
    /// Not yet.
    pub fn not_yet(text: impl Into<String>) -> Self {
        Self::NotYet(text.into())
    }
}

/// How a step runs.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Once.
    Action(Act),
    /// As often as Azure does not know the rights yet; the first-party credential is made anew before each time.
    AuthorizationRetrying(Act),
    /// Looked at until it is so. Not `fail`: without it the plan goes on.
    Condition { look: Look, fail: bool },
}

/// One step of a plan.
#[derive(Clone, Copy)]
pub struct Step {
    /// The contract's short name, such as `ensureInfraID`.
    pub name: &'static str,
    pub kind: Kind,
    /// Of an action: for one run of it. Of a condition: for all of its looks.
    pub limit: Duration,
}

/// For an action that says nothing else: longer than any single call of Azure takes with its retries.
pub const ACTION: Duration = Duration::from_mins(20);
/// For deployments and deletions of many resources.
pub const LONG_ACTION: Duration = Duration::from_mins(60);

impl Step {
    /// Runs once, within [`ACTION`].
    pub const fn action(name: &'static str, run: Act) -> Self {
        Self { name, kind: Kind::Action(run), limit: ACTION }
    }

    /// Runs until the rights are known.
    pub const fn authorization_retrying(name: &'static str, run: Act) -> Self {
        Self { name, kind: Kind::AuthorizationRetrying(run), limit: ACTION }
    }

    /// Waits at most `limit`, else the plan fails.
    pub const fn condition(name: &'static str, limit: Duration, look: Look) -> Self {
        Self { name, kind: Kind::Condition { look, fail: true }, limit }
    }

    /// Waits at most `limit`, and goes on without.
    pub const fn optional_condition(name: &'static str, limit: Duration, look: Look) -> Self {
        Self { name, kind: Kind::Condition { look, fail: false }, limit }
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

impl Kind {
    /// The word in stored names and metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Action(_) => "action",
            Self::AuthorizationRetrying(_) => "authorizationretryingaction",
            Self::Condition { .. } => "condition",
        }
    }
}

impl fmt::Debug for Kind {
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

/// A condition from an `async fn(&Context) -> Result<Seen, StepError>` and its limit in minutes.
#[macro_export]
macro_rules! condition {
    ($name:literal, $minutes:literal, $look:path) => {
        $crate::Step::condition($name, ::std::time::Duration::from_mins($minutes), |context| {
            Box::pin($look(context))
        })
    };
}
