//! The search for citations finds what is wrong.

use std::path::Path;

use anyhow::Result;

use super::contract::Contract;
use super::search::{Search, old_forms};
use super::text::paragraphs;

const PORTAL: &str = "\
# Portal

## 1. Process
### 1.1 Environment variables
## 24. Test vectors
| 7 | no item |
## Do better

Sign-in
1. first
2. second

SSH
3. third
";

const PAGES: &str =
    "## 6. Panel\n### 6.7 Statistics\n## Do better\n### A. Asked for\n### B. To get\n1. search\n7. charts\n";

const CHECKLIST: &str =
    "## 1. Patches\n| CP-01 | one |\n## Do better\n| # | Upstream | Better |\n| 1 | a | b |\n";

fn search() -> Result<Search> {
    let contracts = [("portal", PORTAL), ("portal-ui", PAGES), ("systems", CHECKLIST)]
        .map(|(name, text)| (name.to_owned(), Contract::read(text)));
    Ok(Search::new(contracts.into())?)
}

/// How many places of a text exist, and what is wrong with the others.
fn read(search: &Search, text: &str) -> (usize, Vec<String>) {
    let (good, wrong): (Vec<_>, Vec<_>) = search.citations(text).into_iter().partition(Result::is_ok);
    (good.len(), wrong.into_iter().filter_map(Result::err).collect())
}

#[test]
fn good_citations_resolve() -> Result<()> {
    let search = search()?;
    for (text, places) in [
        ("`contract/portal.md` §1.1", 1),
        ("`contract/portal.md` §1–1.1, §24", 3),
        ("`contract/portal.md` §1 and \"Do better\" 1–3, `contract/portal-ui.md` §6.7", 4),
        ("`contract/portal-ui.md` \"Do better\" B 1, 7", 2),
        ("`contract/portal.md`, \"Do better\": no number", 1),
        ("`contract/systems.md` CP-01, \"Do better\" 1", 2),
        ("RFC 8628 §3.5, then §99 of the same", 0),
        ("words without a place", 0),
    ] {
        assert_eq!(read(&search, text), (places, Vec::new()), "{text}");
    }
    Ok(())
}

#[test]
fn broken_citations_are_found() -> Result<()> {
    let search = search()?;
    for (text, mistake) in [
        ("`contract/portal.md` §1.2", "portal.md has no section 1.2"),
        ("`contract/portal.md` §1.1–1.3", "portal.md has no section 1.3"),
        ("`contract/portal.md` \"Do better\" 7", "portal.md has no \"Do better\" 7"),
        ("`contract/portal.md` \"Do better\" 3 and 4", "portal.md has no \"Do better\" 4"),
        ("`contract/portal-ui.md` \"Do better\" 1", "portal-ui.md has no \"Do better\" 1"),
        ("`contract/portal-ui.md` \"Do better\" A 1", "portal-ui.md has no \"Do better\" A 1"),
        ("`contract/systems.md` CP-02", "systems.md has no row CP-02"),
        ("`contract/nothing.md` §1", "there is no contract nothing"),
        ("as §1.1 says", "§1.1 names no contract before it"),
        ("RFC 8628 §3.5 and \"Do better\" 1", "\"Do better\" names no contract before it"),
        ("(\"Do better\" 1 of `contract/portal.md`)", "\"Do better\" 1 names no contract before it"),
    ] {
        let (_, wrong) = read(&search, text);
        let expected = mistake.strip_suffix(" names no contract before it");
        let hit =
            wrong.iter().any(|wrong| expected.map_or(wrong == mistake, |start| wrong.starts_with(start)));
        assert!(hit, "{text}: {wrong:?}");
    }
    Ok(())
}

#[test]
fn a_citation_goes_on_in_the_next_line_of_a_comment() -> Result<()> {
    let search = search()?;
    let code = "//! One (`contract/portal.md`\n//! §1.2).\n\nlet x = \"§1.1\";\n    // §1.3\n";
    let found: Vec<(usize, Vec<String>)> = paragraphs(Path::new("x.rs"), code)
        .into_iter()
        .map(|paragraph| (paragraph.line, read(&search, &paragraph.text).1))
        .filter(|(_, wrong)| !wrong.is_empty())
        .collect();
    let expected = [
        (1, "portal.md has no section 1.2"),
        (4, "§1.1 names no contract before it"),
        (5, "§1.3 names no contract before it"),
    ];
    assert_eq!(found, expected.map(|(line, wrong)| (line, vec![wrong.to_owned()])));
    Ok(())
}

#[test]
fn old_forms_are_found() -> Result<()> {
    let old = old_forms()?;
    for text in ["`spec/api.md` §1", "see design.md", "(`ecosystem.md` 4.1)"] {
        assert!(old.is_match(text), "{text}");
    }
    for text in ["/spec/template", "redesign.mdx", "specification.md"] {
        assert!(!old.is_match(text), "{text}");
    }
    Ok(())
}

#[test]
fn places_inside_contracts_are_their_own_or_a_neighbours() -> Result<()> {
    let search = search()?;
    let wrong = |line: &str| search.references(line, "portal");
    assert_eq!(wrong("as §1.1, and [`portal-ui.md`](portal-ui.md) §6.7; then §24"), Vec::<String>::new());
    assert_eq!(wrong("| portal-ui §6, §6.7 |"), Vec::<String>::new());
    assert_eq!(wrong("by \"Do better\" 3, and portal-ui \"Do better\" B 7"), Vec::<String>::new());
    assert_eq!(wrong("by \"Do better\" 4"), ["portal.md has no \"Do better\" 4"]);
    assert_eq!(wrong("[`portal-ui.md`](portal-ui.md) §1.1"), ["portal-ui.md has no section 1.1"]);
    assert_eq!(wrong("see §6.7"), ["portal.md has no section 6.7"]);
    assert_eq!(wrong("portal-ui §6.7 and what §6 says"), ["portal.md has no section 6"]);
    Ok(())
}
