use super::*;

fn empty() -> OperationLog {
    serde_json::from_value(serde_json::json!({
        "id": "o", "key": "k", "kind": "Creating", "started": "2026-01-01T00:00:00Z", "steps": [], "lines": [],
        "attempt": 1, "future": 1,
    }))
    .unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_seconds(second)
}

fn start(log: &mut OperationLog, name: &str, attempt: u32) {
    note(log, &StepEvent::Started { name, at: 0, planned: 3, attempt }, at(1));
}

#[test]
fn a_step_that_is_tried_again_stays_one_record() {
    let mut log = empty();
    start(&mut log, "action.a", 1);
    let took = Duration::from_millis(5);
    note(&mut log, &StepEvent::Failed { name: "action.a", took, error: "no\nluck" }, at(2));
    assert_eq!((log.steps[0].failed, log.steps[0].message.as_str()), (true, "noluck"));
    start(&mut log, "action.a", 2);
    assert_eq!((log.steps.len(), log.steps[0].attempts, log.steps[0].failed), (1, 2, false));
    note(&mut log, &StepEvent::Waiting { name: "action.a", seen: "2 of 3" }, at(2));
    assert_eq!(log.steps[0].message, "2 of 3");
    note(&mut log, &StepEvent::Done { name: "action.a", took }, at(3));
    assert_eq!((log.steps[0].took_ms, log.steps[0].message.as_str()), (Some(5), ""));
    // A plan may have it twice.
    start(&mut log, "action.a", 1);
    assert_eq!((log.steps.len(), log.planned), (2, 3));
}

#[test]
fn whoever_takes_over_goes_on_with_the_log() {
    let mut before = empty();
    start(&mut before, "action.a", 1);
    note(&mut before, &StepEvent::Done { name: "action.a", took: Duration::ZERO }, at(1));
    start(&mut before, "action.b", 1);
    let mut ours = empty();
    start(&mut ours, "action.b", 1);
    line(&mut ours, "info", "again", at(9));
    let all = joined(before.clone(), &ours);
    assert_eq!((all.attempt, all.steps.len(), all.steps[1].attempts), (2, 2, 2));
    assert_eq!(all.lines.len(), 1);
    assert_eq!(all.unknown["future"], 1);
    // A step that another process began is recorded as interrupted.
    let mut other = empty();
    start(&mut other, "action.c", 1);
    let all = joined(before, &other);
    assert_eq!((all.steps.len(), all.steps[1].message.as_str()), (3, "interrupted"));
}

#[test]
fn everything_is_bounded() {
    let mut log = empty();
    let long = "é".repeat(200_000);
    for n in 0..2000 {
        start(&mut log, &format!("action.{n}"), 1);
        note(&mut log, &StepEvent::Line { level: "info", text: &long }, at(1));
        if n % 50 == 0 {
            note(&mut log, &StepEvent::Diagnostic { name: &format!("d{n}"), text: &long }, at(1));
        }
    }
    assert_eq!(log.lines.len(), OperationLog::MOST_LINES);
    assert!(log.lines.iter().all(|line| line.text.chars().count() <= LONGEST_LINE));
    assert_eq!(log.steps.len(), MOST_STEPS);
    assert_eq!(log.steps.last().unwrap().name, "action.1999");
    assert_eq!(log.diagnostics.len(), MOST_DIAGNOSTICS);
    assert!(log.diagnostics.iter().all(|each| each.text.len() <= LONGEST_DIAGNOSTIC));
    assert!(serde_json::to_string(&log).unwrap().len() < 4 * 1024 * 1024);
}
