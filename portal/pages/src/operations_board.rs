//! The operations of a cluster as its live pages show them.

use portal_model::operations::run;
use rp_documents::OperationLog;
use web::objects::{Board, Operations, Run, followed};

use crate::live::TabInput;

/// The last operation, and those before it.
pub(crate) fn put(operations: &mut Operations, logs: &[OperationLog]) {
    let mut runs = logs.iter().map(run);
    operations.run = runs.next();
    operations.earlier = runs.collect();
}

/// The panels that follow the operations.
pub(crate) fn live_board(input: &TabInput<'_>) -> Board {
    let mut operations = Operations {
        base: input.entry.path(),
        now: input.frame.now,
        imported: input.entry.imported.is_some(),
        ..Operations::default()
    };
    match input.state.model.operations.logs(input.entry.id.key()) {
        Some(logs) => put(&mut operations, &logs),
        None => "They could not be read.".clone_into(&mut operations.unknown),
    }
    Board { main: followed(&operations), ..Board::default() }
}

/// The operation that runs; else the last, where the cluster's document says that it failed.
pub(crate) fn overview_run(input: &TabInput<'_>) -> Option<Run> {
    let logs = input.state.model.operations.logs(input.entry.id.key())?;
    let last = logs.first()?;
    let failed = matches!(input.entry.shown_state(), web::State::Failed(_));
    (last.ended.is_none() || failed).then(|| run(last)).filter(|run| run.ended.is_none() || run.failed())
}
