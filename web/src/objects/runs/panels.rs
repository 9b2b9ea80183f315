//! The panels of one operation, and the table of those before it.

use super::{LONG, Run, RunLine, RunStep, lasted};
use crate::objects::words_of;
use crate::panel::{Block, Line, Pair, Panel, Value};
use crate::parts::{Link, Notice, Step, StepState, Tone};
use crate::table::{Cell, Column, Table};
use crate::text::{encode, plural};

/// Steps shown at once; those before them are folded together.
const SHOWN: usize = 12;

pub(super) fn thousandths(run: &Run) -> Option<u32> {
    let done = run.place().saturating_sub(u32::from(run.ended.is_none()));
    (run.planned > 0).then(|| (done.min(run.planned) * 1000) / run.planned)
}

/// The panels of one operation. All of them are there whatever it has, so that a page that is open can fill them.
pub(in crate::objects) fn panels(run: Option<&Run>, now: i64) -> Vec<Panel> {
    let Some(run) = run else {
        let none = Panel::new("operation", "Operation").nothing(
            "list",
            "No operation is known",
            "The log of an operation is kept for 30 days.",
        );
        return std::iter::once(none).chain(["steps", "lines", "diagnostics"].map(Panel::hidden)).collect();
    };
    vec![head(run, now), steps(run, now), lines(run), diagnostics(run)]
}

fn head(run: &Run, now: i64) -> Panel {
    let title = if run.ended.is_none() { "Running operation" } else { "Last operation" };
    let mut panel = Panel::new("operation", title).with(Block::Verdict(run.verdict(now), Vec::new()));
    if let Some(share) = thousandths(run).filter(|_| run.ended.is_none() || run.failed()) {
        let tone = if run.failed() { Tone::Bad } else { Tone::Busy };
        panel = panel.with(Block::Progress(share, run.progress(), tone));
    }
    if run.failed() {
        let text = run.advice().to_owned();
        let mut why = vec![Pair::new("Reason", Value::Long(run.error.clone()))];
        why.extend(run.complaint().map(|said| Pair::new("It said", Value::Long(said.to_owned()))));
        panel = panel.with(Block::Pairs(why)).with(Block::Notice(Notice {
            tone: Tone::Bad,
            lead: "What to do.".to_owned(),
            text,
            action: None,
        }));
    }
    let mut pairs = vec![
        Pair::text("Phase", words_of(&run.phase)),
        Pair::new("Began", Value::Time(Some(run.started))),
        Pair::new("Ended", Value::Time(run.ended)),
        Pair::text("Requested by", &*run.asked_by),
        Pair::text("Attempts", run.attempt.max(1).to_string()),
        Pair::code("Operation ID", &*run.id),
    ];
    if run.ended.is_none() {
        pairs.retain(|pair| pair.label != "Ended");
    }
    pairs.extend(run.correlation.iter().map(|(label, value)| Pair::code(&**label, &**value)));
    panel.with(Block::Pairs(pairs))
}

fn steps(run: &Run, now: i64) -> Panel {
    let panel = Panel::new("steps", "Steps").fact(run.progress());
    if run.steps.is_empty() {
        return panel.nothing("wait", "No step has begun", "A worker takes it up within seconds.");
    }
    let all: Vec<Step> = run.steps.iter().map(|each| step(each, run, now)).collect();
    let folded = all.len().saturating_sub(SHOWN);
    let mut panel = panel;
    if folded > 2 {
        let words = format!("{folded} steps before, in {}", lasted(total(&run.steps[..folded])));
        panel = panel
            .with(Block::Folded(words, all[..folded].to_vec()))
            .with(Block::Steps(all[folded..].to_vec()));
    } else {
        panel = panel.with(Block::Steps(all));
    }
    let left = run.planned.saturating_sub(run.place());
    match run.ended {
        None if left > 0 => {
            panel.with(Block::Foot(format!("{} to come", plural(u64::from(left), "step", "steps")), None))
        }
        _ => panel,
    }
}

fn total(steps: &[RunStep]) -> u64 {
    steps.iter().filter_map(|step| step.took_ms).fold(0, u64::saturating_add)
}

pub(super) fn step(step: &RunStep, run: &Run, now: i64) -> Step {
    let runs = step.took_ms.is_none() && run.ended.is_none();
    let state = match (step.failed, step.took_ms) {
        (true, _) => StepState::Failed,
        (false, Some(_)) => StepState::Done,
        (false, None) if !runs => StepState::Failed,
        _ if now.saturating_sub(step.started) > LONG => StepState::Held,
        _ => StepState::Now,
    };
    let tries = if step.attempts > 1 { format!("{} tries", step.attempts) } else { String::new() };
    let took = step.took_ms.map(lasted).unwrap_or_default();
    let note = match (tries.is_empty(), took.is_empty()) {
        (true, _) => took,
        (false, true) => tries,
        (false, false) => format!("{tries}, {took}"),
    };
    let hint = if state == StepState::Done { String::new() } else { step.message.clone() };
    Step { state, text: step.words(), note, hint, since: runs.then_some(step.started) }
}

fn lines(run: &Run) -> Panel {
    if run.lines.is_empty() {
        return Panel::hidden("lines");
    }
    let line = |line: &RunLine| Line {
        at: line.at,
        tone: match line.level.as_str() {
            "error" => Tone::Bad,
            "warning" => Tone::Warn,
            _ => Tone::Mute,
        },
        text: line.text.clone(),
    };
    Panel::new("lines", "Log")
        .fact(plural(u64::try_from(run.lines.len()).unwrap_or(0), "line", "lines"))
        .with(Block::Lines(run.lines.iter().map(line).collect()))
}

fn diagnostics(run: &Run) -> Panel {
    if run.diagnostics.is_empty() {
        return Panel::hidden("diagnostics");
    }
    let panel = Panel::new("diagnostics", "Diagnostics").fact("gathered when it failed");
    run.diagnostics
        .iter()
        .fold(panel, |panel, (name, text)| panel.with(Block::Fold(name.clone(), text.clone())))
}

/// Operations that have ended, newest first, each with its own page.
pub(in crate::objects) fn earlier(base: &str, runs: &[Run]) -> Panel {
    let panel = Panel::new("earlier", "Earlier operations");
    if runs.is_empty() {
        return panel.nothing("history", "None", "No other operation of the last 30 days is known.");
    }
    let columns = vec![
        Column::new("", "Operation"),
        Column::new("", "Result").short(),
        Column::new("", "Began").rank(2),
        Column::new("", "Took").number(),
        Column::new("", "Requested by").rank(2),
    ];
    let row = |run: &Run| {
        let page = Link::new(run.name(), format!("{base}/operations/{}", encode(&run.id)));
        let why = if run.failed() { run.error.chars().take(160).collect() } else { run.id.clone() };
        vec![
            Cell::LinkTwo(page, why),
            Cell::Badges(vec![run.badge()]),
            Cell::Time(Some(run.started)),
            if run.ended.is_some() { Cell::Text(run.took()) } else { Cell::Lasting(Some(run.started)) },
            Cell::Text(run.asked_by.clone()),
        ]
    };
    let count = plural(u64::try_from(runs.len()).unwrap_or(0), "operation", "operations");
    let rows = runs.iter().map(row).collect();
    panel.fact(count).with(Block::Table(Table {
        caption: "Earlier operations".to_owned(),
        columns,
        rows,
        query: None,
    }))
}
