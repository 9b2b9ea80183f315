//! Who is given what, for how long, and what stays behind of it.

use std::time::Duration;

use rp_access::{BadReason, IssueError, ReasonLimits};
use rp_audit::Query;
use rp_base::SystemRandom;
use rp_documents::{GrantKind, Rights};
use rp_seal::Keyring;

use crate::faults::Mode;
use crate::world::{REASON, World, ask, caller, policy, policy_with, target};

#[tokio::test]
async fn groups_decide_the_rights() {
    let world = World::new().await;
    for (groups, most) in [
        (&["viewers"][..], None),
        (&[], None),
        (&["admins"], None),
        (&["SRES"], None),
        (&["sres"], Some(Rights::Read)),
        (&["sres", "admins"], Some(Rights::Read)),
        (&["power"], Some(Rights::Admin)),
    ] {
        for rights in [Rights::Read, Rights::Write, Rights::Admin] {
            let issued = world.access.issue(&caller("ada", groups), ask(rights)).await;
            match issued {
                Ok(issued) => {
                    assert!(most.is_some() && rights == Rights::Read, "{groups:?} {rights:?}");
                    assert_eq!(issued.grant.rights, rights);
                }
                Err(IssueError::ElevationNeeded { rights: needed }) => {
                    assert!(most >= Some(rights) && rights > Rights::Read, "{groups:?} {rights:?}");
                    assert_eq!(needed, rights);
                }
                Err(IssueError::NotAllowed { needed }) => {
                    assert!(most < Some(rights), "{groups:?} {rights:?}");
                    assert_eq!(needed, rights);
                }
                Err(error) => panic!("{groups:?} {rights:?}: {error}"),
            }
        }
    }
}

#[tokio::test]
async fn shells_are_for_elevated_people() {
    let world = World::new().await;
    for kind in [GrantKind::Ssh, GrantKind::Terminal, GrantKind::Tunnel] {
        let asked = || rp_access::IssueRequest { kind, ..ask(Rights::Write) };
        let refused = world.access.issue(&caller("ada", &["sres"]), asked()).await;
        assert!(matches!(refused, Err(IssueError::NotAllowed { needed: Rights::Write })), "{kind:?}");
        let refused = world.access.issue(&caller("bob", &["power"]), asked()).await;
        assert!(matches!(refused, Err(IssueError::ElevationNeeded { rights: Rights::Write })), "{kind:?}");
    }
    let elevation = world.elevate("bob", Rights::Write).await;
    for kind in [GrantKind::Ssh, GrantKind::Terminal, GrantKind::Tunnel] {
        let asked = rp_access::IssueRequest { kind, ..ask(Rights::Write) };
        let shell = world.access.issue(&caller("bob", &["power"]), asked).await.unwrap().grant;
        assert_eq!(Some(shell.not_after), elevation.not_after, "no longer than the elevation");
        assert_eq!(shell.elevation_id, Some(elevation.id.clone()));
    }
}

#[tokio::test]
async fn no_kind_is_given_with_rights_that_it_does_not_have() {
    let world = World::new().await;
    world.elevate("bob", Rights::Admin).await;
    for (kind, wrong) in [
        (GrantKind::Metrics, &[Rights::Write, Rights::Admin][..]),
        (GrantKind::Page, &[Rights::Write, Rights::Admin]),
        (GrantKind::Cli, &[Rights::Write, Rights::Admin]),
        (GrantKind::Ssh, &[Rights::Read, Rights::Admin]),
        (GrantKind::Terminal, &[Rights::Read, Rights::Admin]),
        (GrantKind::Tunnel, &[Rights::Read, Rights::Admin]),
    ] {
        for rights in wrong {
            let asked = rp_access::IssueRequest { kind, ..ask(*rights) };
            let refused = world.access.issue(&caller("bob", &["power"]), asked).await;
            assert!(matches!(refused, Err(IssueError::Rights { .. })), "{kind:?} {rights:?}: {refused:?}");
        }
    }
    assert!(world.audited("grant.issue").await.is_empty(), "nothing was given");
}

#[tokio::test]
async fn command_lines_are_for_everybody_with_a_role() {
    let world = World::new().await;
    let asked = || rp_access::IssueRequest {
        kind: GrantKind::Cli,
        target: None,
        auth_time: Some(rp_base::Timestamp::from_seconds(7)),
        ..ask(Rights::Read)
    };
    for group in ["viewers", "auditors", "admins", "sres"] {
        let issued = world.access.issue(&caller("ada", &[group]), asked()).await.unwrap();
        assert_eq!(issued.grant.auth_time.map(rp_base::Timestamp::seconds), Some(7));
        let live = world.access.authenticate(issued.token.expose(), crate::world::HERE).await.unwrap();
        let caller = world.access.caller(&live, "192.0.2.9".to_owned(), issued.grant.id.clone());
        assert_eq!(caller.roles, policy().roles_of(&[group.to_owned()]));
        assert_eq!(caller.via, rp_access::Via::Token(issued.grant.id));
    }
    assert!(world.access.issue(&caller("ada", &["strangers"]), asked()).await.is_err());
}

#[tokio::test]
async fn reasons_are_sentences() {
    let world = World::new().await;
    for (reason, good) in [
        (String::new(), false),
        ("short one".to_owned(), false),
        ("   padded     ".to_owned(), false),
        ("ten chars!".to_owned(), true),
        ("übergröße!".to_owned(), true),
        ("x".repeat(1000), true),
        ("x".repeat(1001), false),
    ] {
        let asked = rp_access::IssueRequest { reason: reason.clone(), ..ask(Rights::Read) };
        let issued = world.access.issue(&caller("ada", &["sres"]), asked).await;
        match issued {
            Ok(issued) => assert!(good && issued.grant.reason == reason.trim(), "{reason}"),
            Err(IssueError::Reason(BadReason(ReasonLimits { least: 10, most: 1000 }))) => {
                assert!(!good, "{reason}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn lives_are_bounded_and_shorter_for_more_power() {
    let policy = policy_with(|policy| {
        policy.access.default_life = Duration::from_secs(7200);
        policy.access.max_life = Duration::from_secs(10_000);
        policy.access.max_power_life = Duration::from_secs(3600);
    });
    let world = World::with(policy, Keyring::generate(&SystemRandom)).await;
    world.elevate("ada", Rights::Admin).await;
    for (rights, life, given) in [
        (Rights::Read, None, Some(7200)),
        (Rights::Read, Some(59), None),
        (Rights::Read, Some(60), Some(60)),
        (Rights::Read, Some(10_000), Some(10_000)),
        (Rights::Read, Some(10_001), None),
        (Rights::Write, None, Some(3600)),
        (Rights::Admin, Some(3600), Some(3600)),
        (Rights::Admin, Some(3601), None),
        (Rights::Read, Some(u64::MAX), None),
    ] {
        let asked = rp_access::IssueRequest { life: life.map(Duration::from_secs), ..ask(rights) };
        let issued = world.access.issue(&caller("ada", &["power"]), asked).await;
        match (issued, given) {
            (Ok(issued), Some(given)) => {
                assert_eq!(issued.grant.not_after.since(issued.grant.created), Duration::from_secs(given));
            }
            (Err(IssueError::Life { shortest, longest }), None) => {
                assert!(shortest.as_secs() == 60 && longest.as_secs() >= 3600);
            }
            (other, _) => panic!("{rights:?} {life:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn living_grants_are_counted_for_each_person() {
    let three = policy_with(|policy| policy.access.max_grants = 3);
    let world = World::with(three, Keyring::generate(&SystemRandom)).await;
    let (ada, bob) = (caller("ada", &["sres"]), caller("bob", &["sres"]));
    let first = world.access.issue(&ada, ask(Rights::Read)).await.unwrap();
    for _ in 0..2 {
        world.access.issue(&ada, ask(Rights::Read)).await.unwrap();
    }
    let refused = world.access.issue(&ada, ask(Rights::Read)).await;
    assert!(matches!(refused, Err(IssueError::TooMany { most: 3 })));
    world.access.issue(&bob, ask(Rights::Read)).await.unwrap();
    world.access.revoke(&ada, &first.grant.id, None).await.unwrap();
    world.access.issue(&ada, ask(Rights::Read)).await.unwrap();
    assert!(world.access.issue(&ada, ask(Rights::Read)).await.is_err());
    world.clock.advance(Duration::from_secs(24 * 3600));
    world.access.issue(&ada, ask(Rights::Read)).await.unwrap();
}

#[tokio::test]
async fn the_audit_entry_is_there_before_the_token_is() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    // The store itself is asked: what stands there is durable.
    let bodies = world.bodies().await;
    assert!(
        bodies.iter().any(|body| body.contains("grant.issue") && body.contains(issued.grant.id.as_str()))
    );
    let query = Query { verb: Some("grant.issue".to_owned()), ..Query::default() };
    let found = world.audit.search(&query).await.unwrap();
    let [entry] = found.entries.as_slice() else { panic!("one entry: {:?}", found.entries) };
    assert_eq!(entry.grant.as_ref(), Some(&issued.grant.id));
    assert_eq!(entry.target.as_ref(), Some(&target()));
    assert_eq!((entry.actor.name.as_str(), entry.actor.from.as_str()), ("ada", "192.0.2.7"));
    assert_eq!((entry.reason.as_str(), entry.resource.as_str()), (REASON, "kubeconfig"));
}

#[tokio::test]
async fn without_an_audit_entry_nothing_is_given() {
    let world = World::new().await;
    world.audit_store.creates.send_replace(Mode::Fail);
    let refused = world.access.issue(&caller("ada", &["sres"]), ask(Rights::Read)).await;
    assert!(matches!(refused, Err(IssueError::Audit(_))));
    assert_eq!(world.grants().count().await.unwrap(), 0);
}

#[tokio::test]
async fn the_secret_is_stored_nowhere_and_never_printed() {
    let world = World::new().await;
    let issued = world.issue(&["power"], Rights::Admin).await;
    let token = issued.token.expose().clone();
    let parts: Vec<&str> = token.split('_').collect();
    let [prefix, kind, id, secret, _mac] = parts.as_slice() else { panic!("five parts") };
    assert_eq!((*prefix, *kind, *id), ("aro1", "kubeconfig", issued.grant.id.as_str()));
    assert_eq!(secret.len(), 32);
    world.access.revoke(&caller("ada", &["power"]), &issued.grant.id, Some("done".to_owned())).await.unwrap();
    let bodies = world.bodies().await;
    assert!(bodies.len() >= 3, "grant, issue and revocation are stored");
    for body in bodies {
        assert!(!body.contains(secret), "{body}");
    }
    assert!(!format!("{issued:?}").contains(secret));
}
