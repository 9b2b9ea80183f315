//! Bounds the allocations of decoding, on the response of a realistic cluster that the benchmarks use.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::{List, Node, Pod};

/// Allocations of decoding the pods of `openshift-monitoring` and the nodes.
const FIGURES: [u64; 2] = [557, 135];

/// The response body of a GET of that path.
fn answer(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bench/fixture/cluster.json.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    let fixture: Value = serde_json::from_str(&text).unwrap();
    fixture["answers"][path].to_string()
}

#[test]
fn decoding_a_look_allocates_no_more_than_it_did() {
    let pods = answer("/api/v1/namespaces/openshift-monitoring/pods");
    let nodes = answer("/api/v1/nodes");
    let count = |decode: &dyn Fn()| allocation_counter::measure(decode).count_total;
    let counts = [
        count(&|| assert!(!serde_json::from_str::<List<Pod>>(&pods).unwrap().items.is_empty())),
        count(&|| assert!(!serde_json::from_str::<List<Node>>(&nodes).unwrap().items.is_empty())),
    ];
    for (count, figure) in counts.into_iter().zip(FIGURES) {
        assert!(count <= figure + figure / 10, "{counts:?} allocations, and {FIGURES:?} before");
    }
}
