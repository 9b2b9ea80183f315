//! The wiring: roles link without the portal, what a process has one of is made in one place, and no module needs one
//! that needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tests_kit::workspace;

use crate::arrows::{Package, packages};

/// Crates that start processes.
const WIRING: [&str; 3] = ["rp-core/src", "portal/aro/src", "portal/dev/src"];

/// The portal's crates.
const PORTAL: [&str; 5] =
    ["portal/session/src", "portal/model/src", "portal/api/src", "portal/pages/src", "portal/src"];

/// Crates that know all settings; others take the sections that they go by.
const WITH_SETTINGS: [&str; 3] = ["rp-core", "aro", "aro-dev"];

/// What makes a service, and the files that may: `Services`, and commands that run without its process.
const MADE_ONCE: [(&str, &[&str]); 9] = [
    // `aro monitor once --kubeconfig` needs no settings.
    ("Dialer::new(", &["rp-core/src/services/dialer.rs", "portal/aro/src/monitor_once.rs"]),
    ("Arm::new(", &["rp-core/src/services/azure.rs"]),
    ("Arm::with(", &[]),
    ("Statsd::start(", &["rp-core/src/services/statsd.rs"]),
    ("Access::start(", &["rp-core/src/services/access.rs"]),
    ("StoreDirectory::start(", &["rp-core/src/services/access.rs"]),
    ("Budget::new(", &["rp-core/src/services/access.rs"]),
    // `aro store restore` notes itself in a trail that no process has open.
    ("Audit::start(", &["rp-core/src/services.rs", "portal/aro/src/store_restore.rs"]),
    ("Sinks::start(", &["rp-core/src/services.rs"]),
];

/// Every source file below a folder, with its text up to its tests.
fn sources(folder: &str) -> Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    let mut open = vec![workspace().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path)?;
                let product = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                found.push((path, product));
            }
        }
    }
    ensure!(!found.is_empty(), "{folder} has no sources");
    Ok(found)
}

#[test]
fn what_a_process_has_one_of_is_made_in_one_place() -> Result<()> {
    let mut wrong = Vec::new();
    let mut made = BTreeSet::new();
    for folder in WIRING {
        for (path, text) in sources(folder)? {
            let file = path.strip_prefix(workspace())?.to_string_lossy().into_owned();
            for (call, places) in MADE_ONCE.iter().filter(|(call, _)| text.contains(call)) {
                made.insert(*call);
                if !places.contains(&file.as_str()) {
                    wrong.push(format!("{file}: {call}…), which is for {places:?}"));
                }
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let gone = MADE_ONCE.iter().filter(|(call, places)| !places.is_empty() && !made.contains(call));
    ensure!(gone.clone().count() == 0, "nobody makes these any more: {:?}", gone.collect::<Vec<_>>());
    Ok(())
}

/// The room of a file: `control` for `control.rs` and everything below `control/`.
fn room(root: &Path, path: &Path) -> Option<String> {
    let first = path.strip_prefix(root).ok()?.components().next()?;
    let name = first.as_os_str().to_string_lossy();
    Some(name.trim_end_matches(".rs").to_owned())
}

/// For each room the rooms that it names by `crate::`.
fn rooms(folder: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let root = workspace().join(folder);
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let files = sources(folder)?;
    for (path, _) in &files {
        rooms.entry(room(&root, path).context("a room")?).or_default();
    }
    let names: Vec<String> = rooms.keys().cloned().collect();
    for (path, text) in files {
        let own = room(&root, &path).context("a room")?;
        let named: Vec<&String> =
            names.iter().filter(|name| **name != own && names_item(&text, "crate::", name)).collect();
        rooms.entry(own).or_default().extend(named.into_iter().cloned());
    }
    Ok(rooms)
}

/// Whether a text says `ROOT::NAME`, or `ROOT::{…, NAME…}`; `root` is with its colons.
fn names_item(text: &str, root: &str, name: &str) -> bool {
    let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    text.match_indices(root).any(|(at, found)| {
        let rest = &text[at + found.len()..];
        let Some(list) = rest.strip_prefix('{') else {
            return rest.strip_prefix(name).is_some_and(is_whole);
        };
        let list = list.split('}').next().unwrap_or_default();
        list.split(',').any(|item| item.trim().strip_prefix(name).is_some_and(is_whole))
    })
}

/// The way from a room back to itself, if there is one.
fn circle(rooms: &BTreeMap<String, BTreeSet<String>>, from: &str) -> Option<Vec<String>> {
    let mut open = vec![vec![from.to_owned()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = open.pop() {
        for next in rooms.get(way.last()?).into_iter().flatten() {
            let longer = [way.clone(), vec![next.clone()]].concat();
            if next == from {
                return Some(longer);
            }
            if seen.insert(next) {
                open.push(longer);
            }
        }
    }
    None
}

#[test]
fn rooms_form_no_circle() -> Result<()> {
    for folder in WIRING.iter().chain(&PORTAL) {
        let rooms = rooms(folder)?;
        ensure!(rooms.values().any(|uses| !uses.is_empty()), "{folder}: no room uses another");
        for name in rooms.keys() {
            let way = circle(&rooms, name).unwrap_or_default();
            ensure!(way.is_empty(), "{folder}: {}", way.join(" → "));
        }
    }
    Ok(())
}

#[test]
fn only_the_wiring_knows_all_settings() -> Result<()> {
    let mut wrong = Vec::new();
    let (wiring, others): (Vec<Package>, Vec<Package>) = packages()?
        .into_iter()
        .filter(|package| package.uses.contains("rp-config"))
        .partition(|package| WITH_SETTINGS.contains(&package.name.as_str()));
    ensure!(wiring.len() == WITH_SETTINGS.len() && !others.is_empty(), "crates that use rp-config");
    for package in others {
        let folder = package.manifest.parent().context("a folder")?.join("src");
        for (path, text) in sources(folder.to_str().context("a name")?)? {
            let named = ["Settings", "load", "parse"].map(|name| names_item(&text, "rp_config::", name));
            if named.contains(&true) {
                wrong.push(format!("{}: takes all settings; a section is enough", path.display()));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// What a crate uses of ours, and what those use, down to the last.
fn links(packages: &[Package], name: &str) -> BTreeSet<String> {
    let mut linked = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        let uses = packages.iter().filter(|package| package.name == name).flat_map(|package| &package.uses);
        open.extend(uses.filter(|used| linked.insert((*used).clone())).cloned());
    }
    linked
}

#[test]
fn the_provider_links_without_portal_and_proxy() -> Result<()> {
    let linked = links(&packages()?, "rp-core");
    ensure!(linked.contains("rp-frontend") && linked.contains("rp-monitor"), "rp-core links {linked:?}");
    for other in ["portal", "portal-session", "portal-model", "proxy", "portal-cli", "web", "aro"] {
        ensure!(!linked.contains(other), "rp-core links {other}");
    }
    let simulator = linked.iter().find(|name| name.starts_with("rp-simulator"));
    ensure!(simulator.is_none(), "rp-core links {simulator:?}");
    Ok(())
}
