//! How sessions end that nobody ended.

use std::time::Duration;

use rp_documents::{Phase, Side};
use russh::keys::{Algorithm, PrivateKey};
use tokio::io::AsyncReadExt as _;
use tokio::process::Child;

use crate::world::{Client, Done, World, soon, until};

/// A session that runs until it is cut; its first output has arrived.
async fn running(client: &Client, command: &str) -> Child {
    let mut child = client.ssh(&[], &[command]).spawn().unwrap();
    let mut first = [0; 3];
    soon("its first output", child.stdout.as_mut().unwrap().read_exact(&mut first)).await.unwrap();
    child
}

async fn ended(child: Child) -> Done {
    soon("the client's end", child.wait_with_output()).await.unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_cuts_a_shell_and_says_why() {
    let world = World::new().await;
    let issued = world.issue().await;
    let child = running(&world.client(&issued).await, "echo in; sleep 1000").await;
    world.revoke(&issued).await;
    let ran = ended(child).await;
    assert_eq!(ran.code, Some(255));
    assert!(ran.err.contains("this access was revoked"), "{}", ran.err);
    let end = world.audited("its end", |e| e.verb == "ssh.exec" && e.phase == Phase::End).await;
    assert_eq!((end.result.word.as_str(), end.result.side), ("cut", Some(Side::You)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_is_cut_too() {
    let world = World::new().await;
    let issued = world.issue().await;
    let mut child = running(&world.client(&issued).await, "echo in; yes").await;
    // Its output fills every buffer on the way, for nobody reads it.
    world.revoke(&issued).await;
    let end = world.audited("its end", |e| e.verb == "ssh.exec" && e.phase == Phase::End).await;
    assert_eq!(end.result.word, "cut");
    let _ = child.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_dies_is_told_in_words() {
    let world = World::new().await;
    let child = running(&world.granted().await, "echo in; sleep 1000").await;
    world.machine.kill();
    let ran = ended(child).await;
    assert!(ran.err.contains("aro: the connection to the machine broke off"), "{}", ran.err);
    let end = world.audited("its end", |e| e.verb == "ssh.exec" && e.phase == Phase::End).await;
    assert_eq!((end.result.word.as_str(), end.result.side), ("failed", Some(Side::Cluster)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_cannot_be_reached_is_told_in_words() {
    let world = World::new().await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    world.cluster(nobody, vec![world.machine.host_key.clone()]);
    let ran = world.granted().await.run("echo in").await;
    assert_eq!((ran.code, ran.out.len()), (Some(255), 0));
    assert!(ran.err.contains("could not reach the cluster (connect)"), "{}", ran.err);
    world.audited("the failure", |e| e.verb == "ssh.reach").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_shows_another_key_is_not_signed_in_to() {
    let world = World::new().await;
    let other = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
    world.cluster(world.machine.port, vec![other.public_key().to_openssh().unwrap()]);
    let ran = world.granted().await.run("echo in").await;
    assert_eq!((ran.code, ran.out.len()), (Some(255), 0));
    assert!(ran.err.contains("shows another host key"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_leaves_nothing_running() {
    let world = World::new().await;
    let mut child = running(&world.granted().await, "echo in; sleep 1000").await;
    child.kill().await.unwrap();
    let end = world.audited("its end", |e| e.verb == "ssh.exec" && e.phase == Phase::End).await;
    assert_eq!(end.result.word, "ok");
    until("the sign-out", async || {
        let entry = world.audited("the end", |e| e.verb == "ssh.end").await;
        (entry.took_ms < Duration::from_secs(3600).as_millis() as u64).then_some(())
    })
    .await;
}
