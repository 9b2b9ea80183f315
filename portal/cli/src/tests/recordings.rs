//! Recordings of sessions.

use std::os::unix::fs::PermissionsExt as _;

use super::portal::{CAST, ID, portal};
use crate::*;

#[tokio::test]
async fn recordings_are_found_and_shown() {
    let portal = portal().await;
    let (exit, table, _) = portal.run(&["recordings", "list", "--grant", "g-1", "--cluster", ID]).await;
    assert_eq!(exit, Exit::Ok);
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].starts_with("ID     KIND  STATE       PERSON") && !lines[0].contains("SHOWN"),
        "{table}"
    );
    assert!(
        lines[1].contains("sre[31m  2026-11-21T12:00:00Z") && lines[1].ends_with("Harbor   master-0"),
        "{table}"
    );
    let asked = portal.seen.recv().unwrap().1;
    assert!(asked.contains("grant=g-1") && asked.contains("cluster=%2Fsubscriptions"), "{asked}");
    let (_, table, _) = portal.run(&["recordings", "list", "is healthy"]).await;
    assert!(table.contains("SHOWN") && table.contains("1:01 member is healthy"), "{table}");
    assert!(portal.seen.recv().unwrap().1.starts_with("/api/v1/recordings?q=is+healthy"));
    let (_, names, _) = portal.run(&["recordings", "list", "-o", "name"]).await;
    assert_eq!(names, "rec-1\n");
    let (exit, shown, _) = portal.run(&["recordings", "show", "rec-1"]).await;
    assert_eq!(exit, Exit::Ok);
    assert!(shown.contains("outcome:  exit 0\n") && shown.contains("/recordings/rec-1\n"), "{shown}");
    assert_eq!(portal.run(&["recordings", "show", "other"]).await.0, Exit::NotFound);
    assert_eq!(portal.run(&["recordings", "show", "../grants"]).await.0, Exit::Usage);
}

#[tokio::test]
async fn a_recording_is_played_without_its_tricks() {
    let portal = portal().await;
    let (exit, shown, notes) =
        portal.run(&["recordings", "play", "rec-1", "--speed", "1000", "--pauses"]).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert!(
        shown.starts_with("\u{1b}[32m$\u{1b}[0m ls\r\ngone\n\u{1b}[0m") && !shown.contains("title"),
        "{shown:?}"
    );
    assert_eq!(notes, "1:00, 100 × 30; Ctrl-C ends it\n1:00 exit 0[2J\n");
    assert!(portal.seen.recv().unwrap().1.ends_with("/rec-1/cast?"));
}

#[tokio::test]
async fn a_recording_is_kept_byte_for_byte() {
    let portal = portal().await;
    let (file, other) = (portal.path("a.cast"), portal.path("b.cast"));
    let path = file.to_str().unwrap();
    let (exit, text, notes) = portal.run(&["recordings", "download", "rec-1", path]).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, ""), "{notes}");
    assert!(portal.seen.recv().unwrap().1.ends_with("/rec-1/cast?download=1"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), CAST);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // Never over another file, and nothing of what did not come.
    assert_eq!(portal.run(&["recordings", "download", "rec-1", path]).await.0, Exit::Failed);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), CAST);
    let (exit, ..) = portal.run(&["recordings", "download", "other", other.to_str().unwrap()]).await;
    assert!(exit == Exit::NotFound && !other.exists());
    assert_eq!(portal.run(&["recordings", "download", "rec-1", "-"]).await.1, CAST);
}
