//! `aro doctor`: what is wrong with a deployment, by its settings, and what to do about it. It reads and connects; it writes
//! nothing, makes nothing, and brings no schema up.

mod credentials;
mod peers;
mod process;

use clap::Args;
use rp_base::text::clean;
use rp_base::{SystemClock, chain};
use rp_config::Settings;
use serde::Serialize;

use crate::audit::VerdictFormat;
use crate::config_args::ConfigArgs;
use crate::output::{print_json, print_line};

/// Longest line of a finding.
const LINE: usize = 1000;
/// Between lines of one finding.
const INDENT: &str = "\n                     ";

/// `aro doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// How to print the findings
    #[arg(long, short, value_enum, default_value = "text")]
    pub output: VerdictFormat,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    /// Nothing fails today.
    Warning,
    Failed,
    /// It could not be made; `found` says why.
    Skipped,
}

/// What one check found.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    verdict: Verdict,
    found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
}

impl Finding {
    fn new(check: &'static str, verdict: Verdict, found: impl Into<String>) -> Self {
        Self { check, verdict, found: found.into(), action: None }
    }

    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self::new(check, Verdict::Ok, found)
    }

    fn failed(check: &'static str, found: impl Into<String>, action: impl Into<String>) -> Self {
        Self { action: Some(action.into()), ..Self::new(check, Verdict::Failed, found) }
    }

    fn warning(check: &'static str, found: impl Into<String>, action: impl Into<String>) -> Self {
        Self { action: Some(action.into()), ..Self::new(check, Verdict::Warning, found) }
    }

    fn skipped(check: &'static str, found: impl Into<String>) -> Self {
        Self::new(check, Verdict::Skipped, found)
    }

    /// The finding as lines for people.
    fn text(&self) -> String {
        let word = match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Failed => "FAILED",
            Verdict::Skipped => "skipped",
        };
        // Mistakes of the settings are several lines; names of hosts and texts of servers are from outside.
        let found: Vec<String> = self.found.lines().map(|line| clean(line, LINE)).collect();
        let found = found.join(INDENT);
        let action = self.action.as_ref().map(|action| format!("{INDENT}{action}")).unwrap_or_default();
        format!("{word:<8} {:<11} {found}{action}", self.check)
    }
}

#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    version: &'static str,
    findings: &'a [Finding],
}

/// Makes every check and prints what it found. `Ok(false)`: one failed.
///
/// # Errors
/// Standard output cannot be written.
pub async fn run(args: &DoctorArgs) -> anyhow::Result<bool> {
    let findings = match args.config.settings(&[]) {
        Ok(settings) => {
            let mut findings =
                vec![Finding::ok("settings", format!("{}: no mistakes", args.config.config.display()))];
            findings.extend(examine(&settings).await);
            findings
        }
        Err(error) => {
            vec![Finding::failed(
                "settings",
                format!("{error:#}"),
                "Correct the settings; nothing else was checked.",
            )]
        }
    };
    let ok = findings.iter().all(|finding| finding.verdict != Verdict::Failed);
    match args.output {
        VerdictFormat::Json => {
            let report = Report { ok, version: rp_runtime::VERSION, findings: &findings };
            print_json(serde_json::to_string_pretty(&report)?)?;
        }
        VerdictFormat::Text => {
            for finding in &findings {
                print_line(&finding.text())?;
            }
            let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
            let (failed, warnings) = (count(Verdict::Failed), count(Verdict::Warning));
            print_line(&format!("{} checks: {failed} failed, {warnings} warnings", findings.len()))?;
        }
    }
    Ok(ok)
}

/// The checks, those of this machine first.
async fn examine(settings: &Settings) -> Vec<Finding> {
    let mut findings = credentials::certificates(settings, &SystemClock);
    let (store, empty) = peers::store(settings, &SystemClock).await;
    findings.extend(credentials::keys(settings, empty));
    findings.extend(store);
    findings.extend(peers::names(settings).await);
    findings.push(peers::provider(settings).await);
    let running = process::running(settings).await;
    findings.extend(process::listeners(settings, running.is_some()));
    findings.push(process::descriptors(settings, running.as_ref().and_then(|running| running.pid)));
    findings.extend(process::state(settings, running.as_ref()));
    findings
}

/// An error with all its causes, in one line.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    chain(error).to_string()
}

#[cfg(test)]
mod tests;
