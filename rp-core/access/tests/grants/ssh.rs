//! One-time passwords, and grants that a certificate names.

use std::sync::Arc;
use std::time::Duration;

use rp_access::{EndReason, IssueRequest, IssuedGrant, Refusal, RenewError, ssh_machine, ssh_user};
use rp_base::Id;
use rp_documents::{Collection, GrantKind, Rights};
use rp_seal::Keyring;

use crate::world::{HERE, REASON, World, caller, policy, policy_with, target};

async fn issued(world: &World, machine: Option<&str>) -> IssuedGrant {
    world.elevate("ada@example.net", Rights::Write).await;
    let ask = IssueRequest {
        machine: machine.map(str::to_owned),
        ..IssueRequest::new(GrantKind::Ssh, Some(target()), Rights::Write, REASON.to_owned())
    };
    world.access.issue(&caller("ada@example.net", &["power"]), ask).await.unwrap()
}

#[tokio::test]
async fn a_password_opens_a_shell_once() {
    let world = World::new().await;
    let issued = issued(&world, Some("master-0")).await;
    let password = issued.token.expose();
    let live = world.access.redeem_ssh(password, "ada", HERE).await.unwrap();
    assert_eq!((live.grant.id.as_str(), live.last_use().1), (issued.grant.id.as_str(), Some(HERE)));
    let again = world.access.redeem_ssh(password, "ada", HERE).await;
    assert_eq!(again.unwrap_err(), Refusal::Spent);
    assert!(live.ended(world.clock_now()).is_none(), "the grant lives on for what was opened");
}

#[tokio::test]
async fn of_many_at_once_on_two_replicas_one_has_it() {
    let world = World::new().await;
    let replica = world.replica().await;
    let issued = issued(&world, None).await;
    let tries = (0..16).map(|n| {
        let access = Arc::clone(if n % 2 == 0 { &world.access } else { &replica });
        let password = issued.token.expose().clone();
        tokio::spawn(async move { access.redeem_ssh(&password, "ada", HERE).await })
    });
    let mut opened = 0;
    for tried in tries.collect::<Vec<_>>() {
        match tried.await.unwrap() {
            Ok(_) => opened += 1,
            Err(refusal) => assert_eq!(refusal, Refusal::Spent),
        }
    }
    assert_eq!(opened, 1);
}

#[tokio::test]
async fn a_wrong_user_leaves_it_and_an_old_one_opens_nothing() {
    let world = World::new().await;
    let one = issued(&world, Some("master-0")).await;
    let (password, long) = (one.token.expose(), "a".repeat(5000));
    for user in ["ADA", "root", "", "ada@example.net", "ada+master-0", "ada+", long.as_str()] {
        let refused = world.access.redeem_ssh(password, user, HERE).await;
        assert_eq!(refused.unwrap_err(), Refusal::Unknown, "{user}");
    }
    world.access.redeem_ssh(password, "ada", HERE).await.unwrap();

    let two = issued(&world, None).await;
    world.clock.advance(policy().access.password_life);
    let late = world.access.redeem_ssh(two.token.expose(), "ada", HERE).await;
    assert_eq!(late.unwrap_err(), Refusal::Spent);
    assert!(world.access.live_by_id(two.grant.id.as_str(), HERE).await.is_ok(), "the grant itself lives on");
}

#[tokio::test]
async fn passwords_of_other_kinds_and_ended_grants_open_nothing() {
    let world = World::new().await;
    let kubeconfig = world.issue(&["power"], Rights::Write).await;
    let refused = world.access.redeem_ssh(kubeconfig.token.expose(), "ada", HERE).await;
    assert_eq!(refused.unwrap_err(), Refusal::Unknown);
    let ssh = issued(&world, None).await;
    let owner = caller("ada@example.net", &["power"]);
    world.access.revoke(&owner, &ssh.grant.id, None).await.unwrap();
    let refused = world.access.redeem_ssh(ssh.token.expose(), "ada", HERE).await;
    assert_eq!(refused.unwrap_err(), Refusal::Ended(EndReason::Revoked));
    let refused = world.access.live_by_id(ssh.grant.id.as_str(), HERE).await;
    assert_eq!(refused.unwrap_err(), Refusal::Ended(EndReason::Revoked));
    assert_eq!(world.access.live_by_id("no id", HERE).await.unwrap_err(), Refusal::Malformed);
    let unknown = Id::random(&rp_base::SystemRandom);
    assert_eq!(world.access.live_by_id(unknown.as_str(), HERE).await.unwrap_err(), Refusal::Unknown);
}

#[tokio::test]
async fn many_wrong_passwords_are_slowed_down() {
    let few_misses = policy_with(|policy| policy.rates.misses = 5);
    let keyring = Keyring::generate(&rp_base::SystemRandom);
    let world = World::with(few_misses, keyring).await;
    let issued = issued(&world, None).await;
    let mut answers = Vec::new();
    for _ in 0..8 {
        answers.push(world.access.redeem_ssh(issued.token.expose(), "eve", HERE).await.unwrap_err());
    }
    assert_eq!(answers[..5], [Refusal::Unknown; 5]);
    assert!(answers[5..].iter().all(|refusal| matches!(refusal, Refusal::TooOften(_))), "{answers:?}");
}

#[tokio::test]
async fn no_password_stands_in_the_store() {
    let world = World::new().await;
    let issued = issued(&world, None).await;
    let secret = issued.token.expose().split('_').nth(3).unwrap().to_owned();
    assert!(world.bodies().await.iter().all(|body| !body.contains(&secret)));
    let store = &*world.store;
    let codes = rp_database::Store::list(store, Collection::LoginCodes, None, None, 10).await.unwrap();
    assert_eq!(codes.items.len(), 1);
}

#[tokio::test]
async fn a_certificate_is_for_ones_own_living_grant() {
    let world = World::new().await;
    let issued = issued(&world, None).await;
    let (id, owner) = (&issued.grant.id, caller("ada@example.net", &["power"]));
    let (live, until) = world.access.certify(id, &owner, "SHA256:abc").await.unwrap();
    assert_eq!(live.grant.id, *id);
    assert_eq!(until, world.clock_now() + Duration::from_secs(900));
    let entries = world.audited("grant.certificate").await;
    assert!(entries[0].query.starts_with("SHA256:abc until "), "{}", entries[0].query);
    let theirs = world.access.certify(id, &caller("eve", &["power"]), "SHA256:abc").await;
    assert!(matches!(theirs, Err(RenewError::NotYours)));
    let kubeconfig = world.issue(&["power"], Rights::Write).await;
    let kind = world.access.certify(&kubeconfig.grant.id, &caller("ada", &["power"]), "x").await;
    assert!(matches!(kind, Err(RenewError::Kind)));
    world.access.revoke(&owner, id, None).await.unwrap();
    let ended = world.access.certify(id, &owner, "SHA256:abc").await;
    assert!(matches!(ended, Err(RenewError::Ended)));
}

#[tokio::test]
async fn the_user_names_the_machine_where_the_grant_names_none() {
    let world = World::new().await;
    let mut grant = issued(&world, None).await.grant;
    assert_eq!(ssh_user("ada@example.net@x"), "ada");
    let cases = [
        ("ada", None),
        ("ada+master-1", Some("master-1")),
        ("master-1", Some("master-1")),
        ("master-1+ada", Some("master-1")),
        ("+", None),
        ("", None),
    ];
    for (user, machine) in cases {
        assert_eq!(ssh_machine(&grant, user), machine, "{user}");
    }
    grant.machine = Some("master-2".to_owned());
    assert_eq!(ssh_machine(&grant, "ada+master-1"), Some("master-2"));
}
