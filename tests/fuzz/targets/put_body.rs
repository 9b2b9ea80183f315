//! Bodies of PUT and PATCH in each version of the API: what is refused is refused with 400, what is taken can be stored,
//! members that the version does not know stay, and no answer has a secret.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rp_api::validate::{self, ValidationContext};
use rp_api::{Version, convert, decode};
use rp_documents::{OpenShiftCluster, ResourceId};
use serde_json::Value;

const STORED: &str = include_str!("stored.json");
const SECRETS: [&str; 2] = ["hush-pull-secret", "hush-client-secret"];
const UNKNOWN: [&str; 3] = ["/later", "/properties/later", "/properties/clusterProfile/later"];

fn context<'a>(version: &'a Version, id: &'a str) -> ValidationContext<'a> {
    ValidationContext {
        version,
        id,
        name: "c",
        subscription: "00000000-0000-0000-0000-000000000001",
        group: "g",
        region: "eastus",
        domain: "eastus.example",
        architecture: 1,
        development_workers: false,
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, body)) = tests_fuzz::first(data) else { return };
    let versions: Vec<&Version> = rp_api::all().iter().chain([rp_api::admin()]).collect();
    let version = versions[usize::from(choice >> 1) % versions.len()];
    let stored: Value = serde_json::from_str(STORED).expect("JSON");
    let mut is = convert::to_external(version, &stored);
    let mut wanted = if choice & 1 == 0 { convert::put_base(version, &stored) } else { is.clone() };
    convert::without_read_only(version, &mut is);
    convert::without_read_only(version, &mut wanted);
    if let Err(error) = decode::decode_into(version, &mut wanted, body) {
        assert_eq!(error.status, 400);
        return;
    }
    let id = stored["id"].as_str().unwrap_or_default();
    let held = validate::update(&context(version, id), &is, &wanted);
    if let Err(error) = &held {
        assert_eq!(error.status, 400, "{error:?}");
    }
    let mut updated = stored.clone();
    convert::update(version, &is, &wanted, &mut updated);
    for path in UNKNOWN {
        assert_eq!(updated.pointer(path), stored.pointer(path), "{path}");
    }
    let answer = convert::to_answer(version, &updated).to_string();
    assert!(SECRETS.iter().all(|secret| !answer.contains(secret)), "{answer}");
    if wanted == is {
        assert_eq!(updated, stored, "nothing was asked for");
    }
    if held.is_ok() {
        let read = serde_json::from_value::<OpenShiftCluster>(updated.clone());
        assert!(read.is_ok(), "what was accepted cannot be stored: {:?} {updated}", read.err());
    }
    created(version, id, body);
});

fn created(version: &Version, id: &str, body: &[u8]) {
    let skeleton = OpenShiftCluster::new(ResourceId::parse(id).expect("an id"));
    let mut stored = serde_json::to_value(skeleton).expect("JSON");
    let mut sent = convert::put_base(version, &stored);
    sent["properties"]["provisioningState"] = Value::from("Succeeded");
    convert::without_read_only(version, &mut sent);
    let taken = decode::decode_into(version, &mut sent, body)
        .and_then(|()| validate::create(&context(version, id), &sent));
    if let Err(error) = taken {
        assert_eq!(error.status, 400, "{error:?}");
        return;
    }
    convert::create(version, &sent, &mut stored);
    let read = serde_json::from_value::<OpenShiftCluster>(stored.clone());
    assert!(read.is_ok(), "what was accepted cannot be stored: {:?} {stored}", read.err());
}
