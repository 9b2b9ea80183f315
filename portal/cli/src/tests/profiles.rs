//! Which sign-in is used.

use clap::Parser as _;
use serde_json::Value;

use super::portal::{Aro, Buffer, portal};
use super::signing_in::agree;
use crate::*;

#[tokio::test]
async fn a_profile_is_chosen_once_and_used_from_then_on() {
    let portal = portal().await;
    let run = async |args: &[&str]| {
        let notes = Buffer::default();
        let (exit, text) = portal.run_plain(args, &notes).await;
        (exit, text, notes.text())
    };
    for name in ["default", "lab"] {
        let notes = Buffer::default();
        let login = ["login", &portal.url, "--no-browser", "--profile", name];
        let ((exit, _), _) = tokio::join!(portal.run_plain(&login, &notes), agree(&notes, "right"));
        assert_eq!(exit, Exit::Ok, "{}", notes.text());
    }
    let (exit, text, notes) = run(&["profile", "list", "-o", "json"]).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    let list: Value = serde_json::from_str(&text).unwrap();
    assert!(list["items"][0]["name"] == "default" && list["items"][0]["used"] == true, "{list}");
    assert!(list["items"][1]["name"] == "lab" && list["items"][1]["signed_in"] == true, "{list}");
    assert!(!text.contains("good"), "a token is shown: {text}");

    let (exit, text, notes) = run(&["profile", "use", "lab"]).await;
    assert!(exit == Exit::Ok && text.starts_with("lab is used: http://127.0.0.1:"), "{text}{notes}");
    let (_, table, _) = run(&["profile", "list"]).await;
    assert!(table.lines().any(|line| line.starts_with("lab      yes")), "{table}");
    run(&["logout"]).await;
    let (exit, _, notes) = run(&["whoami"]).await;
    assert!(exit == Exit::NotSignedIn && !notes.contains("--profile"), "it is the chosen one: {notes}");
    assert_eq!(run(&["whoami", "--profile", "default"]).await.0, Exit::Ok);
    let (exit, _, notes) = run(&["profile", "use", "nobody"]).await;
    assert!(exit == Exit::Usage && notes.contains("aro login PORTAL --profile nobody"), "{notes}");
}

#[test]
fn a_portal_is_named_by_its_address_alone() {
    let parsed = Aro::try_parse_from(["aro", "login", "https://p.example"]);
    assert!(parsed.is_ok(), "{:?}", parsed.err());
    assert!(Aro::try_parse_from(["aro", "login", "no address"]).is_err());
}
