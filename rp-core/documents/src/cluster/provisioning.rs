//! The provisioning states and every move between them (`contract/api.md` §5, §6).
//!
//! The edge writes states that wait for work, when it accepts a request. The worker writes the ends, while it holds the
//! lease, and queues deletions when a subscription is deleted. [`TRANSITIONS`] is the whole of it.

use super::properties::Properties;
use super::string_enum::string_enum;
use super::writer::{Edge, Worker};

string_enum! {
    /// Where a cluster is in its life.
    pub enum ProvisioningState {
        Creating = "Creating",
        Updating = "Updating",
        AdminUpdating = "AdminUpdating",
        /// Declared by the contract; nothing writes it.
        Canceled = "Canceled",
        /// Declared by the contract; nothing writes it.
        Maintenance = "Maintenance",
        Deleting = "Deleting",
        Succeeded = "Succeeded",
        Failed = "Failed",
    }
}

impl ProvisioningState {
    /// Work waits for a worker or is under way.
    pub const fn is_queued(self) -> bool {
        matches!(self, Self::Creating | Self::Updating | Self::AdminUpdating | Self::Deleting)
    }

    /// No work is in progress, and the cluster accepts requests.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    /// The cluster is being created or deleted.
    pub const fn is_passing(self) -> bool {
        matches!(self, Self::Creating | Self::Deleting)
    }

    /// The same, or it failed to be: its API server cannot be queried then. `failed` is the operation that failed.
    pub fn is_passing_or_failed(self, failed: Option<Self>) -> bool {
        let state = if self == Self::Failed { failed } else { Some(self) };
        state.is_some_and(Self::is_passing)
    }

    /// Where an event leads; `None`: the event cannot happen in this state.
    fn after(self, event: Event) -> Option<TransitionTarget> {
        TRANSITIONS.iter().find(|row| row.from == Some(self) && row.event == event).map(|row| row.to)
    }
}

/// A request on a cluster that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// PUT or PATCH of a customer's version.
    Update,
    /// PUT or PATCH of the version `admin`.
    AdminUpdate,
    Delete,
}

/// How a worker ends its work on an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationEnd {
    Succeeded,
    Failed,
    /// A phase of an installation is done; any worker takes the next.
    NextPhase,
}

impl OperationEnd {
    /// The state that the operation ends in.
    pub const fn state(self) -> ProvisioningState {
        match self {
            Self::Succeeded => ProvisioningState::Succeeded,
            Self::Failed => ProvisioningState::Failed,
            Self::NextPhase => ProvisioningState::Creating,
        }
    }
}

/// What causes a state transition of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The first PUT.
    Created,
    Requested(Request),
    SubscriptionDeleted,
    Ended(OperationEnd),
}

/// Who causes the transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initiator {
    Edge,
    Worker,
}

/// The state after a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionTarget {
    State(ProvisioningState),
    /// The terminal state from before the operation; if there was none, the end's own.
    Previous,
}

/// One allowed transition.
#[derive(Debug, Clone, Copy)]
pub struct Transition {
    /// `None`: there is no cluster.
    pub from: Option<ProvisioningState>,
    pub event: Event,
    pub by: Initiator,
    pub to: TransitionTarget,
}

const fn edge(from: ProvisioningState, request: Request, to: ProvisioningState) -> Transition {
    Transition {
        from: Some(from),
        event: Event::Requested(request),
        by: Initiator::Edge,
        to: TransitionTarget::State(to),
    }
}

const fn orphaned(from: ProvisioningState) -> Transition {
    let to = TransitionTarget::State(ProvisioningState::Deleting);
    Transition { from: Some(from), event: Event::SubscriptionDeleted, by: Initiator::Worker, to }
}

const fn worker(from: ProvisioningState, end: OperationEnd, to: TransitionTarget) -> Transition {
    Transition { from: Some(from), event: Event::Ended(end), by: Initiator::Worker, to }
}

/// All transitions. A successful deletion removes the document, so it has no row.
pub const TRANSITIONS: &[Transition] = {
    use ProvisioningState::{AdminUpdating, Creating, Deleting, Failed, Succeeded, Updating};
    &[
        Transition {
            from: None,
            event: Event::Created,
            by: Initiator::Edge,
            to: TransitionTarget::State(Creating),
        },
        edge(Succeeded, Request::Update, Updating),
        edge(Succeeded, Request::AdminUpdate, AdminUpdating),
        edge(Succeeded, Request::Delete, Deleting),
        // Only when the failed operation was an update.
        edge(Failed, Request::Update, Updating),
        edge(Failed, Request::AdminUpdate, AdminUpdating),
        edge(Failed, Request::Delete, Deleting),
        orphaned(Succeeded),
        orphaned(Failed),
        worker(Creating, OperationEnd::NextPhase, TransitionTarget::State(Creating)),
        worker(Creating, OperationEnd::Succeeded, TransitionTarget::State(Succeeded)),
        worker(Creating, OperationEnd::Failed, TransitionTarget::State(Failed)),
        worker(Updating, OperationEnd::Succeeded, TransitionTarget::State(Succeeded)),
        worker(Updating, OperationEnd::Failed, TransitionTarget::State(Failed)),
        worker(AdminUpdating, OperationEnd::Succeeded, TransitionTarget::Previous),
        worker(AdminUpdating, OperationEnd::Failed, TransitionTarget::Previous),
        worker(Deleting, OperationEnd::Failed, TransitionTarget::State(Failed)),
    ]
};

/// Why a request is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// In that state.
    State(String),
    CreationFailed,
    DeletionFailed,
    /// The operation that failed is one that no release writes.
    UnknownFailure,
}

impl Properties {
    /// As [`ProvisioningState::is_passing_or_failed`].
    pub fn is_passing(&self) -> bool {
        let failed = self.failed_provisioning_state.get().copied();
        self.provisioning_state.get().is_some_and(|state| state.is_passing_or_failed(failed))
    }

    /// Whether the cluster's state allows the request.
    ///
    /// # Errors
    /// Why not.
    pub fn allows(&self, request: Request) -> Result<(), Refusal> {
        let state = self.provisioning_state.get();
        if state.and_then(|state| state.after(Event::Requested(request))).is_none() {
            return Err(Refusal::State(self.provisioning_state.word().to_owned()));
        }
        if state == Some(&ProvisioningState::Succeeded) || request == Request::Delete {
            return Ok(());
        }
        match self.failed_provisioning_state.get() {
            None if self.failed_provisioning_state.word().is_empty() => Ok(()),
            Some(ProvisioningState::Updating | ProvisioningState::AdminUpdating) => Ok(()),
            Some(ProvisioningState::Creating) => Err(Refusal::CreationFailed),
            Some(ProvisioningState::Deleting) => Err(Refusal::DeletionFailed),
            _ => Err(Refusal::UnknownFailure),
        }
    }

    /// A new cluster waits for a worker.
    pub fn create(&mut self, _by: Edge) {
        self.provisioning_state.put(Some(ProvisioningState::Creating));
    }

    /// Writes that a request was accepted; a task that only changes the maintenance signal leaves the state.
    ///
    /// Returns whether there is work for a worker.
    pub fn accept(&mut self, by: Edge, request: Request) -> bool {
        if request == Request::AdminUpdate {
            if self.signal_maintenance(by) {
                return false;
            }
            self.last_admin_update_error.clear(by);
            self.begin_maintenance();
        }
        self.begin(Event::Requested(request))
    }

    /// The subscription was deleted: its clusters go.
    ///
    /// Returns whether there is work for a worker.
    pub fn delete_with_subscription(&mut self, _by: Worker) -> bool {
        self.begin(Event::SubscriptionDeleted)
    }

    fn begin(&mut self, event: Event) -> bool {
        let old = self.provisioning_state.get().copied();
        let Some(TransitionTarget::State(state)) = old.and_then(|state| state.after(event)) else {
            return false;
        };
        self.provisioning_state.put(Some(state));
        self.last_provisioning_state.put(old);
        true
    }

    /// Writes how the operation that runs ended, with the text of its error.
    ///
    /// Returns the state that is stored then; `None`: no running operation can end like this.
    pub fn finish(
        &mut self,
        by: Worker,
        end: OperationEnd,
        error: Option<&str>,
    ) -> Option<ProvisioningState> {
        let operation = *self.provisioning_state.get()?;
        let state = match operation.after(Event::Ended(end))? {
            TransitionTarget::State(state) => state,
            TransitionTarget::Previous => {
                let before = self.last_provisioning_state.get().copied();
                before.filter(|state| state.is_terminal()).unwrap_or_else(|| end.state())
            }
        };
        self.provisioning_state.put(Some(state));
        if end != OperationEnd::NextPhase {
            self.maintenance_task.clear(by);
            self.last_provisioning_state.put(None);
        }
        if operation == ProvisioningState::AdminUpdating {
            self.finish_admin_update(by, error);
        } else {
            self.failed_provisioning_state.put((end == OperationEnd::Failed).then_some(operation));
        }
        Some(state)
    }

    /// The earlier failure is kept; the new failure is stored as text.
    fn finish_admin_update(&mut self, by: Worker, error: Option<&str>) {
        if error.is_some() && self.failed_provisioning_state.word().is_empty() {
            self.failed_provisioning_state.put(Some(ProvisioningState::AdminUpdating));
        }
        self.last_admin_update_error.set_or_clear(by, error.unwrap_or_default());
        if error.is_none() {
            self.end_maintenance(by);
        }
    }
}
