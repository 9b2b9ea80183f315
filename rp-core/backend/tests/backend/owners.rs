//! Three processes, killed and stopped at random, over a store that fails at random: every operation ends as it should,
//! and no cluster's work is ever done by two at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_cluster::Outcome;
use rp_documents::Collection;
use tokio::time::sleep;

use crate::faulty::Dice;
use crate::manager::{Scripted, steps};
use crate::world::{Process, World, short_leases};

const CLUSTERS: usize = 18;
const STEPS: usize = 6;

async fn storm(seed: u64) {
    let world = World::new().await;
    let mut dice = Dice::new(seed);
    let highest = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
    // A panic in there would be one of many attempts.
    let went_back = Arc::new(Mutex::new(Vec::<String>::new()));
    let (seen, back) = (Arc::clone(&highest), Arc::clone(&went_back));
    let manager = Scripted::new(move |job| {
        let (seen, back) = (Arc::clone(&seen), Arc::clone(&back));
        async move {
            let id = job.document.id.clone();
            steps(&job, STEPS, |at| {
                // What was saved is never begun again by more than one step back.
                let mut seen = seen.lock();
                let high = seen.entry(id.clone()).or_default();
                if at + 1 < *high {
                    back.lock().push(format!("{id}: step {at} after {high}"));
                }
                *high = at.max(*high);
                sleep(Duration::from_millis(20))
            })
            .await?;
            Ok(Outcome::Done)
        }
    });
    let states = ["Creating", "Updating", "Deleting"];
    for n in 0..CLUSTERS {
        world.cluster(&format!("c{n}"), states[n % 3], |_| {}).await;
    }
    let mut processes: Vec<Process> =
        (0..3).map(|_| world.start(Arc::<Scripted>::clone(&manager), short_leases())).collect();
    world.store.fail_often(seed, 12);
    for _ in 0..5 {
        sleep(Duration::from_millis(u64::try_from(20 + dice.below(150)).unwrap())).await;
        let victim = processes.remove(dice.below(3));
        if dice.below(3) == 0 {
            victim.stop().await;
        } else {
            victim.kill().await;
        }
        processes.push(world.start(Arc::<Scripted>::clone(&manager), short_leases()));
    }
    world.store.fail_no_more();
    for n in 0..CLUSTERS {
        let end = if n % 3 == 2 { "" } else { "Succeeded" };
        world.reaches(&format!("c{n}"), end).await;
        let operation = world.operation(&format!("c{n}")).await;
        assert_eq!(operation["asyncOperation"]["status"], "Succeeded", "seed {seed}: c{n}: {operation}");
    }
    for process in processes {
        process.stop().await;
    }
    assert_eq!(*manager.seen.doubles.lock(), Vec::<String>::new(), "seed {seed}");
    assert_eq!(*went_back.lock(), Vec::<String>::new(), "seed {seed}");
    let left = world.store.inner.count(Collection::OpenShiftClusters).await.unwrap();
    assert_eq!(usize::try_from(left).unwrap(), CLUSTERS - CLUSTERS / 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn never_two_owners_at_once_and_every_operation_ends() {
    for seed in 1..=4 {
        storm(seed).await;
    }
}
