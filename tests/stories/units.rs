//! The units of `deploy/systemd`, started by a real systemd on a machine of its own: what the guide beside them says, and
//! what they shut out.

mod machine;

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Authority, Folder, Postgres, Process, part, workspace};

use machine::{Machine, prerequisites};

const READY: &str = "curl --fail --silent --show-error http://127.0.0.1:6060/healthz/ready";

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_leads_to_a_service_that_comes_again_and_sees_nothing_of_the_machine() -> Result<()> {
    prerequisites()?;
    let machine = Machine::boot(certificates()?).await?;
    let commands = guide()?;
    for command in &commands {
        let script = format!("cd /srv/aro; {command}");
        if command.starts_with("curl ") {
            machine.until("aro", &script.replacen("curl ", "curl --fail ", 1)).await?;
        } else {
            machine.run(&script).await?;
        }
    }
    let all = commands.join("\n");
    ensure!(["useradd ", "enable --now aro", "curl "].iter().all(|part| all.contains(part)), "{all}");
    machine.is_shut_out("aro").await?;
    let found = machine.probe("aro").await?;
    ensure!(found == refused(), "{found:#}");

    lives(&machine).await?;
    machine.run("systemctl stop aro").await?;
    let result = machine.run("systemctl show --property=Result --value aro; cat /logs/aro.log").await?;
    ensure!(result.starts_with("success") && result.contains("stopped"), "{result}");
    Ok(())
}

/// Verbs, a reload, a kill.
async fn lives(machine: &Machine) -> Result<()> {
    let verbs = "runuser -u aro -- aro store backup /var/lib/aro/backup.db --config /etc/aro/aro.toml\n\
                 aro keys list --config /etc/aro/aro.toml";
    let said = machine.run(verbs).await?;
    ensure!(said.contains("/var/lib/aro/backup.db") && said.contains("k1"), "{said}");
    machine.run("systemctl reload aro").await?;
    machine.until("aro", "grep 'certificate read again' /logs/aro.log").await?;
    machine.run("systemctl kill --kill-who=main --signal=KILL aro").await?;
    machine.until("aro", "[ $(systemctl show --property=NRestarts --value aro) -ge 1 ]").await?;
    machine.until("aro", READY).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_runs_by_its_unit_and_sees_nothing_of_the_machine() -> Result<()> {
    prerequisites()?;
    let site = Site::prepare().await?;
    let machine = &site.machine;
    let said = machine.run("systemd-analyze verify /etc/systemd/system/aro*.service 2>&1").await?;
    ensure!(said.is_empty(), "{said}");
    // Fails above 1.2.
    let rating = "for unit in /etc/systemd/system/aro*.service; do\n\
                  systemd-analyze security --offline=true --threshold=12 --no-pager $unit\n\
                  done";
    machine.run(rating).await?;
    for unit in ["aro-portal", "aro-proxy", "aro-rp", "aro-monitor", "aro-maintenance"] {
        machine.run(&format!("systemctl start {unit}")).await?;
        // Accesses and sessions end by the wall clock, so it is set before.
        for property in ["Wants", "After"] {
            let named = machine.run(&format!("systemctl show --property={property} --value {unit}")).await?;
            ensure!(named.split_whitespace().any(|name| name == "time-sync.target"), "{unit}: {named}");
        }
        machine.until(unit, READY).await?;
        machine.is_shut_out(unit).await?;
        let found = machine.probe(unit).await?;
        ensure!(found == refused(), "{unit}: {found:#}");
        if ["aro-portal", "aro-proxy"].contains(&unit) {
            let banner = machine.run("exec 3<>/dev/tcp/127.0.0.1/22; head -c 8 <&3").await?;
            ensure!(banner == "SSH-2.0-", "{unit}: {banner}");
        }
        let stop = format!("systemctl stop {unit}; systemctl show --property=Result --value {unit}");
        let said = machine.run(&stop).await?;
        ensure!(said.trim() == "success", "{unit}: {said}");
    }
    Ok(())
}

/// A machine with all units, their settings and a way to a PostgreSQL server.
struct Site {
    machine: Machine,
    _bridge: Process,
    _postgres: Postgres,
}

impl Site {
    async fn prepare() -> Result<Self> {
        let (folder, postgres) = (certificates()?, Postgres::start().await?);
        let database = postgres.database().await?.replace(&format!(":{}/", postgres.port()), ":5432/");
        folder.write("files/srv/database", database)?;
        folder.write("files/srv/client.secret", "a client secret of at least thirty-two characters")?;
        folder.write("files/srv/aro.toml", settings()?)?;
        let machine = Machine::boot(folder.clone()).await?;
        // The machine has a network of its own: the server is reached through its socket.
        let mut bridge = Command::new("nsenter");
        bridge.arg(format!("--net=/proc/{}/ns/net", machine.init()?)).arg(part("socat")?);
        bridge.arg("TCP-LISTEN:5432,bind=127.0.0.1,fork,reuseaddr");
        bridge.arg(format!("UNIX-CONNECT:{}", postgres.socket().display()));
        let bridge = Process::start(&folder, "bridge", &mut bridge)?;
        machine.run(INSTALL).await?;
        Ok(Self { machine, _bridge: bridge, _postgres: postgres })
    }
}

/// As the guide does it; and what it says of ports below 1024.
const INSTALL: &str = "cd /srv
useradd --system --home-dir /var/lib/aro --shell /usr/sbin/nologin aro
install -d -o root -g aro -m 0750 /etc/aro
install -o root -g aro -m 0640 aro.toml database client.secret aro/tls.key aro/tls.pem aro/ca.pem /etc/aro/
install -m 0755 aro/target/dist/aro /usr/bin/aro
install -m 0644 aro/deploy/systemd/*.service /etc/systemd/system/
systemctl daemon-reload
sysctl --write net.ipv4.ip_unprivileged_port_start=22";

/// What the probe finds in the sandbox of a unit.
fn refused() -> Value {
    json!({
        "written": ["/tmp", "/var/tmp", "/var/lib/aro", "/var/log/aro"],
        "somebody": "EACCES", "others": [], "devices": [],
        "chmod u+s": "EPERM", "setuid": "EPERM", "kill 1": "EPERM", "chroot": "EPERM", "renice": "EPERM",
        "real time": "EPERM", "unshare user": "EPERM", "unshare mounts": "EPERM", "mount": "EPERM",
        "hostname": "EPERM", "clock": "EPERM", "personality": "EPERM", "ptrace": "EPERM",
        "executable memory": "EPERM", "netlink": "EAFNOSUPPORT", "packet": "EAFNOSUPPORT",
        "vsock": "EAFNOSUPPORT", "port 21": "EACCES", "port 0": "done",
    })
}

/// A folder with the certificates that the examples of `deploy/` name, in `/srv/aro`.
fn certificates() -> Result<Folder> {
    let (folder, authority) = (Folder::new("machine")?, Authority::new("machine")?);
    let server = authority.server(&["portal.aro.example", "api.portal.aro.example"])?;
    let client = authority.rsa_client("aro-portal")?;
    let files = [
        ("tls.pem", server.certificate.as_str()),
        ("tls.key", server.key.as_str()),
        ("client.pem", client.certificate.as_str()),
        ("client.key", client.key.as_str()),
        ("ca.pem", authority.pem()),
    ];
    for (name, text) in files {
        folder.write(&format!("files/srv/aro/{name}"), text)?;
    }
    Ok(folder)
}

/// The commands of `deploy/README.md` for a machine with systemd; `aro` is built already.
fn guide() -> Result<Vec<String>> {
    let text = std::fs::read_to_string(workspace().join("deploy/README.md"))?;
    let block = text.split_once("## On a machine with systemd").and_then(|(_, below)| {
        let (_, block) = below.split_once("```sh\n")?;
        block.split_once("\n```")
    });
    let (block, _) = block.context("deploy/README.md has no block of commands there")?;
    Ok(block.lines().filter(|line| !line.contains("cargo build ")).map(str::to_owned).collect())
}

/// The example for several replicas, with a server on this machine and what the other roles need.
fn settings() -> Result<String> {
    let mut text = std::fs::read_to_string(workspace().join("deploy/examples/portal.toml"))?;
    for (line, ours) in [
        (
            "url = \"postgres://aro@db1.aro.example:5432,db2.aro.example:5432/aro\"\n",
            "url_file = \"/etc/aro/database\"\n",
        ),
        ("password_file = \"/etc/aro/postgres.password\"\n", ""),
        ("ca_file = \"/etc/aro/postgres-ca.pem\"\n", ""),
    ] {
        ensure!(text.contains(line), "the example has no line {line}");
        text = text.replace(line, ours);
    }
    let more = r#"
[ssh]
listen = "0.0.0.0:22"
[rp]
listen = "0.0.0.0:8443"
domain = "eastus.aroapp.io"
arm_ca_file = "/etc/aro/ca.pem"
arm_common_name = "arm.test"
ready_delay = "1ms"
[monitor]
ready_delay = "1ms"
[maintenance]
ready_delay = "1ms"
"#;
    Ok(text + more)
}
