//! Consoles of machines, and what each person may do over the admin API.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use rp_audit::{Audit, AuditOptions, CheckpointKey, Query};
use rp_azure::{AzureError, BootDiagnostics, ErrorKind, Screenshot, SerialLog};
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_database::in_memory;
use rp_documents::Phase;
use rp_seal::Keyring;
use serde_json::json;

use super::{Api, TestResponse, id, parts, path, wanted};
use crate::{AdminParts, AdminRole, AdminRoles, Edge, FrontendParts};

/// One machine whose console has a secret and a sequence for terminals; another without boot diagnostics.
#[derive(Debug)]
struct Machines;

#[async_trait]
impl BootDiagnostics for Machines {
    async fn serial_log(&self, group: &str, machine: &str) -> Result<Option<SerialLog>, AzureError> {
        assert!(group.ends_with("/resourcegroups/managed1"), "{group}");
        let log = |text: &'static str| SerialLog { bytes: Bytes::from_static(text.as_bytes()), size: 9 };
        match machine {
            "master-0" => Ok(Some(log("boot\r\n\u{1b}[2Jtoken=abc\r\nlogin: "))),
            "off" => Ok(None),
            "slow" => Err(AzureError::new("get serial console log", ErrorKind::Timeout, "")),
            _ => Err(AzureError::new("get serial console log", ErrorKind::NotFound, "no such machine")),
        }
    }

    async fn screenshot(&self, _: &str, _: &str) -> Result<Option<Screenshot>, AzureError> {
        Ok(None)
    }
}

async fn trail(clock: &ManualClock) -> Audit {
    let options = AuditOptions::new(CheckpointKey::generate().unwrap());
    let clock = Arc::new(clock.clone());
    Audit::start(in_memory(clock.clone()), clock, options).await.unwrap()
}

/// With one cluster, and a trail.
async fn api(roles: AdminRoles) -> (Api, Audit) {
    let clock = ManualClock::at(Timestamp::from_seconds(1_795_230_720));
    let audit = trail(&clock).await;
    let admin = AdminParts { machines: Some(Arc::new(Machines)), roles, ..AdminParts::default() };
    let edge = Edge { audit: Some(audit.clone()), ..Edge::default() };
    let store = in_memory(Arc::new(clock.clone()));
    let parts = parts(store, Keyring::generate(&SystemRandom), clock, admin);
    let api = Api::from_parts(FrontendParts { edge, ..parts });
    api.subscription("Registered").await;
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, 201);
    (api, audit)
}

fn console(query: &str) -> String {
    format!("/admin{}/serialconsole?{query}", id("c"))
}

fn message(told: &TestResponse) -> (u16, String, String) {
    let error = told.json()["error"].clone();
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (told.status.as_u16(), text("code"), text("message"))
}

#[tokio::test]
async fn a_console_is_told_without_secrets_and_on_the_record() {
    let (api, audit) = api(AdminRoles::default()).await;
    let told = api.call("GET", &console("vmName=master-0"), None).await;
    assert_eq!((told.status.as_u16(), told.header("content-type")), (200, "text/plain"));
    assert_eq!(told.text, "boot\ntoken=[redacted]\nlogin: \n");
    let invalid = |text: &str| (400, "InvalidParameter".to_owned(), text.to_owned());
    let of = async |query: &str| message(&api.call("GET", &console(query), None).await);
    assert_eq!(of("").await, invalid("The vmName parameter is required."));
    assert_eq!(of("vmName=").await, invalid("The vmName parameter is required."));
    assert_eq!(of("vmName=a%2Fb").await, invalid("The provided vmName 'a/b' is invalid."));
    assert_eq!(of("vmName=..").await, invalid("The provided vmName '..' is invalid."));
    let missing = "The VirtualMachine 'master-9' under resource group 'managed1' was not found.";
    assert_eq!(of("vmName=master-9").await, (404, "NotFound".to_owned(), missing.to_owned()));
    assert_eq!(of("vmName=off").await.0, 500);
    assert_eq!(of("vmName=slow").await.0, 500);
    let elsewhere = console("vmName=master-0").replace("/c/serial", "/d/serial");
    assert_eq!(api.call("GET", &elsewhere, None).await.refusal().1, "ResourceNotFound");
    audit.close().await;
    let all = audit.search(&Query::default()).await.unwrap().entries;
    let reads = all.iter().filter(|entry| entry.verb == "rp-admin.read" && entry.query.contains("master-0"));
    let phases: Vec<Phase> = reads.map(|entry| entry.phase).collect();
    assert!(phases.contains(&Phase::Start) && phases.contains(&Phase::End), "{phases:?}");
}

#[tokio::test]
async fn without_azure_there_is_no_console() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    let told = api.call("GET", &console("vmName=master-0"), None).await;
    assert_eq!(message(&told).2, "machines cannot be asked for from here");
}

#[tokio::test]
async fn what_a_person_may_not_do_is_refused_before_anything_is_done() {
    let (readers, operators) = (vec!["*".to_owned()], vec!["ann@example.org".to_owned()]);
    let roles = [(AdminRole::Reader, readers.as_slice()), (AdminRole::Operator, operators.as_slice())];
    let (api, _audit) = api(AdminRoles::new(roles)).await;
    let call = async |who: &str, method: &str, path: &str, body: String| {
        let headers = [("x-ms-client-principal-name", who)];
        let told = api.send(method, path, if who.is_empty() { &[][..] } else { &headers[..] }, body).await;
        told.status.as_u16()
    };
    let (version, admin) = ("/admin/versions", path("c").replace(super::VERSION, "admin"));
    let body = || {
        json!({"properties": {"version": "4.19.9", "openShiftPullspec": "o", "installerPullspec": "i", "enabled": true, "default": true}}).to_string()
    };
    assert_eq!(call("", "GET", version, String::new()).await, 403, "nobody is named");
    assert_eq!(call("eve@example.org", "GET", version, String::new()).await, 200);
    assert_eq!(call("eve@example.org", "PUT", version, body()).await, 403);
    assert_eq!(call("ANN@example.org", "PUT", version, body()).await, 201);
    let console = console("vmName=master-0");
    assert_eq!(call("eve@example.org", "GET", &console, String::new()).await, 403);
    assert_eq!(call("ann@example.org", "GET", &console, String::new()).await, 200);
    let shell = format!("/admin{}/ssh/newelevated", id("c"));
    assert_eq!(call("ann@example.org", "POST", &shell, "{}".to_owned()).await, 403);
    assert_eq!(call("eve@example.org", "GET", &admin, String::new()).await, 200);
    assert_eq!(call("eve@example.org", "PATCH", &admin, "{}".to_owned()).await, 403);
    // ARM's side asks nobody's name.
    assert_eq!(call("", "GET", &path("c"), String::new()).await, 200);
}
