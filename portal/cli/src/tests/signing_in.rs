//! Signing in, as a browser and as a device.

use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::Url;

use super::portal::{Buffer, portal};
use crate::*;

/// Follows what was printed, as a browser would after the person agreed; gives the page's address.
pub(super) async fn agree(notes: &Buffer, code: &str) -> Url {
    let page = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let printed = notes.text();
            if let Some(url) = printed.lines().find_map(|line| Url::parse(line.trim()).ok()) {
                return url;
            }
            tokio::task::yield_now().await;
        }
    });
    let page = page.await.unwrap();
    let value = |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    let back = Url::parse(&value("redirect_uri")).unwrap();
    assert_eq!(back.host_str(), Some("127.0.0.1"));
    let mut browser = tokio::net::TcpStream::connect(("127.0.0.1", back.port().unwrap())).await.unwrap();
    let line = format!("GET {}?code={code}&state={} HTTP/1.1\r\n\r\n", back.path(), value("state"));
    browser.write_all(line.as_bytes()).await.unwrap();
    let mut seen = String::new();
    browser.read_to_string(&mut seen).await.unwrap();
    assert!(seen.contains("close this tab"), "{seen}");
    page
}

#[tokio::test]
async fn a_browser_brings_the_code_and_the_portal_is_remembered() {
    let portal = portal().await;
    let notes = Buffer::default();
    let login = ["login", "--portal", &portal.url, "--no-browser"];
    let ((exit, text), page) = tokio::join!(portal.run_plain(&login, &notes), agree(&notes, "right"));
    assert_eq!(exit, Exit::Ok, "{}", notes.text());
    assert!(text.starts_with("signed in as sre at http://127.0.0.1:"), "{text}");
    let sent = portal.seen.try_iter().last().unwrap().2;
    let verifier = sent["code_verifier"].as_str().unwrap();
    let challenge =
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(rp_base::sha256(verifier.as_bytes()).0);
    assert_eq!(page.path(), "/api/cli/login");
    assert!(page.query_pairs().any(|(name, value)| name == "code_challenge" && value == challenge.as_str()));
    assert!(verifier.len() >= 43 && !page.as_str().contains(verifier));

    let (exit, text) = portal.run_plain(&["whoami", "-o", "json"], &notes).await;
    assert_eq!(exit, Exit::Ok, "{}", notes.text());
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["roles"], json!(["viewer", "sre"]));
    // Its token goes to no other portal.
    let (exit, _) = portal.run_plain(&["whoami", "--portal", "https://other.example"], &notes).await;
    assert_eq!(exit, Exit::NotSignedIn);
    let (exit, _) = portal.run_plain(&["elevations", "approve", "e-1"], &notes).await;
    assert_eq!(exit, Exit::NotAllowed);
    assert!(notes.text().contains("--fresh"), "{}", notes.text());
    let (exit, text) = portal.run_plain(&["logout", "--grants"], &notes).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "signed out\n"));
    let (exit, _) = portal.run_plain(&["grants", "list"], &notes).await;
    assert_eq!(exit, Exit::NotSignedIn);
    assert!(notes.text().contains("Run: aro login --portal http://127.0.0.1:"), "{}", notes.text());
}

#[tokio::test]
async fn a_wrong_code_leaves_nobody_signed_in() {
    let portal = portal().await;
    let notes = Buffer::default();
    let login = ["login", "--portal", &portal.url, "--no-browser"];
    let ((exit, text), _) = tokio::join!(portal.run_plain(&login, &notes), agree(&notes, "wrong"));
    assert_eq!((exit, text.as_str()), (Exit::NotSignedIn, ""));
    assert!(!portal.path("aro/profiles/default/token.json").exists());
    let (exit, _) = portal.run_plain(&["login"], &notes).await;
    assert_eq!(exit, Exit::Usage, "no portal is known");
}

#[tokio::test]
async fn a_device_asks_until_somebody_agreed() {
    let portal = portal().await;
    let notes = Buffer::default();
    let login = ["login", "--portal", &portal.url, "--device", "--profile", "work", "-o", "json"];
    let (exit, text) = portal.run_plain(&login, &notes).await;
    assert_eq!(exit, Exit::Ok, "{}", notes.text());
    assert!(notes.text().contains("ABCD-EFGH") && notes.text().contains("https://p/device"));
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["profile"], "work");
    assert!(!text.contains("good"), "the token is kept, not shown");
    let (exit, _) = portal.run_plain(&["whoami", "--profile", "work"], &notes).await;
    assert_eq!(exit, Exit::Ok);
}
