use std::sync::Arc;

use rp_base::{ManualClock, Timestamp};
use rp_database::{Expect, SharedStore, in_memory};
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{Manifest, ManifestState};

use super::*;

const LEASE: Duration = Duration::from_secs(60);

struct World {
    clock: ManualClock,
    manifests: Typed<ManifestDocument>,
}

impl World {
    async fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_seconds(1_800_000_000));
        let store: SharedStore = in_memory(Arc::new(clock.clone()));
        let manifests = Typed::new(store);
        manifests.create(ManifestDocument::new("m", "/c", Manifest::default())).await.unwrap();
        Self { clock, manifests }
    }

    async fn found(&self) -> Versioned<ManifestDocument> {
        self.manifests.get("m").await.unwrap().unwrap()
    }

    async fn claim(&self, owner: &str) -> Option<LeasedDocument<ManifestDocument>> {
        let holder = Holder { owner: owner.into(), lease: LEASE };
        LeasedDocument::claim(&self.manifests, self.found().await, &holder, |document| {
            document.maintenance_manifest.state = ManifestState::InProgress;
        })
        .await
        .unwrap()
    }
}

#[tokio::test]
async fn of_two_takers_one_wins() {
    let world = World::new().await;
    let found = world.found().await;
    let holder = |owner: &str| Holder { owner: owner.into(), lease: LEASE };
    let first = LeasedDocument::claim(&world.manifests, found.clone(), &holder("a"), |_| {}).await.unwrap();
    let second = LeasedDocument::claim(&world.manifests, found, &holder("b"), |_| {}).await.unwrap();
    assert!(first.is_some() && second.is_none());
    assert_eq!(world.found().await.value.lease_owner, "a");
}

#[tokio::test]
async fn the_token_grows_and_fences_the_former_holder() {
    let world = World::new().await;
    let first = world.claim("a").await.unwrap();
    world.clock.advance(LEASE * 2);
    let second = world.claim("a").await.unwrap();
    assert_eq!(world.found().await.value.lease_token, 2);
    let refused = first.patch(|document| document.maintenance_manifest.priority = 7).await;
    assert_eq!(refused.unwrap_err(), LeaseError::Lost);
    assert!(first.lost().is_cancelled());
    assert_eq!(world.found().await.value.maintenance_manifest.priority, 0);
    second.patch(|document| document.maintenance_manifest.priority = 8).await.unwrap();
    assert_eq!(world.found().await.value.maintenance_manifest.priority, 8);
}

#[tokio::test]
async fn what_others_write_meanwhile_stays() {
    let world = World::new().await;
    let held = world.claim("a").await.unwrap();
    let mut other = world.found().await;
    other.value.maintenance_manifest.run_before = 5;
    world.manifests.replace(other).await.unwrap();
    held.patch(|document| document.maintenance_manifest.position = "step".into()).await.unwrap();
    let stored = world.found().await.value.maintenance_manifest;
    assert_eq!((stored.run_before, stored.position.as_str()), (5, "step"));
}

#[tokio::test]
async fn a_renewal_moves_the_end_by_the_stores_clock() {
    let world = World::new().await;
    let held = world.claim("a").await.unwrap();
    let before = world.found().await.value.lease_expires;
    world.clock.advance(Duration::from_secs(20));
    held.renew().await;
    assert_eq!(world.found().await.value.lease_expires, before + 20);
}

#[tokio::test]
async fn the_end_gives_the_lease_back_and_keeps_the_token() {
    let world = World::new().await;
    let held = world.claim("a").await.unwrap();
    let now = Timestamp::from_seconds(1_800_000_001);
    let done = held.end(|found| found.try_map(|one| one.with_state(ManifestState::Completed, "done", now)));
    done.await.unwrap();
    let stored = world.found().await;
    assert_eq!(stored.value.maintenance_manifest.state, ManifestState::Completed);
    assert_eq!((stored.value.lease_owner.as_str(), stored.value.lease_token), ("", 1));
    assert!(stored.expires_at.is_some());
    assert_eq!(held.patch(|_| {}).await.unwrap_err(), LeaseError::Lost);
}

#[tokio::test]
async fn a_document_that_is_deleted_is_lost() {
    let world = World::new().await;
    let held = world.claim("a").await.unwrap();
    world.manifests.delete("m", Expect::Any).await.unwrap();
    held.renew().await;
    assert!(held.lost().is_cancelled());
    assert_eq!(held.read().await.unwrap_err(), LeaseError::Lost);
}
