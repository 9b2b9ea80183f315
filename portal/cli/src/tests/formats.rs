//! What lists and shows write for programs.

use clap::{Command, CommandFactory as _};
use serde_json::Value;

use super::portal::{Aro, portal};
use crate::*;

/// Verbs that list, each with what it wants on the command line.
const LISTS: [&str; 17] = [
    "audit list",
    "clusters imported",
    "clusters list",
    "elevations list",
    "events harbor",
    "grants list",
    "manifests list",
    "manifests list harbor",
    "manifests tasks",
    "nodes harbor",
    "notifications list",
    "notifications list hub",
    "operations list harbor",
    "operator flags harbor",
    "operators harbor",
    "recordings list",
    "robots list",
];
/// Verbs that show one thing, and a member that it has.
const SHOWS: [(&str, &str); 5] = [
    ("audit report harbor", "people"),
    ("elevations show e-1", "state"),
    ("grants show s-kept", "state"),
    ("recordings show rec-1", "outcome"),
    ("whoami", "roles"),
];

#[tokio::test]
async fn every_list_is_json_with_items_and_csv_and_names() {
    let portal = portal().await;
    for line in LISTS {
        let words: Vec<&str> = line.split(' ').collect();
        let run = async |format| portal.run(&[&words[..], &["-o", format]].concat()).await;
        let (exit, text, notes) = run("json").await;
        assert_eq!(exit, Exit::Ok, "{line}: {notes}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        let items = answer["items"].as_array().unwrap_or_else(|| panic!("{line}: {text}"));
        assert!(!items.is_empty() && items.iter().all(Value::is_object), "{line}: {text}");
        let (exit, csv, notes) = run("csv").await;
        assert_eq!((exit, csv.lines().count()), (Exit::Ok, items.len() + 1), "{line}: {notes}");
        let (exit, names, notes) = run("name").await;
        assert_eq!((exit, names.lines().count()), (Exit::Ok, items.len()), "{line}: {notes}");
        assert!(names.lines().all(|name| !name.is_empty()), "{line}: {names}");
    }
}

#[tokio::test]
async fn what_is_shown_is_one_json_object() {
    let portal = portal().await;
    for (line, member) in SHOWS {
        let words: Vec<&str> = line.split(' ').chain(["-o", "json"]).collect();
        let (exit, text, notes) = portal.run(&words).await;
        assert_eq!(exit, Exit::Ok, "{line}: {notes}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(answer.is_object() && !answer[member].is_null(), "{line}: {text}");
    }
}

/// Paths of the verbs below a command that are called so.
fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
    for verb in command.get_subcommands() {
        let path = format!("{path} {}", verb.get_name()).trim().to_owned();
        if ["list", "show", "imported", "report"].contains(&verb.get_name()) {
            found.push(path.clone());
        }
        leaves(verb, &path, found);
    }
}

#[tokio::test]
async fn a_log_is_an_object_a_line() {
    let portal = portal().await;
    let (exit, text, notes) = portal.run(&["logs", "harbor", "openshift-etcd/etcd-0", "-o", "json"]).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "{\"line\":\"one\"}\n{\"line\":\"two\"}\n"), "{notes}");
    let (exit, _, notes) = portal.run(&["logs", "harbor", "openshift-etcd/etcd-0", "-o", "csv"]).await;
    assert!(exit == Exit::Usage && notes.contains("-o json"), "{notes}");
}

#[test]
fn no_verb_that_lists_or_shows_is_left_out_above() {
    let mut found = Vec::new();
    leaves(&Aro::command(), "", &mut found);
    assert!(found.len() > 8, "{found:?}");
    for path in found {
        // It asks no portal, and has a test of its own.
        if path == "profile list" {
            continue;
        }
        let known = LISTS.iter().chain(SHOWS.iter().map(|(line, _)| line));
        let named = |line: &&str| **line == path || line.starts_with(&format!("{path} "));
        assert!(known.copied().any(|line| named(&line)), "{path} is in no table");
    }
}
