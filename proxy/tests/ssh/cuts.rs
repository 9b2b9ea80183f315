//! Sessions that the service ends.

use std::time::{Duration, Instant};

use rp_documents::{Phase, Side};
use russh::keys::{Algorithm, PrivateKey};
use tests_kit::{Times, promised};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;

use crate::world::{Client, CommandOutput, Setup, World, soon, until};

/// A session that runs until it is cut; its first output has arrived.
async fn running(client: &Client, command: &str) -> Child {
    let mut child = client.ssh(&[], &[command]).spawn().unwrap();
    let mut first = [0; 3];
    soon("its first output", child.stdout.as_mut().unwrap().read_exact(&mut first)).await.unwrap();
    child
}

async fn ended(child: Child) -> CommandOutput {
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

/// The promise (`contract/rules.md` §3.7).
const WITHIN: Duration = Duration::from_secs(1);

/// How long sessions live on after the revocation of their access: a shell's, and of files both ways.
#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_cuts_shells_and_transfers_within_a_second() {
    let world = World::new().await;
    let commands = ["echo in; sleep 1000", "echo in; cat /dev/zero", "echo in; cat > /dev/null"];
    promised("the end of a session", WITHIN, async |_| {
        let mut times = Times::new();
        for command in commands {
            let issued = world.issue().await;
            times.push((command.to_owned(), revoked_in_use(&world, &issued, command).await));
        }
        Ok(times)
    })
    .await
    .unwrap();
}

async fn revoked_in_use(world: &World, issued: &rp_access::IssuedGrant, command: &str) -> Duration {
    let mut ssh = world.client(issued).await.ssh(&[], &[command]);
    let mut child = ssh.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut first = [0; 3];
    soon("its first output", output.read_exact(&mut first)).await.unwrap();
    let busy = command.contains("/dev/null");
    let filling =
        tokio::spawn(async move { while busy && input.write_all(&[0; 32 * 1024]).await.is_ok() {} });
    let draining = tokio::spawn(async move {
        let mut piece = vec![0; 64 * 1024];
        while matches!(output.read(&mut piece).await, Ok(1..)) {}
    });
    world.revoke(issued).await;
    let began = Instant::now();
    let status = soon("the client's end", child.wait()).await.unwrap();
    assert_eq!(status.code(), Some(255));
    filling.abort();
    soon("the output's end", draining).await.unwrap();
    began.elapsed()
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

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_at_which_nobody_types_is_told_and_ends_and_a_command_goes_on() {
    let idle = Duration::from_secs(3);
    let world = World::with(Setup { idle, ..Setup::default() }).await;
    let client = world.granted().await;
    let mut command = client.ssh(&["-tt"], &["echo in; sleep 1000"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    // Open, and nothing comes from it.
    let stdin = child.stdin.take();
    let (ran, plain) = tokio::join!(ended(child), client.run("sleep 8; echo out"));
    drop(stdin);
    let said = format!("{}{}", ran.text(), ran.err);
    let (told, over) =
        (said.find("unless you type"), said.find("nothing was typed for 3 s, so this session has ended"));
    assert!(told.is_some() && told < over, "{said}");
    assert_eq!(plain.text(), "out\n");
    let end = world
        .audited("its end", |e| e.verb == "ssh.exec" && e.phase == Phase::End && e.result.word == "cut")
        .await;
    assert_eq!(end.result.side, Some(Side::You));
}
