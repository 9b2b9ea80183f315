//! Accesses that this machine keeps and the portal has ended.

use std::path::PathBuf;

use super::portal::{ID, Portal, portal};
use crate::profile::Profile;
use crate::*;

/// Keeps an access of that id for the machines of harbor, with a key that needs no ssh-keygen; its folder.
fn keep(portal: &Portal, id: &str) -> PathBuf {
    let profile = Profile::named(Some(&portal.path("aro")), None).unwrap();
    let folder = ssh::folder(&profile, &ID.to_lowercase());
    profile.make(&folder).unwrap();
    std::fs::write(folder.join("id"), "a private key").unwrap();
    std::fs::write(folder.join("id.pub"), "ssh-ed25519 AAAA aro\n").unwrap();
    files::write_private(&folder.join("grant.json"), &format!("{{\"id\": \"{id}\"}}")).unwrap();
    folder
}

fn asked(portal: &Portal) -> Vec<String> {
    portal.seen.try_iter().filter(|seen| seen.0 == "POST").map(|seen| seen.1).collect()
}

#[tokio::test]
async fn an_ssh_access_that_is_refused_as_ended_is_replaced_once() {
    let portal = portal().await;
    let folder = keep(&portal, "s-kept");
    let config = ["ssh", "config", "harbor", "--reason", "look at the kubelet"];
    let (exit, text, notes) = portal.run(&config).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert!(text.contains("Host harbor-x-master-0.harbor "), "{text}");
    let expected = [
        "/api/v1/grants/s-kept/ssh-certificate?",
        "/api/v1/grants?",
        "/api/v1/grants/s-new/ssh-certificate?",
    ];
    assert_eq!(asked(&portal), expected);
    assert!(std::fs::read_to_string(folder.join("grant.json")).unwrap().contains("s-new"));
}

#[tokio::test]
async fn an_ssh_access_whose_elevation_is_over_is_not_used_again() {
    let portal = portal().await;
    keep(&portal, "s-over");
    let (exit, _, notes) = portal.run(&["ssh", "config", "harbor", "--reason", "look at the kubelet"]).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert_eq!(asked(&portal), ["/api/v1/grants?", "/api/v1/grants/s-new/ssh-certificate?"]);
    // What plain OpenSSH runs asks for none: it says what to do.
    keep(&portal, "s-kept");
    let (exit, _, notes) = portal.run(&["ssh", "refresh", "harbor"]).await;
    assert_eq!(exit, Exit::Usage, "{notes}");
    assert!(notes.contains("aro ssh CLUSTER --reason"), "{notes}");
    assert_eq!(asked(&portal), ["/api/v1/grants/s-kept/ssh-certificate?"]);
}
