//! The manager of clusters: chooses the plan of an operation and runs it.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::context::Context;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::manager::{Job, Manager, Operation, Outcome};
use crate::metrics::StepMetrics;
use crate::plan::{self, Phase, PlanInputs};
use crate::{convert, diagnostics, engine, install, values};

/// [`Manager`] by the plans of `contract/cluster.md`.
#[derive(Debug)]
pub struct ClusterManager {
    env: Arc<Environment>,
    metrics: StepMetrics,
}

impl ClusterManager {
    /// Of a region.
    pub fn new(env: Arc<Environment>, metrics: StepMetrics) -> Self {
        Self { env, metrics }
    }

    pub(crate) fn environment(&self) -> Arc<Environment> {
        Arc::clone(&self.env)
    }

    pub(crate) const fn step_metrics(&self) -> &StepMetrics {
        &self.metrics
    }

    /// The phase of an installation, stored before its first step; `None`: all of it is over.
    async fn phase(context: &Context) -> Result<Option<Phase>, Failure> {
        if context.operation != Operation::Create {
            return Ok(Some(Phase::Only));
        }
        values::begin_install(context)
            .await
            .map_err(|error| convert::failure(None, error, context.document().group_id()))
    }
}

#[async_trait]
impl Manager for ClusterManager {
    async fn run(&self, job: Job) -> Result<Outcome, Failure> {
        let context = Context::new(Arc::clone(&self.env), job);
        let Some(phase) = Self::phase(&context).await? else { return Ok(Outcome::Done) };
        let plan = plan::for_operation(context.operation, phase, &PlanInputs::from_context(&context));
        tracing::info!(resource_id = context.document().cluster_id(), "starting phase {}", phase.name());
        let began = Instant::now();
        match Box::pin(engine::run(&context, &plan, &self.metrics)).await {
            Ok(()) => {
                self.metrics.finished(context.operation, began.elapsed());
                Ok(if phase == Phase::Bootstrap { Outcome::NextPhase } else { Outcome::Done })
            }
            Err(stopped) => {
                let failed = !stopped.error.is_interruption();
                let group = context.document().group_id().to_owned();
                let failure = convert::failure(stopped.step.as_ref(), stopped.error, &group);
                let told = matches!(failure, Failure::Customer { .. } | Failure::Internal(_));
                if failed && told && context.operation != Operation::Delete {
                    Box::pin(diagnostics::gather(&context)).await;
                }
                if failed && told && phase == Phase::Bootstrap {
                    install::clean_after_failure(&context).await;
                }
                Err(failure)
            }
        }
    }
}
