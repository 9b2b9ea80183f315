//! Who may name a writer of a cluster's document: the frontend is the edge, and the portal where it accepts flags of the
//! operator (`docs/decisions/0022-flags-by-maintenance.md`); the backend is the worker and passes that on to the steps of
//! `rp-cluster`, and so does maintenance, which holds the lease of the document too. Code that seeds or tests with
//! generated clusters may be both.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

const SEEDS: [&str; 2] = ["rp-core/simulator/", "portal/dev/"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "target" && name != "node_modules" && name != "tests" {
            sources(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") && name != "tests.rs" {
            into.push(path);
        }
    }
}

/// Files that hold the text, relative to the workspace.
fn users(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for folder in ["rp-core", "portal", "proxy"] {
        sources(&root().join(folder), &mut all);
    }
    let holds = |path: &PathBuf| fs::read_to_string(path).unwrap().contains(text);
    let relative = |path: PathBuf| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
    all.into_iter().filter(holds).map(relative).collect()
}

#[test]
fn each_writer_is_named_by_its_crate_only() {
    for (text, crates) in [
        (
            "Edge::accepting()",
            ["rp-core/frontend/", "rp-core/documents/", "portal/model/src/operator/set.rs"].as_slice(),
        ),
        (
            "Worker::holding(",
            ["rp-core/backend/", "rp-core/cluster/", "rp-core/documents/", "rp-core/maintenance/"].as_slice(),
        ),
    ] {
        let users = users(text);
        assert!(!users.is_empty(), "{text}: {users:?}");
        let may = |file: &&String| crates.iter().chain(&SEEDS).any(|place| file.starts_with(place));
        let others: Vec<&String> = users.iter().filter(|file| !may(file)).collect();
        assert!(others.is_empty(), "{text} in {others:?}");
    }
}
