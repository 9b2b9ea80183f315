//! The API under schemathesis: requests made of its published description, sound and broken ones. No answer may be a 5xx, and
//! each has a described status and form. Some thousand requests that are the same in every run; in the soak
//! `ARO_FUZZ_SECONDS` is how long new ones are made up.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rp_client::ClusterId;
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, Folder, cluster_body, part, workspace};

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-0000000000f5";
const GROUP: &str = "fuzz";
const NAMES: [&str; 3] = ["one", "two", "three"];
/// Versions whose descriptions differ most: newest, oldest, the one with the load balancer that was never built.
const VERSIONS: [&str; 3] = ["2025-07-25", "2020-04-30", "2023-07-01-preview"];
/// What a refusal may be. A success must be described by the operation itself.
const REFUSALS: [&str; 7] = ["400", "403", "404", "409", "413", "415", "429"];
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance";

/// Requests that are made up for each operation, beside those at the edges of every parameter.
const EXAMPLES: u32 = 25;

/// How long a run goes on.
#[derive(Clone, Copy)]
enum CaseBudget {
    Seconds(u64),
    /// Edges too: a hundred requests for each operation.
    Edges,
    Examples,
}

impl CaseBudget {
    /// What the soak makes of it: its share of the time.
    fn or(self, soak: Option<u64>, parts: u64) -> Self {
        soak.map_or(self, |seconds| Self::Seconds((seconds / parts).max(5)))
    }

    fn arguments(self) -> Vec<String> {
        let examples =
            ["--seed", "1", "--max-examples"].map(str::to_owned).into_iter().chain([EXAMPLES.to_string()]);
        match self {
            Self::Seconds(seconds) => vec!["--max-time".to_owned(), seconds.to_string()],
            Self::Edges => examples.collect(),
            Self::Examples => examples.chain(["--phases", "fuzzing,stateful"].map(str::to_owned)).collect(),
        }
    }

    fn limit(self) -> Duration {
        let seconds = if let Self::Seconds(seconds) = self { seconds } else { 0 };
        Duration::from_secs(seconds + 600)
    }
}

#[tokio::test]
async fn schemathesis_finds_nothing() -> Result<()> {
    let soak = std::env::var("ARO_FUZZ_SECONDS").ok();
    let soak = soak.map(|text| text.parse::<u64>().context("ARO_FUZZ_SECONDS is a number")).transpose()?;
    let aro = Aro::start(AroOptions { clusters: 1, ..AroOptions::default() }).await?;
    let rp = aro.rp()?;
    rp.subscription(SUBSCRIPTION, "Registered", "tenant").await?;
    for (n, name) in NAMES.iter().take(2).enumerate() {
        rp.put(&ClusterId::new(SUBSCRIPTION, GROUP, name), &wanted(n)).await?;
    }
    let folder = Folder::new("fuzz")?;
    // Deep in what is there, most of all in the newest version, then with everything made up.
    for version in VERSIONS {
        let real = prepared(&folder, version, true)?;
        let newest = version == VERSIONS[0];
        let bound = if newest { CaseBudget::Edges.or(soak, 2) } else { CaseBudget::Examples.or(soak, 8) };
        aro.explain(fuzz(&aro, &folder, &real, bound).await)?;
    }
    let made_up = prepared(&folder, VERSIONS[0], false)?;
    aro.explain(fuzz(&aro, &folder, &made_up, CaseBudget::Edges.or(soak, 4)).await)?;
    ensure!(!aro.process().log().contains("a request panicked"), "{}", aro.process().tail());
    Ok(())
}

async fn fuzz(aro: &Aro, folder: &Folder, document: &Path, bound: CaseBudget) -> Result<()> {
    let mut command = tokio::process::Command::new(part("python")?);
    command.args(["-m", "schemathesis.cli", "run"]).arg(document).args(["--url", &aro.dev.rp_url]);
    command.arg("--tls-verify").arg(&aro.dev.ca_file).args(["--checks", CHECKS]);
    command.args(bound.arguments()).args(["--request-timeout", "60"]);
    // Python 3.11 parses source in several threads at once wrongly: a worker more would fail by itself at times.
    command.args(["--workers", "1"]);
    command.args(["--continue-on-failure", "--no-shrink", "--no-color", "--warnings", "off"]);
    command.args(["--generation-database", "none", "--suppress-health-check", "all"]);
    command.env_remove("REQUESTS_CA_BUNDLE").current_dir(folder.path()).kill_on_drop(true);
    command.stdin(Stdio::null());
    let output = tokio::time::timeout(bound.limit(), command.output())
        .await
        .context("schemathesis does not end")??;
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}\n{said}\n{error}", document.display(), output.status);
    let tried = said.lines().any(|line| line.contains("generated") || line.contains("test cases"));
    ensure!(tried, "nothing was tried: {said}");
    Ok(())
}

/// The description with what is there in the place of every text that would fit, if `real`; and with refusals named.
fn prepared(folder: &Folder, version: &str, real: bool) -> Result<PathBuf> {
    let file = workspace().join("docs/reference/swagger").join(version).join("redhatopenshift.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let known = |name: &str| match name {
        "api-version" => Some(json!([version])),
        "subscriptionId" if real => Some(json!([SUBSCRIPTION])),
        "resourceGroupName" if real => Some(json!([GROUP])),
        "resourceName" if real => Some(json!(NAMES)),
        "location" if real => Some(json!(["westeurope"])),
        _ => None,
    };
    let narrow = |parameter: &mut Value| {
        if let Some(values) = parameter["name"].as_str().and_then(known) {
            parameter["enum"] = values;
        }
    };
    for parameter in document["parameters"].as_object_mut().context("parameters")?.values_mut() {
        narrow(parameter);
    }
    for path in document["paths"].as_object_mut().context("paths")?.values_mut() {
        for operation in path.as_object_mut().context("a path")?.values_mut() {
            operation["parameters"].as_array_mut().into_iter().flatten().for_each(narrow);
            let answers = operation["responses"].as_object_mut().context("responses")?;
            let refusal = answers.remove("default").context("default")?;
            answers.extend(REFUSALS.map(|status| (status.to_owned(), refusal.clone())));
            answers.insert("405".to_owned(), json!({"description": "No such method."}));
        }
    }
    let name = if real { "real" } else { "made-up" };
    folder.write(&format!("{version}-{name}.json"), document.to_string())
}

/// A body that makes a cluster; `n` keeps apart what must be its own.
fn wanted(n: usize) -> Value {
    let mut body = cluster_body(SUBSCRIPTION, n as u64);
    body["location"] = json!("westeurope");
    let properties = &mut body["properties"];
    properties["servicePrincipalProfile"]["clientId"] = json!(format!("22222222-2222-2222-2222-{n:012}"));
    properties["workerProfiles"][0]["vmSize"] = json!("Standard_D2s_v3");
    body
}
