//! What an event becomes in a log, within bounds: pure.

use std::time::Duration;

use rp_base::Timestamp;
use rp_base::text::clean;
use rp_cluster::StepEvent;
use rp_documents::OperationLog;
use rp_documents::operation_log::{Diagnostic, LogLine, StepRecord};

/// Characters.
pub(super) const LONGEST_ERROR: usize = 4096;
const LONGEST_LINE: usize = 2048;
const LONGEST_MESSAGE: usize = 1024;
const LONGEST_NAME: usize = 128;
/// Characters of one diagnostic; the end is kept, because it usually names the cause.
const LONGEST_DIAGNOSTIC: usize = 64 * 1024;
const MOST_DIAGNOSTICS: usize = 16;
/// Recorded steps of all attempts; the oldest are dropped first.
const MOST_STEPS: usize = 500;

pub(super) fn note(log: &mut OperationLog, event: &StepEvent<'_>, now: Timestamp) {
    match event {
        StepEvent::Started { name, at, planned, attempt } => {
            log.planned = u32::try_from(*planned).unwrap_or(u32::MAX);
            let at = u32::try_from(*at).unwrap_or(u32::MAX).saturating_add(1);
            started(log, name, at, *attempt, now);
        }
        StepEvent::Waiting { name, seen } => {
            if let Some(step) = running(log, name) {
                step.message = clean(seen, LONGEST_MESSAGE);
            }
        }
        StepEvent::Done { name, took } => {
            if let Some(step) = running(log, name) {
                step.took_ms = Some(millis(*took));
                step.failed = false;
                step.message.clear();
            }
        }
        StepEvent::Failed { name, took, error } => {
            if let Some(step) = running(log, name) {
                step.took_ms = Some(millis(*took));
                step.failed = true;
                step.message = clean(error, LONGEST_MESSAGE);
            }
        }
        StepEvent::Line { level, text } => line(log, level, text, now),
        StepEvent::Diagnostic { name, text } => diagnostic(log, name, text),
    }
}

pub(super) fn line(log: &mut OperationLog, level: &str, text: &str, now: Timestamp) {
    log.lines.push(LogLine { at: now, level: clean(level, 16), text: clean(text, LONGEST_LINE) });
    crop(&mut log.lines, OperationLog::MOST_LINES);
}

/// The stored log of earlier attempts, extended by the entries of this attempt.
pub(super) fn joined(mut stored: OperationLog, ours: &OperationLog) -> OperationLog {
    for step in &mut stored.steps {
        if step.took_ms.is_none() && step.message.is_empty() {
            "interrupted".clone_into(&mut step.message);
        }
    }
    stored.attempt = stored.attempt.saturating_add(1);
    stored.token = ours.token;
    stored.phase.clone_from(&ours.phase);
    if stored.asked_by.is_empty() {
        stored.asked_by.clone_from(&ours.asked_by);
    }
    stored.planned = if ours.planned == 0 { stored.planned } else { ours.planned };
    stored.ended = ours.ended;
    stored.result.clone_from(&ours.result);
    stored.error.clone_from(&ours.error);
    for step in &ours.steps {
        match stored.steps.last_mut() {
            Some(last) if last.name == step.name && is_open(last) => {
                *last = StepRecord { attempts: last.attempts + step.attempts, ..step.clone() };
            }
            _ => stored.steps.push(step.clone()),
        }
    }
    crop(&mut stored.steps, MOST_STEPS);
    stored.lines.extend(ours.lines.iter().cloned());
    crop(&mut stored.lines, OperationLog::MOST_LINES);
    for each in &ours.diagnostics {
        diagnostic(&mut stored, &each.name, &each.text);
    }
    stored
}

/// Whether the record has no successful end: a new start of the same step continues this record.
fn is_open(step: &StepRecord) -> bool {
    step.took_ms.is_none() || step.failed
}

fn started(log: &mut OperationLog, name: &str, at: u32, attempt: u32, now: Timestamp) {
    let name = clean(name, LONGEST_NAME);
    if let Some(last) = log.steps.last_mut()
        && last.name == name
        && is_open(last)
    {
        last.at = at;
        last.attempts = attempt.max(last.attempts.saturating_add(1));
        last.took_ms = None;
        last.failed = false;
        last.message.clear();
        return;
    }
    log.steps.push(StepRecord {
        name,
        at,
        started: now,
        took_ms: None,
        attempts: attempt.max(1),
        message: String::new(),
        failed: false,
    });
    crop(&mut log.steps, MOST_STEPS);
}

fn running<'a>(log: &'a mut OperationLog, name: &str) -> Option<&'a mut StepRecord> {
    log.steps.iter_mut().rev().find(|step| step.name == name)
}

/// The last diagnostic with a name replaces earlier ones.
fn diagnostic(log: &mut OperationLog, name: &str, text: &str) {
    let mut from = text.len().saturating_sub(LONGEST_DIAGNOSTIC);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    // Lines are kept, other control characters are not.
    let text: String =
        text[from..].chars().filter(|each| matches!(each, '\n' | '\t') || !each.is_control()).collect();
    let name = clean(name, LONGEST_NAME);
    match log.diagnostics.iter_mut().find(|each| each.name == name) {
        Some(known) => known.text = text,
        None => log.diagnostics.push(Diagnostic { name, text }),
    }
    crop(&mut log.diagnostics, MOST_DIAGNOSTICS);
}

fn crop<T>(list: &mut Vec<T>, most: usize) {
    let over = list.len().saturating_sub(most);
    list.drain(..over);
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
