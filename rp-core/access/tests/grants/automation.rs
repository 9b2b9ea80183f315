//! Accesses that automation gives out: approved there, seen and ended here (`contract/portal.md` §20).

use rp_access::{AccessError, Caller, IssueError, IssueRequest, Via};
use rp_base::{Id, SystemRandom};
use rp_documents::{GrantKind, Person, Rights};

use crate::world::{HERE, World, ask, caller, root};

fn automation(name: &str) -> Caller {
    Caller::automated(name, "192.0.2.9".to_owned(), Id::random(&SystemRandom))
}

#[tokio::test]
async fn automation_decides_itself_and_its_accesses_are_ended_like_others() {
    let world = World::new().await;
    let issued = world.access.issue(&automation("sre@example.org"), ask(Rights::Admin)).await.unwrap();
    assert_eq!(issued.grant.owner.name, "sre@example.org");
    assert!(issued.grant.elevation_id.is_none());
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    assert_eq!(live.rights, Rights::Admin);
    world.access.revoke(&root(), &issued.grant.id, Some("over".to_owned())).await.unwrap();
    assert!(world.access.authenticate(issued.token.expose(), HERE).await.is_err());
}

#[tokio::test]
async fn a_shell_names_its_machine_and_nothing_else_is_given() {
    let world = World::new().await;
    let of = |kind| IssueRequest { kind, ..ask(*rp_access::rights_of(kind).start()) };
    let bob = automation("bob");
    let issued = world
        .access
        .issue(&bob, IssueRequest { machine: Some("master-1".to_owned()), ..of(GrantKind::Ssh) })
        .await
        .unwrap();
    assert_eq!(issued.grant.machine.as_deref(), Some("master-1"));
    for kind in [GrantKind::Cli, GrantKind::Robot, GrantKind::Tunnel, GrantKind::Page, GrantKind::Metrics] {
        let refused = world.access.issue(&bob, of(kind)).await;
        assert!(matches!(refused, Err(IssueError::NotAllowed { .. })), "{kind:?}");
    }
    let refused = world.access.issue(&bob, IssueRequest { target: None, ..ask(Rights::Read) }).await;
    assert!(matches!(refused, Err(IssueError::NotAllowed { .. })));
}

#[tokio::test]
async fn nobody_else_passes_for_automation() {
    let world = World::new().await;
    let theirs = world.access.issue(&automation("x"), ask(Rights::Admin)).await.unwrap();
    // The provider names somebody like that.
    let mut named = caller("x", &["power"]);
    named.person = Person { groups: named.person.groups.clone(), ..Person::automated("x") };
    let refused = world.access.issue(&named, ask(Rights::Read)).await;
    assert!(matches!(refused, Err(IssueError::NotAllowed { .. })));
    let refused = world.access.revoke(&named, &theirs.grant.id, None).await;
    assert!(matches!(refused, Err(AccessError::NotYours)));
    // Automation that forgot to name whom it asks for as such.
    let forgot = Caller { via: Via::Automation, ..caller("ada", &["power"]) };
    assert!(matches!(
        world.access.issue(&forgot, ask(Rights::Read)).await,
        Err(IssueError::NotAllowed { .. })
    ));
}
