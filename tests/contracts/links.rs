//! Relative links of Markdown files lead to a file, and to a heading of it where they name one; paths between
//! backticks exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, ensure};
use tests_kit::workspace;

use crate::citations::files;

#[test]
fn links_lead_to_files_and_headings() -> Result<()> {
    let files: BTreeMap<String, String> = files()?.into_iter().collect();
    let mut wrong = Vec::new();
    let mut followed = 0;
    for (file, text) in files.iter().filter(|(file, _)| file.ends_with(".md")) {
        for (line, target) in links(text) {
            followed += 1;
            let mistake = follow(Path::new(file), &target, &files);
            wrong.extend(mistake.map(|mistake| format!("{file}:{line}: {target}: {mistake}")));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(followed > 200, "{followed} links were found: the search is broken");
    Ok(())
}

/// A document that names a place in the tree is wrong when the place has moved.
#[test]
fn places_that_documents_name_exist() -> Result<()> {
    let mut wrong = Vec::new();
    let mut named = 0;
    for (file, text) in files()?.iter().filter(|(file, _)| file.ends_with(".md")) {
        // Paths in contracts are upstream's.
        if file.starts_with("docs/contract/") {
            continue;
        }
        for (line, place) in places(text) {
            named += 1;
            let missing = ![Path::new(""), Path::new(file)]
                .iter()
                .any(|from| workspace().join(beside(from, &place)).exists());
            wrong.extend(missing.then(|| format!("{file}:{line}: there is no {place}")));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(named > 100, "{named} places were found: the search is broken");
    Ok(())
}

/// Paths between backticks that begin with a folder of the project; capital letters stand for something else.
fn places(text: &str) -> Vec<(usize, String)> {
    const FOLDERS: [&str; 7] = ["portal/", "proxy/", "web/", "rp-core/", "deploy/", "docs/", "tests/"];
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        for code in line.split('`').skip(1).step_by(2) {
            let plain = code.chars().all(|letter| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || "/._-".contains(letter)
            });
            if plain && FOLDERS.iter().any(|folder| code.starts_with(folder)) {
                found.push((number, code.to_owned()));
            }
        }
    }
    found
}

/// What is wrong with a link of a file.
fn follow(file: &Path, target: &str, files: &BTreeMap<String, String>) -> Option<String> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { file.to_owned() } else { beside(file, path) };
    let name = path.to_string_lossy().into_owned();
    if !files.contains_key(&name) && !workspace().join(&path).exists() {
        return Some(format!("there is no {name}"));
    }
    let known = files.get(&name).is_none_or(|text| headings(text).contains(heading));
    (!heading.is_empty() && !known).then(|| format!("{name} has no heading {heading}"))
}

/// `path` as it is meant in a file, without `.` and `..`.
fn beside(file: &Path, path: &str) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in file.parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

/// Lines with their numbers that are not in a fenced block.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Targets of `[text](target)` without a scheme, outside of code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second piece stands between backticks.
        let plain: Vec<&str> = line.split('`').step_by(2).collect();
        for piece in plain.join("").split("](").skip(1) {
            let Some((target, _)) = piece.split_once(')') else { continue };
            if !target.contains(':') && !target.contains(' ') {
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// The anchors that a viewer makes of the headings of a file.
fn headings(text: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some(heading) = line.strip_prefix('#') else { continue };
        let anchor = anchor(heading.trim_start_matches('#').trim());
        let before = times.entry(anchor.clone()).or_default();
        anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter => letter.is_alphanumeric().then_some(letter),
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[test]
fn places_are_paths_between_backticks() {
    let text =
        "`portal/src/routes.rs`, `portal` and `aro portal/x`\n```\n`docs/no`\n```\n`web/src/objects/`\n";
    let expected = [(1, "portal/src/routes.rs"), (5, "web/src/objects/")];
    assert_eq!(places(text), expected.map(|(line, place)| (line, place.to_owned())));
}

#[test]
fn broken_links_are_found() {
    let text = "# A page\n[one](b.md#two--three) `[no](link)` [away](https://example.com)\n\
                ```\n[no](link)\n```\n[gone](c.md), [x](#a-page), [y](#nothing), [up](../d.md)\n";
    let files: BTreeMap<String, String> =
        [("f/a.md", text), ("f/b.md", "## Two, `three`\n"), ("f/two.md", "# Two & three\n# Two & three\n")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into();
    let found: Vec<(usize, Option<String>)> = links(text)
        .into_iter()
        .map(|(line, target)| (line, follow(Path::new("f/a.md"), &target, &files)))
        .collect();
    let wrong = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            (2, wrong("f/b.md has no heading two--three")),
            (6, wrong("there is no f/c.md")),
            (6, None),
            (6, wrong("f/a.md has no heading nothing")),
            (6, wrong("there is no d.md")),
        ]
    );
    assert_eq!(
        headings("# Two & three\n```\n# no\n```\n## Two & three\n"),
        BTreeSet::from(["two--three".to_owned(), "two--three-1".to_owned()])
    );
}
