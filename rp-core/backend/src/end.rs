//! What the end of a worker's turn writes into a cluster's document: pure (`contract/backend.md` §3.5, §3.6).

use rp_api::CloudError;
use rp_api::state::write;
use rp_base::text::{clean, contains_ignore_case};
use rp_cluster::Operation;
use rp_documents::Lease;
use serde_json::{Value, json};

/// Characters of an error that is kept in a document.
const LONGEST_ERROR: usize = 4096;

/// Where the cluster goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Succeeded,
    Failed,
    /// The phase is done; any worker takes the next.
    NextPhase,
}

impl Target {
    /// The provisioning state.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::NextPhase => "Creating",
        }
    }
}

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

/// The stored word of an operation that runs.
pub(crate) const fn state_of(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "Creating",
        Operation::Update => "Updating",
        Operation::AdminUpdate => "AdminUpdating",
        Operation::Delete => "Deleting",
    }
}

/// The operation that a stored cluster waits for.
pub(crate) fn operation_of(body: &Value) -> Option<Operation> {
    match text(body, "provisioningState") {
        "Creating" => Some(Operation::Create),
        "Updating" => Some(Operation::Update),
        "AdminUpdating" => Some(Operation::AdminUpdate),
        "Deleting" => Some(Operation::Delete),
        _ => None,
    }
}

/// A text among a stored cluster's properties; empty when there is none.
pub(crate) fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body.pointer("/openShiftCluster/properties")
        .and_then(|properties| properties.get(name))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// What tells one piece of an operation from the next: the phase of an installation, the task of an admin update.
pub(crate) fn phase_of(body: &Value) -> &str {
    match operation_of(body) {
        Some(Operation::Create) => {
            let phase = body.pointer("/openShiftCluster/properties/install/phase");
            phase.and_then(Value::as_str).unwrap_or_default()
        }
        Some(Operation::AdminUpdate) => text(body, "maintenanceTask"),
        Some(Operation::Update | Operation::Delete) | None => "",
    }
}

/// The phase as people read it.
pub(crate) fn shown_phase(body: &Value) -> &str {
    let phase = phase_of(body);
    phase.strip_prefix("InstallPhase").unwrap_or(phase)
}

/// Writes the end: states, maintenance, lease. The result of the asynchronous operation is the target; the stored state
/// of an admin update is what it was before.
pub(crate) fn apply(body: &mut Value, operation: Operation, target: Target, wrong: Option<&Wrong>) {
    let state = stored_state(body, operation, target);
    let terminal = target != Target::NextPhase;
    let Some(Value::Object(properties)) = body.pointer_mut("/openShiftCluster/properties") else { return };
    let mut set = |name: &str, value: &str| write(properties, name, value);
    set("provisioningState", state);
    if terminal {
        set("maintenanceTask", "");
        set("lastProvisioningState", "");
    }
    if operation == Operation::AdminUpdate && terminal {
        let failed = properties.get("failedProvisioningState").and_then(Value::as_str).unwrap_or_default();
        if failed.is_empty() && wrong.is_some() {
            write(properties, "failedProvisioningState", "AdminUpdating");
        }
        let error = wrong.map(|wrong| clean(&wrong.text, LONGEST_ERROR)).unwrap_or_default();
        write(properties, "lastAdminUpdateError", &error);
        if wrong.is_none() {
            write(properties, "maintenanceState", "None");
        }
    } else {
        let failed = if target == Target::Failed { state_of(operation) } else { "" };
        write(properties, "failedProvisioningState", failed);
    }
    let lease = Lease::of(body);
    let dequeues = if state == "Failed" { lease.dequeues } else { 0 };
    Lease { owner: String::new(), expires: 0, token: lease.token, dequeues }.write(body);
    if let Value::Object(envelope) = body {
        envelope.remove("retry");
        if terminal {
            for name in ["correlationData", "asyncOperationId", "operation"] {
                envelope.remove(name);
            }
        }
    }
}

/// Gives the lease away with the work undone: to anybody at once, or after `expires` of the store's clock. `counts`: the
/// take was one that ended abnormally.
pub(crate) fn release(body: &mut Value, expires: i64, counts: bool, retries: u32) {
    let lease = Lease::of(body);
    let dequeues = if counts { lease.dequeues } else { lease.dequeues.saturating_sub(1) };
    Lease { owner: String::new(), expires, token: lease.token, dequeues }.write(body);
    if let Value::Object(envelope) = body {
        if retries == 0 {
            envelope.remove("retry");
        } else {
            envelope.insert("retry".to_owned(), json!({"count": retries}));
        }
    }
}

/// How often in a row it was put off.
pub(crate) fn retries(body: &Value) -> u32 {
    let count = body.pointer("/retry/count").and_then(Value::as_u64).unwrap_or_default();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// `Succeeded` or `Failed` from before an admin update comes back.
fn stored_state(body: &Value, operation: Operation, target: Target) -> &'static str {
    if target == Target::NextPhase {
        return state_of(operation);
    }
    if operation != Operation::AdminUpdate {
        return target.name();
    }
    match text(body, "lastProvisioningState") {
        "Succeeded" => "Succeeded",
        "Failed" => "Failed",
        _ => target.name(),
    }
}

#[cfg(test)]
mod tests;
