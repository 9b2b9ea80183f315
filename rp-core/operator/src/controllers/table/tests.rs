use std::collections::BTreeSet;
use std::path::Path;

use rp_operator_api::conditions::{Check, Health, advice};
use rp_operator_api::deployment::permissions::CONTROLLERS;
use rp_operator_api::flags::Fallback;

use super::*;

/// The flags for people, in Markdown.
fn flags() -> String {
    let mut out = String::from("| Flag | Default | What it does |\n|---|---|---|\n");
    for flag in Flag::ALL {
        let default = match flag.default() {
            Fallback::Set("") | Fallback::Implied("") => "empty".to_owned(),
            Fallback::Set(value) => format!("`{value}`"),
            Fallback::Implied(value) => format!("`{value}`, not in the set of a new cluster"),
            Fallback::SameAs(other) => format!("as `{}`", other.name()),
            Fallback::Computed => "the controller's".to_owned(),
        };
        writeln!(out, "| `{}` | {default} | {} |", flag.name(), flag.effect()).unwrap();
    }
    out
}

/// The conditions for people, in Markdown.
fn conditions() -> String {
    let mut out = String::from(
        "| Condition | Wrong when | What it is about | What to do when it is wrong |\n|---|---|---|---|\n",
    );
    let checks = Check::ALL.map(|check| (check.name().to_owned(), "False"));
    let controllers = [("Available", "False"), ("Degraded", "True")];
    let controllers = controllers.map(|(state, wrong)| (format!("NAMEController{state}"), wrong));
    for (kind, wrong) in checks.into_iter().chain(controllers) {
        let words = advice(&kind, wrong, "");
        assert_eq!(words.health, Health::Wrong, "{kind}");
        writeln!(out, "| `{kind}` | {wrong} | {} | {} |", words.meaning, words.action).unwrap();
    }
    out
}

#[test]
fn the_documentation_has_every_controller_and_every_flag() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations/operator.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut wanted = text;
    for (mark, table) in [
        ("<!-- conditions -->", conditions()),
        ("<!-- flags -->", flags()),
        ("<!-- controllers -->", markdown()),
    ] {
        let (before, rest) = wanted.split_once(mark).unwrap();
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        wanted = format!("{before}{mark}\n{table}<!-- end -->{after}");
    }
    if std::env::var_os("ARO_GOLDEN").is_some_and(|word| word == "write") {
        std::fs::write(&file, &wanted).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), wanted, "ARO_GOLDEN=write writes it");
}

#[test]
fn every_controller_has_its_rights_and_no_rights_are_left_over() {
    let table: BTreeSet<_> = TABLE.iter().map(|one| one.name).collect();
    let rights: BTreeSet<_> = CONTROLLERS.iter().map(|one| one.controller).collect();
    assert_eq!(table, rights);
    assert_eq!(table.len(), TABLE.len(), "a name stands twice");
}

#[test]
fn every_controller_is_started_by_something_it_watches() {
    for one in TABLE {
        assert!(!one.watched.is_empty() && !one.summary.is_empty(), "{}", one.name);
    }
}
