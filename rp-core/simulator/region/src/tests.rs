//! The region as the dialer and a client see it.

mod api;
mod client;
mod installed;
mod streams;
mod writes;

/// Whether a cluster operator reports that it is degraded.
fn degraded(operator: &serde_json::Value) -> bool {
    let conditions = operator["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|c| c["type"] == "Degraded" && c["status"] == "True")
}
