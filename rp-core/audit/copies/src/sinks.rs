//! All sinks of a process.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_audit::{AuditOptions, CopiedTo, Copies, SinkState};
use rp_base::{SharedClock, Timestamp};
use rp_database::{SharedStore, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::health::SinkHealth;
use crate::metrics::{SinkLabels, SinkMetrics};
use crate::runner::{Runner, SinkParts};
use crate::{SinkOptions, cursor};

/// The copies of a process's log. They end when this is closed or dropped.
#[derive(Debug)]
pub struct Sinks {
    store: SharedStore,
    all: Vec<Arc<SinkHealth>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    stop: watch::Sender<bool>,
}

impl Sinks {
    /// Begins to copy the log in `store`, a task for each sink. `log`: how the log is run. Needs a tokio runtime.
    pub fn start(
        sinks: &[SinkOptions],
        store: &SharedStore,
        clock: &SharedClock,
        log: &AuditOptions,
    ) -> Self {
        let parts = SinkParts {
            store: Arc::clone(store),
            clock: Arc::clone(clock),
            random: Arc::clone(&log.random),
            metrics: SinkMetrics::register(&log.registry),
        };
        let (stop, stopped) = watch::channel(false);
        let (mut all, mut tasks) = (Vec::with_capacity(sinks.len()), Vec::with_capacity(sinks.len()));
        for options in sinks {
            let health = Arc::new(SinkHealth::new(options));
            // Leaked on purpose: there are few sinks, they live as long as the process, and labels are `&'static str`.
            let sink: &'static str = options.name.clone().leak();
            let runner = Runner::new(options, Arc::clone(&health), &parts, SinkLabels { sink });
            tasks.push(tokio::spawn(runner.run(stopped.clone(), log.close_within)));
            all.push(health);
        }
        Self { store: Arc::clone(store), all, tasks: Mutex::new(tasks), stop }
    }
}

#[async_trait]
impl Copies for Sinks {
    fn refusing(&self, now: Timestamp) -> Option<String> {
        let sink = self.all.iter().find(|health| health.refuses(now))?;
        Some(sink.state().name)
    }

    fn states(&self) -> Vec<SinkState> {
        self.all.iter().map(|health| health.state()).collect()
    }

    async fn copied_to(&self) -> Result<CopiedTo, StoreError> {
        let names: Vec<String> = self.states().into_iter().map(|state| state.name).collect();
        cursor::copied_to(&self.store, &names).await
    }

    async fn close(&self) {
        self.stop.send_replace(true);
        let tasks: Vec<JoinHandle<()>> = std::mem::take(&mut *self.tasks.lock());
        for task in tasks {
            // A panic was logged already.
            let _ = task.await;
        }
    }
}
