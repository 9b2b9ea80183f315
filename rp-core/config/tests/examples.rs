//! The files of `deploy/examples` are valid settings, and the complete one contains every key.
#![expect(clippy::panic, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rp_config::{File, Input, Settings, needs, parse};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/examples")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn settings(path: &Path, text: &str) -> Settings {
    let (environment, file) = (BTreeMap::new(), Some(File { path, text }));
    parse(&Input { file, environment: &environment, overrides: &[], needs: needs::PORTAL })
        .unwrap_or_else(|mistakes| panic!("{}:\n{mistakes}", path.display()))
}

/// With every setting set that is commented out: `#key = value`, without a blank.
fn with_everything(text: &str) -> String {
    let set = |line: &str| match line.strip_prefix('#') {
        Some(rest) if rest.starts_with(|first: char| first.is_ascii_lowercase()) => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    let whole: String = text.lines().map(set).collect();
    // Its other keys have no effect on the direct way, and that is a mistake.
    whole.replace("way = \"direct\"", "way = \"connect\"").replace("kind = \"sqlite\"", "kind = \"postgres\"")
}

/// `section.key` of every setting in a file.
fn keys(text: &str) -> BTreeSet<String> {
    let mut section = "";
    let mut keys = BTreeSet::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            keys.insert(format!("{section}.{key}"));
        }
    }
    keys
}

/// `section.key` of every row of the reference.
fn documented() -> BTreeSet<String> {
    let reference = rp_config::reference_markdown();
    let mut section = "";
    let mut keys = BTreeSet::new();
    for line in reference.lines() {
        if let Some(name) = line.strip_prefix("## [") {
            section = name.trim_end_matches(']');
        } else if let Some((key, _)) = line.strip_prefix("| `").and_then(|rest| rest.split_once('`')) {
            keys.insert(format!("{section}.{key}"));
        }
    }
    keys
}

#[test]
fn every_example_is_without_a_mistake() {
    let mut seen = 0;
    for entry in std::fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        let text = read(&path);
        settings(&path, &text);
        settings(&path, &with_everything(&text));
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn the_whole_example_names_every_key() {
    let named = keys(&with_everything(&read(&examples().join("aro.toml"))));
    let mut missing = documented();
    assert!(missing.len() > 40, "the reference has another form");
    missing.retain(|key| !named.contains(key));
    // Other ways to say the same, named in the text.
    let others = ["oidc.client_secret_file", "store.url_file", "recording.folder"].map(str::to_owned);
    assert_eq!(missing, BTreeSet::from(others));
}

/// What the example says of itself and of the unit.
#[test]
fn defaults_are_told_as_they_are() {
    let path = examples().join("aro.toml");
    let text = read(&path);
    let (plain, everything) = (settings(&path, &text), settings(&path, &with_everything(&text)));
    let told = |settings: &Settings| {
        let (limits, access) = (&settings.limits, &settings.access);
        // These have no default: what stands there is an example.
        let (known_keys, sinks, retention) = (Vec::new(), Vec::new(), None);
        let audit = rp_config::Audit { known_keys, sinks, retention, ..settings.audit.clone() };
        format!("{limits:?} {access:?} {:?} {audit:?}", settings.log)
    };
    assert_eq!(told(&plain), told(&everything));
    for entry in std::fs::read_dir(examples().join("../systemd")).unwrap() {
        let unit = read(&entry.unwrap().path());
        let number = |key: &str| {
            let line = unit.lines().find_map(|line| line.strip_prefix(key)).expect(key);
            line.parse::<u64>().expect(key)
        };
        assert!(number("TimeoutStopSec=") > plain.limits.drain.as_secs());
        assert!(number("LimitNOFILE=") > 2 * u64::try_from(plain.limits.connections).unwrap());
    }
}
