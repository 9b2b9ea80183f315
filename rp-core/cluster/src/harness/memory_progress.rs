//! A document under a lease, in memory, whose writes fail when a test wants it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_documents::cluster::Worker;
use rp_documents::{ClusterDocument, Leased as _};
use serde_json::Value;

use super::documents::typed;
use crate::progress::{Change, Progress, ProgressError, StepEvent};

type OnStart = Arc<dyn Fn(&str, usize) + Send + Sync>;

/// [`Progress`] of one document.
pub(crate) struct MemoryProgress {
    state: Mutex<State>,
    on_start: Mutex<Option<OnStart>>,
}

#[derive(Default)]
struct State {
    document: Value,
    /// Phase and step.
    position: Option<(Value, String)>,
    events: Vec<String>,
    diagnostics: Vec<String>,
    bill: Option<(String, String, String)>,
    /// The next write of the document fails.
    fail_write: bool,
    /// The next save is refused.
    refuse: bool,
    saves: Vec<String>,
    /// Why a work takes back what it did.
    cause: String,
}

impl MemoryProgress {
    pub(crate) fn new(document: Value) -> Self {
        Self { state: Mutex::new(State { document, ..State::default() }), on_start: Mutex::default() }
    }

    pub(crate) fn document(&self) -> Value {
        self.state.lock().document.clone()
    }

    pub(crate) fn edit(&self, change: impl FnOnce(&mut Value)) {
        change(&mut self.state.lock().document);
    }

    /// What is called when a step begins, with its stored name and its place.
    pub(crate) fn on_start(&self, call: impl Fn(&str, usize) + Send + Sync + 'static) {
        *self.on_start.lock() = Some(Arc::new(call));
    }

    pub(crate) fn forget_on_start(&self) {
        *self.on_start.lock() = None;
    }

    pub(crate) fn fail_write(&self, fail: bool) {
        self.state.lock().fail_write = fail;
    }

    /// The next save is refused as if the lease were lost.
    pub(crate) fn refuse_next_save(&self) {
        self.state.lock().refuse = true;
    }

    pub(crate) fn forget_refusal(&self) {
        self.state.lock().refuse = false;
    }

    pub(crate) fn phase_name(&self) -> String {
        phase(&self.state.lock().document).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn set_position(&self, position: &str) {
        let mut state = self.state.lock();
        state.position = Some((phase(&state.document), position.to_owned()));
    }

    pub(crate) fn forget_position(&self) {
        self.state.lock().position = None;
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.state.lock().events.clone()
    }

    pub(crate) fn take_events(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().events)
    }

    pub(crate) fn diagnostics(&self) -> Vec<String> {
        self.state.lock().diagnostics.clone()
    }

    pub(crate) fn saves(&self) -> Vec<String> {
        self.state.lock().saves.clone()
    }

    pub(crate) fn cause(&self) -> String {
        self.state.lock().cause.clone()
    }

    pub(crate) fn billing_record(&self) -> Option<(String, String, String)> {
        self.state.lock().bill.clone()
    }
}

fn phase(document: &Value) -> Value {
    document.pointer("/openShiftCluster/properties/install/phase").cloned().unwrap_or_default()
}

impl fmt::Debug for MemoryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryProgress")
    }
}

#[async_trait]
impl Progress for MemoryProgress {
    async fn read(&self) -> Result<Arc<ClusterDocument>, ProgressError> {
        Ok(Arc::new(typed(self.document())))
    }

    async fn patch(&self, change: Change) -> Result<Arc<ClusterDocument>, ProgressError> {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.fail_write) {
            return Err(ProgressError::Store("told to fail".to_owned()));
        }
        let mut document = typed(state.document.clone());
        let worker = Worker::holding(&document.lease());
        change(&mut document.cluster, worker);
        state.document = serde_json::to_value(&document).unwrap();
        Ok(Arc::new(document))
    }

    async fn position(&self) -> Result<Option<String>, ProgressError> {
        let state = self.state.lock();
        let here = phase(&state.document);
        Ok(state.position.clone().filter(|(phase, _)| *phase == here).map(|(_, step)| step))
    }

    async fn save(&self, next_step: &str) -> Result<(), ProgressError> {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.refuse) {
            return Err(ProgressError::Lost);
        }
        state.position = Some((phase(&state.document), next_step.to_owned()));
        state.saves.push(next_step.to_owned());
        Ok(())
    }

    async fn turn_back(&self, cause: &str, next_step: &str) -> Result<(), ProgressError> {
        self.state.lock().cause = cause.to_owned();
        self.save(next_step).await
    }

    fn record_event(&self, event: StepEvent<'_>) {
        let text = match event {
            StepEvent::Started { name, at, planned, attempt } => {
                assert!(at < planned);
                let call = self.on_start.lock().clone();
                if let Some(call) = call {
                    call(name, at);
                }
                format!("started {name} {attempt}")
            }
            StepEvent::Waiting { name, seen } => format!("waiting {name}: {seen}"),
            StepEvent::Done { name, .. } => format!("done {name}"),
            StepEvent::Failed { name, error, .. } => format!("failed {name}: {error}"),
            StepEvent::Line { level, text } => format!("{level} {text}"),
            StepEvent::Diagnostic { name, text } => {
                self.state.lock().diagnostics.push(format!("{name}: {text}"));
                return;
            }
        };
        self.state.lock().events.push(text);
    }

    async fn create_billing_record(
        &self,
        infra_id: &str,
        tenant: &str,
        location: &str,
    ) -> Result<(), ProgressError> {
        let bill = (infra_id.to_owned(), tenant.to_owned(), location.to_owned());
        self.state.lock().bill.get_or_insert(bill);
        Ok(())
    }

    async fn end_billing_record(&self) -> Result<(), ProgressError> {
        self.state.lock().bill = None;
        Ok(())
    }
}
