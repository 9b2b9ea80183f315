//! Maintenance of clusters, and the flags that it writes.

use clap::Parser as _;
use serde_json::{Value, json};

use super::portal::{Aro, ID, portal};
use crate::*;

#[tokio::test]
async fn maintenance_is_ordered_waited_for_and_cancelled() {
    let portal = portal().await;
    let cluster = ID.to_lowercase();
    let order = ["manifests", "order", &cluster, "fix SSH", "--reason", "it times out", "--priority", "3"];
    let (exit, table, notes) = portal.run(&order).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert!(
        table.lines().nth(1).is_some_and(|row| row.contains("Pending") && row.contains("harbor")),
        "{table}"
    );
    let sent = portal.seen.try_iter().last().unwrap().2;
    assert_eq!(sent, json!({"task": "fix SSH", "reason": "it times out", "priority": 3}));
    let (exit, _, notes) = portal.run(&[&order[..], &["--machine", "worker-1", "--force"]].concat()).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    let sent = portal.seen.try_iter().last().unwrap().2;
    assert!(sent["machine"] == "worker-1" && sent["force"] == true, "{sent}");
    let (exit, text, notes) = portal.run(&[&order[..], &["--wait", "-o", "json"]].concat()).await;
    assert_eq!(exit, Exit::Failed, "{notes}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["state"], "Failed");
    assert!(notes.contains("a rule is locked"), "{notes}");
    let stuck = ["manifests", "order", &cluster, "operator update", "--reason", "a new version", "--wait"];
    let (exit, text, notes) = portal.run(&[&stuck[..], &["--wait-limit", "1s", "-o", "json"]].concat()).await;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["state"], "Pending");
    assert!(exit == Exit::Failed && notes.contains("m-2 is still in progress after 1 s"), "{exit:?} {notes}");
    portal.seen.try_iter().for_each(drop);
    let (exit, _, notes) = portal.run(&[&stuck[..], &["--run-after", "2099-01-01T00:00:00Z"]].concat()).await;
    assert!(exit == Exit::Usage && notes.contains("--wait-limit"), "{exit:?} {notes}");
    assert_eq!(portal.seen.try_iter().count(), 0, "nothing was ordered");
    let (exit, text, _) = portal.run(&["manifests", "cancel", &cluster, "m-1", "--why", "by hand"]).await;
    assert_eq!(exit, Exit::Ok, "{text}");
    assert_eq!(portal.seen.try_iter().last().unwrap().2, json!({"why": "by hand"}));
}

#[tokio::test]
async fn schedules_are_listed_with_what_failed() {
    let portal = portal().await;
    let (exit, text, notes) = portal.run(&["manifests", "schedules", "-o", "csv"]).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    let rows: Vec<&str> = text.lines().skip(1).collect();
    let stopped = r#"s-1,fix SSH,Stopped,Tue *-*-* 4:00,2h,"5,100 %",,2 of 7"#;
    let enabled = "s-2,operator update,Enabled,*-*-* 4:00,2h,,2026-11-25T04:00:00Z,";
    assert_eq!(rows, [stopped, enabled]);
}

#[tokio::test]
async fn the_operator_is_shown_and_its_flags_are_set() {
    let portal = portal().await;
    let cluster = ID.to_lowercase();
    let (exit, table, notes) = portal.run(&["operator", "status", &cluster]).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert!(
        table.lines().nth(1).is_some_and(|row| row.contains("wrong") && row.contains("Set another secret."))
    );
    assert!(notes.contains("operator version: v7"), "{notes}");
    let (exit, text, _) = portal.run(&["operator", "status", &cluster, "-o", "name"]).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "ServicePrincipalValid\nMachineValid\n"));
    let (_, text, _) = portal.run(&["operator", "flags", &cluster, "--changed", "-o", "csv"]).await;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() == 2 && lines[1].starts_with("aro.rbac.enabled,true,"), "{text}");
    assert!(lines[1].ends_with("not written to the cluster yet"), "{text}");
    portal.seen.try_iter().for_each(drop);
    let set = ["operator", "set", &cluster, "aro.environment=a=b", "--default", "aro.rbac.enabled"];
    let (exit, text, notes) =
        portal.run(&[&set[..], &["--reason", "as agreed", "-o", "json"]].concat()).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["manifest"]["id"], "m-1");
    let flags = json!({"aro.environment": "a=b", "aro.rbac.enabled": null});
    assert_eq!(portal.seen.try_iter().last().unwrap().2, json!({"flags": flags, "reason": "as agreed"}));
    let twice = ["operator", "set", &cluster, "a=1", "--default", "a", "--reason", "r"];
    assert_eq!(portal.run(&twice).await.0, Exit::Usage);
    for wrong in [
        vec!["operator", "set", &cluster, "a", "--reason", "r"],
        vec!["operator", "set", &cluster, "--reason", "r"],
    ] {
        assert!(Aro::try_parse_from([&["aro"][..], &wrong].concat()).is_err(), "{wrong:?}");
    }
}
