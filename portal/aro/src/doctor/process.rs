//! The process that may run by these settings: its listeners, its limits, its state, its version.

use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use rp_config::Settings;
use tokio::net::UnixStream;

use super::Finding;

/// For an answer of the admin listener.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most of an answer that is shown.
const MOST: usize = 4096;

/// A process that answers at the admin listener.
#[derive(Debug)]
pub(super) struct Running {
    version: String,
    ready: bool,
    /// What `/healthz/ready` said.
    checks: String,
    /// By its control socket.
    pub(super) pid: Option<i32>,
}

/// Who answers at the admin listener of these settings.
pub(super) async fn running(settings: &Settings) -> Option<Running> {
    let client = rp_net::http::client(None, PATIENCE).ok()?;
    let ask = async |path: &str| {
        let answer = client.get(format!("http://{}{path}", settings.listen.admin)).send().await.ok()?;
        let ok = answer.status().is_success();
        let text = answer.text().await.ok()?;
        Some((ok, text.chars().take(MOST).collect::<String>()))
    };
    let (ready, checks) = ask("/healthz/ready").await?;
    let (_, version) = ask("/version").await.filter(|(ok, _)| *ok)?;
    let pid = async {
        let stream = UnixStream::connect(settings.listen.control.as_ref()?).await.ok()?;
        stream.peer_cred().ok()?.pid()
    };
    Some(Running { version: version.trim().to_owned(), ready, checks, pid: pid.await })
}

/// Each address that the settings name: free, or in use. `running`: a process of these settings answers.
pub(super) fn listeners(settings: &Settings, running: bool) -> Vec<Finding> {
    let mut listeners =
        vec![("listen.portal", settings.listen.portal), ("listen.admin", settings.listen.admin)];
    listeners.extend(settings.ssh.listen.map(|address| ("ssh.listen", address)));
    if settings.rp.api.enabled {
        listeners.push(("rp.listen", settings.rp.api.listen));
    }
    let check = |(setting, address): (&str, SocketAddr)| {
        let place = format!("{setting} ({address})");
        match TcpListener::bind(address) {
            Ok(_) => Finding::ok("listener", format!("{place}: free")),
            Err(error) if error.kind() == ErrorKind::AddrInUse && running => {
                Finding::ok("listener", format!("{place}: in use, and aro runs"))
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => Finding::failed(
                "listener",
                format!("{place}: in use, and no aro of these settings answers"),
                format!("ss -ltnp 'sport = :{}' names the program.", address.port()),
            ),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Finding::failed(
                "listener",
                format!("{place}: {error}"),
                "Use a port from 1024 on, or open lower ones: deploy/README.md, Ports below 1024.",
            ),
            Err(error) => Finding::failed(
                "listener",
                format!("{place}: {error}"),
                "Is the address one of this machine?",
            ),
        }
    };
    listeners.into_iter().map(check).collect()
}

/// Whether the descriptors are enough for `limits.connections`: of the running process, else as this shell has them.
pub(super) fn descriptors(settings: &Settings, pid: Option<i32>) -> Finding {
    let (whose, file) = pid.map_or_else(
        || ("a process started from here".to_owned(), "/proc/self/limits".to_owned()),
        |pid| (format!("process {pid}"), format!("/proc/{pid}/limits")),
    );
    let Some(most) = fs::read_to_string(&file).ok().as_deref().and_then(max_open_files) else {
        return Finding::skipped(
            "descriptors",
            format!("{file} cannot be read: run this as the service's user"),
        );
    };
    // The listeners keep half of all descriptors for connections.
    let needed = u64::try_from(settings.limits.connections).unwrap_or(u64::MAX).saturating_mul(2);
    if most >= needed {
        return Finding::ok("descriptors", format!("{whose} may open {most} files"));
    }
    let found = format!("{whose} may open {most} files; limits.connections asks for {needed}");
    Finding::warning(
        "descriptors",
        found,
        format!("LimitNOFILE={needed} in the unit, or smaller limits.connections."),
    )
}

/// The soft limit in the text of `/proc/PID/limits` (proc(5)).
fn max_open_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_ascii_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

/// Whether the running process is ready, and of this version.
pub(super) fn state(settings: &Settings, running: Option<&Running>) -> Vec<Finding> {
    let Some(running) = running else {
        let found = format!("nothing answers at listen.admin ({}): no process runs", settings.listen.admin);
        return vec![Finding::skipped("process", found)];
    };
    let failing: Vec<&str> = running.checks.lines().filter_map(|line| line.strip_prefix("[-] ")).collect();
    let ready = if running.ready {
        Finding::ok("process", "runs and is ready")
    } else {
        let action = "docs/operations/service-alerts.md, AroReadyCheckFailing, has each check.";
        Finding::failed("process", format!("runs and is not ready: {}", failing.join("; ")), action)
    };
    let own = rp_runtime::VERSION;
    let version = if running.version == own {
        Finding::ok("version", format!("{own}, as the running process"))
    } else {
        Finding::warning(
            "version",
            format!("the running process is {}, this program {own}", running.version),
            "Finish the upgrade: restart the process.",
        )
    };
    vec![ready, version]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_descriptors_is_the_soft_one() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 524288               files\n";
        assert_eq!(max_open_files(text), Some(1024));
        assert_eq!(
            max_open_files("Max open files            unlimited            unlimited            files"),
            Some(u64::MAX)
        );
        assert_eq!(max_open_files("Max processes 1 1 processes"), None);
    }
}
