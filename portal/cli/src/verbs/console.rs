//! `aro console CLUSTER`: a browser with a profile of its own whose every connection goes through a tunnel.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rp_base::{Random as _, SystemRandom};
use serde_json::json;
use tokio::process::Command;

use super::tunnel::OpenedTunnel;
use super::{items, resolve, tunnel};
use crate::args::ConsoleArgs;
use crate::client::Client;
use crate::output::{cell, fields};
use crate::profile::Profile;
use crate::tunnel::LocalListener;
use crate::{CliError, Output};

/// Looked for on the PATH, in this order.
const BROWSERS: [&str; 8] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "microsoft-edge-stable",
    "brave-browser",
    "chrome",
];
/// Where they are on a Mac.
const APPLICATIONS: [&str; 3] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
];

pub(super) async fn run(args: ConsoleArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    if args.credentials {
        let answer = client.post(&format!("/api/v1/clusters{resource}/credentials"), &json!({})).await?;
        return out.value(args.connection.output, &answer, fields);
    }
    let browser = find(args.browser.as_deref())?;
    for host in &args.direct {
        rp_tunnel::Destination::new(host, 443)
            .map_err(|error| CliError::Usage(format!("--direct {host}: {error}")))?;
    }
    let offer = client.get(&format!("/api/v1/clusters{resource}/tunnel"), &[]).await?;
    let console = cell(&offer, &["/console"]);
    if !console.starts_with("https://") {
        return Err(CliError::Usage(
            "this cluster has no web console that is known here; other hosts: aro tunnel --to".to_owned(),
        ));
    }
    let door = LocalListener::open(([127, 0, 0, 1], 0).into()).await?;
    let opened =
        tunnel::open_tunnel(&client, &args.connection, &resource, Vec::new(), args.wish, out).await?;
    let OpenedTunnel { tunnel: taken, link, remarks } = opened;
    let profile = Profile::named(args.connection.config_dir.as_deref(), args.connection.profile.as_deref())?;
    let folder = Folder::new(&profile)?;
    let pins: Vec<String> = items(&offer["pins"]).iter().map(|pin| cell(pin, &[""])).collect();
    let mut command = Command::new(&browser);
    command
        .args(flags(&folder.0, door.address.port(), &pins, &args.direct)?)
        .args(&args.arguments)
        .arg(&console);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let program = browser.to_string_lossy().into_owned();
    let mut running = command.spawn().map_err(|cause| CliError::Program { program, cause })?;
    out.note(&format!("{console} is opened in a browser of its own, until {}.", taken.not_after));
    // The browser's end is the console's.
    let done = async {
        let _ = running.wait().await;
    };
    tunnel::serve(door, link, remarks, done, out).await
}

/// A browser's folder while it runs: no cookie outlives it, none is shared.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new(profile: &Profile) -> Result<Self, CliError> {
        let folder = profile.browsers().join(SystemRandom.uuid().simple().to_string());
        profile.make(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What a browser still writes is swept with the sign-in.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn find(named: Option<&Path>) -> Result<PathBuf, CliError> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let on_path = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    on_path.chain(APPLICATIONS.iter().map(PathBuf::from)).find(|file| file.is_file()).ok_or_else(|| {
        CliError::Usage("no Chromium, Chrome or Edge is found: name one by --browser".to_owned())
    })
}

/// No name is looked up here and nothing goes past the tunnel, but to the hosts that the person names.
fn flags(folder: &Path, port: u16, pins: &[String], direct: &[String]) -> Result<Vec<OsString>, CliError> {
    let mut data = OsString::from("--user-data-dir=");
    data.push(folder);
    let rules = direct.iter().map(|host| format!(", EXCLUDE {host}")).collect::<String>();
    let past = direct.iter().map(|host| format!(";{host}")).collect::<String>();
    let mut flags = vec![
        data,
        format!("--proxy-server=socks5://127.0.0.1:{port}").into(),
        format!("--proxy-bypass-list=<-loopback>{past}").into(),
        format!("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1{rules}").into(),
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp".into(),
        "--disable-background-networking".into(),
        "--disable-component-update".into(),
        "--disable-sync".into(),
        "--no-first-run".into(),
        "--no-default-browser-check".into(),
    ];
    let sound = |pin: &String| {
        pin.len() == 44 && pin.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
    };
    if !pins.iter().all(sound) {
        return Err(CliError::Answer("a key to pin"));
    }
    if !pins.is_empty() {
        flags.push(format!("--ignore-certificate-errors-spki-list={}", pins.join(",")).into());
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_led_through_the_tunnel_only() {
        let pin = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=".to_owned();
        let made =
            flags(Path::new("/x/y"), 4711, std::slice::from_ref(&pin), &["idp.example".to_owned()]).unwrap();
        let made: Vec<String> = made.into_iter().map(|flag| flag.into_string().unwrap()).collect();
        for wanted in [
            "--user-data-dir=/x/y",
            "--proxy-server=socks5://127.0.0.1:4711",
            "--proxy-bypass-list=<-loopback>;idp.example",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1, EXCLUDE idp.example",
        ] {
            assert!(made.iter().any(|flag| flag == wanted), "{wanted}: {made:?}");
        }
        assert!(made.contains(&format!("--ignore-certificate-errors-spki-list={pin}")));
        let none = flags(Path::new("/x"), 1, &[], &[]).unwrap();
        assert!(!none.iter().any(|flag| flag.to_string_lossy().contains("spki")));
        assert!(flags(Path::new("/x"), 1, &["--evil".to_owned()], &[]).is_err());
    }
}
