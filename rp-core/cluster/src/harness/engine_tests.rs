//! The engine in virtual time, with plans of a few steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rp_api::CloudError;
use rp_documents::RoleSetDocument;
use rp_metrics::{Registry, Statsd};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::World;
use crate::context::Context;
use crate::engine::{self, PlanError, positions};
use crate::environment::{Periods, RoleSets};
use crate::errors::StepError;
use crate::failure::Failure;
use crate::manager::{Manager as _, Operation, Outcome};
use crate::metrics::StepMetrics;
use crate::step::{ConditionStatus, Step};
use crate::{
    ClusterManager, InstallError, ProgressError, action, authorization_retrying, condition, convert,
};

pub(super) async fn fine(_: &Context) -> Result<(), StepError> {
    Ok(())
}

async fn bad(_: &Context) -> Result<(), StepError> {
    Err(StepError::other("it is broken at 10.0.0.1"))
}

async fn endless(_: &Context) -> Result<(), StepError> {
    std::future::pending().await
}

async fn never(_: &Context) -> Result<ConditionStatus, StepError> {
    Ok(ConditionStatus::not_yet("nothing there"))
}

async fn silent(_: &Context) -> Result<ConditionStatus, StepError> {
    std::future::pending().await
}

async fn refused(_: &Context) -> Result<ConditionStatus, StepError> {
    Err(CloudError::invalid("a.b", "no").into())
}

async fn unknown_application(_: &Context) -> Result<(), StepError> {
    Err(StepError::other("AADSTS700016: Application with identifier 'x' was not found"))
}

const FINE: Step = action!("fine", fine);

async fn run(world: &World, plan: &[Step]) -> Result<(), PlanError> {
    let context = world.context(Operation::Create);
    engine::run(&context, plan, &StepMetrics::new(&Registry::new(), Statsd::none())).await
}

async fn failure(world: &World, plan: &[Step]) -> Failure {
    let stopped = run(world, plan).await.unwrap_err();
    convert::failure(stopped.step.as_ref(), stopped.error, "/subscriptions/s/resourceGroups/aro-test")
}

#[tokio::test(start_paused = true)]
async fn steps_run_in_order_and_each_position_is_kept() {
    let world = World::alone();
    let plan = [FINE, condition!("seen", 1, yes), FINE, authorization_retrying!("last", fine)];
    assert_eq!(
        positions(&plan),
        ["action.fine", "condition.seen", "action.fine#2", "authorizationretryingaction.last"]
    );
    run(&world, &plan).await.unwrap();
    assert_eq!(world.progress.saves(), positions(&plan)[1..]);
    let expected = [
        "started action.fine 1",
        "done action.fine",
        "started condition.seen 1",
        "done condition.seen",
        "started action.fine 1",
        "done action.fine",
        "started authorizationretryingaction.last 1",
        "done authorizationretryingaction.last",
    ];
    assert_eq!(world.progress.events(), expected);
}

async fn yes(_: &Context) -> Result<ConditionStatus, StepError> {
    Ok(ConditionStatus::Yes)
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_from_the_stored_position_and_counts_lost_workers() {
    let world = World::alone();
    let plan = [FINE, action!("second", fine)];
    world.progress.set_position("action.second");
    world.progress.edit(|document| document["dequeues"] = 3.into());
    run(&world, &plan).await.unwrap();
    assert_eq!(
        world.progress.take_events(),
        ["info goes on with action.second", "started action.second 3", "done action.second"]
    );
    world.progress.set_position("action.ofAnotherRelease");
    run(&world, &plan).await.unwrap();
    assert_eq!(world.progress.events()[1], "started action.fine 3");
}

#[tokio::test(start_paused = true)]
async fn an_installation_that_was_finished_and_not_told_so_is_not_begun_again() {
    let world = World::alone();
    world.progress.edit(|document| {
        document["openShiftCluster"]["properties"]["infraId"] = "test-abcde".into();
        document["openShiftCluster"]["properties"]["install"] = serde_json::Value::Null;
    });
    let free = CancellationToken::new();
    let metrics = StepMetrics::new(&Registry::new(), Statsd::none());
    let manager = ClusterManager::new(world.env.clone(), metrics);
    let outcome = manager.run(world.job(Operation::Create, &free, &free)).await.unwrap();
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(world.progress.events(), Vec::<String>::new());
    assert!(world.progress.phase_name().is_empty());
}

#[derive(Debug)]
struct UnavailableRoleSets;

#[async_trait::async_trait]
impl RoleSets for UnavailableRoleSets {
    async fn all(&self) -> Result<Vec<RoleSetDocument>, ProgressError> {
        Err(ProgressError::Store("the store is away".to_owned()))
    }
}

async fn needs_roles(context: &Context) -> Result<(), StepError> {
    context.operator_roles().await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn what_our_own_parts_cannot_tell_now_is_asked_again_later() {
    let world = World::new(Arc::new(super::UnreachableAzure), true, Periods::CONTRACT)
        .with(|env| env.role_sets = Arc::new(UnavailableRoleSets));
    let found = failure(&world, &[action!("needsRoles", needs_roles)]).await;
    assert!(matches!(&found, Failure::Later(text) if text == "the store is away"), "{found:?}");
    let away = StepError::from(InstallError::Away("it starts".to_owned()));
    assert!(matches!(convert::failure(None, away, ""), Failure::Later(_)));
    let refused = StepError::from(InstallError::Refused("no".to_owned()));
    assert!(matches!(convert::failure(None, refused, ""), Failure::Internal(_)));
}

#[tokio::test(start_paused = true)]
async fn the_first_error_ends_it() {
    let world = World::alone();
    let found = failure(&world, &[action!("broken", bad), FINE]).await;
    assert!(matches!(&found, Failure::Internal(text) if text == "it is broken at 10.0.0.1"), "{found:?}");
    assert_eq!(
        world.progress.events(),
        ["started action.broken 1", "failed action.broken: it is broken at 10.0.0.1"]
    );
    assert_eq!(world.progress.saves(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_action_that_hangs_is_ended_by_its_deadline() {
    let world = World::alone();
    let began = Instant::now();
    let found = failure(&world, &[action!("hangs", endless)]).await;
    assert_eq!(began.elapsed(), Duration::from_mins(20));
    assert_eq!(found.to_string(), "step hangs did not end within 1200 s");
}

#[tokio::test(start_paused = true)]
async fn a_condition_is_looked_at_every_ten_seconds_until_its_limit() {
    let world = World::alone();
    let began = Instant::now();
    let Failure::Customer { told, detail } =
        failure(&world, &[condition!("apiServersReady", 30, never)]).await
    else {
        panic!("not told");
    };
    assert_eq!(began.elapsed(), Duration::from_mins(30));
    assert_eq!(
        told.to_string(),
        "500: DeploymentFailed: : Kube API has not initialised successfully and is unavailable. Please retry, and if \
         the issue persists, raise an Azure support ticket"
    );
    assert_eq!(detail, "condition step failed: apiServersReady: timed out after 1800 s: nothing there");
    let waits = world.progress.events().iter().filter(|event| event.starts_with("waiting")).count();
    assert_eq!(waits, 181);
}

#[tokio::test(start_paused = true)]
async fn a_look_without_an_answer_sees_nothing_and_does_not_outlast_the_limit() {
    let world = World::alone();
    let began = Instant::now();
    let found = failure(&world, &[condition!("unknownToCustomers", 1, silent)]).await;
    assert!(began.elapsed() < Duration::from_secs(70), "{:?}", began.elapsed());
    assert!(matches!(found, Failure::Internal(_)), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_look_ends_the_wait_at_once() {
    let world = World::alone();
    let began = Instant::now();
    let found = failure(&world, &[condition!("x", 30, refused)]).await;
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(found.to_string(), "400: InvalidParameter: a.b: no: 400: InvalidParameter: a.b: no");
}

#[tokio::test(start_paused = true)]
async fn an_optional_condition_that_fails_does_not_end_the_plan() {
    let world = World::alone();
    let optional =
        Step::optional_condition("optional", Duration::from_mins(2), |context| Box::pin(never(context)));
    run(&world, &[optional, FINE]).await.unwrap();
    let events = world.progress.events();
    assert!(
        events.iter().any(|event| event.starts_with("warning condition.optional: condition step failed")),
        "{events:?}"
    );
    assert_eq!(events.last().unwrap(), "done action.fine");
}

static TRIES: AtomicU32 = AtomicU32::new(0);

async fn known_at_the_third(_: &Context) -> Result<(), StepError> {
    if TRIES.fetch_add(1, Ordering::SeqCst) < 2 {
        return Err(StepError::other("AADSTS7000215: Invalid client secret"));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn rights_that_come_late_are_waited_for() {
    let world = World::alone();
    let began = Instant::now();
    run(&world, &[authorization_retrying!("rights", known_at_the_third)]).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_mins(1));
    assert_eq!(TRIES.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn rights_that_never_come_give_the_last_real_error() {
    let world = World::alone();
    let began = Instant::now();
    let Failure::Customer { told, .. } =
        failure(&world, &[authorization_retrying!("rights", unknown_application)]).await
    else {
        panic!("not told");
    };
    assert_eq!(began.elapsed(), Duration::from_mins(10));
    assert_eq!(told.body.code, "InvalidServicePrincipalCredentials");
    assert!(told.body.message.contains("(client) ID was not found in the directory"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_hands_over_between_steps_and_inside_of_waits() {
    let world = World::alone();
    let (lost, stopping) = (CancellationToken::new(), CancellationToken::new());
    let metrics = StepMetrics::new(&Registry::new(), Statsd::none());
    let context = Context::new(world.env.clone(), world.job(Operation::Create, &lost, &stopping));
    let stop = stopping.clone();
    world.progress.on_start(move |name, _| {
        if name == "action.fine" {
            stop.cancel();
        }
    });
    let plan = [FINE, condition!("waits", 30, never)];
    let stopped = engine::run(&context, &plan, &metrics).await.unwrap_err();
    assert!(stopped.step.is_none() && matches!(stopped.error, StepError::Stopping));
    assert_eq!(world.progress.saves(), ["condition.waits"]);

    let stopping = CancellationToken::new();
    let context = Context::new(world.env.clone(), world.job(Operation::Create, &lost, &stopping));
    world.progress.forget_on_start();
    let waits = async {
        tokio::time::sleep(Duration::from_secs(95)).await;
        stopping.cancel();
    };
    let (stopped, ()) = tokio::join!(engine::run(&context, &plan, &metrics), waits);
    let error = stopped.unwrap_err().error;
    assert!(matches!(convert::failure(None, error, ""), Failure::HandedOver));
    assert!(!world.progress.events().iter().any(|event| event.starts_with("failed")));
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_ends_even_a_step_that_hangs() {
    let world = World::alone();
    let (lost, stopping) = (CancellationToken::new(), CancellationToken::new());
    let context = Context::new(world.env.clone(), world.job(Operation::Create, &lost, &stopping));
    let metrics = StepMetrics::new(&Registry::new(), Statsd::none());
    let loses = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        lost.cancel();
    };
    let began = Instant::now();
    let plan = [action!("hangs", endless)];
    let (stopped, ()) = tokio::join!(engine::run(&context, &plan, &metrics), loses);
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    assert!(matches!(convert::failure(None, stopped.unwrap_err().error, ""), Failure::Lost));
}

#[tokio::test(start_paused = true)]
async fn every_step_is_measured_with_its_result() {
    let world = World::alone();
    let registry = Registry::new();
    let metrics = StepMetrics::new(&registry, Statsd::none());
    world.progress.edit(|document| document["dequeues"] = 2.into());
    let context = world.context(Operation::Update);
    engine::run(&context, &[FINE, action!("broken", bad)], &metrics).await.unwrap_err();
    let text = registry.render();
    for line in [
        "aro_cluster_step_duration_seconds_count{operation=\"update\",kind=\"action\",step=\"fine\",result=\"success\"} 1",
        "aro_cluster_step_duration_seconds_count{operation=\"update\",kind=\"action\",step=\"broken\",result=\"failure\"} 1",
        "aro_cluster_steps_again_total{operation=\"update\",step=\"fine\"} 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}
