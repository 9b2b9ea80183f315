//! Robots: made, scoped, rotated, ended.

use std::time::Duration;

use rp_access::{Caller, EndReason, IssueError, IssuedGrant, Refusal, RobotError, RobotRequest, Via};
use rp_base::{Id, SystemRandom};
use rp_documents::grant::GrantState;
use rp_documents::robot::Scope;
use rp_documents::{GrantKind, ResourceId, Rights};
use rp_seal::Keyring;

use crate::world::{HERE, REASON, World, ask, caller, policy_with, root, soon, target};

const HOUR: Duration = Duration::from_secs(3600);

fn nightly() -> RobotRequest {
    RobotRequest {
        name: "nightly".to_owned(),
        clusters: Scope::Only(vec![target()]),
        kinds: vec![GrantKind::Kubeconfig, GrantKind::Metrics],
        rights: Rights::Write,
        reason: REASON.to_owned(),
        life: Some(48 * HOUR),
        max_grants: Some(2),
    }
}

async fn made(world: &World) -> IssuedGrant {
    world.access.create_robot(&root(), nightly()).await.unwrap().1
}

/// The robot as the edge sees it when it shows a token.
async fn calls(world: &World, token: &IssuedGrant) -> Result<Caller, Refusal> {
    let live = world.access.authenticate(token.token.expose(), HERE).await?;
    Ok(world.access.caller(&live, "192.0.2.8".to_owned(), Id::random(&SystemRandom)))
}

#[tokio::test]
async fn admins_make_robots_within_bounds() {
    let world = World::new().await;
    let refused = world.access.create_robot(&caller("ada", &["power"]), nightly()).await;
    assert!(matches!(refused, Err(RobotError::NotAllowed)));
    for (what, asked) in [
        ("no name", RobotRequest { name: String::new(), ..nightly() }),
        ("a capital", RobotRequest { name: "Nightly".to_owned(), ..nightly() }),
        ("a path", RobotRequest { name: "a/b".to_owned(), ..nightly() }),
        ("a long name", RobotRequest { name: "x".repeat(41), ..nightly() }),
        ("no kind", RobotRequest { kinds: vec![], ..nightly() }),
        ("robots of its own", RobotRequest { kinds: vec![GrantKind::Robot], ..nightly() }),
        ("a command line", RobotRequest { kinds: vec![GrantKind::Cli], ..nightly() }),
        ("no cluster", RobotRequest { clusters: Scope::Only(vec![]), ..nightly() }),
        ("no reason", RobotRequest { reason: String::new(), ..nightly() }),
        ("a long life", RobotRequest { life: Some(91 * 24 * HOUR), ..nightly() }),
        ("no grants", RobotRequest { max_grants: Some(0), ..nightly() }),
    ] {
        assert!(world.access.create_robot(&root(), asked).await.is_err(), "{what}");
    }
    assert!(world.access.robots().await.unwrap().is_empty());
    let issued = made(&world).await;
    assert!(issued.token.expose().starts_with("aro1_robot_"));
    assert!(matches!(world.access.create_robot(&root(), nightly()).await, Err(RobotError::Exists)));
    let [view] = world.access.robots().await.unwrap().try_into().unwrap();
    assert!(view.lives && view.tokens.len() == 1 && view.robot.created_by.name == "root");
    let [entry] = world.audited("robot.create").await.try_into().unwrap();
    assert_eq!((&*entry.actor.name, &*entry.name, &*entry.reason), ("root", "nightly", REASON));
}

#[tokio::test]
async fn a_robot_stays_in_its_scope() {
    let world = World::new().await;
    let token = made(&world).await;
    let robot = calls(&world, &token).await.unwrap();
    let elsewhere = ResourceId::imported("lab").unwrap();
    for (what, asked) in [
        ("another cluster", rp_access::IssueRequest { target: Some(elsewhere), ..ask(Rights::Read) }),
        ("no cluster", rp_access::IssueRequest { target: None, ..ask(Rights::Read) }),
        ("another kind", rp_access::IssueRequest { kind: GrantKind::Terminal, ..ask(Rights::Write) }),
        ("a command line", rp_access::IssueRequest { kind: GrantKind::Cli, ..ask(Rights::Read) }),
        ("more rights", ask(Rights::Admin)),
    ] {
        let refused = world.access.issue(&robot, asked).await;
        assert!(matches!(refused, Err(IssueError::OutOfScope { .. })), "{what}: {refused:?}");
    }
    let issued = world.access.issue(&robot, ask(Rights::Write)).await.unwrap();
    assert_eq!(issued.grant.parent, Some(token.grant.id.clone()));
    assert_eq!((&*issued.grant.owner.sub, &*issued.grant.owner.name), ("robot:nightly", "robot nightly"));
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    assert_eq!(live.rights, Rights::Write, "its scope stands for an elevation");
    world.access.issue(&robot, ask(Rights::Read)).await.unwrap();
    let refused = world.access.issue(&robot, ask(Rights::Read)).await;
    assert!(matches!(refused, Err(IssueError::TooMany { most: 2 })));
    // A person whom the provider names like a robot is none.
    let mut liar = caller("liar", &["power"]);
    liar.person.sub = "robot:nightly".to_owned();
    for via in [Via::Session, Via::Client, Via::Token(issued.grant.id.clone())] {
        let refused = world.access.issue(&Caller { via, ..liar.clone() }, ask(Rights::Read)).await;
        assert!(matches!(refused, Err(IssueError::OutOfScope { .. })));
    }
    // Nor does it own what is the robot's.
    assert!(world.access.get(&liar, &issued.grant.id).await.is_err());
    assert!(world.access.renew(&issued.grant.id, &liar, HOUR).await.is_err());
    assert!(world.access.revoke(&liar, &issued.grant.id, None).await.is_err());
    let scope = rp_access::RevokeScope::Person(liar.person.sub.clone());
    assert!(world.access.revoke_all(&liar, scope, None).await.is_err());
    let asked = crate::world::elevation(Rights::Write);
    assert!(world.access.request_elevation(&robot, asked).await.is_err());
    assert!(world.access.create_robot(&robot, nightly()).await.is_err());
}

#[tokio::test]
async fn tokens_overlap_while_they_rotate() {
    let world = World::new().await;
    let old = made(&world).await;
    let with_old = world.access.issue(&calls(&world, &old).await.unwrap(), ask(Rights::Read)).await.unwrap();
    world.clock.advance(Duration::from_secs(1));
    let new = world.access.rotate_robot(&root(), "nightly", HOUR).await.unwrap();
    world.clock.advance(HOUR - Duration::from_millis(1));
    calls(&world, &old).await.unwrap();
    let with_new = world.access.issue(&calls(&world, &new).await.unwrap(), ask(Rights::Read)).await.unwrap();
    let live = world.access.authenticate(with_old.token.expose(), HERE).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(calls(&world, &old).await.unwrap_err(), Refusal::Ended(EndReason::Expired));
    calls(&world, &new).await.unwrap();
    soon("the end of what was made with the old token", live.wait_ended()).await;
    world.access.authenticate(with_new.token.expose(), HERE).await.unwrap();
    let [view] = world.access.robots().await.unwrap().try_into().unwrap();
    assert_eq!(view.tokens.iter().map(|token| &token.id).collect::<Vec<_>>(), [&new.grant.id, &old.grant.id]);
    assert!(matches!(world.access.rotate_robot(&root(), "weekly", HOUR).await, Err(RobotError::Unknown)));
    assert!(world.access.rotate_robot(&caller("ada", &["power"]), "nightly", HOUR).await.is_err());
}

#[tokio::test]
async fn a_revoked_robot_is_gone_everywhere() {
    let world = World::new().await;
    let token = made(&world).await;
    let robot = calls(&world, &token).await.unwrap();
    let issued = world.access.issue(&robot, ask(Rights::Write)).await.unwrap();
    let replica = world.replica().await;
    let live = replica.authenticate(issued.token.expose(), HERE).await.unwrap();
    let why = Some("leaked".to_owned());
    assert_eq!(world.access.revoke_robot(&root(), "nightly", why).await.unwrap(), 2);
    soon("the stream's end", live.wait_ended()).await;
    assert_eq!(live.ended(issued.grant.created), Some(EndReason::Revoked));
    for access in [&world.access, &replica] {
        for each in [&token, &issued] {
            let refused = access.authenticate(each.token.expose(), HERE).await;
            assert_eq!(refused.unwrap_err(), Refusal::Ended(EndReason::Revoked));
        }
    }
    let refused = world.access.issue(&robot, ask(Rights::Read)).await;
    assert!(matches!(refused, Err(IssueError::OutOfScope { .. })));
    assert!(matches!(world.access.revoke_robot(&root(), "nightly", None).await, Err(RobotError::Ended)));
    assert!(matches!(world.access.rotate_robot(&root(), "nightly", HOUR).await, Err(RobotError::Ended)));
}

#[tokio::test]
async fn the_end_of_one_token_ends_what_was_made_with_it() {
    let world = World::new().await;
    let old = made(&world).await;
    let new = world.access.rotate_robot(&root(), "nightly", 24 * HOUR).await.unwrap();
    let with_old = world.access.issue(&calls(&world, &old).await.unwrap(), ask(Rights::Read)).await.unwrap();
    let with_new = world.access.issue(&calls(&world, &new).await.unwrap(), ask(Rights::Read)).await.unwrap();
    let renewed =
        world.access.renew(&with_old.grant.id, &calls(&world, &old).await.unwrap(), HOUR).await.unwrap();
    let live = world.replica().await.authenticate(renewed.token.expose(), HERE).await.unwrap();
    assert_eq!(live.grant.primary_id(), &with_old.grant.id);
    let here = world.access.authenticate(renewed.token.expose(), HERE).await.unwrap();
    world.access.revoke(&root(), &old.grant.id, None).await.unwrap();
    soon("the end down the line", here.wait_ended()).await;
    let view = world.access.get(&root(), &with_old.grant.id).await.unwrap();
    assert_eq!(view.state, GrantState::Revoked);
    world.access.authenticate(with_new.token.expose(), HERE).await.unwrap();
}

#[tokio::test]
async fn a_robot_ends_by_itself_with_all_it_has() {
    let world = World::new().await;
    let token = made(&world).await;
    world.clock.advance(47 * HOUR);
    let issued = world.access.issue(&calls(&world, &token).await.unwrap(), ask(Rights::Write)).await.unwrap();
    assert_eq!(issued.grant.not_after, token.grant.not_after);
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    world.clock.advance(HOUR);
    soon("the end", live.wait_ended()).await;
    assert_eq!(calls(&world, &token).await.unwrap_err(), Refusal::Ended(EndReason::Expired));
}

#[tokio::test]
async fn the_providers_clients_are_robots() {
    let clients = [("client-7".to_owned(), "nightly".to_owned())];
    let policy = policy_with(|policy| policy.robots.clients = clients.into());
    let world = World::with(policy, Keyring::generate(&SystemRandom)).await;
    assert!(world.access.robot_by_client("client-7").await.unwrap().is_none(), "not made yet");
    made(&world).await;
    assert!(world.access.robot_by_client("client-8").await.unwrap().is_none());
    let robot = world.access.robot_by_client("client-7").await.unwrap().unwrap();
    let caller = Caller::robot(&robot, "192.0.2.8".to_owned(), Id::random(&SystemRandom), Via::Client);
    let issued = world.access.issue(&caller, ask(Rights::Write)).await.unwrap();
    assert_eq!(issued.grant.parent, None);
    world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    world.access.revoke_robot(&root(), "nightly", None).await.unwrap();
    assert!(world.access.robot_by_client("client-7").await.unwrap().is_none());
    assert!(world.access.authenticate(issued.token.expose(), HERE).await.is_err());
}
