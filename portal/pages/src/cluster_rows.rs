//! The objects of the watches as the pages of a cluster show them: their rows with what Azure and the site add, and how
//! current they are.

use std::sync::Arc;

use portal_session::run_books::RunBooks;
use rp_base::Timestamp;
use rp_observe::{ClusterSnapshot, Slice, SliceState};
use web::objects::{ClusterObjects, MachineRow, ObservationState, ObservedRows, OperatorRow, Vm};
use web::{Failure, Link, Side};

/// Inputs of the rows besides the objects.
pub struct RowContext<'a> {
    /// Path of the cluster's pages.
    pub base: &'a str,
    pub books: &'a RunBooks,
    /// The state of a virtual machine by its name.
    pub vm: &'a dyn Fn(&str) -> Vm,
}

impl std::fmt::Debug for RowContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowContext").finish_non_exhaustive()
    }
}

/// Every kind that the pages of a cluster show. The objects are those of the snapshot, not copies.
pub fn estate(snapshot: &ClusterSnapshot, beside: &RowContext<'_>) -> ClusterObjects {
    let base = beside.base;
    ClusterObjects {
        version: rows(&snapshot.version, base, Arc::clone),
        operators: rows(&snapshot.operators, base, |operator| {
            let runbook = beside.books.for_operator(&operator.meta.name);
            Arc::new(OperatorRow { operator: Arc::clone(operator), runbook })
        }),
        aro: rows(&snapshot.aro_cluster, base, |cluster| Arc::new(crate::operator_rows::operator(cluster))),
        nodes: rows(&snapshot.nodes, base, Arc::clone),
        machines: rows(&snapshot.machines, base, |machine| {
            let vm = (beside.vm)(machine.vm());
            Arc::new(MachineRow { machine: Arc::clone(machine), vm })
        }),
        sets: rows(&snapshot.machine_sets, base, Arc::clone),
        control_plane: rows(&snapshot.control_plane_machine_sets, base, Arc::clone),
        pools: rows(&snapshot.pools, base, Arc::clone),
        events: rows(&snapshot.events, base, Arc::clone),
        etcd: rows(&snapshot.etcd, base, Arc::clone),
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn rows<T, R>(slice: &Slice<T>, base: &str, row: impl Fn(&Arc<T>) -> Arc<R>) -> ObservedRows<R> {
    ObservedRows {
        rows: slice.items.iter().map(row).collect(),
        state: state(slice, base),
        left_out: count(slice.left_out),
    }
}

/// The observation state of a slice; older data is shown with its age.
fn state<T>(slice: &Slice<T>, base: &str) -> ObservationState {
    let known = !slice.items.is_empty();
    let since = slice.as_of.filter(|_| known).map(Timestamp::seconds);
    match (&slice.state, since) {
        (SliceState::Live, _) => ObservationState::Live,
        (SliceState::Stale { since, why }, _) => {
            ObservationState::Stale { since: slice.as_of.unwrap_or(*since).seconds(), why: why.to_string() }
        }
        (SliceState::Failed(why), Some(since)) => ObservationState::Stale { since, why: why.to_string() },
        (SliceState::NotAsked | SliceState::Loading, Some(since)) => {
            ObservationState::Stale { since, why: "Loading live data from the cluster again…".to_owned() }
        }
        (SliceState::NotAsked | SliceState::Loading, None) => ObservationState::Loading,
        (SliceState::Forbidden(why), _) => ObservationState::Forbidden(why.to_string()),
        (SliceState::Missing, _) => ObservationState::Missing,
        (SliceState::Failed(why), None) => ObservationState::Failed(unreachable(why.as_str(), base)),
    }
}

/// Without a request id, because the same panel is sent to several viewers repeatedly.
fn unreachable(answer: &str, base: &str) -> Failure {
    Failure {
        status: 502,
        what: "The cluster did not answer".to_owned(),
        why: format!("{answer} It is asked again by itself."),
        side: Side::Cluster,
        actions: vec![Link::new("Try again", format!("{base}/overview?wait=1"))],
        request_id: String::new(),
    }
}
