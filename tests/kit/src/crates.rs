//! The crates of the workspace and who uses whom, as a picture: `docs/architecture/crates.svg`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::workspace;

/// The box of a crate, and the distances between boxes, in pixels.
const BOX: (usize, usize) = (142, 30);
const GAP: (usize, usize) = (12, 46);
/// How often the boxes of a row are sorted towards those they are joined with.
const SWEEPS: usize = 12;

/// Who uses whom, by name.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Draws the workspace as it is now.
///
/// # Errors
/// cargo does not describe the workspace.
pub fn crates_picture() -> Result<String> {
    let (uses, folders) = read()?;
    Ok(draw(&rows(&uses), &direct(&uses), &folders))
}

/// Every crate of ours: what it uses (its tests apart), and its folder.
fn read() -> Result<(Uses, BTreeMap<String, String>)> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(workspace())
        .output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let (mut uses, mut folders) = (Uses::new(), BTreeMap::new());
    for package in metadata["packages"].as_array().context("cargo metadata names no packages")? {
        let name = package["name"].as_str().context("a package without a name")?.to_owned();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let ours = dependencies.filter(|used| used["source"].is_null() && used["kind"] != "dev");
        uses.insert(name.clone(), ours.filter_map(|used| Some(used["name"].as_str()?.to_owned())).collect());
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let folder = manifest.strip_prefix(&*workspace().to_string_lossy()).unwrap_or_default();
        folders.insert(name, folder.trim_start_matches('/').to_owned());
    }
    Ok((uses, folders))
}

/// Everything that a crate reaches.
fn reached(uses: &Uses, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        open.extend(
            uses.get(&name).into_iter().flatten().filter(|used| found.insert((*used).clone())).cloned(),
        );
    }
    found
}

/// Without the arrows that others imply: a crate that is reached through another one needs no line.
fn direct(uses: &Uses) -> Uses {
    let all: Uses = uses.keys().map(|name| (name.clone(), reached(uses, name))).collect();
    let implied = |of: &BTreeSet<String>, used: &String| {
        of.iter().any(|other| all.get(other).is_some_and(|reached| reached.contains(used)))
    };
    uses.iter()
        .map(|(name, of)| (name.clone(), of.iter().filter(|used| !implied(of, used)).cloned().collect()))
        .collect()
}

/// The crates in rows, from those that nobody uses down to those that use nobody.
fn rows(uses: &Uses) -> Vec<Vec<String>> {
    fn level<'a>(uses: &'a Uses, name: &'a str, known: &mut BTreeMap<&'a str, usize>) -> usize {
        if let Some(level) = known.get(name) {
            return *level;
        }
        let below = uses.get(name).into_iter().flatten().map(|used| level(uses, used, known) + 1).max();
        let found = below.unwrap_or(0);
        known.insert(name, found);
        found
    }
    let mut known = BTreeMap::new();
    let mut rows = BTreeMap::<_, Vec<String>>::new();
    for name in uses.keys() {
        rows.entry(std::cmp::Reverse(level(uses, name, &mut known))).or_default().push(name.clone());
    }
    let mut rows: Vec<Vec<String>> = rows.into_values().collect();
    let direct = direct(uses);
    for _ in 0..SWEEPS {
        sort(&mut rows, &direct);
    }
    rows
}

/// Moves every crate of a row towards the middle of those it is joined with.
fn sort(rows: &mut [Vec<String>], direct: &Uses) {
    for at in 0..rows.len() {
        let places = places(rows);
        let centre = |name: &String| {
            let below = direct.get(name).into_iter().flatten();
            let above = direct.iter().filter(|(_, of)| of.contains(name)).map(|(user, _)| user);
            let joined: Vec<usize> =
                below.chain(above).filter_map(|other| Some(places.get(other)?.0)).collect();
            let own = places.get(name).map_or(0, |place| place.0);
            if joined.is_empty() { own } else { joined.iter().sum::<usize>() / joined.len() }
        };
        rows[at].sort_by_cached_key(|name| (centre(name), name.clone()));
    }
}

/// Left and upper edge of every box; rows are centred.
fn places(rows: &[Vec<String>]) -> BTreeMap<String, (usize, usize)> {
    let width = width(rows);
    let mut places = BTreeMap::new();
    for (row, names) in rows.iter().enumerate() {
        let own = names.len() * (BOX.0 + GAP.0) - GAP.0;
        for (column, name) in names.iter().enumerate() {
            let left = (width - own) / 2 + column * (BOX.0 + GAP.0);
            places.insert(name.clone(), (left, GAP.0 + row * (BOX.1 + GAP.1)));
        }
    }
    places
}

fn width(rows: &[Vec<String>]) -> usize {
    rows.iter().map(|row| row.len() * (BOX.0 + GAP.0) + GAP.0).max().unwrap_or(0)
}

fn draw(rows: &[Vec<String>], direct: &Uses, folders: &BTreeMap<String, String>) -> String {
    let (width, height) = (width(rows), GAP.0 * 2 + rows.len() * (BOX.1 + GAP.1) - GAP.1);
    let places = places(rows);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" text-anchor=\"middle\">\n\
         <title>Crates of the workspace: a line goes down to what a crate uses</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n<g fill=\"none\" stroke=\"#8a8d90\">\n"
    );
    // Writing into a string cannot fail.
    for (name, of) in direct {
        for (from, to) in of.iter().filter_map(|used| Some((places.get(name)?, places.get(used)?))) {
            let (x, y, to_x, to_y) = (from.0 + BOX.0 / 2, from.1 + BOX.1, to.0 + BOX.0 / 2, to.1);
            let bend = GAP.1 * 2 / 3;
            let _ = writeln!(
                text,
                "<path d=\"M{x} {y}C{x} {} {to_x} {} {to_x} {to_y}\"/>",
                y + bend,
                to_y - bend
            );
        }
    }
    text.push_str("</g>\n");
    for (name, (left, top)) in &places {
        let (x, y) = (left + BOX.0 / 2, top + 20);
        let fill = colour(folders.get(name).map_or("", String::as_str));
        let _ = writeln!(
            text,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{fill}\" stroke=\"#3c3f42\"/>\
             <text x=\"{x}\" y=\"{y}\">{name}</text>",
            BOX.0, BOX.1
        );
    }
    text.push_str("</svg>\n");
    text
}

/// By the folder at the root.
fn colour(folder: &str) -> &'static str {
    match folder.split('/').next() {
        _ if folder.starts_with("rp-core/simulator") => "#f9e0a2",
        Some("rp-core") => "#d2e3fc",
        Some("tests") => "#e5e5e5",
        _ => "#c9e9c5",
    }
}
