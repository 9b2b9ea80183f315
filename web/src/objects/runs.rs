//! One operation on a cluster, step by step: while it runs, and when it has ended.

mod panels;

use super::words_of;
use crate::cluster::Verdict;
use crate::parts::{Badge, Link, Notice, Tone};
use crate::when;

pub(super) use panels::{earlier, panels};

/// A step that lasts longer is shown as held up, in seconds.
const LONG: i64 = 15 * 60;

/// One operation; instants in seconds since 1970 UTC.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// `Creating`, `Updating`, `AdminUpdating`, `Deleting`.
    pub kind: String,
    /// Its phase, or empty.
    pub phase: String,
    /// When it began.
    pub started: i64,
    /// When it ended; none: it runs.
    pub ended: Option<i64>,
    /// The state it left the cluster in, once ended.
    pub result: String,
    /// Why it failed.
    pub error: String,
    /// How often a worker took it.
    pub attempt: u32,
    /// Steps of the phase's plan; 0: not known.
    pub planned: u32,
    /// In their order.
    pub steps: Vec<RunStep>,
    /// What it said, oldest first.
    pub lines: Vec<RunLine>,
    /// Gathered after a failure: name and text.
    pub diagnostics: Vec<(String, String)>,
    /// Who requested it.
    pub asked_by: String,
    /// Names under which other systems know the request: label and value.
    pub correlation: Vec<(String, String)>,
}

/// One step.
#[derive(Clone, Debug, Default)]
pub struct RunStep {
    /// Its stored name, e.g. `condition.apiServersReady`.
    pub name: String,
    /// Its place in the plan of its phase, from 1; 0: not known.
    pub at: u32,
    /// When it began.
    pub started: i64,
    /// How long it took; none: it has not ended.
    pub took_ms: Option<u64>,
    /// How often it was tried.
    pub attempts: u32,
    /// What it waits for, or why it failed.
    pub message: String,
    /// It failed.
    pub failed: bool,
}

/// A sentence of the log.
#[derive(Clone, Debug, Default)]
pub struct RunLine {
    /// When.
    pub at: i64,
    /// `info`, `warning`, `error`.
    pub level: String,
    /// The sentence.
    pub text: String,
}

impl RunStep {
    /// The stored name in words: "Wait: API servers ready".
    #[must_use]
    pub fn words(&self) -> String {
        let (kind, name) = self.name.split_once('.').unwrap_or(("", &self.name));
        let words = words_of(name);
        let mut letters = words.chars();
        let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
        match kind {
            "condition" => format!("Wait: {words}"),
            _ => format!("{first}{}", letters.as_str()),
        }
    }
}

/// `340 ms`, `1.2 s`, `47 min`.
#[must_use]
pub fn lasted(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => when::span(i64::try_from(ms / 1_000).unwrap_or(i64::MAX)),
    }
}

impl Run {
    /// The step that runs, or where it stopped.
    #[must_use]
    pub fn current(&self) -> Option<&RunStep> {
        self.steps.last().filter(|step| step.took_ms.is_none() || step.failed)
    }

    /// Whether it failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.ended.is_some() && (self.result == "Failed" || !self.error.is_empty())
    }

    /// Place of the step that runs in the plan, from 1.
    #[must_use]
    pub fn place(&self) -> u32 {
        let last = self.steps.last().map_or(0, |step| step.at);
        if last > 0 { last } else { u32::try_from(self.steps.len()).unwrap_or(0) }
    }

    /// "Step 14 of 49", as far as it is known.
    #[must_use]
    pub fn progress(&self) -> String {
        match (self.place(), self.planned) {
            (0, _) => "Not begun".to_owned(),
            (at, 0) => format!("Step {at}"),
            (at, planned) => format!("Step {at} of {}", planned.max(at)),
        }
    }

    /// In words: "Creating", "Admin update".
    #[must_use]
    pub fn name(&self) -> &str {
        match self.kind.as_str() {
            "AdminUpdating" => "Admin update",
            "" => "Operation",
            kind => kind,
        }
    }

    /// Its state.
    #[must_use]
    pub fn badge(&self) -> Badge {
        match (self.ended, self.failed()) {
            (None, _) => Badge::filled(Tone::Busy, "busy", "Running"),
            (_, true) => Badge::filled(Tone::Bad, "failed", "Failed"),
            _ if self.kind == "Deleting" => Badge::quiet(Tone::Ok, "ok", "Deleted"),
            _ => Badge::quiet(Tone::Ok, "ok", "Succeeded"),
        }
    }

    /// One sentence for lists: "Step 14 of 49: wait for API servers ready".
    #[must_use]
    pub fn sentence(&self) -> String {
        let step = self.current().map(|step| format!(": {}", step.words())).unwrap_or_default();
        let phase =
            if self.phase.is_empty() { String::new() } else { format!("{}, ", words_of(&self.phase)) };
        let at = self.progress();
        // Within a sentence.
        let at = if phase.is_empty() { at } else { at.replacen('S', "s", 1).replacen('N', "n", 1) };
        format!("{phase}{at}{step}")
    }

    fn took(&self) -> String {
        match self.ended {
            Some(ended) => when::span(ended.saturating_sub(self.started)),
            None => String::new(),
        }
    }

    /// The last error of the log, where the reason does not tell it.
    fn complaint(&self) -> Option<&str> {
        let last = self.lines.iter().rev().find(|line| line.level == "error")?;
        (!self.error.contains(&last.text)).then_some(&last.text)
    }

    /// What to do about a failure.
    fn advice(&self) -> &'static str {
        match self.kind.as_str() {
            "Creating" => {
                "A failed install is not retried. Remove the cause, then delete the cluster and create it again. The delete removes every resource that the install made."
            }
            "Deleting" => {
                "Send the delete again once the cause is gone: what is removed already is passed over."
            }
            _ => "The cluster is unchanged. Remove the cause, then send the same update again.",
        }
    }

    /// The answer first.
    fn verdict(&self, now: i64) -> Verdict {
        let step = self.current();
        let waits = step.filter(|step| !step.message.is_empty());
        if self.ended.is_none() {
            let long = step.is_some_and(|step| now.saturating_sub(step.started) > LONG);
            let mut text = format!("{}.", self.sentence());
            if let Some(step) = waits {
                text.push_str(&format!(" It waits: {}.", step.message.trim_end_matches('.')));
            }
            let (tone, icon) = if long { (Tone::Warn, "degraded") } else { (Tone::Busy, "busy") };
            return Verdict { tone, icon, head: self.name().to_owned(), since: Some(self.started), text };
        }
        let badge = self.badge();
        let head = format!("{}: {}", self.name(), badge.word.to_lowercase());
        let text = match (self.failed(), step) {
            (true, Some(step)) => format!("It stopped at step {} after {}.", self.where_(step), self.took()),
            (true, None) => format!("It stopped after {}.", self.took()),
            _ => format!("It took {}.", self.took()),
        };
        Verdict { tone: badge.tone, icon: badge.icon, head, since: None, text }
    }

    fn where_(&self, step: &RunStep) -> String {
        let of = if self.planned > 0 { format!(" of {}", self.planned) } else { String::new() };
        format!("{}{of}, {}", self.place(), step.words())
    }
}

/// For the overview: what goes on now, and the way to all of it.
#[must_use]
pub fn run_notice(base: &str, run: &Run) -> Notice {
    Notice {
        tone: if run.failed() { Tone::Bad } else { Tone::Busy },
        lead: if run.failed() { format!("{} failed.", run.name()) } else { format!("{}.", run.name()) },
        text: if run.failed() && !run.error.is_empty() {
            run.error.chars().take(300).collect()
        } else {
            format!("{}.", run.sentence())
        },
        action: Some(Link::new("Operation", format!("{base}/operations"))),
    }
}

#[cfg(test)]
mod tests {
    use super::panels::{step, thousandths};
    use super::*;
    use crate::parts::StepState;

    fn run() -> Run {
        let step = |name: &str, at, took_ms| RunStep { name: name.into(), at, took_ms, ..RunStep::default() };
        Run {
            kind: "Creating".into(),
            phase: "Bootstrap".into(),
            planned: 4,
            steps: vec![
                step("action.ensureResourceGroup", 1, Some(900)),
                step("condition.apiServersReady", 2, None),
            ],
            ..Run::default()
        }
    }

    #[test]
    fn a_running_operation_says_where_it_is() {
        assert_eq!(run().sentence(), "Bootstrap, step 2 of 4: Wait: api servers ready");
        assert_eq!(thousandths(&run()), Some(250), "the step that runs is not done");
        assert_eq!(
            (lasted(340), lasted(1_250), lasted(61_000)),
            ("340 ms".into(), "1.2 s".into(), "1 min".into())
        );
    }

    #[test]
    fn an_operation_that_broke_off_has_no_running_step() {
        let ended = Run { ended: Some(60), result: "Failed".into(), error: "no quota".into(), ..run() };
        assert!(ended.failed());
        let last = step(&ended.steps[1], &ended, 60);
        assert_eq!((last.state, last.since), (StepState::Failed, None));
        assert!(ended.verdict(60).text.contains("step 2 of 4"), "{}", ended.verdict(60).text);
    }

    #[test]
    fn panels_are_there_before_they_have_something() {
        let ids = |run: Option<&Run>| panels(run, 0).iter().map(|panel| panel.id).collect::<Vec<_>>();
        assert_eq!(ids(None), ids(Some(&run())));
    }
}
