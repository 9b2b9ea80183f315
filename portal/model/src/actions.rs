//! What people do with the objects of a cluster, for pages and JSON alike: cordon, drain, approve, delete, restart, scale.
//!
//! The actions and their rules are `rp_actions`, which the admin API of the resource provider uses too. Here is who may,
//! what is recorded, and the way to the cluster. A change runs in a task of its own: a person who leaves does not cut it
//! in the middle, and its end is on the record.

mod api;
mod fault;

use std::time::Duration;

use portal_session::elevation::require_elevation;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_actions::{ActionError, Change, DrainOptions, Mode};
pub use rp_actions::{
    CsrFacts, Decision, DrainPod, DrainReport, MOST_REPLICAS, PodFacts, PodState, WorkloadKind,
};
use rp_base::text::clean;
use rp_documents::{Entry, Outcome, Phase, ResourceId, Rights};
use schemars::JsonSchema;
use serde::Serialize;

use crate::saved::{ChangeError, reason_limits};
use crate::state::PortalState;
use api::PersonApi;
use fault::refused;

/// The longest time that one call waits for pods to leave a node.
pub const MOST_WAIT: Duration = Duration::from_secs(15);
/// For all requests of one call to the cluster; below the limit of a request of a browser.
const WITHIN: Duration = Duration::from_secs(25);
/// Pods that the audit entry of a drain names.
const NAMED: usize = 5;
/// Characters of a change in an audit entry.
const MOST_CHANGE: usize = 1_000;

/// An action and its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Cordon { node: String },
    Uncordon { node: String },
    Drain { node: String, force: bool },
    Decide { csr: String, decision: Decision },
    DeletePod { namespace: String, name: String, force: bool },
    Restart { kind: WorkloadKind, namespace: String, name: String },
    Scale { kind: WorkloadKind, namespace: String, name: String, from: Option<u32>, to: u32 },
}

impl Action {
    /// Its verb in the audit log.
    pub const fn verb(&self) -> &'static str {
        match self {
            Self::Cordon { .. } => "node.cordon",
            Self::Uncordon { .. } => "node.uncordon",
            Self::Drain { .. } => "node.drain",
            Self::Decide { decision: Decision::Approve, .. } => "csr.approve",
            Self::Decide { decision: Decision::Deny, .. } => "csr.deny",
            Self::DeletePod { .. } => "pod.delete",
            Self::Restart { .. } => "workload.restart",
            Self::Scale { .. } => "workload.scale",
        }
    }

    /// The rights that an elevation must have. An approval gives a certificate, as a token request gives a token.
    pub const fn rights(&self) -> Rights {
        match self {
            Self::Decide { .. } => Rights::Admin,
            _ => Rights::Write,
        }
    }

    /// Kind, namespace (or empty) and name of its object.
    pub fn object(&self) -> (&'static str, &str, &str) {
        match self {
            Self::Cordon { node } | Self::Uncordon { node } | Self::Drain { node, .. } => ("Node", "", node),
            Self::Decide { csr, .. } => ("CertificateSigningRequest", "", csr),
            Self::DeletePod { namespace, name, .. } => ("Pod", namespace, name),
            Self::Restart { kind, namespace, name } | Self::Scale { kind, namespace, name, .. } => {
                (kind.as_str(), namespace, name)
            }
        }
    }

    /// Fills in the object of an entry.
    fn name_in(&self, entry: &mut Entry) {
        let (kind, namespace, name) = self.object();
        kind.clone_into(&mut entry.resource);
        entry.namespace = clean(namespace, 256);
        entry.name = clean(name, 256);
        if let Self::Drain { force: true, .. } | Self::DeletePod { force: true, .. } = self {
            "force".clone_into(&mut entry.subresource);
        }
    }
}

/// What a person orders.
#[derive(Debug)]
pub struct ActionOrder {
    pub action: Action,
    /// Why, for the record; a dry run needs none.
    pub reason: String,
    /// The API server checks it and changes nothing.
    pub dry_run: bool,
    /// How long a drain waits for pods to leave, at most [`MOST_WAIT`].
    pub wait: Duration,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionResult {
    /// As the audit log names it: `node.cordon`.
    pub action: &'static str,
    /// The kind of the object.
    pub kind: &'static str,
    /// Empty: the object has none.
    pub namespace: String,
    pub name: String,
    /// In a few words: `schedulable`, `2 replicas`.
    pub before: String,
    pub after: String,
    /// Whether the two differ.
    pub changed: bool,
    /// Nothing was changed: this is what would come of it.
    pub dry_run: bool,
    /// Of a drain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<DrainReport>,
}

/// Does it; on the record before anything is changed, and with before and after at its end.
///
/// # Errors
/// The person has no elevation with the rights that it needs; the reason is not one; a rule refuses the object; the
/// object's state does not allow it; the cluster refused or did not answer; or the store's.
pub async fn act(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    order: ActionOrder,
) -> Result<ActionResult, ChangeError> {
    let elevation = require_elevation(&state.session, &user.caller, id, order.action.rights()).await?;
    let reason = if order.dry_run {
        "dry run".to_owned()
    } else {
        reason_limits(state).check(&order.reason)?.to_owned()
    };
    if state.model.index.snapshot().get(id).is_none() {
        return Err(Fault::no_cluster().into());
    }
    let api = PersonApi::new(state, user, id, (elevation.id.as_str(), order.action.rights()), reason);
    if !order.dry_run {
        promise(&api, &order.action).await?;
    }
    let running = tokio::spawn(async move { finish(&api, order).await });
    Ok(running.await.map_err(|_| Fault::internal())??)
}

/// What is known of the object before a person decides; reads only.
#[derive(Debug)]
pub enum Preview {
    Nothing,
    Csr(CsrFacts),
    Pod(PodFacts),
    Replicas(u32),
    Drain(DrainReport),
}

/// Looks at the object of an action, as the person who would act.
///
/// # Errors
/// As [`act`].
pub async fn preview(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    action: &Action,
) -> Result<Preview, Fault> {
    let elevation = require_elevation(&state.session, &user.caller, id, action.rights()).await?;
    let about = (elevation.id.as_str(), action.rights());
    let api = &PersonApi::new(state, user, id, about, "dry run".to_owned());
    let look = async {
        Ok(match action {
            Action::Cordon { .. } | Action::Uncordon { .. } | Action::Restart { .. } => Preview::Nothing,
            Action::Decide { csr, .. } => Preview::Csr(rp_actions::csr_facts(api, csr).await?),
            Action::DeletePod { namespace, name, .. } => {
                Preview::Pod(rp_actions::pod_facts(api, namespace, name).await?)
            }
            Action::Scale { kind, namespace, name, .. } => {
                Preview::Replicas(rp_actions::workload_replicas(api, *kind, namespace, name).await?)
            }
            Action::Drain { node, force } => {
                let options = DrainOptions { force: *force, mode: Mode::DryRun, wait: Duration::ZERO };
                let mut report = DrainReport::default();
                rp_actions::drain(api, node, options, &mut report).await?;
                Preview::Drain(report)
            }
        })
    };
    let looked = tokio::time::timeout(WITHIN, look).await.map_err(|_| fault::slow(WITHIN))?;
    let looked = looked.map_err(refused);
    note(api, action, Phase::Single, &looked.as_ref().map(|_| None), "dry run").await;
    looked
}

/// The durable entry before the change.
async fn promise(api: &PersonApi, action: &Action) -> Result<(), Fault> {
    let session = &api.state.session;
    let promised =
        session.promise(&api.user.caller, action.verb(), |entry| fill(api, action, Phase::Start, entry));
    promised.await.map_err(|error| Fault::audit(&error))
}

/// Fills in why, the cluster, and the object.
fn fill(api: &PersonApi, action: &Action, phase: Phase, entry: &mut Entry) {
    entry.phase = phase;
    entry.target = Some(api.id.clone());
    entry.reason.clone_from(&api.reason);
    action.name_in(entry);
}

/// Carries it out, and writes the entry of its end.
async fn finish(api: &PersonApi, order: ActionOrder) -> Result<ActionResult, Fault> {
    let mut drained = DrainReport::default();
    let done = tokio::time::timeout(WITHIN, carry_out(api, &order, &mut drained)).await;
    let is_drain = matches!(order.action, Action::Drain { .. });
    let done = match done {
        Ok(done) => done.map_err(refused),
        // A drain that was cut goes on with the next call.
        Err(_) if is_drain => Ok(change_of(&drained)),
        Err(_) => Err(fault::slow(WITHIN)),
    };
    let phase = if order.dry_run { Phase::Single } else { Phase::End };
    let told = done.as_ref().map(Some);
    let failed_after = done.is_err() && is_drain && !drained.moved.is_empty();
    let seen = if failed_after { drained_words(&drained) } else { String::new() };
    note(api, &order.action, phase, &told, &seen).await;
    let change = match done {
        Ok(change) => change,
        Err(fault) if failed_after => {
            let why = format!("{} Before that: {seen}.", fault.why);
            return Err(fault.why(why.trim().to_owned()));
        }
        Err(fault) => return Err(fault),
    };
    let (kind, namespace, name) = order.action.object();
    Ok(ActionResult {
        action: order.action.verb(),
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        changed: change.changes(),
        before: change.before,
        after: change.after,
        dry_run: order.dry_run,
        drain: is_drain.then_some(drained),
    })
}

async fn carry_out(
    api: &PersonApi,
    order: &ActionOrder,
    drained: &mut DrainReport,
) -> Result<Change, ActionError<Fault>> {
    let mode = if order.dry_run { Mode::DryRun } else { Mode::Change };
    let now = api.state.session.clock.now();
    match &order.action {
        Action::Cordon { node } => rp_actions::set_unschedulable(api, node, true, mode).await,
        Action::Uncordon { node } => rp_actions::set_unschedulable(api, node, false, mode).await,
        Action::Drain { node, force } => {
            let options = DrainOptions { force: *force, mode, wait: order.wait.min(MOST_WAIT) };
            rp_actions::drain(api, node, options, drained).await?;
            Ok(change_of(drained))
        }
        Action::Decide { csr, decision } => rp_actions::decide(api, csr, *decision, now, mode).await,
        Action::DeletePod { namespace, name, force } => {
            rp_actions::delete_pod(api, namespace, name, *force, mode).await
        }
        Action::Restart { kind, namespace, name } => {
            rp_actions::restart(api, *kind, namespace, name, now, mode).await
        }
        Action::Scale { kind, namespace, name, from, to } => {
            rp_actions::scale(api, (*kind, namespace, name), *from, *to, mode).await
        }
    }
}

fn change_of(drained: &DrainReport) -> Change {
    Change { before: drained.before().to_owned(), after: drained_words(drained) }
}

/// What a drain did, and what it left: `cordoned, 3 pods asked to leave, 1 left; blocked: openshift-dns/dns-1`.
fn drained_words(drained: &DrainReport) -> String {
    let pods = |n: usize| if n == 1 { format!("{n} pod") } else { format!("{n} pods") };
    let mut words = format!(
        "{}, {} asked to leave, {} left",
        drained.after(),
        pods(drained.moved.len()),
        pods(drained.left.len())
    );
    let blocked = drained.left.iter().filter(|pod| pod.state == PodState::Blocked);
    let named: Vec<String> = blocked.take(NAMED).map(DrainPod::place).collect();
    if !named.is_empty() {
        words.push_str(&format!("; blocked: {}", named.join(", ")));
    }
    words
}

/// Writes the entry of an end, or of a look. `more`: what else it says.
async fn note(
    api: &PersonApi,
    action: &Action,
    phase: Phase,
    done: &Result<Option<&Change>, &Fault>,
    more: &str,
) {
    let (query, result) = match done {
        Ok(Some(change)) => (
            format!("before={}&after={}", change.before, change.after),
            Outcome { status: 200, word: "ok".to_owned(), side: None },
        ),
        Ok(None) => (more.to_owned(), Outcome { status: 200, word: "ok".to_owned(), side: None }),
        Err(fault) => {
            let word = if fault.status.is_client_error() { "refused" } else { "failed" };
            let result =
                Outcome { status: fault.status.as_u16(), word: word.to_owned(), side: Some(fault.side) };
            (format!("{more} {}", fault.message()).trim().to_owned(), result)
        }
    };
    let filled = |entry: &mut Entry| {
        fill(api, action, phase, entry);
        entry.identity_used = api.identity();
        entry.query = clean(&query, MOST_CHANGE);
    };
    api.state.session.note(&api.user.caller, action.verb(), result, filled).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_is_told_in_one_line() {
        let pod = |name: &str, state| DrainPod {
            namespace: "openshift-dns".to_owned(),
            name: name.to_owned(),
            state,
            ..DrainPod::default()
        };
        let report = DrainReport {
            cordoned: true,
            moved: vec!["openshift-dns/a".to_owned()],
            left: vec![pod("a", PodState::Leaving), pod("b", PodState::Blocked)],
            ..DrainReport::default()
        };
        assert_eq!(change_of(&report).before, "schedulable");
        let told = "cordoned, 1 pod asked to leave, 2 pods left; blocked: openshift-dns/b";
        assert_eq!(drained_words(&report), told);
    }

    #[test]
    fn what_gives_certificates_needs_more() {
        let approve = Action::Decide { csr: "c".to_owned(), decision: Decision::Approve };
        assert_eq!((approve.rights(), approve.verb()), (Rights::Admin, "csr.approve"));
        let cordon = Action::Cordon { node: "n".to_owned() };
        assert_eq!((cordon.rights(), cordon.object()), (Rights::Write, ("Node", "", "n")));
    }
}
