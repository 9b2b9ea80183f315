//! Connections to machines that channels share, with a server as distributions configure it.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_access::{Caller, IssueRequest, IssuedGrant};
use rp_documents::{GrantKind, Person, Rights};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::world::{Client, CommandOutput, MACHINE, REASON, Setup, World, done, id, settings, soon, until};

/// What the bastion reaches instead of a machine: it passes connections on, counts them, and can break one off.
struct Relay {
    port: u16,
    connections: Arc<Mutex<Vec<CancellationToken>>>,
    open: Arc<()>,
}

impl Relay {
    async fn to(far: SocketAddr) -> Self {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let (connections, open) = (Arc::<Mutex<Vec<CancellationToken>>>::default(), Arc::new(()));
        let (seen, alive) = (Arc::clone(&connections), Arc::clone(&open));
        tokio::spawn(async move {
            while let Ok((mut near, _)) = tcp.accept().await {
                let broken = CancellationToken::new();
                seen.lock().push(broken.clone());
                let alive = Arc::clone(&alive);
                tokio::spawn(async move {
                    let Ok(mut far) = TcpStream::connect(far).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        () = broken.cancelled() => {}
                    }
                    drop(alive);
                });
            }
        });
        Self { port, connections, open }
    }

    /// Connections that were made so far.
    fn made(&self) -> usize {
        self.connections.lock().len()
    }

    /// Connections that are open now: its own count of itself, and the listener's, are not among them.
    fn open(&self) -> usize {
        Arc::strong_count(&self.open) - 2
    }

    fn break_off(&self, number: usize) {
        self.connections.lock()[number].cancel();
    }
}

/// A world whose machine is behind a relay.
async fn relayed(setup: Setup) -> (World, Relay) {
    let world = World::with(setup).await;
    let relay = Relay::to((Ipv4Addr::LOCALHOST, world.machine.port).into()).await;
    world.cluster(relay.port, vec![world.machine.host_key.clone()]);
    (world, relay)
}

/// OpenSSH's server as one process that counts who has not signed in.
async fn stock_server(world: &World) -> (Child, SocketAddr) {
    let config = world.folder.path().join("sshd_config");
    for _ in 0..10 {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let mut command = Command::new("/usr/sbin/sshd");
        command.args(["-D", "-o", "ListenAddress=127.0.0.1", "-p", &address.port().to_string()]);
        command.args(["-o", "MaxStartups=10:30:100", "-o", "MaxSessions=10", "-f"]).arg(&config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().expect("sshd; tests/parts/install has it");
        let up = until("the server or its end", async || {
            if child.try_wait().unwrap().is_some() {
                return Some(false);
            }
            TcpStream::connect(address).await.is_ok().then_some(true)
        });
        if up.await {
            return (child, address);
        }
    }
    panic!("sshd found no free port ten times");
}

/// A client whose commands go over one connection of that master.
async fn multiplexed(world: &World, client: Client) -> (Client, Child) {
    let socket = world.folder.path().join("master");
    let client = client.option(&format!("ControlPath={}", socket.display()));
    let master = client.ssh(&["-M", "-N"], &[]).spawn().unwrap();
    until("the master's socket", async || socket.exists().then_some(())).await;
    (client, master)
}

/// A session that runs until it is ended; its first output has arrived.
async fn running(client: &Client, command: &str) -> Child {
    let mut child = client.ssh(&[], &[command]).spawn().unwrap();
    let mut first = [0; 3];
    soon("its first output", child.stdout.as_mut().unwrap().read_exact(&mut first)).await.unwrap();
    child
}

async fn ended(child: Child) -> CommandOutput {
    soon("the client's end", child.wait_with_output()).await.unwrap().into()
}

/// It used to be a connection for each command, of which such a server drops most while they sign in.
#[tokio::test(flavor = "multi_thread")]
async fn forty_commands_at_once_succeed_at_a_stock_server_and_share_its_connections() {
    const ALL: usize = 40;
    let world = World::with(Setup::default()).await;
    let (mut server, address) = stock_server(&world).await;
    let relay = Relay::to(address).await;
    world.cluster(relay.port, vec![world.machine.host_key.clone()]);
    let (client, mut master) = multiplexed(&world, world.granted().await).await;
    // Each ends when all run.
    let begun = world.folder.path().join("begun");
    std::fs::create_dir(&begun).unwrap();
    let mut running = tokio::task::JoinSet::new();
    for number in 0..ALL {
        let command = format!(
            "cd {}; touch {number}; while [ $(ls | wc -l) -lt {ALL} ]; do sleep 0.1; done; echo together",
            begun.display()
        );
        let client = client.clone();
        running.spawn(async move { client.run(&command).await });
    }
    for ran in running.join_all().await {
        assert_eq!((ran.code, ran.text().as_str()), (Some(0), "together\n"), "{}", ran.err);
    }
    assert!(relay.made() <= 4, "{} connections", relay.made());
    master.kill().await.unwrap();
    server.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_dies_ends_its_own_sessions_and_the_next_ones_get_another() {
    let (world, relay) = relayed(Setup::default()).await;
    let client = world.granted().await;
    let first = running(&client, "echo in; sleep 1000").await;
    assert_eq!(relay.made(), 1);
    let mut second = running(&client, "echo in; sleep 1000").await;
    assert_eq!(relay.made(), 2, "two sessions do not share");
    relay.break_off(0);
    let ran = ended(first).await;
    assert!(ran.err.contains("aro: the connection to the machine broke off"), "{}", ran.err);
    assert!(second.try_wait().unwrap().is_none(), "the other goes on");
    let ran = client.run("echo again").await;
    assert_eq!(ran.text(), "again\n", "{}", ran.err);
    second.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_an_access_ends_every_channel_and_every_connection() {
    let settings = rp_config::Ssh { max_channels: 12, ..settings() };
    let (world, relay) = relayed(Setup { settings, ..Setup::default() }).await;
    let issued = world.issue().await;
    let (client, master) = multiplexed(&world, world.client(&issued).await).await;
    let alone = running(&world.client(&issued).await, "echo in; sleep 1000").await;
    let mut shared = Vec::new();
    for _ in 0..12 {
        shared.push(running(&client, "echo in; sleep 1000").await);
    }
    assert!((2..=4).contains(&relay.open()), "{} connections", relay.open());
    world.revoke(&issued).await;
    for child in shared.into_iter().chain([alone, master]) {
        assert_eq!(ended(child).await.code, Some(255));
    }
    let closed = until("the end of every connection", async || (relay.open() == 0).then_some(()));
    // Connections that nobody uses are closed later, in any case.
    tokio::time::timeout(Duration::from_secs(25), closed).await.expect("cut at the end of the access");
}

/// Another person, with the same rights.
fn eve() -> Caller {
    let mut caller = crate::world::ada();
    caller.person = Person {
        sub: "sub-eve".to_owned(),
        name: "eve@example.com".to_owned(),
        groups: caller.person.groups.clone(),
    };
    caller
}

async fn issued_to_eve(world: &World) -> IssuedGrant {
    let ask = rp_access::ElevationRequest {
        reason: REASON.to_owned(),
        ticket: None,
        target: None,
        rights: Rights::Admin,
        life: None,
        break_glass: false,
    };
    world.access.request_elevation(&eve(), ask).await.unwrap();
    let mut ask = IssueRequest::new(GrantKind::Ssh, Some(id()), Rights::Write, REASON.to_owned());
    ask.machine = Some(MACHINE.to_owned());
    world.access.issue(&eve(), ask).await.unwrap()
}

/// The user of a certificate may be the machine: the same for everybody.
async fn run_on_machine(client: &Client) {
    let mut ssh = client.program("ssh");
    ssh.args([&format!("{MACHINE}@127.0.0.1"), "echo in"]);
    let ran = done(ssh).await;
    assert_eq!(ran.text(), "in\n", "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_two_people_nor_two_accesses_of_one_person_share_a_connection() {
    let (world, relay) = relayed(Setup::default()).await;
    let plain = world.client(&world.issue().await).await;
    run_on_machine(&plain).await;
    assert_eq!(relay.made(), 1);
    // The connection is idle, and would be used by another access if it could.
    run_on_machine(&world.client(&world.issue().await).await).await;
    assert_eq!(relay.made(), 2, "another access of the same person");
    run_on_machine(&world.client(&issued_to_eve(&world).await).await).await;
    assert_eq!(relay.made(), 3, "another person");
    until("the first connection to be used again", async || {
        let before = relay.made();
        run_on_machine(&plain).await;
        (relay.made() == before).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_one_after_the_other_use_one_connection_again() {
    let (world, relay) = relayed(Setup::default()).await;
    let (client, mut master) = multiplexed(&world, world.granted().await).await;
    for _ in 0..12 {
        assert_eq!(client.run("echo again").await.text(), "again\n");
    }
    assert!(relay.made() <= 2, "{} connections", relay.made());
    master.kill().await.unwrap();
}
