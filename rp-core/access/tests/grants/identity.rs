//! Whose an access is: the subject decides, which a provider gives to nobody else, and not the name that people read.

use std::time::Duration;

use rp_access::{AccessError, Caller, ExtendError, GrantFilter, IssueError};
use rp_documents::Rights;

use crate::world::{World, ask, caller};

fn named(caller: &Caller, name: &str) -> Caller {
    let mut named = caller.clone();
    name.clone_into(&mut named.person.name);
    named
}

#[tokio::test]
async fn accesses_elevations_and_entries_belong_to_the_subject_whatever_the_name() {
    let world = World::new().await;
    let issued = world.issue(&["power"], Rights::Write).await;
    let (id, ada) = (&issued.grant.id, caller("ada", &["power"]));

    // Somebody who was given ada's name.
    let other = named(&caller("mallory", &["power"]), &ada.person.name);
    assert!(matches!(world.access.get(&other, id).await, Err(AccessError::NotYours)));
    let extended = world.access.extend(&other, id, Duration::from_secs(8 * 3600)).await;
    assert!(matches!(extended, Err(ExtendError::NotYours)));
    let refused = world.access.issue(&other, ask(Rights::Write)).await;
    assert!(matches!(refused, Err(IssueError::ElevationNeeded { .. })), "the elevation is ada's");
    world.access.issue(&other, ask(Rights::Read)).await.unwrap();

    // Ada, whose name has changed.
    let ada = named(&ada, "ada.king");
    world.access.get(&ada, id).await.unwrap();
    world.access.issue(&ada, ask(Rights::Write)).await.unwrap();

    for (sub, names) in [("sub-ada", vec!["ada.king", "ada"]), ("sub-mallory", vec!["ada"])] {
        let theirs =
            world.all(GrantFilter { owner_sub: Some(sub.to_owned()), ..GrantFilter::default() }).await;
        assert_eq!(theirs.len(), names.len(), "{sub}");
        let entries = world.audited("grant.issue").await;
        let mut audited: Vec<&str> = entries
            .iter()
            .filter(|entry| entry.actor.sub == sub)
            .map(|entry| entry.actor.name.as_str())
            .collect();
        audited.sort_unstable();
        let mut expected = names;
        expected.sort_unstable();
        assert_eq!(audited, expected, "{sub}");
    }
}
