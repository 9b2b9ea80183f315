//! Grants as managed objects: listed, looked at, extended, renewed, revoked in bulk; streams counted and told.

use std::time::Duration;

use rp_access::{
    AccessError, EndReason, ExtendError, GrantFilter, Refusal, RenewError, RevokeScope, TooManyRequests,
    TooManyStreams,
};
use rp_base::SystemRandom;
use rp_database::StoreError;
use rp_documents::grant::GrantState;
use rp_documents::{GrantKind, ResourceId, Rights};
use rp_seal::Keyring;

use crate::world::{HERE, World, ask, caller, policy_with, root, soon, target, until};

const HOUR: Duration = Duration::from_secs(3600);

fn other_cluster() -> ResourceId {
    ResourceId::imported("lab").unwrap()
}

/// Nine grants: of three people, for two clusters, one of them revoked.
async fn furnished() -> World {
    let world = World::new().await;
    for n in 0..9 {
        world.clock.advance(Duration::from_secs(1));
        let who = caller(["ada", "bob", "eve"][n % 3], &["sres"]);
        let target = if n % 2 == 0 { target() } else { other_cluster() };
        let asked = rp_access::IssueRequest {
            target: Some(target),
            reason: format!("reason number {n}"),
            ticket: (n == 4).then(|| "INC-44".to_owned()),
            kind: if n == 5 { GrantKind::Metrics } else { GrantKind::Kubeconfig },
            ..ask(Rights::Read)
        };
        let issued = world.access.issue(&who, asked).await.unwrap();
        if n == 3 {
            world.access.revoke(&who, &issued.grant.id, None).await.unwrap();
        }
    }
    world
}

fn numbers(views: &[rp_access::GrantView]) -> Vec<u32> {
    views.iter().map(|view| view.grant.reason.rsplit(' ').next().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn lists_are_newest_first_and_filtered() {
    let world = furnished().await;
    let list = async |filter| numbers(&world.all(filter).await);
    let ada = Some("sub-ada".to_owned());
    let all = GrantFilter::default;
    assert_eq!(list(all()).await, [8, 7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(list(GrantFilter { owner_sub: ada.clone(), ..all() }).await, [6, 3, 0]);
    assert_eq!(list(GrantFilter { target: Some(other_cluster()), ..all() }).await, [7, 5, 3, 1]);
    let both = GrantFilter { owner_sub: ada, target: Some(target()), ..all() };
    assert_eq!(list(both).await, [6, 0]);
    assert_eq!(list(GrantFilter { state: Some(GrantState::Revoked), ..all() }).await, [3]);
    assert_eq!(list(GrantFilter { kind: Some(GrantKind::Metrics), ..all() }).await, [5]);
    for text in ["inc-44", "NUMBER 4", " number 4 "] {
        assert_eq!(list(GrantFilter { text: Some(text.to_owned()), ..all() }).await, [4], "{text}");
    }
    assert_eq!(list(GrantFilter { text: Some("eve".to_owned()), ..all() }).await, [8, 5, 2]);
    assert_eq!(list(GrantFilter { text: Some("lab".to_owned()), ..all() }).await, [7, 5, 3, 1]);
    world.clock.advance(24 * HOUR);
    assert_eq!(list(GrantFilter { active_only: true, ..all() }).await, [0; 0]);
    assert_eq!(list(GrantFilter { state: Some(GrantState::Expired), ..all() }).await.len(), 8);
}

#[tokio::test]
async fn pages_join_without_gap_or_repeat() {
    let world = furnished().await;
    for (filter, expected) in [
        (GrantFilter::default(), vec![8, 7, 6, 5, 4, 3, 2, 1, 0]),
        (GrantFilter { target: Some(target()), ..GrantFilter::default() }, vec![8, 6, 4, 2, 0]),
        (GrantFilter { owner_sub: Some("sub-bob".to_owned()), ..GrantFilter::default() }, vec![7, 4, 1]),
    ] {
        let (mut seen, mut continuation) = (Vec::new(), None);
        loop {
            let filter = GrantFilter { limit: 2, continuation: continuation.take(), ..filter.clone() };
            let page = world.access.list(&filter).await.unwrap();
            assert!(page.items.len() <= 2);
            seen.extend(numbers(&page.items));
            continuation = page.next;
            if continuation.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected);
    }
    for forged in ["", "../x", "A", &"a".repeat(70)] {
        let filter = GrantFilter { continuation: Some(forged.to_owned()), ..GrantFilter::default() };
        assert!(matches!(world.access.list(&filter).await, Err(StoreError::BadCall(_))), "{forged:?}");
    }
    // One that was made up, but is an id, leads nowhere but further down one's own list.
    let made_up = GrantFilter {
        owner_sub: Some("sub-bob".to_owned()),
        continuation: Some("0".repeat(25)),
        limit: 10,
        ..GrantFilter::default()
    };
    assert_eq!(numbers(&world.access.list(&made_up).await.unwrap().items), [7, 4, 1]);
}

#[tokio::test]
async fn details_are_for_owners_auditors_and_admins() {
    let world = World::new().await;
    let id = world.issue(&["sres"], Rights::Read).await.grant.id;
    for (name, groups, sees) in [
        ("ada", &["sres"][..], true),
        ("olga", &["auditors"], true),
        ("root", &["admins"], true),
        ("bob", &["sres"], false),
        ("eve", &["approvers"], false),
    ] {
        match world.access.get(&caller(name, groups), &id).await {
            Ok(view) => assert!(sees && view.grant.id == id, "{name}"),
            Err(AccessError::NotYours) => assert!(!sees, "{name}"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

#[tokio::test]
async fn owners_extend_up_to_the_policy_and_the_elevation() {
    let world = World::new().await;
    let ada = caller("ada", &["sres"]);
    let grant = world.issue(&["sres"], Rights::Read).await.grant;
    assert!(matches!(world.access.extend(&root(), &grant.id, 7 * HOUR).await, Err(ExtendError::NotYours)));
    for life in [5 * HOUR, 6 * HOUR, 25 * HOUR, Duration::from_secs(1)] {
        let refused = world.access.extend(&ada, &grant.id, life).await;
        assert!(matches!(refused, Err(ExtendError::Life { longest }) if longest == 24 * HOUR), "{life:?}");
    }
    let extended = world.access.extend(&ada, &grant.id, 7 * HOUR).await.unwrap();
    assert_eq!(extended.not_after, grant.created + 7 * HOUR);
    world.clock.advance(6 * HOUR + HOUR / 2);
    assert_eq!(world.access.get(&ada, &grant.id).await.unwrap().state, GrantState::Active);
    let refused = world.access.extend(&ada, &grant.id, 18 * HOUR).await;
    assert!(matches!(refused, Err(ExtendError::Life { longest }) if longest == 17 * HOUR + HOUR / 2));
    world.access.extend(&ada, &grant.id, 17 * HOUR).await.unwrap();
    world.access.revoke(&ada, &grant.id, None).await.unwrap();
    assert!(matches!(world.access.extend(&ada, &grant.id, HOUR).await, Err(ExtendError::Ended)));
    assert_eq!(world.audited("grant.extend").await.len(), 2);

    let power = caller("bob", &["power"]);
    world.elevate("bob", Rights::Write).await;
    let asked = rp_access::IssueRequest { life: Some(HOUR), ..ask(Rights::Write) };
    let grant = world.access.issue(&power, asked).await.unwrap().grant;
    let refused = world.access.extend(&power, &grant.id, 5 * HOUR).await;
    assert!(matches!(refused, Err(ExtendError::Life { longest }) if longest == 4 * HOUR), "{refused:?}");
    world.access.extend(&power, &grant.id, 4 * HOUR).await.unwrap();
    world.clock.advance(25 * HOUR);
    assert!(matches!(world.access.extend(&power, &grant.id, HOUR).await, Err(ExtendError::Ended)));
}

#[tokio::test]
async fn further_tokens_of_a_person_come_at_a_rate() {
    let two_renewals = policy_with(|policy| policy.rates.renew = 2);
    let world = World::with(two_renewals, Keyring::generate(&SystemRandom)).await;
    let parent = world.issue(&["sres"], Rights::Read).await.grant;
    let ada = caller("ada", &["sres"]);
    for _ in 0..2 {
        world.access.renew(&parent.id, &ada, HOUR).await.unwrap();
    }
    let refused = world.access.renew(&parent.id, &ada, HOUR).await;
    assert!(matches!(refused, Err(RenewError::TooOften(_))), "{refused:?}");
}

#[tokio::test]
async fn renewed_tokens_end_with_their_grant_on_every_replica() {
    let world = World::new().await;
    let (ada, replica) = (caller("ada", &["sres"]), world.replica().await);
    let parent = world.issue(&["sres"], Rights::Read).await.grant;
    let refused = world.access.renew(&parent.id, &caller("bob", &["sres"]), HOUR).await;
    assert!(matches!(refused, Err(RenewError::NotYours)));
    let renewed = world.access.renew(&parent.id, &ada, HOUR).await.unwrap();
    assert_eq!(renewed.grant.not_after, parent.created + Duration::from_secs(900), "15 minutes at most");
    assert_eq!((renewed.grant.primary_id(), renewed.grant.renewal), (&parent.id, true));
    let chained = world.access.renew(&renewed.grant.id, &ada, HOUR).await;
    assert!(matches!(chained, Err(RenewError::Kind)));
    // The grant itself is not in use anywhere: it ends its renewals all the same.
    let live = replica.authenticate(renewed.token.expose(), HERE).await.unwrap();
    let stream = replica.stream(&live, || "watch pods".to_owned()).unwrap();
    let used = replica.get(&ada, &parent.id).await.unwrap();
    assert_eq!((used.last_from.as_deref(), used.streams), (Some("127.0.0.1"), 1));
    let listed = world.all(GrantFilter::default()).await;
    assert_eq!(listed.len(), 1, "a renewal is no access of its own");
    world.access.revoke(&ada, &parent.id, None).await.unwrap();
    soon("the stream's end", live.wait_ended()).await;
    assert_eq!(live.ended(parent.created), Some(EndReason::Revoked));
    drop(stream);
    for access in [&world.access, &replica, &world.replica().await] {
        let refused = access.authenticate(renewed.token.expose(), HERE).await;
        assert_eq!(refused.unwrap_err(), Refusal::Ended(EndReason::Revoked));
    }
    assert!(matches!(world.access.renew(&parent.id, &ada, HOUR).await, Err(RenewError::Ended)));
}

#[tokio::test]
async fn renewals_are_not_counted_and_are_forgotten() {
    let one = policy_with(|policy| policy.access.max_grants = 1);
    let world = World::with(one, Keyring::generate(&SystemRandom)).await;
    let ada = caller("ada", &["sres"]);
    let parent = world.issue(&["sres"], Rights::Read).await.grant;
    for _ in 0..5 {
        world.access.renew(&parent.id, &ada, HOUR).await.unwrap();
    }
    assert_eq!(world.grants().count().await.unwrap(), 6);
    world.clock.advance(Duration::from_secs(20 * 60));
    assert_eq!(world.grants().count().await.unwrap(), 1);
    world.access.revoke(&ada, &parent.id, None).await.unwrap();
    world.issue(&["sres"], Rights::Read).await;
}

#[tokio::test]
async fn an_elevations_end_reaches_renewed_tokens() {
    let world = World::new().await;
    let ada = caller("ada", &["power"]);
    let elevation = world.elevate("ada", Rights::Write).await;
    let parent = world.access.issue(&ada, ask(Rights::Write)).await.unwrap().grant;
    let renewed = world.access.renew(&parent.id, &ada, HOUR).await.unwrap();
    let live = world.replica().await.authenticate(renewed.token.expose(), HERE).await.unwrap();
    assert_eq!(live.rights, Rights::Write);
    let here = world.access.authenticate(renewed.token.expose(), HERE).await.unwrap();
    world.access.end_elevation(&ada, &elevation.id, None).await.unwrap();
    soon("the end of what wrote", here.token_for(Rights::Write).cancelled()).await;
    assert_eq!(world.access.authenticate(renewed.token.expose(), HERE).await.unwrap().rights, Rights::Read);
}

#[tokio::test]
async fn many_are_revoked_at_once_by_whoever_may() {
    let world = furnished().await;
    let replica = world.replica().await;
    let ada = caller("ada", &["sres"]);
    let issued = world.issue(&["sres"], Rights::Read).await;
    let live = replica.authenticate(issued.token.expose(), HERE).await.unwrap();
    for scope in
        [RevokeScope::Person("sub-bob".to_owned()), RevokeScope::Cluster(target()), RevokeScope::Everything]
    {
        let refused = world.access.revoke_all(&ada, scope, None).await;
        assert!(matches!(refused, Err(AccessError::NotYours)));
    }
    let mine = RevokeScope::Person("sub-ada".to_owned());
    assert_eq!(world.access.revoke_all(&ada, mine.clone(), Some("lost laptop".to_owned())).await.unwrap(), 3);
    soon("the stream's end", live.wait_ended()).await;
    assert_eq!(world.access.revoke_all(&ada, mine, None).await.unwrap(), 0);
    let cluster = RevokeScope::Cluster(other_cluster());
    assert_eq!(world.access.revoke_all(&root(), cluster, None).await.unwrap(), 3);
    assert_eq!(world.access.revoke_all(&root(), RevokeScope::Everything, None).await.unwrap(), 3);
    let active = GrantFilter { active_only: true, ..GrantFilter::default() };
    assert!(world.all(active).await.is_empty());
    // One entry for each, the one of the ninth among them.
    let told = world.audited("grant.revoke").await;
    assert_eq!(told.len(), 10);
    assert_eq!(told.iter().filter(|entry| entry.reason == "lost laptop").count(), 3);
}

#[tokio::test]
async fn what_is_given_while_all_is_revoked_does_not_stay() {
    let many = policy_with(|policy| policy.access.max_grants = 1000);
    let world = World::with(many, Keyring::generate(&SystemRandom)).await;
    for _ in 0..20 {
        world.issue(&["sres"], Rights::Read).await;
    }
    let access = std::sync::Arc::clone(&world.access);
    let giver = tokio::spawn(async move {
        for _ in 0..20 {
            access.issue(&caller("ada", &["sres"]), ask(Rights::Read)).await.unwrap();
        }
    });
    let mine = || RevokeScope::Person("sub-ada".to_owned());
    let mut ended = world.access.revoke_all(&root(), mine(), None).await.unwrap();
    giver.await.unwrap();
    ended += world.access.revoke_all(&root(), mine(), None).await.unwrap();
    assert_eq!(ended, 40);
}

#[tokio::test]
async fn streams_are_limited_for_each_person() {
    let three = policy_with(|policy| policy.access.max_streams = 3);
    let world = World::with(three, Keyring::generate(&SystemRandom)).await;
    let mut lives = Vec::new();
    for _ in 0..2 {
        let issued = world.issue(&["sres"], Rights::Read).await;
        lives.push(world.access.authenticate(issued.token.expose(), HERE).await.unwrap());
    }
    let open = |which: usize| world.access.stream(&lives[which], || "watch pods".to_owned());
    let mut guards = vec![open(0).unwrap(), open(1).unwrap(), open(1).unwrap()];
    assert_eq!(open(0).unwrap_err(), TooManyStreams { most: 3 });
    assert_eq!((lives[0].streams(), lives[1].streams(), world.access.streams_of("sub-ada")), (1, 2, 3));
    guards.pop();
    guards.push(open(0).unwrap());
    assert!(open(1).is_err());
    let bob = world.access.issue(&caller("bob", &["sres"]), ask(Rights::Read)).await.unwrap();
    let other = world.access.authenticate(bob.token.expose(), HERE).await.unwrap();
    world.access.stream(&other, String::new).unwrap();
    drop(guards);
    assert_eq!(world.access.streams_of("sub-ada"), 0);
}

#[tokio::test]
async fn requests_at_once_are_limited_for_each_person() {
    let two = policy_with(|policy| policy.access.max_requests = 2);
    let world = World::with(two, Keyring::generate(&SystemRandom)).await;
    let mut lives = Vec::new();
    for _ in 0..2 {
        let issued = world.issue(&["sres"], Rights::Read).await;
        lives.push(world.access.authenticate(issued.token.expose(), HERE).await.unwrap());
    }
    let first = world.access.request(&lives[0]).unwrap();
    let _second = world.access.request(&lives[1]).unwrap();
    for live in &lives {
        assert_eq!(world.access.request(live).unwrap_err(), TooManyRequests { most: 2 });
    }
    assert_eq!(world.access.requests_of("sub-ada"), 2, "what was refused is not counted");
    let _stream = world.access.stream(&lives[0], String::new).unwrap();
    let bob = world.access.issue(&caller("bob", &["sres"]), ask(Rights::Read)).await.unwrap();
    let other = world.access.authenticate(bob.token.expose(), HERE).await.unwrap();
    world.access.request(&other).unwrap();
    drop(first);
    world.access.request(&lives[1]).unwrap();
}

#[tokio::test]
async fn open_streams_are_seen_from_every_replica() {
    let world = World::new().await;
    let replica = world.replica().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let ada = caller("ada", &["sres"]);
    let (here, there) = (
        world.access.authenticate(issued.token.expose(), HERE).await.unwrap(),
        replica.authenticate(issued.token.expose(), HERE).await.unwrap(),
    );
    let one = world.access.stream(&here, || "watch pods in default".to_owned()).unwrap();
    let mut many: Vec<_> =
        (0..25).map(|n| replica.stream(&there, || format!("log {n}\n")).unwrap()).collect();
    let view = until("streams of the other replica", async || {
        let view = world.access.get(&ada, &issued.grant.id).await.unwrap();
        (view.streams == 26).then_some(view)
    })
    .await;
    assert_eq!(view.open.len(), 2);
    let mine = view.open.iter().find(|each| each.count == 1).unwrap();
    assert_eq!(mine.what, ["watch pods in default"]);
    let theirs = view.open.iter().find(|each| each.count == 25).unwrap();
    assert_eq!((theirs.what.len(), &*theirs.what[0]), (20, "log 0"));
    drop((one, many.split_off(1)));
    until("closed streams", async || {
        let view = world.access.get(&ada, &issued.grant.id).await.unwrap();
        (view.streams == 1 && view.open.len() == 1).then_some(())
    })
    .await;
    drop(many);
    until("no record", async || {
        let view = world.access.get(&ada, &issued.grant.id).await.unwrap();
        (view.streams == 0 && view.open.is_empty()).then_some(())
    })
    .await;
}
