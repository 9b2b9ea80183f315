//! Bounds the allocations of the pure part of a PUT. Allocations are counted on one thread, so the figures are the same
//! on every machine; a rise of more than a tenth fails.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use rp_api::response::ClusterResponse;
use rp_api::{Version, convert, decode, render};
use serde_json::{Value, json};

/// Allocations of a create and of an update, in the oldest and in the newest version that has an example.
const FIGURES: [[u64; 2]; 2] = [[324, 294], [456, 401]];

const VERSIONS: [&str; 2] = ["2020-04-30", "2025-07-25"];

/// The body of the example that the Swagger document shows.
fn body(version: &Version) -> String {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/swagger").join(version.name);
    let file = folder.join("examples/OpenShiftClusters_CreateOrUpdate.json");
    let example: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    example["parameters"]["parameters"].to_string()
}

/// Decodes a body over what is stored, stores it, and renders the answer.
fn put(version: &Version, stored: &mut Value, body: &str) {
    let is_new = stored.as_object().unwrap().is_empty();
    let base = convert::put_base(version, stored);
    let mut wanted = base.clone();
    decode::decode_into(version, &mut wanted, body.as_bytes()).unwrap();
    if is_new {
        convert::create(version, &wanted, stored);
    } else {
        convert::update(version, &base, &wanted, stored);
    }
    let shown = convert::to_answer(version, stored);
    assert!(!render::render(&ClusterResponse { version, shown: &shown }).unwrap().is_empty());
}

#[test]
fn converting_a_put_allocates_no_more_than_it_did() {
    let counts = VERSIONS.map(|name| {
        let version = rp_api::find(name).unwrap();
        let body = body(version);
        let mut stored = json!({});
        // Once without counting: what is made once per process is not part of a request.
        put(version, &mut json!({}), &body);
        [(); 2].map(|()| allocation_counter::measure(|| put(version, &mut stored, &body)).count_total)
    });
    for (count, figure) in counts.as_flattened().iter().zip(FIGURES.as_flattened()) {
        assert!(*count <= figure + figure / 10, "{counts:?} allocations, and {FIGURES:?} before");
    }
}
