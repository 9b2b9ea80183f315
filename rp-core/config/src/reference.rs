//! `docs/reference/configuration.md`, made of the table of keys.

use std::fmt::Write as _;

use crate::keys::{KEYS, Key, Kind, SECTIONS};

const INTRODUCTION: &str = "# Configuration

<!-- Generated from rp-core/config/src/keys.rs. -->

One file, `aro.toml`. A value by a flag wins over the environment `ARO_SECTION__KEY`, that over the contract's names (last
column), that over the file. In the environment lists are written with commas; an empty variable counts as not set. Durations
are whole numbers with `d`, `h`, `m`, `s`, `ms`, such as `1h30m`. Relative paths in the file count from the file's folder.
Secrets stand in files of their own, which not every user of the machine may read. An unknown key is an error, and all
mistakes are told at once: `aro check-config`.
";

/// The reference page, Markdown.
pub fn reference_markdown() -> String {
    let mut out = INTRODUCTION.to_owned();
    for (section, help) in SECTIONS {
        let _ = write!(
            out,
            "\n## [{section}]\n\n{help}\n\n| Key | Value | Default | Meaning | Also |\n|---|---|---|---|---|\n"
        );
        for key in KEYS.iter().filter(|key| key.path.split('.').next() == Some(section)) {
            row(&mut out, key);
        }
    }
    out
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
    let _ = writeln!(out, "| `{name}` | {} | {default} | {} | {also} |", key.kind.expects(), key.help);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_row() {
        let page = reference_markdown();
        assert_eq!(page.matches("\n| `").count(), KEYS.len());
        assert!(page.contains(
            "| `client_id` | a text | – | Our client id at the provider. | `AZURE_PORTAL_CLIENT_ID` |"
        ));
        assert!(page.contains("| `scopes` | a list of texts | `[\"openid\", \"profile\"]` |"));
    }
}
