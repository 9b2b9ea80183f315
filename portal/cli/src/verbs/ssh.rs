//! `aro ssh`, `aro scp`: the real OpenSSH, with an access behind it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{items, kubeconfig::name, resolve};
use crate::args::{Connection, ScpArgs, SshArgs, SshConfigArgs, SshRefreshArgs, SshVerb};
use crate::client::Client;
use crate::output::cell;
use crate::platform::become_program;
use crate::profile::Profile;
use crate::ssh::{SessionRequirements, SshSetup, destination, machine, quoted, ready, short};
use crate::{CliError, Output, files};

fn profile(connection: &Connection) -> Result<Profile, CliError> {
    Profile::named(connection.config_dir.as_deref(), connection.profile.as_deref())
}

pub(super) async fn ssh(args: SshArgs, out: &mut Output) -> Result<(), CliError> {
    match args.verb {
        Some(SshVerb::Config(config)) => return self::config(config, out).await,
        Some(SshVerb::Refresh(refresh)) => return self::refresh(refresh, out).await,
        None => {}
    }
    let cluster = args.cluster.unwrap_or_default();
    let destinations = args.forward.iter().map(|forward| destination(forward));
    let needs =
        SessionRequirements { agent: args.agent, destinations: destinations.collect::<Result<_, _>>()? };
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &cluster).await?;
    let wanted = match &args.machine {
        Some(name) => machine(name)?.to_owned(),
        None => first(&client, &resource, out).await?,
    };
    let prepared =
        ready(&client, &profile(&args.connection)?, &resource, &needs, Some(args.wish), out).await?;
    let mut command = Command::new("ssh");
    for option in prepared.options()? {
        command.arg("-o").arg(option);
    }
    command.args(args.agent.then_some("-A")).args(args.terminal.then_some("-t"));
    command.args(args.nothing.then_some("-N"));
    for forward in &args.forward {
        command.arg("-L").arg(forward);
    }
    command.arg("-l").arg(wanted).arg("--").arg(&prepared.host).args(&args.command);
    Err(become_program(command, "ssh"))
}

/// The first master that is ready, else the first machine.
async fn first(client: &Client, resource: &str, out: &mut Output) -> Result<String, CliError> {
    let listed = machines(client, resource).await?;
    let masters = listed.iter().filter(|one| one["control_plane"] == true && one["ready"] == true);
    let chosen = masters.chain(&listed).next().map(|one| cell(one, &["/name"]));
    let chosen = chosen
        .ok_or_else(|| CliError::Usage("the cluster has no machines that are known here".to_owned()))?;
    out.note(&format!("on {chosen}"));
    Ok(machine(&chosen)?.to_owned())
}

async fn machines(client: &Client, resource: &str) -> Result<Vec<Value>, CliError> {
    let answer = client.get(&format!("/api/v1/clusters{resource}/ssh/machines"), &[]).await?;
    Ok(items(&answer).to_vec())
}

pub(super) async fn scp(args: ScpArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    let prepared = ready(
        &client,
        &profile(&args.connection)?,
        &resource,
        &SessionRequirements::default(),
        Some(args.wish),
        out,
    )
    .await?;
    let mut command = Command::new("scp");
    for option in prepared.options()? {
        command.arg("-o").arg(option);
    }
    command.args(args.recursive.then_some("-r")).args(args.preserve.then_some("-p")).arg("--");
    for place in &args.places {
        command.arg(place_of(place, &prepared));
    }
    Err(become_program(command, "scp"))
}

/// `MACHINE:PATH` is on the machine, everything else is here: a path with a colon before its first slash is written
/// with ./ in front, as scp wants it too.
fn place_of(place: &str, ready: &SshSetup) -> String {
    match place.split_once(':') {
        Some((name, path)) if machine(name).is_ok() => format!("{name}@{}:{path}", ready.host),
        _ => place.to_owned(),
    }
}

async fn refresh(args: SshRefreshArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    ready(&client, &profile(&args.connection)?, &resource, &SessionRequirements::default(), None, out)
        .await
        .map(drop)
}

async fn config(args: SshConfigArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    let listed = machines(&client, &resource).await?;
    let profile = profile(&args.connection)?;
    let prepared =
        ready(&client, &profile, &resource, &SessionRequirements::default(), Some(args.wish), out).await?;
    let text = written(&listed, &resource, &prepared, &renewal(&args.connection, &profile, &resource)?)?;
    match args.file {
        None => out.raw(&text),
        Some(file) => {
            // OpenSSH reads what is not absolute from ~/.ssh, wherever the file was written.
            let file = crate::profile::absolute(&file)?;
            files::write_private(&file, &text)?;
            out.note(&format!(
                "Written to {file}. Put this line first in ~/.ssh/config: Include {file}",
                file = file.display()
            ));
            Ok(())
        }
    }
}

/// The command that renews the certificate before each connection.
fn renewal(connection: &Connection, profile: &Profile, resource: &str) -> Result<String, CliError> {
    let own =
        std::env::current_exe().map_err(|cause| CliError::Program { program: "aro".to_owned(), cause })?;
    let mut words = vec![word(&own)?, "ssh".to_owned(), "refresh".to_owned(), word(Path::new(resource))?];
    words.extend(["--profile".to_owned(), profile.name.clone()]);
    if profile.unusual {
        words.extend(["--config-dir".to_owned(), word(profile.config())?]);
    }
    let files = [
        ("--token-file", &connection.token_file),
        ("--session-cookie-file", &connection.session_cookie_file),
        ("--ca-file", &connection.ca_file),
    ];
    for (flag, file) in files {
        if let Some(file) = file {
            words.extend([flag.to_owned(), word(&crate::profile::absolute(file)?)?]);
        }
    }
    if let Some(portal) = &connection.portal {
        words.extend(["--portal".to_owned(), word(Path::new(portal.as_str()))?]);
    }
    Ok(words.join(" "))
}

/// One word of the command that OpenSSH hands to a shell: quoted for both.
fn word(path: &Path) -> Result<String, CliError> {
    let text = path.to_str().filter(|text| !text.contains(['\'', '"', '\\', '\n', '\r']));
    let text = text.ok_or_else(|| CliError::BadFile {
        path: path.to_owned(),
        what: "has a name that OpenSSH's configuration cannot hold",
    })?;
    Ok(format!("'{}'", text.replace('%', "%%")))
}

fn written(listed: &[Value], resource: &str, ready: &SshSetup, renewal: &str) -> Result<String, CliError> {
    let cluster = name(resource);
    machine(cluster)?;
    let names: Vec<String> = listed.iter().map(|one| cell(one, &["/name"])).collect();
    let file = |name: &str| quoted(&ready.folder.join(name));
    let mut text = format!(
        "# Machines of {cluster}. Made by: aro ssh config {cluster}\n\
         Match originalhost *.{cluster} exec \"{renewal}\"\n  IdentitiesOnly yes\n"
    );
    for full in names.iter().filter(|full| machine(full).is_ok()) {
        let clear =
            short(full).filter(|end| names.iter().filter(|other| short(other) == Some(end)).count() == 1);
        let also = clear.map(|end| format!(" {end}.{cluster}")).unwrap_or_default();
        text.push_str(&format!("Host {full}.{cluster}{also}\n  User {full}\n"));
    }
    // First what is particular, then what all have: OpenSSH takes the first value that it finds.
    text.push_str(&format!(
        "Host *.{cluster}\n  HostName {host}\n  Port {port}\n  IdentitiesOnly yes\n  IdentityFile {id}\n  \
         CertificateFile {certificate}\n  UserKnownHostsFile {known}\n  GlobalKnownHostsFile /dev/null\n  \
         StrictHostKeyChecking yes\n  UpdateHostKeys no\nMatch all\n",
        host = ready.host,
        port = ready.port,
        id = file("id")?,
        certificate = file("id-cert.pub")?,
        known = file("known_hosts")?,
    ));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prepared() -> SshSetup {
        let folder = Path::new("/home/a b/ssh").to_owned();
        SshSetup { folder, host: "ssh.example".to_owned(), port: 2222 }
    }

    #[test]
    fn each_machine_has_a_name_that_plain_ssh_knows() {
        let listed = [
            json!({"name": "harbor-x7k2p-master-0"}),
            json!({"name": "a-x-worker-1"}),
            json!({"name": "b-x-worker-1"}),
            json!({"name": "evil\n  ProxyCommand x"}),
        ];
        let text = written(&listed, "/x/harbor", &prepared(), "'/bin/aro' ssh refresh").unwrap();
        assert!(
            text.contains(
                "Host harbor-x7k2p-master-0.harbor master-0.harbor\n  User harbor-x7k2p-master-0\n"
            )
        );
        assert!(text.contains("Host a-x-worker-1.harbor\n"), "a short name of two is none: {text}");
        assert!(text.contains("IdentityFile \"/home/a b/ssh/id\"\n"));
        assert!(text.contains("Match originalhost *.harbor exec \"'/bin/aro' ssh refresh\"\n"));
        assert!(!text.contains("ProxyCommand"), "{text}");
        assert!(written(&[], "/x/a b", &prepared(), "").is_err());
    }

    #[test]
    fn scp_reaches_machines_by_their_names() {
        for (said, meant) in [
            ("master-0:/tmp/x y", "master-0@ssh.example:/tmp/x y"),
            ("file", "file"),
            ("./a:b", "./a:b"),
            ("/x/a:b", "/x/a:b"),
        ] {
            assert_eq!(place_of(said, &prepared()), meant);
        }
    }

    #[test]
    fn a_word_of_the_command_holds_no_quotes() {
        assert_eq!(word(Path::new("/a b/100%")).unwrap(), "'/a b/100%%'");
        for bad in ["/a'b", "/a\"b", "/a\\b", "/a\nb"] {
            assert!(word(Path::new(bad)).is_err(), "{bad}");
        }
    }
}
