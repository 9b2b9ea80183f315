//! Admission policies that protect the platform (`contract/operator.md` §8.14).

use std::time::Duration;

use rp_operator_api::Flag;
use rp_operator_objects::guardrails::decide;

use crate::controller::{Outcome, Reconciled, Run};
use crate::gate::{cluster_version, installed};
use crate::plan::carry_out;

/// Begin of the names of policies and bindings.
pub(super) const NAMES: (&str, &str) = ("aro-", "");

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let version = installed(&cluster_version(run.api()).await?)?;
    let decision = decide(run.flags, version);
    if let Some(note) = decision.note {
        tracing::warn!(controller = "GuardRails", reason = note, "policies are not enforced");
    }
    carry_out(run.api(), &decision.plan, None).await?;
    let minutes = u64::from(run.flags.number(Flag::GuardrailsMinutes));
    Ok(Outcome { requeue: Some(Duration::from_secs(60 * minutes.max(1))), ..Outcome::done() })
}
