//! The shape of a controller: a row of the table [`crate::controllers::TABLE`] with one function that fetches, validates,
//! builds and applies. Everything that controllers share is in [`crate::runner`].

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rp_base::{SharedClock, SharedRandom};
use rp_operator_api::conditions::{Check, State, of_check};
use rp_operator_api::{Cluster, Condition, Flag, Flags};

use crate::api::{Api, ApiError};
use crate::apply::Owner;
use crate::azure::AzureAccess;
use crate::kinds::Kind;
use crate::metrics::OperatorMetrics;
use crate::status::StatusWriter;

/// The two deployments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// On a node of the control plane: all controllers.
    Master,
    /// On a worker node: the internet checker.
    Worker,
}

impl Role {
    /// The role of that name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "master" => Some(Self::Master),
            "worker" => Some(Self::Worker),
            _ => None,
        }
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Worker => "worker",
        }
    }
}

/// What happens while the flag of a controller is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// Nothing: its objects are left alone.
    Leave,
    /// Its function runs and undoes what it did, or says that nothing is known.
    Undo,
}

/// Which objects are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All of the kind.
    All,
    /// Those of a namespace.
    Namespace(&'static str),
    /// One: its namespace (empty for objects of the cluster) and its name.
    One(&'static str, &'static str),
}

/// Which changes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// Creation, deletion, and a change of the generation: not of the status, labels or annotations.
    Generation,
    /// Also labels, annotations and owners.
    Metadata,
    /// Every change.
    All,
}

/// The key of the work that a change brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// One key for all.
    One,
    /// The name of the object.
    Name,
}

/// Something that a controller watches.
#[derive(Debug, Clone, Copy)]
pub struct Watched {
    pub kind: &'static Kind,
    pub scope: Scope,
    pub changes: Changes,
    pub key: Key,
    /// Only objects whose controller owner is the `Cluster`.
    pub owned: bool,
    /// Only objects whose names begin and end so.
    pub names: (&'static str, &'static str),
}

impl Watched {
    /// Objects of a kind, with one key for all.
    pub const fn new(kind: &'static Kind, scope: Scope, changes: Changes) -> Self {
        Self { kind, scope, changes, key: Key::One, owned: false, names: ("", "") }
    }

    /// The same with a key for each object.
    pub const fn each(self) -> Self {
        Self { key: Key::Name, ..self }
    }

    /// The same for objects whose names begin and end so.
    pub const fn named(self, names: (&'static str, &'static str)) -> Self {
        Self { names, ..self }
    }

    /// Whether an object of that name counts.
    pub fn takes(&self, name: &str) -> bool {
        name.starts_with(self.names.0) && name.ends_with(self.names.1)
    }

    /// The same for objects that the `Cluster` owns.
    pub const fn owned(self) -> Self {
        Self { owned: true, ..self }
    }
}

/// What the function of a controller is called with.
#[derive(Debug)]
pub struct Run<'a> {
    pub context: &'a Context,
    pub cluster: &'a Cluster,
    pub flags: &'a Flags,
    /// Whether the flag of the controller is on; always true but for [`Off::Undo`].
    pub enabled: bool,
    /// The name of the object that changed; empty where there is one key for all.
    pub key: &'a str,
}

impl Run<'_> {
    /// The API server.
    pub const fn api(&self) -> &Api {
        &self.context.api
    }

    /// The `Cluster` as owner of an object.
    pub fn owner(&self) -> Owner {
        Owner::cluster(self.cluster)
    }

    /// Whether a switch is on.
    pub fn on(&self, flag: Flag) -> bool {
        self.flags.on(flag)
    }
}

/// What controllers share.
#[derive(Debug, Clone)]
pub struct Context {
    pub api: Api,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub role: Role,
    /// The build of the operator, for `status.operatorVersion`.
    pub version: String,
    pub metrics: OperatorMetrics,
    pub status: StatusWriter,
    pub azure: AzureAccess,
}

/// What a reconciliation did.
#[derive(Debug, Default, Clone)]
pub struct Outcome {
    /// Conditions of checks, without times.
    pub conditions: Vec<Condition>,
    /// The state of the controller; `None`: it has none, or it stays.
    pub state: Option<State>,
    /// When it runs again although nothing changed; `None`: after the period of its row.
    pub requeue: Option<Duration>,
    /// Why it is repeated with back-off although its conditions are written.
    pub retry: Option<String>,
    /// The object of the key is gone: the key is not worked on again.
    pub gone: bool,
}

impl Outcome {
    /// Done, and all is well.
    pub fn clear() -> Self {
        Self { state: Some(State::Clear), ..Self::default() }
    }

    /// Done; the controller has no state of its own.
    pub fn done() -> Self {
        Self::default()
    }

    /// Done; only no longer degraded.
    pub fn clear_degraded() -> Self {
        Self { state: Some(State::ClearDegraded), ..Self::default() }
    }

    /// The object of the key is gone.
    pub fn gone(self) -> Self {
        Self { gone: true, ..self }
    }

    /// The result of a check.
    pub fn check(check: Check, status: &str, reason: &str, message: &str) -> Self {
        Self { conditions: vec![of_check(check, status, reason, message)], ..Self::default() }
    }

    /// A check that is off: nothing is known.
    pub fn unknown(check: Check) -> Self {
        Self::check(check, "Unknown", "", "")
    }

    /// The same, repeated with back-off for this reason.
    #[must_use]
    pub fn retried(self, why: impl Into<String>) -> Self {
        Self { retry: Some(why.into()), ..self }
    }
}

/// Why a reconciliation failed; it is repeated with back-off.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error(transparent)]
    Api(#[from] ApiError),
    /// What was read is not as it should be. The text says what and where.
    #[error("{0}")]
    Invalid(String),
}

impl ReconcileError {
    /// What was read is not as it should be.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }
}

/// The result of a reconciliation.
pub type Reconciled = Result<Outcome, ReconcileError>;

/// The function of a controller.
pub type Reconcile = for<'a> fn(&'a Run<'a>) -> Pin<Box<dyn Future<Output = Reconciled> + Send + 'a>>;

/// A controller.
#[derive(Debug, Clone, Copy)]
pub struct Controller {
    /// Name in logs and labels (`contract/operator.md` §8).
    pub name: &'static str,
    /// Its section there.
    pub section: &'static str,
    /// What it does, in a sentence for people.
    pub summary: &'static str,
    /// Whether the worker role runs it too.
    pub on_workers: bool,
    /// `None`: always on.
    pub flag: Option<Flag>,
    pub off: Off,
    /// Begin of the types of its conditions; `None`: it has none.
    pub state: Option<&'static str>,
    pub watched: &'static [Watched],
    /// When it runs again although nothing changed; `None`: every ten hours, as all of them.
    pub period: Option<Duration>,
    pub reconcile: Reconcile,
}
