//! Command lines in documents are ones that the program takes: the verb exists, and so does each long flag. The reference of
//! the command line is generated from the program, so it is what lines are compared with.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use tests_kit::workspace;

use crate::citations::files;
use crate::systems::without_test;

const REFERENCE: &str = "docs/reference/command-line.md";
/// What follows is another program's.
const PASSED_ON: [&str; 2] = ["--", "--exec"];
/// Of every verb, made by the parser itself.
const ALWAYS: [&str; 2] = ["--help", "--version"];

/// The long flags of each verb, such as `store backup`.
struct Reference(BTreeMap<String, BTreeSet<String>>);

impl Reference {
    fn read() -> Result<Self> {
        let text = std::fs::read_to_string(workspace().join(REFERENCE))?;
        let sections = text.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
        let flags = |body: &str| -> BTreeSet<String> {
            body.lines().filter(|line| line.starts_with("| `--")).flat_map(long_flags).collect()
        };
        let sections: Vec<(&str, BTreeSet<String>)> =
            sections.map(|(title, body)| (title.trim(), flags(body))).collect();
        let find = |name: &str| sections.iter().find(|(title, _)| *title == name);
        let (_, connection) = find("Connection").context("no section Connection")?;
        let verbs = sections.iter().filter_map(|(title, flags)| {
            let all = flags.union(connection).cloned().chain(ALWAYS.map(str::to_owned)).collect();
            Some((title.strip_prefix("aro ")?.to_owned(), all))
        });
        let verbs: BTreeMap<_, _> = verbs.collect();
        ensure!(verbs.len() > 50, "{} verbs", verbs.len());
        Ok(Self(verbs))
    }

    /// What is wrong with the words after `aro`; `None`: nothing.
    fn mistake(&self, words: &[&str]) -> Option<String> {
        let first = *words.first()?;
        let plain = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
        // Flags of a group may stand before its verb: `aro api --ca-file F put`.
        let two = words.iter().skip(1).filter(|word| plain(word)).map(|second| format!("{first} {second}"));
        let verb = two.chain([first.to_owned()]).find(|verb| self.0.contains_key(verb));
        let Some(verb) = verb else {
            return Some(format!(
                "there is no verb {}",
                words.iter().take(2).copied().collect::<Vec<_>>().join(" ")
            ));
        };
        let known = self.0.get(&verb)?;
        let flags =
            words.iter().take_while(|word| !PASSED_ON.contains(word)).flat_map(|word| long_flags(word));
        let group = |flag: &String| {
            self.0.iter().any(|(name, of)| name.starts_with(&format!("{first} ")) && of.contains(flag))
        };
        let unknown: Vec<String> =
            flags.filter(|flag| !(known.contains(flag) || first == "api" && group(flag))).collect();
        (!unknown.is_empty()).then(|| format!("aro {verb} has no {}", unknown.join(", ")))
    }
}

/// Words that begin with two dashes, without their values.
fn long_flags(text: &str) -> Vec<String> {
    let word = |part: &str| {
        let name: String = part.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        (!name.is_empty() && !name.starts_with('-')).then(|| format!("--{name}"))
    };
    let starts = text
        .match_indices("--")
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-'));
    starts.filter_map(|(at, _)| word(&text[at + 2..])).collect()
}

/// Lines in fences of shells that run the program, with their number: each part of a pipe by itself.
fn command_lines(text: &str) -> Vec<(usize, Vec<&str>)> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if !fenced {
            continue;
        }
        let line = line.split(" #").next().unwrap_or_default();
        for part in line.split([';', '|']) {
            let part = part.trim().trim_start_matches("$ ").trim_start_matches("sudo -u aro ");
            let words: Vec<&str> = part.split_whitespace().collect();
            if let Some((&"aro", rest)) = words.split_first()
                && rest.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
            {
                found.push((number + 1, rest.to_vec()));
            }
        }
    }
    found
}

#[test]
fn command_lines_of_documents_are_ones_that_the_program_takes() -> Result<()> {
    let reference = Reference::read()?;
    let (mut wrong, mut read) = (Vec::new(), 0);
    for (file, text) in files()?.iter().filter(|(file, _)| file.ends_with(".md")) {
        // Contracts have upstream's command lines; the lists of verbs in the guide are shapes, not lines.
        if file.starts_with("docs/contract/") || file == "docs/guides/command-line.md" {
            continue;
        }
        for (line, words) in command_lines(text) {
            read += 1;
            wrong.extend(reference.mistake(&words).map(|mistake| format!("{file}:{line}: {mistake}")));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(read > 80, "{read} command lines were found: the search is broken");
    Ok(())
}

/// The page for operators names the test that does each of its parts.
#[test]
fn tests_that_the_day_two_page_names_exist() -> Result<()> {
    let page = std::fs::read_to_string(workspace().join("docs/operations/day-two.md"))?;
    let named: Vec<&str> = page
        .split('`')
        .filter(|name| name.starts_with("stories::") && name.matches("::").count() > 1)
        .collect();
    ensure!(named.len() > 4, "{named:?}");
    let wrong = without_test(named.into_iter().map(|name| ("docs/operations/day-two.md", name)))?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_line_with_a_verb_or_a_flag_that_is_not_there_is_a_mistake() -> Result<()> {
    let reference = Reference::read()?;
    let mistake = |line: &str| reference.mistake(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(mistake("store backup f.db --config aro.toml"), None);
    assert_eq!(mistake("api --ca-file ca.pem get /subscriptions"), None);
    assert_eq!(mistake("ssh harbor -- ls --all"), None);
    assert_eq!(mistake("store show X"), Some("there is no verb store show".to_owned()));
    assert_eq!(mistake("store backup f.db --force=yes"), Some("aro store backup has no --force".to_owned()));
    Ok(())
}
