//! The provisioning states and every move between them (`contract/api.md` §5, §6).
//!
//! The edge writes states that wait for work, when it accepts a request. The worker writes the ends, while it holds the
//! lease, and queues deletions when a subscription is deleted. [`TRANSITIONS`] is the whole of it.

use super::properties::Properties;
use super::word::words;
use super::writer::{Edge, Worker};

words! {
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

    /// No work is under way, and the cluster takes requests.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    /// The cluster comes into being or goes.
    pub const fn is_passing(self) -> bool {
        matches!(self, Self::Creating | Self::Deleting)
    }

    /// Where an event leads; `None`: the event cannot happen in this state.
    fn after(self, event: Event) -> Option<Next> {
        TRANSITIONS.iter().find(|row| row.from == Some(self) && row.event == event).map(|row| row.to)
    }
}

/// What is asked of a cluster that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// PUT or PATCH of a customer's version.
    Update,
    /// PUT or PATCH of the version `admin`.
    AdminUpdate,
    Delete,
}

/// How a worker's turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Succeeded,
    Failed,
    /// A phase of an installation is done; any worker takes the next.
    NextPhase,
}

impl End {
    /// The state that the operation ends in.
    pub const fn state(self) -> ProvisioningState {
        match self {
            Self::Succeeded => ProvisioningState::Succeeded,
            Self::Failed => ProvisioningState::Failed,
            Self::NextPhase => ProvisioningState::Creating,
        }
    }
}

/// What moves a cluster from state to state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The first PUT.
    Created,
    Requested(Request),
    SubscriptionDeleted,
    Ended(End),
}

/// Who moves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mover {
    Edge,
    Worker,
}

/// The state after a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    State(ProvisioningState),
    /// The terminal state from before the operation; if there was none, the end's own.
    Previous,
}

/// One move that is allowed.
#[derive(Debug, Clone, Copy)]
pub struct Transition {
    /// `None`: there is no cluster.
    pub from: Option<ProvisioningState>,
    pub event: Event,
    pub by: Mover,
    pub to: Next,
}

const fn edge(from: ProvisioningState, request: Request, to: ProvisioningState) -> Transition {
    Transition { from: Some(from), event: Event::Requested(request), by: Mover::Edge, to: Next::State(to) }
}

const fn orphaned(from: ProvisioningState) -> Transition {
    let to = Next::State(ProvisioningState::Deleting);
    Transition { from: Some(from), event: Event::SubscriptionDeleted, by: Mover::Worker, to }
}

const fn worker(from: ProvisioningState, end: End, to: Next) -> Transition {
    Transition { from: Some(from), event: Event::Ended(end), by: Mover::Worker, to }
}

/// Every move. A deletion that succeeds removes the document, so that it has no row.
pub const TRANSITIONS: &[Transition] = {
    use ProvisioningState::{AdminUpdating, Creating, Deleting, Failed, Succeeded, Updating};
    &[
        Transition { from: None, event: Event::Created, by: Mover::Edge, to: Next::State(Creating) },
        edge(Succeeded, Request::Update, Updating),
        edge(Succeeded, Request::AdminUpdate, AdminUpdating),
        edge(Succeeded, Request::Delete, Deleting),
        // Only when the failed operation was an update.
        edge(Failed, Request::Update, Updating),
        edge(Failed, Request::AdminUpdate, AdminUpdating),
        edge(Failed, Request::Delete, Deleting),
        orphaned(Succeeded),
        orphaned(Failed),
        worker(Creating, End::NextPhase, Next::State(Creating)),
        worker(Creating, End::Succeeded, Next::State(Succeeded)),
        worker(Creating, End::Failed, Next::State(Failed)),
        worker(Updating, End::Succeeded, Next::State(Succeeded)),
        worker(Updating, End::Failed, Next::State(Failed)),
        worker(AdminUpdating, End::Succeeded, Next::Previous),
        worker(AdminUpdating, End::Failed, Next::Previous),
        worker(Deleting, End::Failed, Next::State(Failed)),
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
    /// Whether the cluster comes into being or goes, or failed at that: it cannot be asked then.
    pub fn is_passing(&self) -> bool {
        let is_passing = |state: &ProvisioningState| state.is_passing();
        match self.provisioning_state.get() {
            Some(ProvisioningState::Failed) => self.failed_provisioning_state.get().is_some_and(is_passing),
            state => state.is_some_and(is_passing),
        }
    }

    /// Whether the cluster takes the request now.
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
    /// Gives whether there is work for a worker.
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
    /// Gives whether there is work for a worker.
    pub fn delete_with_subscription(&mut self, _by: Worker) -> bool {
        self.begin(Event::SubscriptionDeleted)
    }

    fn begin(&mut self, event: Event) -> bool {
        let old = self.provisioning_state.get().copied();
        let Some(Next::State(state)) = old.and_then(|state| state.after(event)) else { return false };
        self.provisioning_state.put(Some(state));
        self.last_provisioning_state.put(old);
        true
    }

    /// Writes how the operation that runs ended, with the text of its error.
    ///
    /// Gives the state that is stored then; `None`: no operation runs that can end so.
    pub fn finish(&mut self, by: Worker, end: End, error: Option<&str>) -> Option<ProvisioningState> {
        let operation = *self.provisioning_state.get()?;
        let state = match operation.after(Event::Ended(end))? {
            Next::State(state) => state,
            Next::Previous => {
                let before = self.last_provisioning_state.get().copied();
                before.filter(|state| state.is_terminal()).unwrap_or_else(|| end.state())
            }
        };
        self.provisioning_state.put(Some(state));
        if end != End::NextPhase {
            self.maintenance_task.clear(by);
            self.last_provisioning_state.put(None);
        }
        if operation == ProvisioningState::AdminUpdating {
            self.finish_admin_update(by, error);
        } else {
            self.failed_provisioning_state.put((end == End::Failed).then_some(operation));
        }
        Some(state)
    }

    /// What failed before stays known; what failed now is kept as text.
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
