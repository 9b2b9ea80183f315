//! How grants end, and that what uses them ends with them.

use std::sync::Arc;
use std::time::Duration;

use rp_access::{AccessError, EndReason, GrantFilter, Refusal};
use rp_audit::Query;
use rp_base::{Id, SystemRandom};
use rp_database::Expect;
use rp_documents::Rights;

use crate::faults::Mode;
use crate::world::{HERE, World, caller, soon, until};

#[tokio::test]
async fn owners_and_admins_revoke_and_others_do_not() {
    let world = World::new().await;
    let ada = caller("ada", &["sres"]);
    let (bob, root) = (caller("bob", &["power"]), caller("root", &["admins"]));
    let mine = world.issue(&["sres"], Rights::Read).await.grant;
    let other = world.issue(&["sres"], Rights::Read).await.grant;
    assert!(matches!(world.access.revoke(&bob, &mine.id, None).await, Err(AccessError::NotYours)));
    let unknown = Id::random(&SystemRandom);
    assert!(matches!(world.access.revoke(&root, &unknown, None).await, Err(AccessError::Unknown)));
    let revoked = world.access.revoke(&ada, &mine.id, None).await.unwrap().revoked.unwrap();
    assert_eq!((revoked.by.as_str(), revoked.at), ("ada", mine.created));
    assert!(matches!(world.access.revoke(&root, &mine.id, None).await, Err(AccessError::Ended)));
    let why = Some("left the team".to_owned());
    let revoked = world.access.revoke(&root, &other.id, why.clone()).await.unwrap().revoked.unwrap();
    assert_eq!((revoked.by.as_str(), revoked.why), ("root", why));
    let query = Query { verb: Some("grant.revoke".to_owned()), ..Query::default() };
    let found = world.audit.search(&query).await.unwrap().entries;
    let told: Vec<_> =
        found.iter().map(|entry| (&*entry.actor.name, entry.grant.as_ref(), &*entry.reason)).collect();
    assert_eq!(told, [("root", Some(&other.id), "left the team"), ("ada", Some(&mine.id), "")]);
    assert!(world.all(GrantFilter { active_only: true, ..GrantFilter::default() }).await.is_empty());
}

#[tokio::test]
async fn a_revocation_that_cannot_be_audited_is_not_done() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    world.audit_store.creates.send_replace(Mode::Fail);
    let refused = world.access.revoke(&caller("ada", &["sres"]), &issued.grant.id, None).await;
    assert!(matches!(refused, Err(AccessError::Audit(_))));
    world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
}

#[tokio::test]
async fn a_revocation_on_another_replica_ends_streams_here() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let replica = world.replica().await;
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    let stream = live.token();
    replica.revoke(&caller("ada", &["sres"]), &issued.grant.id, None).await.unwrap();
    soon("the stream's end", stream.cancelled()).await;
    assert_eq!(live.ended(issued.grant.created), Some(EndReason::Revoked));
    let counted = world.registry.render();
    assert!(counted.contains("aro_revocation_seconds_bucket{le=\"1\"} 1\n"), "{counted}");
    assert!(counted.contains("aro_task_last_round_timestamp_seconds{task=\"grants\"}"), "{counted}");
}

#[tokio::test]
async fn a_grant_that_is_deleted_ends_too() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    world.grants().delete(issued.grant.id.as_str(), Expect::Any).await.unwrap();
    soon("the stream's end", live.wait_ended()).await;
    let refused = world.access.authenticate(issued.token.expose(), HERE).await;
    assert_eq!(refused.unwrap_err(), Refusal::Unknown);
}

#[tokio::test]
async fn expiry_ends_streams() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    world.clock.advance(issued.grant.not_after.since(issued.grant.created));
    soon("the stream's end", live.wait_ended()).await;
    assert_eq!(live.ended(issued.grant.created), Some(EndReason::Expired));
}

#[tokio::test]
async fn an_extension_keeps_streams_and_they_still_end_with_it() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let before = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    let guard = world.access.stream(&before, || "watch pods".to_owned()).unwrap();
    let (stream, _guard) = (before.token(), guard);
    let later = issued.grant.not_after + Duration::from_secs(3600);
    world.change(&issued.grant.id, |grant| grant.not_after = later).await;
    let after = until("the extension", async || {
        let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
        (live.grant.not_after == later).then_some(live)
    })
    .await;
    assert_eq!(after.streams(), 1, "the stream is known");
    world.clock.advance(issued.grant.not_after.since(issued.grant.created) + Duration::from_secs(1));
    // Another grant's expiry shows that a sweep has passed since.
    world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    let short = world.issue(&["sres"], Rights::Read).await;
    let witness = world.access.authenticate(short.token.expose(), HERE).await.unwrap();
    world.grants().delete(short.grant.id.as_str(), Expect::Any).await.unwrap();
    soon("a look at the feed", witness.wait_ended()).await;
    assert!(!stream.is_cancelled());
    world.access.revoke(&caller("ada", &["sres"]), &issued.grant.id, None).await.unwrap();
    soon("the stream's end", stream.cancelled()).await;
}

#[tokio::test]
async fn what_is_held_for_long_still_ends() {
    let world = World::new().await;
    let [held, idle] =
        [world.issue(&["sres"], Rights::Read).await, world.issue(&["sres"], Rights::Read).await];
    // A long download: one request, no stream, no other use.
    let download = world.access.authenticate(held.token.expose(), HERE).await.unwrap();
    let unused = Arc::downgrade(&world.access.authenticate(idle.token.expose(), HERE).await.unwrap());
    world.clock.advance(Duration::from_secs(3600));
    until("the unused grant to be forgotten", async || (unused.strong_count() == 0).then_some(())).await;
    world.replica().await.revoke(&caller("ada", &["sres"]), &held.grant.id, None).await.unwrap();
    soon("the download's end", download.wait_ended()).await;
}

#[tokio::test]
async fn losing_a_group_ends_what_needed_it() {
    let world = World::new().await;
    let issued = world.issue(&["power"], Rights::Write).await;
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    world.change(&issued.grant.id, |grant| grant.owner.groups = vec!["sres".to_owned()]).await;
    soon("the end of what wrote", live.token_for(Rights::Write).cancelled()).await;
    let now = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    assert_eq!((now.rights, now.end_reason(issued.grant.created)), (Rights::Read, EndReason::RightsLost));
    assert!(!live.token_for(Rights::Read).is_cancelled(), "reading goes on");
    world.change(&issued.grant.id, |grant| grant.owner.groups = vec!["viewers".to_owned()]).await;
    soon("the end of everything", live.wait_ended()).await;
    assert_eq!(live.ended(issued.grant.created), Some(EndReason::RightsLost));
}

#[tokio::test]
async fn a_read_that_races_with_a_revocation_is_repeated() {
    let world = World::new().await;
    let (raced, witness) =
        (world.issue(&["sres"], Rights::Read).await, world.issue(&["sres"], Rights::Read).await);
    let seen = world.access.authenticate(witness.token.expose(), HERE).await.unwrap();
    let mut reading = world.store.reading.subscribe();
    world.store.reads.send_replace(Mode::Hang);
    let before = *reading.borrow_and_update();
    let access = Arc::clone(&world.access);
    let token = raced.token.expose().clone();
    let late = tokio::spawn(async move { access.authenticate(&token, HERE).await.map(drop) });
    soon("the read", reading.wait_for(|reads| *reads > before)).await.unwrap();
    // The read has its answer, from before the revocation, and is held back.
    for id in [&raced.grant.id, &witness.grant.id] {
        let draft =
            world.grants().store().list(rp_documents::Collection::Grants, None, None, 10).await.unwrap();
        let stored = draft.items.into_iter().find(|stored| stored.id == id.as_str()).unwrap();
        world.grants().delete(&stored.id, Expect::Any).await.unwrap();
    }
    soon("the feed", seen.wait_ended()).await;
    world.store.reads.send_replace(Mode::Pass);
    assert_eq!(soon("an answer", late).await.unwrap().unwrap_err(), Refusal::Unknown);
}
