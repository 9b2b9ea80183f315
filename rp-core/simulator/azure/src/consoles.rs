//! What machines say on their serial console and show on their screen: blobs of their own, at addresses that prove
//! themselves for a while.

mod picture;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use rp_base::{Timestamp, sha256};
use serde_json::{Value, json};

use super::id::Id;
use super::response::ArmResponse;
use super::routes::ArmRequest;
use super::world::World;

/// Path prefix: `/serial/log` and `/serial/screen`, then the machine's id.
pub(super) const PLACE: &str = "/serial/";
/// Default and maximum validity of an address, minutes.
const MINUTES: u64 = 120;

/// Logs and screenshots set by tests, which replace generated ones; by lower-case machine id.
#[derive(Debug, Default)]
pub(super) struct ScriptedConsoles {
    logs: HashMap<String, Bytes>,
    screens: HashMap<String, Bytes>,
}

impl ScriptedConsoles {
    pub(super) fn log(&mut self, machine: &str, log: Bytes) {
        self.logs.insert(machine.to_ascii_lowercase(), log);
    }

    pub(super) fn screen(&mut self, machine: &str, picture: Bytes) {
        self.screens.insert(machine.to_ascii_lowercase(), picture);
    }
}

/// `retrieveBootDiagnosticsData`: the addresses; none where a machine has boot diagnostics off.
pub(super) fn addresses(world: &World, asked: &ArmRequest<'_>, id: &Id, machine: &Value) -> ArmResponse {
    if machine.pointer("/properties/diagnosticsProfile/bootDiagnostics/enabled") == Some(&json!(false)) {
        return ArmResponse::ok(json!({"serialConsoleLogBlobUri": null, "consoleScreenshotBlobUri": null}));
    }
    let minutes = asked.parameter("sasUriExpirationTimeInMinutes").and_then(|text| text.parse().ok());
    let minutes = minutes.unwrap_or(MINUTES).clamp(1, MINUTES);
    let until = (world.clock.now() + Duration::from_secs(minutes * 60)).to_string();
    let url = |what: &str| {
        let path = format!("{PLACE}{what}{}", id.key);
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("sp", "r"),
                ("se", until.as_str()),
                ("sig", &world.signature(&path, "o", "r", &until)),
            ])
            .finish();
        format!("{}{path}?{query}", world.url)
    };
    ArmResponse::ok(json!({"serialConsoleLogBlobUri": url("log"), "consoleScreenshotBlobUri": url("screen")}))
}

/// Answers a request whose path begins with [`PLACE`].
pub(super) fn answer(
    world: &World,
    told: &ScriptedConsoles,
    path: &str,
    query: &str,
    headers: &HeaderMap,
) -> ArmResponse {
    let pairs: HashMap<String, String> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let of = |name: &str| pairs.get(name).map_or("", String::as_str);
    let until = Timestamp::parse(of("se")).ok();
    if of("sig") != world.signature(path, "o", "r", of("se"))
        || until.is_none_or(|until| until <= world.clock.now())
    {
        return ArmResponse::bytes(StatusCode::FORBIDDEN, "application/xml", Bytes::from_static(b"<Error/>"))
            .header("x-ms-error-code", "AuthenticationFailed");
    }
    let rest = path.strip_prefix(PLACE).unwrap_or_default();
    let (what, key) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let Some(machine) = world.tree.find(key) else {
        return ArmResponse::bytes(StatusCode::NOT_FOUND, "application/xml", Bytes::from_static(b"<Error/>"))
            .header("x-ms-error-code", "BlobNotFound");
    };
    match what {
        "log" => {
            let log = told.logs.get(key).cloned().unwrap_or_else(|| Bytes::from(log(&machine)));
            part("text/plain", log, headers)
        }
        _ => {
            let made = || Bytes::from(picture::picture(&screen(&machine)));
            part("application/octet-stream", told.screens.get(key).cloned().unwrap_or_else(made), headers)
        }
    }
}

/// The complete bytes, or the requested range (RFC 9110 §14).
fn part(kind: &'static str, bytes: Bytes, headers: &HeaderMap) -> ArmResponse {
    let range = headers.get("range").and_then(|value| value.to_str().ok()?.strip_prefix("bytes="));
    let Some((from, to)) = range.and_then(|range| range.split_once('-')) else {
        return ArmResponse::bytes(StatusCode::OK, kind, bytes);
    };
    let size = bytes.len();
    let (from, to) =
        (from.parse().unwrap_or(0), to.parse().unwrap_or(usize::MAX).saturating_add(1).min(size));
    if from >= size || from >= to {
        return ArmResponse::bytes(
            StatusCode::RANGE_NOT_SATISFIABLE,
            "application/xml",
            Bytes::from_static(b"<Error/>"),
        )
        .header("x-ms-error-code", "InvalidRange");
    }
    let told = format!("bytes {from}-{}/{size}", to - 1);
    ArmResponse::bytes(StatusCode::PARTIAL_CONTENT, kind, bytes.slice(from..to))
        .header("content-range", &told)
}

fn name(machine: &Value) -> &str {
    machine["name"].as_str().unwrap_or("machine")
}

fn runs(machine: &Value) -> bool {
    let statuses = machine.pointer("/properties/instanceView/statuses").and_then(Value::as_array);
    statuses.into_iter().flatten().any(|status| status["code"] == "PowerState/running")
}

/// The print of a host key, for people: of the machine's name, and nothing else.
fn host_key(machine: &Value) -> String {
    use base64::Engine as _;
    let print = sha256(format!("simulated host key of {}", name(machine)).as_bytes());
    format!("SHA256:{}", base64::engine::general_purpose::STANDARD_NO_PAD.encode(print.0))
}

/// A start of the machine, as its console has it: with colours and with the line ends of consoles.
fn log(machine: &Value) -> String {
    const UNITS: [&str; 16] = [
        "Create Volatile Files and Directories",
        "Security Auditing Service",
        "Record System Boot/Shutdown in UTMP",
        "System Initialization",
        "D-Bus System Message Bus",
        "NTP client/server",
        "Network Manager",
        "Hostname Service",
        "OpenSSH server daemon",
        "Open vSwitch",
        "Rollback uncommitted network requests",
        "Container Runtime Interface for OCI (CRI-O)",
        "Kubernetes Kubelet",
        "Permit User Sessions",
        "Serial Getty on ttyS0",
        "Multi-User System",
    ];
    let mut out = String::new();
    let mut at = 0.0_f64;
    let mut say = |step: f64, line: &str| {
        at += step;
        let _ = write!(out, "[{at:12.6}] {line}\r\n");
    };
    say(0.0, "Linux version 5.14.0-427.el9.x86_64 (simulated) #1 SMP PREEMPT_DYNAMIC");
    say(
        0.0,
        "Command line: BOOT_IMAGE=(hd0,gpt3)/ostree/vmlinuz ignition.platform.id=azure console=ttyS0,115200n8",
    );
    for cpu in 0..8 {
        say(0.004, &format!("smpboot: CPU {cpu} is now online"));
    }
    for disk in 0..64 {
        say(0.011, &format!("hv_storvsc: channel {disk} offered, scsi host {}", disk % 4));
    }
    say(0.7, "ignition[731]: Ignition 2.18.0");
    say(0.1, "ignition[731]: Stage: fetch");
    say(0.3, "ignition[731]: GET http://169.254.169.254/metadata: attempt #1");
    say(0.4, "ignition[731]: GET result: OK");
    say(0.2, "ignition[731]: parsed url from the config: https://api-int:22623/config");
    say(1.9, "ignition[731]: Ignition finished successfully");
    for unit in UNITS {
        at += 0.31;
        let _ = write!(out, "[\u{1b}[0;32m  OK  \u{1b}[0m] Started {unit}.\r\n");
    }
    if !runs(machine) {
        let mut say = |line: &str| {
            at += 0.2;
            let _ = write!(out, "[{at:12.6}] {line}\r\n");
        };
        say("systemd-shutdown[1]: Syncing filesystems and block devices.");
        say("systemd-shutdown[1]: Sending SIGTERM to remaining processes...");
        say("reboot: Power down");
        return out;
    }
    for line in screen(machine) {
        let _ = write!(out, "{line}\r\n");
    }
    out.truncate(out.trim_end().len());
    out.push(' ');
    out
}

/// The text on its screen.
fn screen(machine: &Value) -> Vec<String> {
    if !runs(machine) {
        return vec!["reboot: Power down".to_owned()];
    }
    vec![
        "Red Hat Enterprise Linux CoreOS (simulated)".to_owned(),
        "Kernel 5.14.0-427.el9.x86_64 on x86_64 (ttyS0)".to_owned(),
        String::new(),
        format!("SSH host key: {} (ED25519)", host_key(machine)),
        "Ignition: ran on first boot".to_owned(),
        String::new(),
        format!("{} login:", name(machine)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(power: &str) -> Value {
        json!({"name": "m-0", "properties": {"instanceView": {"statuses": [{"code": format!("PowerState/{power}")}]}}})
    }

    #[test]
    fn a_machine_that_runs_waits_for_a_login_and_one_that_does_not_is_down() {
        let text = log(&machine("running"));
        assert!(
            text.contains("Ignition finished successfully\r\n") && text.ends_with("m-0 login: "),
            "{text}"
        );
        assert!(log(&machine("deallocated")).ends_with("Power down\r\n"));
        assert_eq!(log(&machine("running")), text, "it says the same again");
    }

    #[test]
    fn ranges_are_parts() {
        let of = |range: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("range", hyper::header::HeaderValue::from_static(range));
            part("text/plain", Bytes::from_static(b"0123456789"), &headers).status.as_u16()
        };
        assert_eq!((of("bytes=0-3"), of("bytes=8-99"), of("bytes=10-"), of("lines=1")), (206, 206, 416, 200));
    }
}
