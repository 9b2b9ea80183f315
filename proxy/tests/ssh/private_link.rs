//! Machines that people have no way to, in networks of their own: the bastion stands between them.

use std::net::Ipv4Addr;
use std::process::Stdio;

use tokio::net::TcpStream;
use tokio::process::Command;

use crate::world::{Client, CommandOutput, Setup, World, done, until};

const NAME: &str = "private_link::a_machine_that_people_have_no_way_to_is_reached_through_the_bastion";
/// Set where the networks may be changed: nobody else is in them, and they go with the process.
const INSIDE: &str = "ARO_TEST_OWN_NETWORKS";
const BASTION: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 2);

/// A person's network and a cluster's, each with a link to ours and no way on.
const LINKS: &str = "set -e
    mkdir -p /run/netns && mount -t tmpfs none /run/netns
    ip link set lo up
    link() {
        ip netns add $1
        ip link add to-$1 type veth peer name out netns $1
        ip addr add $2 dev to-$1 && ip link set to-$1 up
        ip -n $1 addr add $3 dev out && ip -n $1 link set out up && ip -n $1 link set lo up
    }
    link person 10.1.0.1/30 10.1.0.2/30
    link cluster 10.2.0.1/30 10.2.0.2/30";

async fn sh(script: &str) -> CommandOutput {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    done(command).await
}

/// The program in one of the networks.
fn within(network: &str, program: &Command) -> Command {
    let program = program.as_std();
    let mut command = Command::new("ip");
    command.args(["netns", "exec", network]).arg(program.get_program()).args(program.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_people_have_no_way_to_is_reached_through_the_bastion() {
    if std::env::var_os(INSIDE).is_some() {
        return inside().await;
    }
    let mut again = Command::new("unshare");
    again.args(["--net", "--mount", "--"]).arg(std::env::current_exe().unwrap());
    again.args(["--exact", NAME, "--nocapture"]).env(INSIDE, "1").kill_on_drop(true);
    let ran = done(again).await;
    assert!(
        ran.code == Some(0) && ran.text().contains("1 passed"),
        "as root, with `unshare` and `ip` (packages util-linux and iproute2): {}{}",
        ran.text(),
        ran.err
    );
}

async fn inside() {
    let laid = sh(LINKS).await;
    assert_eq!(laid.code, Some(0), "networks of one's own: {}", laid.err);
    let machines = "10.2.0.0/30".parse().unwrap();
    let world = World::with(Setup { listen: BASTION, machines, ..Setup::default() }).await;
    let mut sshd = Command::new("/usr/sbin/sshd");
    sshd.args(["-D", "-e", "-o", &format!("ListenAddress={MACHINE}"), "-p", "22", "-f"]);
    let _sshd = within("cluster", sshd.arg(world.folder.path().join("sshd_config"))).spawn().unwrap();
    until("the machine's server", async || TcpStream::connect((MACHINE, 22)).await.ok()).await;
    world.cluster_at(MACHINE, 22, vec![world.machine.host_key.clone()]);

    let client = world.granted().await;
    let straight = done(within(
        "person",
        Command::new("ssh").args([
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "ConnectTimeout=60",
            &format!("ada@{MACHINE}"),
            "true",
        ]),
    ))
    .await;
    assert!(straight.code == Some(255) && straight.err.contains("Network is unreachable"), "{straight:?}");
    let through = asked(&client, "ip -4 -o addr show dev out").await;
    assert!(through.code == Some(0) && through.text().contains("10.2.0.2/30"), "{through:?}");

    // The link is cut: it is told as what it is, and nobody waits for ever.
    let cut = sh("ip link set to-cluster down").await;
    assert_eq!(cut.code, Some(0), "{}", cut.err);
    let refused = asked(&client, "true").await;
    assert!(refused.code == Some(255) && refused.err.contains("reach"), "{refused:?}");
}

/// What the person's `ssh` says, from the person's network.
async fn asked(client: &Client, command: &str) -> CommandOutput {
    done(within("person", &client.ssh(&[], &[command]))).await
}
