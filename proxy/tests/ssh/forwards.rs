//! Forwarding: only what the access names.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::world::{World, done, until, with_agent};

/// Echoes one message, backwards so that nothing else could have said it.
async fn reverser() -> u16 {
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = tcp.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = tcp.accept().await {
            tokio::spawn(async move {
                let mut text = String::new();
                let _ = stream.read_to_string(&mut text).await;
                let _ = stream.write_all(text.chars().rev().collect::<String>().as_bytes()).await;
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_the_access_names_is_reached_and_audited() {
    let world = World::new().await;
    let place = format!("127.0.0.1:{}", reverser().await);
    let issued = world.issue_with(|ask| ask.destinations = vec![place.clone()]).await;
    let ran = world.client(&issued).await.feed(&["-W", &place], &[], b"stressed".to_vec()).await;
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "desserts"), "{}", ran.err);
    let end = world.audited("its end", |e| e.verb == "ssh.forward" && e.bytes_out == 8).await;
    assert_eq!((end.query.as_str(), end.bytes_in, end.result.word.as_str()), (place.as_str(), 8, "ok"));
}

/// What `-J` through the bastion asks for too.
#[tokio::test(flavor = "multi_thread")]
async fn any_other_destination_is_refused_and_audited() {
    let world = World::new().await;
    let (named, other) = (reverser().await, reverser().await);
    let issued = world.issue_with(|ask| ask.destinations = vec![format!("127.0.0.1:{named}")]).await;
    let client = world.client(&issued).await.option("LogLevel=INFO");
    for place in [format!("127.0.0.1:{other}"), format!("localhost:{named}"), "169.254.169.254:80".to_owned()]
    {
        let ran = client.feed(&["-W", &place], &[], b"x".to_vec()).await;
        assert_eq!((ran.code, ran.out.len()), (Some(255), 0), "{place}");
        assert!(ran.err.contains("this access names no such destination"), "{}", ran.err);
        world.audited("the refusal", |e| e.verb == "ssh.forward" && e.query == place).await;
    }
    let mut jump = client.program("ssh");
    let proxy = format!(
        "ssh -F /dev/null {} -p {} -W 127.0.0.1:{} ada@127.0.0.1",
        client.options.iter().map(|option| format!("-o {option}")).collect::<Vec<_>>().join(" "),
        client.port,
        world.machine.port
    );
    jump.args(["-o", &format!("ProxyCommand={proxy}"), "root@machine", "true"]);
    assert_eq!(done(jump).await.code, Some(255));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_listens_on_a_machine_for_anybody() {
    let world = World::new().await;
    let client = world.granted().await.option("ExitOnForwardFailure=yes");
    let ran = done(client.ssh(&["-R", "0:127.0.0.1:1"], &["true"])).await;
    assert_eq!(ran.code, Some(255), "{}", ran.err);
    world.audited("the refusal", |e| e.verb == "ssh.remote-forward" && e.result.word == "refused").await;
}

/// An agent without keys, for the client to offer.
async fn agent(world: &World) -> (tokio::process::Child, String) {
    let socket = world.folder.path().join("agent");
    let child = tokio::process::Command::new("ssh-agent")
        .args(["-D", "-a"])
        .arg(&socket)
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    until("the agent's socket", async || socket.exists().then_some(())).await;
    (child, socket.display().to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_with_the_clusters_key_where_the_access_asks_for_it() {
    let world = World::new().await;
    let (_agent, socket) = agent(&world).await;
    let issued = world.issue_with(with_agent).await;
    let mut client = world.client(&issued).await;
    client.env.insert("SSH_AUTH_SOCK".to_owned(), socket);
    let listed = done(client.ssh(&["-A"], &["ssh-add -l"])).await;
    assert!(listed.text().contains("cluster (ED25519)"), "{listed:?}");
    let hop = format!(
        "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
         -o LogLevel=ERROR -p {} {}@127.0.0.1 echo hopped",
        world.machine.port, world.machine.user
    );
    let ran = done(client.ssh(&["-A"], &[&hop])).await;
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "hopped\n"), "{}", ran.err);
    world.audited("the agent's use", |e| e.verb == "ssh.agent" && e.result.word == "ok").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_agent_where_the_access_does_not_ask_for_one() {
    let world = World::new().await;
    let (_agent, socket) = agent(&world).await;
    let mut client = world.granted().await;
    client.env.insert("SSH_AUTH_SOCK".to_owned(), socket);
    let ran = done(client.ssh(&["-A"], &["echo [$SSH_AUTH_SOCK]"])).await;
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "[]\n"), "{}", ran.err);
    world.audited("the refusal", |e| e.verb == "ssh.agent" && e.result.word == "refused").await;
}
