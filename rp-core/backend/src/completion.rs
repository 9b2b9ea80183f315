//! What the end of a worker's turn writes into a cluster's document: pure (`contract/backend.md` §3.5, §3.6).

use rp_api::CloudError;
use rp_base::text::{clean, contains_ignore_case};
use rp_cluster::Operation;
use rp_documents::cluster::Worker;
use rp_documents::cluster::provisioning::OperationEnd;
use rp_documents::{ClusterDocument, Lease, Leased, ProvisioningState};
use serde_json::{Value, json};

/// Characters of an error that is kept in a document.
const LONGEST_ERROR: usize = 4096;

/// Why an operation failed, as the customer and as the log may read it.
#[derive(Debug, Clone)]
pub(crate) struct OperationFailure {
    /// As an HTTP status: below 500 it is the customer's.
    pub(crate) status: u16,
    /// Members of ARM's error body, for the customer.
    pub(crate) body: Value,
    /// All of it, for the log.
    pub(crate) text: String,
    /// Whether the text was written for the customer.
    pub(crate) for_customer: bool,
}

impl OperationFailure {
    /// An error that the customer may read, with the details for the log.
    pub(crate) fn for_customer(error: &CloudError, detail: &str) -> Self {
        let whole = error.to_string();
        let text = if detail.is_empty() || whole.contains(detail) {
            whole
        } else {
            // In place of the details, which say the same as JSON.
            format!("{}: {}: {detail}", error.status, error.body)
        };
        // Azure returns this for a deny assignment whose principal it does not know yet: it is not the customer's
        // error.
        if contains_ignore_case(&text, "nullorinvalidguidexcludeprincipalid") {
            return Self::internal(&text);
        }
        let body = serde_json::to_value(&error.body).unwrap_or_else(|_| internal_body());
        Self { status: error.status, body, text, for_customer: true }
    }

    /// An internal error: the customer reads a general sentence.
    pub(crate) fn internal(text: &str) -> Self {
        Self { status: 500, body: internal_body(), text: text.to_owned(), for_customer: false }
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

/// The part of an operation that runs: the phase of an installation, or the task of an admin update.
pub(crate) fn phase_of(document: &ClusterDocument) -> &str {
    let properties = &document.cluster.properties;
    match operation_of(document) {
        Some(Operation::Create) => &properties.install.phase,
        Some(Operation::AdminUpdate) => &properties.maintenance_task,
        Some(Operation::Update | Operation::Delete) | None => "",
    }
}

/// The phase as it is displayed.
pub(crate) fn shown_phase(document: &ClusterDocument) -> &str {
    let phase = phase_of(document);
    phase.strip_prefix("InstallPhase").unwrap_or(phase)
}

/// Writes the end: states, maintenance, lease. The result of the asynchronous operation is the end; the stored state of
/// an admin update is what it was before.
pub(crate) fn apply(
    document: &mut ClusterDocument,
    worker: Worker,
    end: OperationEnd,
    failure: Option<&OperationFailure>,
) {
    let error = failure.map(|failure| clean(&failure.text, LONGEST_ERROR));
    let state = document.cluster.properties.finish(worker, end, error.as_deref());
    let lease = document.lease();
    let dequeues = if state == Some(ProvisioningState::Failed) { lease.dequeues } else { 0 };
    document.set_lease(&Lease { owner: String::new(), expires: 0, token: lease.token, dequeues });
    document.retry.clear(worker);
    if end != OperationEnd::NextPhase {
        document.correlation_data.clear(worker);
        document.async_operation_id.clear(worker);
        document.operation.clear(worker);
    }
}

/// Releases the lease of unfinished work: any worker may claim it at once, or after `expires` by the store's clock.
/// `counts`: the attempt ended abnormally and is counted.
pub(crate) fn release(document: &mut impl Leased, expires: i64, counts: bool) {
    let lease = document.lease();
    let dequeues = if counts { lease.dequeues } else { lease.dequeues.saturating_sub(1) };
    document.set_lease(&Lease { owner: String::new(), expires, token: lease.token, dequeues });
}

#[cfg(test)]
mod tests;
