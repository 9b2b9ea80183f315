//! When the store does not answer: new accesses are refused after 5 s, streams are cut after 15 s
//! (`contract/rules.md` §3.7). Time stands still here but for what the tests let pass.

use std::time::Duration;

use rp_access::{EndReason, Refusal};
use rp_base::SystemRandom;
use rp_documents::Rights;
use rp_seal::Keyring;

use crate::faults::Mode;
use crate::world::{HERE, World, ask, caller, policy_with, until};

async fn passes(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

async fn lost(mode: Mode) {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let token = issued.token.expose();
    let live = world.access.authenticate(token, HERE).await.unwrap();
    world.store.changes.send_replace(mode);
    tokio::time::pause();
    passes(4).await;
    world.access.authenticate(token, HERE).await.unwrap();
    passes(2).await;
    assert_eq!(world.access.authenticate(token, HERE).await.unwrap_err(), Refusal::Unsure);
    passes(7).await;
    assert!(!live.token().is_cancelled(), "13 s");
    passes(5).await;
    assert!(live.token().is_cancelled(), "18 s");
    assert_eq!(live.ended(issued.grant.created), Some(EndReason::Unsure));
    tokio::time::resume();
    world.store.changes.send_replace(Mode::Pass);
    // It was not revoked: once this is known, it opens again.
    let again = until("the store's return", async || world.access.authenticate(token, HERE).await.ok()).await;
    assert!(!again.token().is_cancelled());
}

#[tokio::test]
async fn a_store_that_fails_ends_streams_in_time() {
    lost(Mode::Fail).await;
}

#[tokio::test]
async fn a_store_that_hangs_ends_streams_in_time() {
    lost(Mode::Hang).await;
}

/// The other alternative of the settings: what is in use lives on, and ends by itself all the same.
#[tokio::test]
async fn in_use_lives_on_where_the_settings_say_so() {
    let spool = policy_with(|policy| policy.outage = rp_config::Outage::Spool);
    let world = World::with(spool, Keyring::generate(&SystemRandom)).await;
    let [used, unused] =
        [world.issue(&["sres"], Rights::Read).await, world.issue(&["sres"], Rights::Read).await];
    let elevation = world.elevate("ada", Rights::Write).await;
    let power = world.access.issue(&caller("ada", &["power"]), ask(Rights::Write)).await.unwrap();
    let live = world.access.authenticate(used.token.expose(), HERE).await.unwrap();
    let strong = world.access.authenticate(power.token.expose(), HERE).await.unwrap();
    world.store.changes.send_replace(Mode::Fail);
    tokio::time::pause();
    passes(60).await;
    assert!(!live.token().is_cancelled() && !strong.token_for(Rights::Write).is_cancelled());
    world.access.authenticate(used.token.expose(), HERE).await.unwrap();
    let refused = world.access.authenticate(unused.token.expose(), HERE).await;
    assert_eq!(refused.unwrap_err(), Refusal::Unsure, "nobody knows whether it was revoked");
    world.clock.advance(Duration::from_secs(elevation.life_secs));
    passes(3).await;
    assert!(strong.token_for(Rights::Write).is_cancelled());
    world.clock.advance(used.grant.not_after.since(used.grant.created));
    passes(3).await;
    assert_eq!(live.ended(world.clock_now()), Some(EndReason::Expired));
}

#[tokio::test]
async fn what_expires_while_the_store_hangs_ends() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    world.store.changes.send_replace(Mode::Hang);
    tokio::time::pause();
    world.clock.advance(issued.grant.not_after.since(issued.grant.created));
    passes(4).await;
    assert!(live.token().is_cancelled());
    assert_eq!(live.ended(issued.grant.created), Some(EndReason::Expired));
}

#[tokio::test]
async fn revocations_of_the_outage_are_seen_at_its_end() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    world.store.changes.send_replace(Mode::Fail);
    let at = issued.grant.created;
    world
        .change(&issued.grant.id, |grant| {
            grant.revoked = Some(rp_documents::Revocation { at, by: "root".to_owned(), why: None });
        })
        .await;
    assert!(!live.token().is_cancelled());
    world.store.changes.send_replace(Mode::Pass);
    crate::world::soon("the stream's end", live.wait_ended()).await;
    assert_eq!(live.ended(at), Some(EndReason::Revoked));
}
