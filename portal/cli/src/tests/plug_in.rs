//! Kubeconfigs and the tokens behind them.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::portal::{Buffer, Portal, portal};
use crate::*;

async fn credential(portal: &Portal, grant: &str) -> (Exit, String, String) {
    let token = portal.path("token");
    let args =
        ["credential", "--grant", grant, "--portal", &portal.url, "--token-file", token.to_str().unwrap()];
    let notes = Buffer::default();
    let (exit, text) = portal.run_plain(&args, &notes).await;
    (exit, text, notes.text())
}

fn renewals(portal: &Portal) -> usize {
    portal.seen.try_iter().filter(|seen| seen.1.contains("/token")).count()
}

#[tokio::test]
async fn the_file_runs_us_and_holds_no_secret() {
    let portal = portal().await;
    let file = portal.path("kubeconfig");
    let take = ["kubeconfig", "harbor", "--reason", "pods pending", "-f", file.to_str().unwrap()];
    let (exit, text, notes) = portal.run(&take).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, ""), "{notes}");
    let sent = portal.seen.iter().nth(1).unwrap().2;
    assert_eq!((&sent["kind"], &sent["plugin"]), (&json!("kubeconfig"), &json!(true)));
    let text = std::fs::read_to_string(&file).unwrap();
    let config: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(config["current-context"], "harbor");
    let exec = &config["users"][0]["user"]["exec"];
    let args: Vec<&str> = exec["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(args[..5], ["credential", "--grant", "g-1", "--profile", "default"]);
    assert!(args.contains(&"--token-file") && args.contains(&portal.path("token").to_str().unwrap()));
    assert!(!text.contains("aro1_") && !text.contains("good"), "{text}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let merged = portal.path("merged");
    let take = [
        "kubeconfig",
        "harbor",
        "--reason",
        "x",
        "--rights",
        "write",
        "--merge",
        "-f",
        merged.to_str().unwrap(),
    ];
    let (exit, _, notes) = portal.run(&take).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert!(notes.contains("--context harbor-write"), "{notes}");

    let (exit, _, notes) =
        portal.run_as(("--session-cookie-file", "cookie"), &["kubeconfig", "harbor", "--reason", "x"]).await;
    assert_eq!(exit, Exit::Usage);
    assert!(notes.contains("aro login") && notes.contains("--static"), "{notes}");
}

#[tokio::test]
async fn many_at_once_renew_once() {
    let portal = portal().await;
    let calls = (0..20).map(|_| credential(&portal, "g-1"));
    for (exit, text, notes) in futures_join(calls).await {
        assert_eq!(exit, Exit::Ok, "{notes}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["status"]["token"], "aro1_kubeconfig_x");
    }
    assert_eq!(renewals(&portal), 1);
    let cache = portal.path("aro/profiles/default/grants/g-1.json");
    assert_eq!(std::fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o600);

    // Near its end it is renewed; damaged too.
    for content in [
        "{\"token\":\"old\",\"not_after\":\"2026-01-01T00:00:00Z\",\"taken\":\"2025-12-31T23:45:00Z\"}",
        "{\"token\":\"hal",
    ] {
        std::fs::write(&cache, content).unwrap();
        assert_eq!(credential(&portal, "g-1").await.0, Exit::Ok);
        assert_eq!(renewals(&portal), 1, "{content}");
    }
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (exit, text, notes) = credential(&portal, "g-1").await;
    assert_eq!((exit, text.as_str()), (Exit::Usage, ""));
    assert!(notes.contains("0644") && notes.contains("chmod 600"), "{notes}");
}

/// Runs them in one task, each a step at a time.
async fn futures_join<T>(calls: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut calls: Vec<_> = calls.map(|call| (Box::pin(call), None)).collect();
    std::future::poll_fn(|context| {
        let mut done = true;
        for (call, result) in &mut calls {
            if result.is_none() {
                match call.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *result = Some(value),
                    std::task::Poll::Pending => done = false,
                }
            }
        }
        if done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    calls.into_iter().filter_map(|(_, result)| result).collect()
}

#[tokio::test]
async fn says_why_there_is_no_token() {
    let portal = portal().await;
    let (exit, text, notes) = credential(&portal, "g-ended").await;
    assert_eq!((exit, text.as_str()), (Exit::NotAllowed, ""));
    assert!(notes.contains("grant_revoked"), "{notes}");
    let notes = Buffer::default();
    let (exit, _) = portal.run_plain(&["credential", "--grant", "g-1", "--profile", "work"], &notes).await;
    assert_eq!(exit, Exit::NotSignedIn);
    assert!(
        notes.text().contains("aro login") && notes.text().contains("--profile work"),
        "{}",
        notes.text()
    );
}
