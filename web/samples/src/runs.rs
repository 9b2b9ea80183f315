//! Operations in every state.

use crate::{DAY, HOSTILE, HOUR, MINUTE, NOW, endless};
use web::objects::{ManifestProgress, ManifestRow, Run, RunLine, RunStep};

const FIRST: [&str; 18] = [
    "action.validateResources",
    "action.ensureResourceGroup",
    "action.createStorageAccounts",
    "action.enableServiceEndpoints",
    "action.deployBaseResourceTemplate",
    "action.attachNetworkSecurityGroups",
    "action.setMasterSubnetPolicies",
    "action.createPrivateLinkService",
    "action.createOrUpdateDenyAssignment",
    "action.updateApiIpEarly",
    "action.createOrUpdateRouterIpEarly",
    "action.ensureGatewayCreate",
    "action.createApiServerPrivateEndpoint",
    "action.createCertificates",
    "action.generateKubeconfigs",
    "action.startInstallation",
    "condition.installationComplete",
    "condition.apiServersReady",
];

fn steps(count: usize, began: i64) -> Vec<RunStep> {
    let mut at = began;
    let mut steps = Vec::new();
    for (place, name) in FIRST.iter().take(count).enumerate() {
        let took = 400 + u64::try_from(place).unwrap_or(0) * 7_300;
        steps.push(RunStep {
            name: (*name).into(),
            at: u32::try_from(place).unwrap_or(0) + 1,
            started: at,
            took_ms: Some(took),
            attempts: if place == 8 { 4 } else { 1 },
            ..RunStep::default()
        });
        at += i64::try_from(took / 1000).unwrap_or(0);
    }
    steps
}

fn lines(began: i64) -> Vec<RunLine> {
    let line = |after: i64, level: &str, text: &str| RunLine {
        at: began + after,
        level: level.into(),
        text: text.into(),
    };
    vec![
        line(1, "info", "Taken up by rp-0, for the first time"),
        line(9, "info", "The resource group aro-harbor-7k2p is there"),
        line(
            74,
            "warning",
            "Azure answers 403 to the role assignment; it is tried again until it has spread",
        ),
        line(131, "info", "The private endpoint has the address 10.88.3.14"),
        line(240, "info", "The installer has begun"),
    ]
}

/// One that goes well.
pub(super) fn running() -> Run {
    let began = NOW - 6 * MINUTE;
    let mut steps = steps(17, began);
    if let Some(last) = steps.last_mut() {
        last.took_ms = None;
        last.started = NOW - 95;
        last.message = "29 of 33 operators are available".into();
    }
    Run {
        id: "7d1b3c52-8f0e-4f0a-93c4-5d3f5d9b2f10".into(),
        kind: "Creating".into(),
        phase: "Bootstrap".into(),
        started: began,
        attempt: 1,
        planned: 34,
        steps,
        lines: lines(began),
        asked_by: "ops-automation@example.com".into(),
        correlation: vec![
            ("Correlation ID".into(), "0e6f4f2a-51b8-4a54-9a7d-6ef2a0c5a001".into()),
            ("Client request ID".into(), "cli-20261121-0306".into()),
        ],
        ..Run::default()
    }
}

/// One that waits for long.
pub(super) fn waiting() -> Run {
    let mut run = Run { started: NOW - 68 * MINUTE, attempt: 2, ..running() };
    if let Some(last) = run.steps.last_mut() {
        last.started = NOW - 52 * MINUTE;
        last.attempts = 312;
        last.message = "the API server does not answer: connection refused".into();
    }
    run
}

/// One that failed, with what was gathered.
pub(super) fn failed() -> Run {
    let mut run = waiting();
    if let Some(last) = run.steps.last_mut() {
        last.took_ms = Some(3_120_000);
        last.failed = true;
        last.message = "timed out after 60 min".into();
    }
    let nodes = "harbor-7k2p-master-0 - Ready: True\nharbor-7k2p-master-1 - Ready: True\nharbor-7k2p-master-2 - Ready: Unknown";
    Run {
        ended: Some(NOW - 3 * MINUTE),
        result: "Failed".into(),
        error: "condition.installationComplete: timed out after 60 min: operator authentication is not available: OAuthServerRouteEndpointAccessibleController: dial tcp 10.0.2.7:443: connection refused".into(),
        diagnostics: vec![
            ("Nodes".into(), nodes.into()),
            ("Cluster operators".into(), "authentication - Available: False, Progressing: True, Degraded: True\nconsole - Available: False, Progressing: False, Degraded: False".into()),
            ("Serial console of harbor-7k2p-master-2".into(), "[  412.118] systemd[1]: kubelet.service: Failed with result 'exit-code'.\n".repeat(40)),
        ],
        ..run
    }
}

/// One that is over.
pub(super) fn succeeded() -> Run {
    Run {
        kind: "Updating".into(),
        phase: String::new(),
        started: NOW - 3 * HOUR,
        ended: Some(NOW - 3 * HOUR + 220),
        result: "Succeeded".into(),
        planned: 9,
        steps: steps(9, NOW - 3 * HOUR),
        ..running()
    }
}

/// Many, of all kinds.
pub(super) fn ten() -> Vec<Run> {
    let kinds = ["AdminUpdating", "Updating", "Creating"];
    let one = |n: i64| {
        let which = usize::try_from(n).unwrap_or(0);
        let bad = n % 4 == 2;
        let mut run = if bad { failed() } else { succeeded() };
        run.id = format!("7d1b3c52-8f0e-4f0a-93c4-5d3f5d9b2f{which:02}");
        kinds[which % 3].clone_into(&mut run.kind);
        run.started = NOW - n * DAY - HOUR;
        run.ended = Some(run.started + 400 * (n + 1));
        run
    };
    (1..11).map(one).collect()
}

/// Whose every word is hostile.
pub(super) fn strange() -> Run {
    let text = || HOSTILE.to_owned();
    Run {
        id: text(),
        kind: text(),
        phase: text(),
        started: i64::MIN,
        ended: Some(i64::MAX),
        result: text(),
        error: endless(),
        attempt: u32::MAX,
        planned: 1,
        steps: vec![RunStep {
            name: format!("condition.{HOSTILE}"),
            at: u32::MAX,
            started: i64::MAX,
            took_ms: Some(u64::MAX),
            attempts: u32::MAX,
            message: endless(),
            failed: true,
        }],
        lines: vec![RunLine { at: i64::MIN, level: text(), text: endless() }],
        diagnostics: vec![(text(), format!("{HOSTILE}\n{}", endless()))],
        asked_by: text(),
        correlation: vec![(text(), text())],
    }
}

/// Maintenance in each state.
pub(super) fn manifests() -> Vec<ManifestRow> {
    let row = |task: &str, progress, at, text: &str| ManifestRow {
        task: task.into(),
        progress,
        text: text.into(),
        scheduled: progress != ManifestProgress::Running,
        at,
        cancel: if progress == ManifestProgress::Planned { "/maintenance/m-1/cancel" } else { "" }.into(),
        ..ManifestRow::default()
    };
    let api = "the API server does not answer: connection refused";
    vec![
        row("operator update", ManifestProgress::Running, NOW - 3 * MINUTE, ""),
        row("ACR token checker", ManifestProgress::Planned, NOW + 90 * MINUTE, ""),
        row("fix SSH", ManifestProgress::Done, NOW - 26 * 60 * MINUTE, "3 rules were missing"),
        row("TLS certificate rotation", ManifestProgress::Failed, NOW - 50 * 60 * MINUTE, api),
        row("sync Cluster object", ManifestProgress::Late, NOW - 75 * 60 * MINUTE, ""),
        row("OTel logging default", ManifestProgress::Cancelled, NOW - 98 * 60 * MINUTE, HOSTILE),
    ]
}
