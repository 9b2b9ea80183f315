//! What a token opens, and what it does not.

use std::sync::Arc;
use std::time::Duration;

use rp_access::{EndReason, Refusal, TokenCodec};
use rp_base::{Id, SystemRandom};
use rp_documents::{GrantKind, Rights};
use rp_seal::Keyring;

use crate::world::{HERE, World, ask, caller, policy};

#[tokio::test]
async fn a_token_opens_its_grant() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    assert_eq!(live.grant, issued.grant);
    assert_eq!(live.rights, Rights::Read);
    assert_eq!(live.last_use(), (issued.grant.created, Some(HERE)));
}

#[tokio::test]
async fn forgeries_open_nothing() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let token = issued.token.expose();
    let forge = TokenCodec::new(&world.keyring);
    let make = |kind, id: &Id| forge.make(kind, id, &SystemRandom).unwrap().0;
    let right_mac = [
        make(GrantKind::Kubeconfig, &issued.grant.id),
        make(GrantKind::Cli, &issued.grant.id),
        make(GrantKind::Kubeconfig, &Id::random(&SystemRandom)),
    ];
    // Before and after the grant is in use: with and without the cache.
    for _ in 0..2 {
        for forged in &right_mac {
            let refused = world.access.authenticate(forged.expose(), HERE).await;
            assert_eq!(refused.unwrap_err(), Refusal::Unknown);
        }
        for forged in
            ["", "aro1", &token[..token.len() - 1], &format!("{token}x"), &token.replace("kubeconfig", "cli")]
        {
            let refused = world.access.authenticate(forged, HERE).await;
            assert_eq!(refused.unwrap_err(), Refusal::Malformed, "{forged}");
        }
        world.access.authenticate(token, HERE).await.unwrap();
    }
    assert!(world.replica().await.authenticate(token, HERE).await.is_ok());
}

#[tokio::test]
async fn the_stored_kind_counts_too() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    world.change(&issued.grant.id, |grant| grant.kind = GrantKind::Cli).await;
    let refused = world.access.authenticate(issued.token.expose(), HERE).await;
    assert_eq!(refused.unwrap_err(), Refusal::Unknown);
}

#[tokio::test]
async fn what_has_ended_says_why() {
    let world = World::new().await;
    let expiring = world.issue(&["sres"], Rights::Read).await;
    let revoked = world.issue(&["sres"], Rights::Read).await;
    for fresh in [true, false] {
        if fresh {
            world.access.authenticate(revoked.token.expose(), HERE).await.unwrap();
            world.access.authenticate(expiring.token.expose(), HERE).await.unwrap();
            world.access.revoke(&caller("ada", &["sres"]), &revoked.grant.id, None).await.unwrap();
        }
        let refused = world.access.authenticate(revoked.token.expose(), HERE).await;
        assert_eq!(refused.unwrap_err(), Refusal::Ended(EndReason::Revoked));
    }
    world.clock.advance(expiring.grant.not_after.since(expiring.grant.created) - Duration::from_millis(1));
    world.access.authenticate(expiring.token.expose(), HERE).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    for access in [&world.access, &world.replica().await] {
        let refused = access.authenticate(expiring.token.expose(), HERE).await;
        assert_eq!(refused.unwrap_err(), Refusal::Ended(EndReason::Expired));
    }
}

#[tokio::test]
async fn rights_are_cut_to_what_the_owner_holds() {
    let world = World::new().await;
    let issued = world.issue(&["power"], Rights::Admin).await;
    world.change(&issued.grant.id, |grant| grant.owner.groups = vec!["sres".to_owned()]).await;
    let live = world.access.authenticate(issued.token.expose(), HERE).await.unwrap();
    assert_eq!((live.rights, live.reduction_reason()), (Rights::Read, Some(EndReason::RightsLost)));
    let other = world.access.issue(&caller("bob", &["power"]), ask(Rights::Read)).await.unwrap();
    world.change(&other.grant.id, |grant| grant.owner.groups = vec!["viewers".to_owned()]).await;
    let refused = world.access.authenticate(other.token.expose(), HERE).await;
    assert_eq!(refused.unwrap_err(), Refusal::Ended(EndReason::RightsLost));
}

#[tokio::test]
async fn first_requests_at_once_share_one_life() {
    let world = World::new().await;
    let issued = world.issue(&["sres"], Rights::Read).await;
    let replica = world.replica().await;
    let tasks: Vec<_> = (0..32)
        .map(|_| {
            let (access, token) = (Arc::clone(&replica), issued.token.expose().clone());
            tokio::spawn(async move { access.authenticate(&token, HERE).await.unwrap() })
        })
        .collect();
    let mut lives = Vec::new();
    for task in tasks {
        lives.push(task.await.unwrap());
    }
    assert!(lives.iter().all(|live| Arc::ptr_eq(live, &lives[0])));
    let _stream = replica.stream(&lives[0], || "watch pods".to_owned()).unwrap();
    assert_eq!(lives[31].streams(), 1);
}

#[tokio::test]
async fn keys_rotate_under_living_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let write = |current: &str, ids: &[&str]| {
        use std::os::unix::fs::PermissionsExt as _;
        let key = |id: &str| {
            base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [id.as_bytes()[1]; 32])
        };
        let keys: serde_json::Map<String, serde_json::Value> =
            ids.iter().map(|&id| (id.to_owned(), key(id).into())).collect();
        std::fs::write(&path, serde_json::json!({ "current": current, "keys": keys }).to_string()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("k1", &["k1"]);
    let keyring = Keyring::open_file(&path).unwrap();
    let world = World::with(policy(), keyring.clone()).await;
    let old = world.issue(&["sres"], Rights::Read).await;
    write("k2", &["k1", "k2"]);
    assert!(keyring.reload().unwrap());
    world.access.reload_keys();
    world.access.authenticate(old.token.expose(), HERE).await.unwrap();
    let new = world.issue(&["sres"], Rights::Read).await;
    world.access.authenticate(new.token.expose(), HERE).await.unwrap();
    write("k2", &["k2"]);
    assert!(keyring.reload().unwrap());
    world.access.reload_keys();
    world.access.authenticate(new.token.expose(), HERE).await.unwrap();
    let refused = world.access.authenticate(old.token.expose(), HERE).await;
    assert_eq!(refused.unwrap_err(), Refusal::Malformed, "its key is gone");
}
