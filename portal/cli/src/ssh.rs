//! What OpenSSH needs to pass the bastion: an access, a key, a certificate of minutes, and whom to trust.
//!
//! One folder a cluster in the profile's `ssh/`: `grant.json`, `id` and `id.pub`, `id-cert.pub`, `known_hosts`; files
//! 0600. The key never leaves it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use rp_base::{Clock as _, SystemClock, Timestamp, sha256};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::{items, put, segment};
use crate::args::AccessArgs;
use crate::client::Client;
use crate::output::cell;
use crate::profile::Profile;
use crate::tunnel::reason;
use crate::{CliError, Exit, Output, files};

/// An access with less left than this is not begun with, seconds.
const LEAST_LEFT: i64 = 60;
const BROKEN: CliError = CliError::Answer("it is not an access to machines");

/// What a session needs from its access.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SessionRequirements {
    #[serde(default)]
    pub(crate) agent: bool,
    /// `host:port` of ports that are forwarded.
    #[serde(default)]
    pub(crate) destinations: Vec<String>,
}

impl SessionRequirements {
    fn are_met_by(&self, other: &Self) -> bool {
        (other.agent || !self.agent) && self.destinations.iter().all(|one| other.destinations.contains(one))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedGrant {
    id: String,
    #[serde(flatten)]
    needs: SessionRequirements,
}

/// The files and address that ssh is started with.
#[derive(Debug)]
pub(crate) struct SshSetup {
    pub(crate) folder: PathBuf,
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// The folder of one cluster.
pub(crate) fn folder(profile: &Profile, resource: &str) -> PathBuf {
    let name: String = resource.rsplit('/').next().unwrap_or_default().chars().take(60).collect();
    let digest = sha256(resource.as_bytes()).to_string();
    profile.ssh().join(format!("{name}-{}", digest.get(..8).unwrap_or_default()))
}

/// Prepares the files for ssh; requests a new access only when no active one meets the needs. Without `wish` it
/// requests none. A kept access that the portal refuses as ended is forgotten, and a new one is requested once.
pub(crate) async fn ready(
    client: &Client,
    profile: &Profile,
    resource: &str,
    needs: &SessionRequirements,
    wish: Option<AccessArgs>,
    out: &mut Output,
) -> Result<SshSetup, CliError> {
    let folder = folder(profile, resource);
    profile.make(&folder)?;
    if let Some(id) = living(client, &folder, needs).await? {
        match certify(client, &folder, &id).await {
            Err(error) if error.is_ended_access() => forget(&folder),
            prepared => return prepared,
        }
    }
    let Some(wish) = wish else {
        return Err(CliError::Usage(
            "the access has ended: take a new one with aro ssh CLUSTER --reason …".to_owned(),
        ));
    };
    let id = ask(client, &folder, resource, needs, wish, out).await?;
    certify(client, &folder, &id).await
}

/// A certificate of the folder's key for an access, with the address to use it at.
async fn certify(client: &Client, folder: &Path, id: &str) -> Result<SshSetup, CliError> {
    let public = key(folder).await?;
    let path = format!("/api/v1/grants/{}/ssh-certificate", segment(id)?);
    let answer = client.post(&path, &json!({ "public_key": public.trim() })).await?;
    write(folder, &answer)
}

/// Forgets the access; the key stays.
fn forget(folder: &Path) {
    // A file that cannot be removed names an access that is asked about again, and found ended again.
    let _ = std::fs::remove_file(folder.join("grant.json"));
}

fn write(folder: &Path, answer: &Value) -> Result<SshSetup, CliError> {
    let certificate = cell(answer, &["/certificate"]);
    let host = cell(answer, &["/host"]);
    let port = answer["port"].as_u64().and_then(|port| u16::try_from(port).ok()).ok_or(BROKEN)?;
    let lines: Vec<String> = items(&answer["known_hosts"]).iter().map(|line| cell(line, &[""])).collect();
    let plain = |line: &String| !line.is_empty() && !line.chars().any(char::is_control);
    let sound = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte))
        && !host.is_empty()
        && !host.starts_with('-');
    if !sound || !plain(&certificate.trim().to_owned()) || lines.is_empty() || !lines.iter().all(plain) {
        return Err(BROKEN);
    }
    files::write_private(&folder.join("id-cert.pub"), &format!("{}\n", certificate.trim()))?;
    files::write_private(&folder.join("known_hosts"), &format!("{}\n", lines.join("\n")))?;
    Ok(SshSetup { folder: folder.to_owned(), host, port })
}

async fn living(
    client: &Client,
    folder: &Path,
    needs: &SessionRequirements,
) -> Result<Option<String>, CliError> {
    let kept = files::read_private(&folder.join("grant.json"))?;
    let known: Option<SavedGrant> = kept.and_then(|text| serde_json::from_str(text.expose()).ok());
    let Some(known) = known.filter(|known| needs.are_met_by(&known.needs)) else { return Ok(None) };
    let grant = match client.get(&format!("/api/v1/grants/{}", segment(&known.id)?), &[]).await {
        Ok(grant) => grant,
        // Another person's, or another portal's.
        Err(error) if matches!(error.exit(), Exit::NotFound | Exit::NotAllowed) => return Ok(None),
        Err(error) => return Err(error),
    };
    let soon = SystemClock.now().seconds() + LEAST_LEFT;
    let lives = cell(&grant, &["/state"]) == "active"
        && Timestamp::parse(&cell(&grant, &["/not_after"])).is_ok_and(|end| end.seconds() > soon);
    Ok(lives.then_some(known.id))
}

async fn ask(
    client: &Client,
    folder: &Path,
    resource: &str,
    needs: &SessionRequirements,
    wish: AccessArgs,
    out: &mut Output,
) -> Result<String, CliError> {
    let reason = reason(wish.reason.as_deref(), resource, out)?;
    let mut body = json!({
        "kind": "ssh", "target": resource, "reason": reason, "plugin": true,
        "agent_forwarding": needs.agent, "destinations": needs.destinations,
    });
    put(&mut body, "ticket", wish.ticket);
    put(&mut body, "life", wish.life);
    let answer = client.post("/api/v1/grants", &body).await?;
    let id = cell(&answer, &["/grant/id"]);
    segment(&id).map_err(|_| BROKEN)?;
    let known = SavedGrant { id, needs: needs.clone() };
    files::write_private(&folder.join("grant.json"), &json!(known).to_string())?;
    Ok(known.id)
}

/// The public key; made the first time, by OpenSSH's own program.
async fn key(folder: &Path) -> Result<String, CliError> {
    let (private, public) = (folder.join("id"), folder.join("id.pub"));
    if !(private.exists() && public.exists()) {
        let _ = std::fs::remove_file(&private);
        let made = tokio::process::Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "aro", "-f"])
            .arg(&private)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .await
            .map_err(|cause| CliError::Program { program: "ssh-keygen".to_owned(), cause })?;
        if !made.success() {
            return Err(CliError::BadFile { path: private, what: "could not be made by ssh-keygen" });
        }
    }
    Ok(files::read(&public)?.expose().clone())
}

impl SshSetup {
    /// Options of ssh and scp, each to be preceded by `-o`.
    pub(crate) fn options(&self) -> Result<Vec<String>, CliError> {
        let file = |name: &str| quoted(&self.folder.join(name));
        Ok(vec![
            format!("Port={}", self.port),
            "IdentitiesOnly=yes".to_owned(),
            format!("IdentityFile={}", file("id")?),
            format!("CertificateFile={}", file("id-cert.pub")?),
            format!("UserKnownHostsFile={}", file("known_hosts")?),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            "UpdateHostKeys=no".to_owned(),
        ])
    }
}

/// A path as OpenSSH's configuration takes it.
pub(crate) fn quoted(path: &Path) -> Result<String, CliError> {
    let text = path.to_str().filter(|text| !text.contains(['"', '\\', '\n', '\r']));
    let text = text.ok_or_else(|| CliError::BadFile {
        path: path.to_owned(),
        what: "has a name that OpenSSH's configuration cannot hold",
    })?;
    Ok(format!("\"{}\"", text.replace('%', "%%")))
}

/// A machine's name, and nothing that ssh would read otherwise.
pub(crate) fn machine(name: &str) -> Result<&str, CliError> {
    let sound = (1..=253).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        && !name.starts_with(['-', '.']);
    if sound {
        Ok(name)
    } else {
        Err(CliError::Usage("a machine's name has letters, digits, dashes and dots".to_owned()))
    }
}

/// The end of a machine's name that people say: `master-0` of `harbor-x7k2p-master-0`.
pub(crate) fn short(name: &str) -> Option<&str> {
    ["-master-", "-worker-", "-infra-"].iter().find_map(|kind| {
        let at = name.find(kind)?;
        name.get(at + 1..)
    })
}

/// Where a forwarding leads: `HOST:PORT` of `[ADDRESS:]PORT:HOST:PORT`.
pub(crate) fn destination(forward: &str) -> Result<String, CliError> {
    let wrong = || CliError::Usage(format!("-L {forward} is not PORT:HOST:PORT"));
    let (rest, port) = forward.rsplit_once(':').ok_or_else(wrong)?;
    let (local, host) = match rest.strip_suffix(']').and_then(|rest| rest.rsplit_once(":[")) {
        Some((local, host)) => (local, format!("[{host}]")),
        None => rest.rsplit_once(':').map(|(local, host)| (local, host.to_owned())).ok_or_else(wrong)?,
    };
    if local.is_empty() {
        return Err(wrong());
    }
    rp_tunnel::Destination::parse(&format!("{host}:{port}"))
        .map(|place| place.to_string())
        .map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_machines() {
        assert!(machine("master-0").is_ok() && machine("10.0.0.4").is_ok());
        for bad in ["", "-oProxyCommand=x", "a b", "a@b", "a;b", ".a", "a/b"] {
            assert!(machine(bad).is_err(), "{bad}");
        }
        assert_eq!(short("harbor-x7k2p-master-0"), Some("master-0"));
        assert_eq!(short("harbor-x7k2p-worker-eastus1-abcde"), Some("worker-eastus1-abcde"));
        assert_eq!(short("node7"), None);
    }

    #[test]
    fn a_forwarding_leads_to_a_place() {
        for (said, place) in [
            ("8080:localhost:9090", "localhost:9090"),
            ("127.0.0.1:8080:Svc.example:80", "svc.example:80"),
            ("8080:[::1]:22", "[::1]:22"),
        ] {
            assert_eq!(destination(said).unwrap(), place, "{said}");
        }
        for bad in ["8080", "localhost:80", ":a:80", "1:a:0", "1:a b:1", ""] {
            assert!(destination(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_access_is_used_again_when_it_has_what_is_needed() {
        let has =
            SessionRequirements { agent: false, destinations: vec!["a:1".to_owned(), "b:2".to_owned()] };
        let needs = |agent, to: &[&str]| SessionRequirements {
            agent,
            destinations: to.iter().map(|&to| to.to_owned()).collect(),
        };
        assert!(needs(false, &[]).are_met_by(&has) && needs(false, &["b:2"]).are_met_by(&has));
        assert!(!needs(true, &[]).are_met_by(&has) && !needs(false, &["c:3"]).are_met_by(&has));
    }

    #[test]
    fn what_the_portal_says_is_written_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let good = json!({"certificate": "ssh-ed25519-cert-v01@openssh.com AAAA", "host": "ssh.example", "port": 2222,
            "known_hosts": ["@cert-authority [ssh.example]:2222 ssh-ed25519 AAAA"], "not_after": "2026-01-01T00:00:00Z"});
        let ready = write(folder.path(), &good).unwrap();
        assert_eq!((ready.host.as_str(), ready.port), ("ssh.example", 2222));
        assert!(ready.options().unwrap().contains(&"StrictHostKeyChecking=yes".to_owned()));
        for (member, evil) in [
            ("host", json!("-oProxyCommand=x")),
            ("host", json!("a b")),
            ("port", json!(70_000)),
            ("certificate", json!("a\nb")),
            ("known_hosts", json!(["a\n* ssh-ed25519 BBBB"])),
            ("known_hosts", json!([])),
        ] {
            let mut bad = good.clone();
            bad[member] = evil;
            assert!(write(folder.path(), &bad).is_err(), "{member}");
        }
    }
}
