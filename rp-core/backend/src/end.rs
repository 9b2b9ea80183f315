//! What the end of a worker's turn writes into a cluster's document: pure (`contract/backend.md` §3.5, §3.6).

use rp_api::CloudError;
use rp_base::text::{clean, contains_ignore_case};
use rp_cluster::Operation;
use rp_documents::cluster::Worker;
use rp_documents::cluster::provisioning::End;
use rp_documents::{ClusterDocument, Lease, Leased, ProvisioningState};
use serde_json::{Value, json};

/// Characters of an error that is kept in a document.
const LONGEST_ERROR: usize = 4096;

/// What went wrong, for each of those who are told.
#[derive(Debug, Clone)]
pub(crate) struct Wrong {
    /// As an HTTP status: below 500 it is the customer's.
    pub(crate) status: u16,
    /// Members of ARM's error body, for the customer.
    pub(crate) body: Value,
    /// All of it, for the log.
    pub(crate) text: String,
    /// It was made for the customer.
    pub(crate) told: bool,
}

impl Wrong {
    /// Made for the customer, with the whole of it for the log.
    pub(crate) fn told(error: &CloudError, detail: &str) -> Self {
        let whole = error.to_string();
        let text = if detail.is_empty() || whole.contains(detail) {
            whole
        } else {
            // In place of the details, which say the same as JSON.
            format!("{}: {}: {detail}", error.status, error.body)
        };
        // Azure says so of a deny assignment whose principal it does not know yet: it is not the customer's error.
        if contains_ignore_case(&text, "nullorinvalidguidexcludeprincipalid") {
            return Self::internal(&text);
        }
        let body = serde_json::to_value(&error.body).unwrap_or_else(|_| internal_body());
        Self { status: error.status, body, text, told: true }
    }

    /// Ours: the customer reads a sentence that says nothing.
    pub(crate) fn internal(text: &str) -> Self {
        Self { status: 500, body: internal_body(), text: text.to_owned(), told: false }
    }
}

fn internal_body() -> Value {
    json!({"code": "InternalServerError", "message": "Internal server error."})
}

/// The state of a cluster while an operation runs.
pub(crate) const fn state_of(operation: Operation) -> ProvisioningState {
    match operation {
        Operation::Create => ProvisioningState::Creating,
        Operation::Update => ProvisioningState::Updating,
        Operation::AdminUpdate => ProvisioningState::AdminUpdating,
        Operation::Delete => ProvisioningState::Deleting,
    }
}

/// The operation that a stored cluster waits for.
pub(crate) fn operation_of(document: &ClusterDocument) -> Option<Operation> {
    match document.cluster.properties.provisioning_state.get()? {
        ProvisioningState::Creating => Some(Operation::Create),
        ProvisioningState::Updating => Some(Operation::Update),
        ProvisioningState::AdminUpdating => Some(Operation::AdminUpdate),
        ProvisioningState::Deleting => Some(Operation::Delete),
        ProvisioningState::Canceled
        | ProvisioningState::Maintenance
        | ProvisioningState::Succeeded
        | ProvisioningState::Failed => None,
    }
}

/// What tells one piece of an operation from the next: the phase of an installation, the task of an admin update.
pub(crate) fn phase_of(document: &ClusterDocument) -> &str {
    let properties = &document.cluster.properties;
    match operation_of(document) {
        Some(Operation::Create) => &properties.install.phase,
        Some(Operation::AdminUpdate) => &properties.maintenance_task,
        Some(Operation::Update | Operation::Delete) | None => "",
    }
}

/// The phase as people read it.
pub(crate) fn shown_phase(document: &ClusterDocument) -> &str {
    let phase = phase_of(document);
    phase.strip_prefix("InstallPhase").unwrap_or(phase)
}

/// Writes the end: states, maintenance, lease. The result of the asynchronous operation is the end; the stored state of an
/// admin update is what it was before.
pub(crate) fn apply(document: &mut ClusterDocument, worker: Worker, end: End, wrong: Option<&Wrong>) {
    let error = wrong.map(|wrong| clean(&wrong.text, LONGEST_ERROR));
    let state = document.cluster.properties.finish(worker, end, error.as_deref());
    let lease = document.lease();
    let dequeues = if state == Some(ProvisioningState::Failed) { lease.dequeues } else { 0 };
    document.set_lease(&Lease { owner: String::new(), expires: 0, token: lease.token, dequeues });
    document.retry.clear(worker);
    if end != End::NextPhase {
        document.correlation_data.clear(worker);
        document.async_operation_id.clear(worker);
        document.operation.clear(worker);
    }
}

/// Gives the lease away with the work undone: to anybody at once, or after `expires` of the store's clock. `counts`: the
/// take was one that ended abnormally.
pub(crate) fn release(document: &mut impl Leased, expires: i64, counts: bool) {
    let lease = document.lease();
    let dequeues = if counts { lease.dequeues } else { lease.dequeues.saturating_sub(1) };
    document.set_lease(&Lease { owner: String::new(), expires, token: lease.token, dequeues });
}

#[cfg(test)]
mod tests;
