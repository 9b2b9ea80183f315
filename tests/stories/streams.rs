//! The real kubectl through the proxy: watches, logs, exec, cp, port-forward, by WebSocket and by SPDY.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tests_kit::{GENEROUS, Kubectl};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_events_as_they_come() -> Result<()> {
    let world = World::get().await?;
    let kubectl = world.kubectl("sre", "read").await?;
    let admin = world.plane.admin()?;
    admin.ok(&["create", "namespace", "watched"]).await?;
    let watch = kubectl.start(&["get", "configmaps", "-n", "watched", "-w", "-o", "name"])?;
    for name in ["first", "second", "third"] {
        admin.ok(&["create", "configmap", name, "-n", "watched"]).await?;
        watch.says(name).await?;
    }
    watch.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_shown_and_followed() -> Result<()> {
    let world = World::get().await?;
    let kubectl = world.kubectl("sre", "read").await?;
    ensure!(kubectl.ok(&["logs", "web", "--tail=2"]).await?.ends_with("line\n"));
    let follow = kubectl.start(&["logs", "-f", "web", "--tail=1"])?;
    follow.says("line").await?;
    for line in ["alpha of the follower", "beta of the follower"] {
        world.plane.write_log("default", "web", "web", &format!("{line}\nlast line\n"))?;
        follow.says(line).await?;
    }
    follow.kill().await
}

async fn both_ways(world: &World) -> Result<[(&'static str, Kubectl); 2]> {
    let kubectl = world.kubectl("elevated", "write").await?;
    Ok([("websocket", kubectl.clone()), ("spdy", kubectl.spdy())])
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_carries_input_output_and_status() -> Result<()> {
    let world = World::get().await?;
    for (way, kubectl) in both_ways(world).await? {
        let script = "cat; echo to-stderr >&2; exit 7";
        let exec = ["exec", "-i", "web", "--", "sh", "-c", script];
        let output = kubectl.with_input(b"from the other side\n", &exec).await?;
        ensure!(output.status == 7, "{way}: {output:?}");
        ensure!(output.stdout == "from the other side\n", "{way}: {output:?}");
        ensure!(output.stderr.contains("to-stderr"), "{way}: {output:?}");
        let missing = kubectl.run(&["exec", "web", "--", "no-such-program"]).await?;
        ensure!(missing.status != 0, "{way}: {missing:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_gives_a_terminal() -> Result<()> {
    let world = World::get().await?;
    for (way, kubectl) in both_ways(world).await? {
        let exec =
            ["exec", "-it", "web", "--", "sh", "-c", "test -t 0 && test -t 1 && echo on a terminal; exit 5"];
        let output = kubectl.on_terminal(&exec).await?;
        ensure!(output.stdout.contains("on a terminal"), "{way}: {output:?}");
        ensure!(output.status == 5, "{way}: {output:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_is_interactive() -> Result<()> {
    let world = World::get().await?;
    for (_, kubectl) in both_ways(world).await? {
        let mut exec = kubectl.start(&["exec", "-i", "web", "--", "sh"])?;
        exec.type_in("echo $((6 * 7))\n").await?;
        exec.says("42").await?;
        exec.type_in("echo $((60 * 70)); exit 3\n").await?;
        exec.says("4200").await?;
        ensure!(exec.end(GENEROUS).await?.status == 3);
    }
    Ok(())
}

/// Bytes that compress badly and differ at every place.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut out = Vec::with_capacity(length + 8);
    while out.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(length);
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn cp_keeps_every_byte() -> Result<()> {
    let world = World::get().await?;
    let content = noise(32 * 1024 * 1024);
    for (way, kubectl) in both_ways(world).await? {
        let (up, down) = (format!("up-{way}.bin"), format!("down-{way}.bin"));
        std::fs::write(kubectl.folder().join(&up), &content)?;
        kubectl.ok(&["cp", &up, &format!("web:{up}")]).await?;
        let inside = world.plane.container("default", "web", "web").join(&up);
        ensure!(std::fs::read(&inside)? == content, "{way}: another content in the pod");
        // What a slow client has not read when the program ends can be lost behind the proxy and without one: a node ends
        // its session at once, and a ping that reaches an API server after it has closed a connection drops what it
        // had still to send. kubectl asks for the rest then.
        kubectl.ok(&["cp", "--retries=3", &format!("web:{up}"), &down]).await?;
        ensure!(std::fs::read(kubectl.folder().join(&down))? == content, "{way}: another content here");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cp_carries_many_small_files() -> Result<()> {
    let world = World::get().await?;
    let [(_, kubectl), _] = both_ways(world).await?;
    let folder = kubectl.folder().join("many");
    std::fs::create_dir_all(&folder)?;
    for n in 0..300 {
        std::fs::write(folder.join(format!("file {n}.txt")), format!("content {n}\n").repeat(n))?;
    }
    kubectl.ok(&["cp", "many", "web:many"]).await?;
    kubectl.ok(&["cp", "web:many", "many-back"]).await?;
    let back = kubectl.folder().join("many-back");
    ensure!(std::fs::read_dir(&back)?.count() == 300);
    for n in 0..300 {
        same(&folder.join(format!("file {n}.txt")), &back.join(format!("file {n}.txt")))?;
    }
    Ok(())
}

fn same(one: &Path, other: &Path) -> Result<()> {
    ensure!(std::fs::read(one)? == std::fs::read(other)?, "{} differs", other.display());
    Ok(())
}

/// A server that gives back every byte, then ends when the other side has ended.
async fn echo_server() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
                let _ = write.shutdown().await;
            });
        }
    });
    Ok(port)
}

#[tokio::test(flavor = "multi_thread")]
async fn port_forward_carries_several_streams() -> Result<()> {
    let world = World::get().await?;
    let port = echo_server().await?;
    for (way, kubectl) in both_ways(world).await? {
        let forward = kubectl.start(&["port-forward", "pod/web", &format!(":{port}")])?;
        forward.says("Forwarding from 127.0.0.1:").await?;
        let said = forward.stdout();
        let local = said.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next());
        let local: u16 = local.context("a local port")?.parse()?;
        let streams = (0..8_u8).map(|n| round_trip(local, vec![n; 200_000 + usize::from(n)]));
        for ended in futures_util::future::join_all(streams).await {
            ended.with_context(|| format!("{way}: {}", forward.stderr()))?;
        }
        forward.kill().await?;
    }
    Ok(())
}

async fn round_trip(port: u16, content: Vec<u8>) -> Result<()> {
    let exchange = async {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut read, mut write) = stream.into_split();
        let (sent, length) = (content.clone(), content.len());
        let writing = tokio::spawn(async move { write.write_all(&sent).await.map(|()| write) });
        let mut back = vec![0; length];
        read.read_exact(&mut back).await?;
        drop(writing.await?);
        ensure!(back == content, "other bytes came back");
        Ok(())
    };
    tokio::time::timeout(GENEROUS, exchange).await.context("the stream stands still")?
}
