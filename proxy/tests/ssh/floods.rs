//! Limits for unauthenticated and misbehaving clients.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::world::{Setup, World, done, settings, soon};

fn limited(settings: rp_config::Ssh) -> Setup {
    Setup { settings, ..Setup::default() }
}

/// Everything until the far end closes.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = soon("the far end's close", stream.read_to_end(&mut bytes)).await;
    drop(read);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A connection that says nothing, and was welcomed.
async fn silent(world: &World) -> TcpStream {
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let mut name = [0; 8];
    soon("the version", stream.read_exact(&mut name)).await.unwrap();
    assert_eq!(&name, b"SSH-2.0-");
    stream
}

fn strangers(connections: usize, per_address: usize) -> rp_config::Ssh {
    rp_config::Ssh { max_strangers: connections, max_strangers_per_address: per_address, ..settings() }
}

/// Three hundred silent connections of one address used to keep everybody out for a minute.
#[tokio::test(flavor = "multi_thread")]
async fn silent_strangers_of_an_address_keep_nobody_out() {
    let world = World::with(limited(strangers(256, 4))).await;
    let mut oldest = silent(&world).await;
    let mut held = Vec::new();
    for _ in 0..300 {
        held.push(silent(&world).await);
    }
    let mut last = Vec::new();
    soon("the end of the oldest", oldest.read_to_end(&mut last)).await.ok();
    let ran = world.granted().await.run("echo in").await;
    assert_eq!(ran.text(), "in\n", "{}", ran.err);
    drop(held);
}

/// What a peer holds that is signed in is nobody else's to take.
#[tokio::test(flavor = "multi_thread")]
async fn who_signed_in_is_not_ended_for_strangers_and_too_many_are_told() {
    let two = rp_config::Ssh { max_per_address: 2, ..strangers(2, 2) };
    let world = World::with(limited(two)).await;
    let client = world.granted().await;
    let mut children = Vec::new();
    for _ in 0..2 {
        let mut child = client.ssh(&[], &["echo in; sleep 1000"]).spawn().unwrap();
        let mut first = [0; 3];
        soon("its output", child.stdout.as_mut().unwrap().read_exact(&mut first)).await.unwrap();
        children.push(child);
    }
    let words = rest(TcpStream::connect(world.address).await.unwrap()).await;
    assert!(words.contains("too many connections from your address"), "{words}");
    for child in &mut children {
        assert!(child.try_wait().unwrap().is_none(), "it goes on");
        child.kill().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_one_address_come_at_a_rate() {
    let three = rp_config::Ssh { connections_per_minute: 3, ..strangers(256, 256) };
    let world = World::with(limited(three)).await;
    for _ in 0..3 {
        silent(&world).await;
    }
    let words = rest(TcpStream::connect(world.address).await.unwrap()).await;
    assert!(words.contains("opens connections too often"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_stranger_is_cut_in_time() {
    let login_time = Duration::from_millis(300);
    let world = World::with(limited(rp_config::Ssh { login_time, ..settings() })).await;
    let silent = TcpStream::connect(world.address).await.unwrap();
    assert!(rest(silent).await.starts_with("SSH-2.0-"));
    let mut slow = TcpStream::connect(world.address).await.unwrap();
    slow.write_all(b"SSH-2.0-slow\r\n").await.unwrap();
    // Its key exchange never comes.
    assert!(rest(slow).await.starts_with("SSH-2.0-"));
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_packets_end_their_connection_and_nothing_else() {
    let world = World::new().await;
    let version = b"SSH-2.0-bad\r\n".as_slice();
    let huge = [version, &[0xff; 64]].concat();
    let empty = [version, &[0; 64]].concat();
    let short = [version, &[0, 0, 0, 12, 200, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]].concat();
    // Claims names of 4 GiB in its key exchange.
    let names = [version, &[0, 0, 0, 44, 4, 20], &[7; 16], &[0xff; 26]].concat();
    let long = [b"SSH-2.0-".as_slice(), &[b'x'; 100_000], b"\r\n"].concat();
    let http = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    for (name, bytes) in
        [("huge", huge), ("empty", empty), ("short", short), ("names", names), ("long", long), ("http", http)]
    {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let _ = rest(stream).await;
        let ran = world.granted().await.run("echo in").await;
        assert_eq!(ran.text(), "in\n", "after {name}: {}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_of_one_connection_are_bounded() {
    let world = World::with(limited(rp_config::Ssh { max_channels: 2, ..settings() })).await;
    let socket = world.folder.path().join("master");
    let client = world.granted().await.option(&format!("ControlPath={}", socket.display()));
    let mut master = client.ssh(&["-M", "-N"], &[]).spawn().unwrap();
    crate::world::until("the master's socket", async || socket.exists().then_some(())).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut child = client.ssh(&[], &["echo in; sleep 1000"]).spawn().unwrap();
        let mut first = [0; 3];
        soon("its output", child.stdout.as_mut().unwrap().read_exact(&mut first)).await.unwrap();
        held.push(child);
    }
    let refused = done(client.ssh(&["-o", "ControlMaster=no"], &["echo in"])).await;
    assert!(refused.err.contains("Session open refused by peer"), "{refused:?}");
    assert!(!held.is_empty());
    master.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_variables_do_no_harm() {
    let world = World::new().await;
    let names: Vec<String> = (0..200).map(|n| format!("LC_{}=x", "A".repeat(n % 30 + 1))).collect();
    let client = world.granted().await.option(&format!("SetEnv={}", names.join(" ")));
    assert_eq!(client.run("echo in").await.text(), "in\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_requests_without_end_end_the_connection() {
    let world = World::new().await;
    let client = world.granted().await.option("ExitOnForwardFailure=no");
    let forwards: Vec<String> = (0..70).map(|n| format!("{}:127.0.0.1:1", 20_000 + n)).collect();
    let mut command = client.program("ssh");
    for forward in &forwards {
        command.args(["-R", forward]);
    }
    command.args(["ada@127.0.0.1", "sleep 1000"]);
    let ran = done(command).await;
    assert!(ran.err.contains("too many requests were refused"), "{}", ran.err);
}
