use std::sync::Arc;

use rp_base::{ManualClock, SharedClock, SharedRandom, SystemRandom};
use rp_metrics::Registry;

use super::*;
use crate::azure::AzureAccess;
use crate::controller::Role;
use crate::metrics::Metrics;
use crate::status::StatusWriter;
use crate::testing::unreachable_api;

fn election() -> Election {
    let registry = Registry::new();
    let metrics = Metrics::register(&registry);
    let random: SharedRandom = Arc::new(SystemRandom);
    let api = unreachable_api(&metrics);
    let clock: SharedClock = Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_250)));
    let context = Context {
        status: StatusWriter::new(&api, &clock, Role::Master, "test"),
        api,
        azure: AzureAccess::from_environment(&clock, &random, &registry),
        clock,
        random,
        role: Role::Master,
        version: "test".to_owned(),
        metrics: metrics.operator,
    };
    Election::new(&context, "us".to_owned(), LeaseTimes::default())
}

fn lease(holder: &str, renewed: &str) -> Value {
    json!({ "spec": { "holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 30 } })
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_process_that_renews_it_is_not_taken() {
    let mut election = election();
    assert_eq!(election.decide(None), Decision::Create);
    for second in 0..100 {
        assert_eq!(election.decide(Some(&lease("other", &second.to_string()))), Decision::Wait);
        sleep(Duration::from_secs(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_process_that_is_gone_is_taken_when_it_ended() {
    let mut election = election();
    let stale = lease("other", "2026-01-01T00:00:00.000000Z");
    assert_eq!(election.decide(Some(&stale)), Decision::Wait);
    sleep(Duration::from_secs(29)).await;
    assert_eq!(election.decide(Some(&stale)), Decision::Wait);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(election.decide(Some(&stale)), Decision::Take);
    assert_eq!(election.decide(Some(&lease("", "x"))), Decision::Take, "it was given back");
    assert_eq!(election.decide(Some(&lease("us", "x"))), Decision::Take);
}

#[tokio::test]
async fn a_renewal_keeps_the_time_of_acquisition() {
    let election = election();
    let now = election.context.clock.now();
    let first = election.spec(Some(&lease("other", "x")["spec"]), now);
    assert_eq!(first["leaseTransitions"], 1);
    assert_eq!(first["acquireTime"], "2023-11-14T22:13:20.250000Z");
    let second = election.spec(Some(&first), now + Duration::from_secs(10));
    assert_eq!(second["acquireTime"], first["acquireTime"]);
    assert_eq!(second["leaseTransitions"], 1);
    assert_ne!(second["renewTime"], first["renewTime"]);
}
