//! `docs/reference/configuration.md`, made of the declarations.

use std::fmt::Write as _;

use crate::Catalogue;
use crate::setting::{Key, Kind};

const INTRODUCTION: &str = "# Configuration

<!-- Generated from the sections of rp-core/config/src/sections.rs. -->

One file, `aro.toml`. A value by a flag wins over the environment `ARO_SECTION__KEY`, that over the contract's names (last
column), that over the file. In the environment lists are written with commas; an empty variable counts as not set. Durations
are whole numbers with `d`, `h`, `m`, `s`, `ms`, such as `1h30m`. Relative paths in the file count from the file's folder.
Secrets stand in files of their own, which not every user of the machine may read. An unknown key is an error, and all
mistakes are told at once: `aro check-config`.
";

/// The reference page, Markdown.
pub(crate) fn markdown(all: Catalogue) -> String {
    let mut out = INTRODUCTION.to_owned();
    for section in all.0 {
        let Some(first) = section.first() else { continue };
        let (name, about) = (first.section, text(first.about));
        let _ = write!(
            out,
            "
## [{name}]

{about}

| Key | Value | Default | Meaning | Also |
|---|---|---|---|---|
"
        );
        for key in section.iter().flat_map(|group| group.keys) {
            row(&mut out, key);
        }
    }
    out
}

/// One line of the lines of a documentation, each of which begins with a blank.
fn text(lines: &[&str]) -> String {
    lines.concat().trim_start().to_owned()
}

fn row(out: &mut String, key: &Key) {
    let name = key.path.split_once('.').map_or(key.path, |(_, name)| name);
    let default = match (key.default, key.kind) {
        ("", _) => "–".to_owned(),
        (text, Kind::Count { .. } | Kind::Switch) => format!("`{text}`"),
        (text, kind) if kind.is_list() => {
            let parts: Vec<String> = text.split(',').map(|part| format!("\"{part}\"")).collect();
            format!("`[{}]`", parts.join(", "))
        }
        (text, _) => format!("`\"{text}\"`"),
    };
    let also = key.contract.map_or_else(String::new, |contract| format!("`{}`", contract.name));
    let _ = writeln!(out, "| `{name}` | {} | {default} | {} | {also} |", key.kind.expects(), text(key.help));
}
