//! Elevations: who may ask, who decides, when they end, and what ends with them.

use std::sync::Arc;
use std::time::Duration;

use rp_access::{
    ElevationError, ElevationFilter, ElevationRequest, EndReason, GrantFilter, GrantView, IssueError,
};
use rp_base::{Id, SystemRandom};
use rp_documents::elevation::{ElevationMethod, ElevationState};
use rp_documents::grant::GrantState;
use rp_documents::{Elevation, GrantKind, Phase, Rights, Role};
use rp_seal::Keyring;

use crate::faults::Mode;
use crate::world::{HERE, World, ask, caller, elevation, eve, policy, policy_with, root, soon, until};

fn ada() -> rp_access::Caller {
    caller("ada", &["power"])
}

#[tokio::test]
async fn a_request_waits_for_somebody_else() {
    let world = World::new().await;
    let asked = world.access.request_elevation(&ada(), elevation(Rights::Admin)).await.unwrap();
    assert_eq!((asked.way, asked.state(asked.asked)), (ElevationMethod::Approval, ElevationState::Waiting));
    let refused = world.access.issue(&ada(), ask(Rights::Write)).await;
    assert!(matches!(refused, Err(IssueError::ElevationNeeded { .. })));
    let waiting = ElevationFilter { waiting_only: true, limit: 10, ..ElevationFilter::default() };
    assert_eq!(world.access.elevations(&waiting).await.unwrap(), std::slice::from_ref(&asked));
    let own = world.access.decide(&caller("ada", &["power", "approvers"]), &asked.id, true, None).await;
    assert!(matches!(own, Err(ElevationError::Own)));
    for groups in [&["power"][..], &["admins"], &["auditors"], &[]] {
        // Also anyone who was an approver when the page was loaded, and is none any more.
        let refused = world.access.decide(&caller("mallory", groups), &asked.id, true, None).await;
        assert!(matches!(refused, Err(ElevationError::NotAllowed { role: Role::Approver })), "{groups:?}");
    }
    let given = world.access.decide(&eve(), &asked.id, true, Some("go on".to_owned())).await.unwrap();
    assert_eq!(given.state(asked.asked), ElevationState::Active);
    assert_eq!(given.not_after, Some(asked.asked + policy().elevation.max_life));
    assert_eq!(given.decision.as_ref().map(|decision| &*decision.by.name), Some("eve"));
    for approve in [true, false] {
        let again = world.access.decide(&eve(), &asked.id, approve, None).await;
        assert!(matches!(again, Err(ElevationError::AlreadyDecided)));
    }
    let issued = world.access.issue(&ada(), ask(Rights::Write)).await.unwrap().grant;
    assert_eq!(issued.elevation_id, Some(asked.id.clone()));
    assert!(world.access.elevations(&waiting).await.unwrap().is_empty());
    let [entry] = world.audited("elevation.approve").await.try_into().unwrap();
    assert_eq!((&*entry.actor.name, &*entry.name, &*entry.reason), ("eve", asked.id.as_str(), "go on"));
    assert_eq!(world.audited("elevation.request").await.len(), 1);
}

#[tokio::test]
async fn a_refused_or_late_request_gives_nothing() {
    let world = World::new().await;
    let refused = world.access.request_elevation(&ada(), elevation(Rights::Write)).await.unwrap();
    world.access.decide(&eve(), &refused.id, false, Some("not now".to_owned())).await.unwrap();
    let late = world.access.request_elevation(&ada(), elevation(Rights::Write)).await.unwrap();
    let back = world.access.request_elevation(&ada(), elevation(Rights::Write)).await.unwrap();
    world.access.end_elevation(&ada(), &back.id, None).await.unwrap();
    let over = world.access.decide(&eve(), &back.id, true, None).await;
    assert!(matches!(over, Err(ElevationError::Over)), "taken back");
    world.clock.advance(Elevation::REQUEST_LIFE);
    let lapsed = world.access.decide(&eve(), &late.id, true, None).await;
    assert!(matches!(lapsed, Err(ElevationError::Lapsed)));
    assert!(world.access.active_elevations("sub-ada").is_empty());
    assert!(world.access.issue(&ada(), ask(Rights::Write)).await.is_err());
}

#[tokio::test]
async fn of_two_approvers_at_once_one_wins() {
    for round in 0..10 {
        let world = World::new().await;
        let replica = world.replica().await;
        let asked = world.access.request_elevation(&ada(), elevation(Rights::Write)).await.unwrap();
        let deciders: Vec<_> = (0..6)
            .map(|n| {
                let access = Arc::clone(if n % 2 == 0 { &world.access } else { &replica });
                let (id, approve) = (asked.id.clone(), n % 3 != 0);
                let who = caller(&format!("approver-{n}"), &["approvers"]);
                tokio::spawn(async move { access.decide(&who, &id, approve, None).await })
            })
            .collect();
        let mut won = Vec::new();
        for decider in deciders {
            match decider.await.unwrap() {
                Ok(decided) => won.push(decided),
                Err(ElevationError::AlreadyDecided) => {}
                Err(error) => panic!("round {round}: {error}"),
            }
        }
        let [decided] = won.as_slice() else { panic!("round {round}: {} won", won.len()) };
        let stored = world.access.elevation(&ada(), &asked.id).await.unwrap();
        assert_eq!(&stored, decided);
        // Each entry that came to nothing is followed by one that says so.
        until("one entry that counts", async || {
            let verbs = [world.audited("elevation.approve").await, world.audited("elevation.refuse").await];
            let entries = verbs.concat();
            let promised = entries.iter().filter(|entry| entry.phase == Phase::Single).count();
            let lost = entries.iter().filter(|entry| entry.phase == Phase::End && entry.result.status == 409);
            (promised - lost.count() == 1).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn on_call_people_elevate_alone_up_to_a_point() {
    let world = World::new().await;
    let on_call = caller("ada", &["power", "on-call"]);
    let given = world.access.request_elevation(&on_call, elevation(Rights::Write)).await.unwrap();
    assert_eq!((given.way, given.state(given.asked)), (ElevationMethod::SelfService, ElevationState::Active));
    world.access.issue(&on_call, ask(Rights::Write)).await.unwrap();
    let refused = world.access.issue(&on_call, ask(Rights::Admin)).await;
    assert!(matches!(refused, Err(IssueError::ElevationNeeded { rights: Rights::Admin })));
    let more = world.access.request_elevation(&on_call, elevation(Rights::Admin)).await.unwrap();
    assert_eq!(more.way, ElevationMethod::Approval);
    let not_elevated = caller("bob", &["sres", "on-call"]);
    let refused = world.access.request_elevation(&not_elevated, elevation(Rights::Write)).await;
    assert!(matches!(refused, Err(ElevationError::NotAllowed { role: Role::Elevated })));
}

#[tokio::test]
async fn breaking_the_glass_rings_and_is_reviewed_by_another() {
    let world = World::new().await;
    let glass = || ElevationRequest { break_glass: true, ..elevation(Rights::Admin) };
    let given = world.access.request_elevation(&ada(), glass()).await.unwrap();
    assert_eq!((given.way, given.state(given.asked)), (ElevationMethod::BreakGlass, ElevationState::Active));
    let [entry] = world.audited("elevation.break_glass").await.try_into().unwrap();
    assert_eq!(entry.name, given.id.as_str());
    world.access.issue(&ada(), ask(Rights::Admin)).await.unwrap();
    let unreviewed = ElevationFilter { unreviewed_only: true, limit: 10, ..ElevationFilter::default() };
    // However old it is.
    world.clock.advance(Duration::from_secs(365 * 86_400));
    assert_eq!(world.access.elevations(&unreviewed).await.unwrap(), std::slice::from_ref(&given));
    let own = caller("ada", &["power", "auditors"]);
    let refused = world.access.review(&own, &given.id, true, "it was I".to_owned()).await;
    assert!(matches!(refused, Err(ElevationError::Own)));
    let refused = world.access.review(&root(), &given.id, true, String::new()).await;
    assert!(matches!(refused, Err(ElevationError::NotAllowed { .. })));
    let auditor = caller("olga", &["auditors"]);
    let reviewed = world.access.review(&auditor, &given.id, false, "no incident".to_owned()).await.unwrap();
    assert_eq!(
        reviewed.review.as_ref().map(|review| (review.fine, &*review.note)),
        Some((false, "no incident"))
    );
    let again = world.access.review(&eve(), &given.id, true, String::new()).await;
    assert!(matches!(again, Err(ElevationError::NothingToReview)));
    assert!(world.access.elevations(&unreviewed).await.unwrap().is_empty());
    let without = policy_with(|policy| policy.elevation.break_glass = false);
    let off = World::with(without, Keyring::generate(&SystemRandom)).await;
    let refused = off.access.request_elevation(&ada(), glass()).await;
    assert!(matches!(refused, Err(ElevationError::BreakGlassOff)));
}

#[tokio::test]
async fn requests_are_bounded() {
    let world = World::new().await;
    let with = |change: &dyn Fn(&mut ElevationRequest)| {
        let mut asked = elevation(Rights::Write);
        change(&mut asked);
        asked
    };
    let hour = Duration::from_secs(3600);
    for (name, asked) in [
        ("reading", with(&|asked| asked.rights = Rights::Read)),
        ("no reason", with(&|asked| asked.reason = "  ".to_owned())),
        ("a long reason", with(&|asked| asked.reason = "x".repeat(1001))),
        ("a long ticket", with(&|asked| asked.ticket = Some("x".repeat(101)))),
        ("a long life", with(&|asked| asked.life = Some(5 * hour))),
        ("a short life", with(&|asked| asked.life = Some(Duration::from_secs(59)))),
    ] {
        assert!(world.access.request_elevation(&ada(), asked).await.is_err(), "{name}");
    }
    for _ in 0..10 {
        world.access.request_elevation(&ada(), elevation(Rights::Write)).await.unwrap();
    }
    let refused = world.access.request_elevation(&ada(), elevation(Rights::Write)).await;
    assert!(matches!(refused, Err(ElevationError::TooMany { most: 10 })));
    world.clock.advance(hour);
    world.access.request_elevation(&ada(), elevation(Rights::Write)).await.unwrap();
    let unknown = Id::random(&SystemRandom);
    assert!(matches!(world.access.decide(&eve(), &unknown, true, None).await, Err(ElevationError::Unknown)));
}

#[tokio::test]
async fn nothing_happens_without_an_audit_entry() {
    let world = World::new().await;
    let asked = world.access.request_elevation(&ada(), elevation(Rights::Write)).await.unwrap();
    world.audit_store.creates.send_replace(Mode::Fail);
    let refused = world.access.decide(&eve(), &asked.id, true, None).await;
    assert!(matches!(refused, Err(ElevationError::Audit(_))));
    let refused = world.access.request_elevation(&ada(), elevation(Rights::Write)).await;
    assert!(matches!(refused, Err(ElevationError::Audit(_))));
    let all = ElevationFilter { limit: 10, ..ElevationFilter::default() };
    assert_eq!(world.access.elevations(&all).await.unwrap(), [asked]);
}

#[tokio::test]
async fn an_elevation_is_for_its_owner_and_its_cluster() {
    let world = World::new().await;
    world.elevate("ada", Rights::Admin).await;
    let elsewhere = rp_documents::ResourceId::imported("lab").unwrap();
    let asked = rp_access::IssueRequest { target: Some(elsewhere), ..ask(Rights::Write) };
    assert!(matches!(world.access.issue(&ada(), asked).await, Err(IssueError::ElevationNeeded { .. })));
    let bob = caller("bob", &["power"]);
    assert!(matches!(
        world.access.issue(&bob, ask(Rights::Write)).await,
        Err(IssueError::ElevationNeeded { .. })
    ));
    // Somebody else's elevation, written into a grant behind our back, gives nothing either.
    let issued = world.access.issue(&bob, ask(Rights::Read)).await.unwrap();
    let [active] = world.access.active_elevations("sub-ada").try_into().unwrap();
    world
        .change(&issued.grant.id, |grant| {
            grant.rights = Rights::Admin;
            grant.elevation_id = Some(active.id.clone());
        })
        .await;
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    assert_eq!((live.rights, live.reduction_reason()), (Rights::Read, Some(EndReason::ElevationOver)));
}

#[tokio::test]
async fn the_end_of_an_elevation_is_felt_on_every_replica() {
    let world = World::new().await;
    let replica = world.replica().await;
    let given = world.elevate("ada", Rights::Admin).await;
    let issued = world.access.issue(&ada(), ask(Rights::Admin)).await.unwrap();
    let shell = rp_access::IssueRequest { kind: GrantKind::Terminal, ..ask(Rights::Write) };
    let shell = world.access.issue(&ada(), shell).await.unwrap();
    let mut waits = Vec::new();
    for access in [&world.access, &replica] {
        // The replica learns of the elevation with the grant at the latest.
        let live = access.authenticate(issued.token.expose(), HERE).await.unwrap();
        assert_eq!(live.rights, Rights::Admin);
        let terminal = access.authenticate(shell.token.expose(), HERE).await.unwrap();
        waits.push((access, live, terminal));
    }
    let own = world.access.end_elevation(&caller("mallory", &["power"]), &given.id, None).await;
    assert!(matches!(own, Err(ElevationError::NotYours)));
    world.access.end_elevation(&ada(), &given.id, Some("done".to_owned())).await.unwrap();
    for (access, live, terminal) in waits {
        for rights in [Rights::Write, Rights::Admin] {
            soon("the end of power", live.token_for(rights).cancelled()).await;
        }
        soon("the end of the shell", terminal.wait_ended()).await;
        assert!(!live.token_for(Rights::Read).is_cancelled(), "reading goes on");
        assert_eq!(live.end_reason(issued.grant.created), EndReason::ElevationOver);
        let now = access.authenticate(issued.token.expose(), HERE).await.unwrap();
        assert_eq!((now.rights, now.reduction_reason()), (Rights::Read, Some(EndReason::ElevationOver)));
        assert!(now.token_for(Rights::Write).is_cancelled());
        let refused = access.authenticate(shell.token.expose(), HERE).await.unwrap_err();
        assert_eq!(refused, rp_access::Refusal::Ended(EndReason::ElevationOver));
    }
    // A new elevation does not wake up old grants.
    world.elevate("ada", Rights::Admin).await;
    let old = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    assert_eq!(old.rights, Rights::Read);
}

#[tokio::test]
async fn a_shell_whose_elevation_is_over_is_listed_as_ended() {
    let world = World::new().await;
    let given = world.elevate("ada", Rights::Admin).await;
    let file = world.access.issue(&ada(), ask(Rights::Admin)).await.unwrap().grant;
    let shell = rp_access::IssueRequest { kind: GrantKind::Terminal, ..ask(Rights::Write) };
    let shell = world.access.issue(&ada(), shell).await.unwrap().grant;
    let replica = world.replica().await;
    assert!(world.all(GrantFilter::default()).await.iter().all(GrantView::is_effective));
    world.access.end_elevation(&ada(), &given.id, Some("done".to_owned())).await.unwrap();
    let view = |id: &Id| {
        let (access, id) = (Arc::clone(&world.access), id.clone());
        async move { access.get(&ada(), &id).await.unwrap() }
    };
    let listed = world.all(GrantFilter::default()).await;
    let listed = listed.into_iter().find(|one| one.grant.id == shell.id).unwrap();
    for found in [view(&shell.id).await, listed] {
        assert_eq!((found.state, found.ended), (GrantState::Active, Some(EndReason::ElevationOver)));
        assert!(!found.is_effective());
    }
    // Of a kubeconfig reading is left.
    let read = view(&file.id).await;
    assert_eq!((read.rights, read.ended, read.is_effective()), (Rights::Read, None, true));
    until("the other replica lists it as ended", async || {
        let found = replica.get(&ada(), &shell.id).await.unwrap();
        (found.ended == Some(EndReason::ElevationOver)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_elevation_that_expires_takes_its_rights_at_the_instant() {
    let world = World::new().await;
    let given = world.elevate("ada", Rights::Write).await;
    let asked = rp_access::IssueRequest { life: Some(Duration::from_secs(6 * 3600)), ..ask(Rights::Write) };
    let issued = world.access.issue(&ada(), asked).await.unwrap();
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    world.clock.advance(Duration::from_secs(given.life_secs) - Duration::from_millis(1));
    assert_eq!(world.access.authenticate(issued.token.expose(), HERE).await.unwrap().rights, Rights::Write);
    world.clock.advance(Duration::from_millis(1));
    // Without waiting for a sweep.
    assert_eq!(world.access.authenticate(issued.token.expose(), HERE).await.unwrap().rights, Rights::Read);
    soon("the end of what wrote", live.token_for(Rights::Write).cancelled()).await;
    assert!(!live.token().is_cancelled());
    assert!(world.access.active_elevations("sub-ada").is_empty());
}

#[tokio::test]
async fn lost_groups_end_elevations_and_their_rights() {
    let world = World::new().await;
    let replica = world.replica().await;
    let given = world.elevate("ada", Rights::Write).await;
    let issued = world.access.issue(&ada(), ask(Rights::Write)).await.unwrap();
    let live = replica.authenticate(issued.token.expose(), HERE).await.unwrap();
    assert_eq!(world.access.set_person_groups("sub-ada", &["sres".to_owned()]).await.unwrap(), 1);
    soon("the end of what wrote", live.token_for(Rights::Write).cancelled()).await;
    let ended = world.access.elevation(&eve(), &given.id).await.unwrap().ended.unwrap();
    assert_eq!(ended.by, "sign-in provider");
    let read = until("the new groups", async || {
        let live = replica.authenticate(issued.token.expose(), HERE).await.unwrap();
        (live.grant.owner.groups == ["sres"]).then_some(live)
    })
    .await;
    assert_eq!(read.rights, Rights::Read);
    assert_eq!(world.access.end_person("sub-ada", "disabled at the provider", "provider").await.unwrap(), 1);
    soon("the end of everything", live.wait_ended()).await;
}

#[tokio::test]
async fn a_new_replica_knows_what_is_in_force() {
    let world = World::new().await;
    let given = world.elevate("ada", Rights::Write).await;
    world.clock.advance(Duration::from_secs(3 * 3600));
    let replica = world.replica().await;
    assert_eq!(
        replica.active_elevations("sub-ada").iter().map(|each| &each.id).collect::<Vec<_>>(),
        [&given.id]
    );
    let other = world.elevate("ada", Rights::Admin).await;
    // Made elsewhere a moment ago: found without waiting for the feed.
    let issued = replica.issue(&ada(), ask(Rights::Admin)).await.unwrap().grant;
    assert_eq!(issued.elevation_id, Some(other.id));
}
