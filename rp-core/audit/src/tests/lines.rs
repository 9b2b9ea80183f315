//! Copies of the log are checked as the log is.

use super::*;
use crate::{LineVerifier, Query, SignedCheckpoint};

/// Two chains, the second still without a checkpoint, as lines; then the checkpoints.
async fn exported() -> (Log, Vec<String>) {
    let log = Log::new();
    let first = log.start().await;
    for n in 0..4 {
        let mut entry = log.entry("exec");
        entry.name = format!("pod-{n}");
        first.promise(entry).await.unwrap();
    }
    within(first.close()).await;
    log.clock.advance(Duration::from_secs(10));
    let second = log.start().await;
    second.promise(log.entry("get")).await.unwrap();
    let mut export = second.export();
    let mut lines = Vec::new();
    while let Some(some) = export.next().await.unwrap() {
        lines.extend(some);
    }
    assert!(lines.len() == 8 && lines[7].starts_with("{\"checkpoint\":"), "{lines:?}");
    (log, lines)
}

fn check(log: &Log, part: bool, lines: &[String]) -> Verdict {
    let mut verifier = LineVerifier::new(log.options.key.clone(), part);
    lines.iter().for_each(|line| verifier.line(line));
    verifier.finish()
}

#[tokio::test]
async fn whole_lines_are_intact_also_when_some_come_twice() {
    let (log, lines) = exported().await;
    let verdict = check(&log, false, &lines);
    assert_eq!(verdict.findings, []);
    assert_eq!((verdict.writers, verdict.entries, verdict.checkpoints), (2, 7, 1));
    let mut twice = lines.clone();
    twice.splice(4..4, lines[1..4].iter().cloned());
    twice.push(String::new());
    assert_eq!(check(&log, false, &twice).findings, []);
    // Chains mixed, and checkpoints before what they speak of.
    let mixed: Vec<String> = [7, 5, 0, 6, 1, 2, 3, 4].map(|n: usize| lines[n].clone()).to_vec();
    assert_eq!(check(&log, false, &mixed).findings, []);
    assert_eq!(check(&log, true, &lines[2..]).findings, []);
}

#[tokio::test]
async fn lines_that_stand_newest_first_are_told_from_changed_ones() {
    let (log, lines) = exported().await;
    let backwards: Vec<String> = lines.iter().rev().cloned().collect();
    let verdict = check(&log, false, &backwards);
    assert_eq!(kinds(&verdict), [(FindingKind::NewestFirst, 0)]);
    assert!(verdict.findings[0].what.contains("tac"), "{:?}", verdict.findings);
    assert_eq!((verdict.writers, verdict.entries), (2, 7));
    // Nothing is called intact for it: turned round, what was changed is found.
    let changed: Vec<String> = backwards.iter().map(|line| line.replace("pod-1", "pod-x")).collect();
    assert!(!check(&log, false, &changed).is_intact());
    let turned: Vec<String> = changed.into_iter().rev().collect();
    assert_eq!(kinds(&check(&log, false, &turned)), [(FindingKind::Changed, 3)]);
}

#[tokio::test]
async fn what_is_written_during_an_export_is_in_it_before_it_is_missed() {
    let log = Log::new();
    let audit = log.start().await;
    audit.promise(log.entry("exec")).await.unwrap();
    let mut export = audit.export();
    let mut lines = export.next().await.unwrap().unwrap();
    // The head that the checkpoint of this end signs is one that the first look did not see.
    audit.promise(log.entry("get")).await.unwrap();
    within(audit.close()).await;
    while let Some(some) = export.next().await.unwrap() {
        lines.extend(some);
    }
    let verdict = check(&log, false, &lines);
    assert_eq!((verdict.findings, verdict.entries, verdict.checkpoints), (vec![], 3, 1));
}

#[tokio::test]
async fn a_search_comes_oldest_first_byte_for_byte_and_without_what_comes_meanwhile() {
    let log = Log::new();
    let audit = log.start().await;
    for n in 0..1_203 {
        let mut entry = log.entry(if n % 3 == 0 { "exec" } else { "get" });
        entry.name = format!("pod-{n}");
        audit.promise(entry).await.unwrap();
    }
    audit.promise(log.entry("get")).await.unwrap();
    let query = Query { verb: Some("get".to_owned()), limit: 7, ..Query::default() };
    let mut newest_first = Vec::new();
    let mut next = Query { limit: 500, ..query.clone() };
    loop {
        let page = audit.search_lines(&next).await.unwrap();
        newest_first.extend(page.lines);
        next.continuation = page.continuation;
        if next.continuation.is_none() {
            break;
        }
    }
    let mut search = audit.search_oldest_first(query);
    let mut lines = search.next().await.unwrap().unwrap();
    audit.promise(log.entry("get")).await.unwrap();
    while let Some(some) = search.next().await.unwrap() {
        lines.extend(some);
    }
    newest_first.reverse();
    assert_eq!(lines.len(), 803);
    assert_eq!(lines, newest_first);
    within(audit.close()).await;
}

#[tokio::test]
async fn every_kind_of_tampering_is_found_and_placed() {
    let (log, lines) = exported().await;
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        let verdict = check(&log, false, &lines);
        // Of a chain that is gone whole nothing is there to tell the time.
        let placed = |finding: &Finding| {
            finding.at.is_some() || finding.writer.is_empty() || finding.what.contains("whole")
        };
        assert!(verdict.findings.iter().all(placed), "{:?}", verdict.findings);
        kinds(&verdict)
    };
    assert_eq!(with(&|lines| drop(lines.remove(2))), [(FindingKind::Removed, 3)]);
    assert_eq!(with(&|lines| drop(lines.remove(0))), [(FindingKind::Removed, 1)]);
    assert_eq!(with(&|lines| lines[2] = lines[2].replace("pod-1", "pod-x")), [(FindingKind::Changed, 3)]);
    assert_eq!(with(&|lines| lines.swap(2, 3)), [(FindingKind::Reordered, 3)]);
    // The checkpoint and the next chain know where the chain ended.
    assert_eq!(with(&|lines| drop(lines.remove(4))), [(FindingKind::Truncated, 5)]);
    assert_eq!(with(&|lines| drop(lines.drain(..5))), [(FindingKind::Truncated, 5)]);
    assert_eq!(with(&|lines| lines[4] = lines[4].replace("pod-3", "pod-x")), [(FindingKind::Rechained, 5)]);
    let again = with(&|lines| lines.insert(3, lines[2].replace("pod-1", "pod-x")));
    assert_eq!(again, [(FindingKind::Changed, 3)]);
    assert_eq!(
        with(&|lines| lines[7] = lines[7].replace("\\\"seq\\\":5", "\\\"seq\\\":4")),
        [(FindingKind::CheckpointForged, 1)]
    );
    assert_eq!(with(&|lines| lines.push("{\"v\":1}".to_owned())), [(FindingKind::Malformed, 9)]);
    let mut far: serde_json::Value = serde_json::from_str(&lines[3]).unwrap();
    far["seq"] = u64::MAX.into();
    assert_eq!(with(&|lines| lines.push(far.to_string())), [(FindingKind::Malformed, u64::MAX)]);
    // Without the checkpoint nobody knows of the end of the last chain; kept elsewhere, it tells.
    let mut verifier = LineVerifier::new(log.options.key.clone(), false);
    lines[5..7].iter().for_each(|line| verifier.line(line));
    let text = lines[7].strip_prefix("{\"checkpoint\":").unwrap().strip_suffix('}').unwrap();
    verifier.checkpoint(&serde_json::from_str::<SignedCheckpoint>(text).unwrap());
    assert_eq!(kinds(&verifier.finish()), [(FindingKind::Truncated, 5)]);
}

#[test]
fn nonsense_is_no_panic() {
    let key = CheckpointKey::generate().unwrap();
    let mut verifier = LineVerifier::new(key, false);
    for line in [
        "x",
        "{}",
        "[]",
        "null",
        "{\"checkpoint\":{}}",
        "{\"tombstone\":{\"statement\":\"x\",\"key\":\"\",\"signature\":\"\"}}",
    ] {
        verifier.line(line);
    }
    verifier.line(&"x".repeat(2 << 20));
    assert_eq!(verifier.finish().findings.len(), 7);
}
