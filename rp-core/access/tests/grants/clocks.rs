//! Clocks that are set back, and replicas whose clocks differ.

use std::sync::Arc;
use std::time::Duration;

use rp_access::{Access, AccessParts, EndReason, Refusal};
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_documents::{Grant, GrantKind, Rights};
use tokio::time::Instant;

use crate::faults::Mode;
use crate::world::{HERE, World, ask, caller, elevation, eve, policy, soon, until};

const SHORT: Duration = Duration::from_secs(1);
const HOURS: Duration = Duration::from_secs(2 * 3600);
const MINUTE: Duration = Duration::from_secs(60);

fn until_short(grant: &mut Grant) {
    grant.not_after = grant.created + SHORT;
}

#[tokio::test]
async fn a_clock_that_is_set_back_lengthens_no_access_in_use() {
    let world = World::new().await;
    let [short, long] =
        [world.issue(&["sres"], Rights::Read).await, world.issue(&["sres"], Rights::Read).await];
    let began = Instant::now();
    let live = world.access.authenticate(short.token.expose(), HERE).await.unwrap();
    world.clock.set(short.grant.created - HOURS);
    world.change(&short.grant.id, until_short).await;
    soon("the stream's end", live.wait_ended()).await;
    assert!(began.elapsed() >= SHORT / 2, "{:?}", began.elapsed());
    assert_eq!(live.ended(world.clock_now()), Some(EndReason::Expired));
    let refused = world.access.authenticate(short.token.expose(), HERE).await;
    assert_eq!(refused.unwrap_err(), Refusal::Ended(EndReason::Expired));
    world.access.authenticate(long.token.expose(), HERE).await.unwrap();
}

/// Also where the replica first sees the access after its clock was set back, or has a clock that is behind.
#[tokio::test]
async fn a_clock_that_is_behind_gives_an_access_its_own_length_at_most() {
    let world = World::new().await;
    let short = world.issue(&["sres"], Rights::Read).await;
    world.change(&short.grant.id, until_short).await;
    let behind = replica(&world, world.clock_now() - HOURS).await;
    let live = behind.authenticate(short.token.expose(), HERE).await.unwrap();
    soon("the stream's end", live.wait_ended()).await;
    assert_eq!(live.ended(short.grant.created - HOURS), Some(EndReason::Expired));
}

/// The cache forgets what is idle. The store knows the end by the wall clock only, and that can be set back again.
#[tokio::test]
async fn an_access_that_has_ended_stays_so_when_it_was_forgotten_and_the_clock_is_set_back() {
    let world = World::new().await;
    let short = world.issue(&["sres"], Rights::Read).await;
    let open = async || world.access.authenticate(short.token.expose(), HERE).await;
    let live = open().await.unwrap();
    world.change(&short.grant.id, until_short).await;
    soon("the stream's end", live.wait_ended()).await;
    drop(live);
    let ended = Refusal::Ended(EndReason::Expired);
    assert_eq!(open().await.unwrap_err(), ended);

    world.clock.advance(20 * MINUTE);
    // Without its reads the store opens nothing that is not in the cache.
    world.store.reads.send_replace(Mode::Fail);
    until("the cache forgets it", async || (open().await.err() == Some(Refusal::Unavailable)).then_some(()))
        .await;
    world.store.reads.send_replace(Mode::Pass);
    world.clock.set(short.grant.created);
    assert_eq!(open().await.unwrap_err(), ended);
}

/// Another replica on the same store, with a clock of its own.
async fn replica(world: &World, at: Timestamp) -> Arc<Access> {
    let parts = AccessParts {
        store: world.store.clone(),
        audit: world.audit.clone(),
        keyring: world.keyring.clone(),
        clock: Arc::new(ManualClock::at(at)),
        random: Arc::new(SystemRandom),
        policy: policy(),
        registry: rp_metrics::Registry::new(),
    };
    Access::start(parts).await.unwrap()
}

/// What one replica gives opens on the other, at once and as long as it lives; what one ends is over on both.
#[tokio::test]
async fn replicas_whose_clocks_differ_by_a_minute_agree() {
    let world = World::new().await;
    let ahead = replica(&world, world.clock_now() + MINUTE).await;
    for (person, one, other) in [("ada", &world.access, &ahead), ("grace", &ahead, &world.access)] {
        let caller = caller(person, &["power"]);
        let asked = one.request_elevation(&caller, elevation(Rights::Write)).await.unwrap();
        until("the approval", async || other.decide(&eve(), &asked.id, true, None).await.ok()).await;
        let issue = async || one.issue(&caller, ask(Rights::Write)).await.ok();
        let issued = until("a grant under the elevation", issue).await;
        for replica in [one, other] {
            let live = replica.authenticate(issued.token.expose(), HERE).await.unwrap();
            assert_eq!(live.rights, Rights::Write, "{person}");
        }

        let mut shell = ask(Rights::Write);
        shell.kind = GrantKind::Ssh;
        let password = one.issue(&caller, shell).await.unwrap();
        other.redeem_ssh(password.token.expose(), person, HERE).await.unwrap();

        let live = other.authenticate(issued.token.expose(), HERE).await.unwrap();
        one.revoke(&caller, &issued.grant.id, None).await.unwrap();
        soon("the stream's end", live.wait_ended()).await;
        let refused = one.authenticate(issued.token.expose(), HERE).await;
        assert_eq!(refused.unwrap_err(), Refusal::Ended(EndReason::Revoked), "{person}");
    }
}
