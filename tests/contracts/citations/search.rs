//! The search for citations in a text, and whether the places exist that they name.

use std::collections::BTreeMap;

use regex::{Captures, Match, Regex};

use super::contract::Contract;

pub(super) type Contracts = BTreeMap<String, Contract>;

pub(super) struct Search {
    contracts: Contracts,
    /// The name of a contract or of a foreign document, or a place in one.
    token: Regex,
    /// An item of "Do better", with the letter of its part where the list has parts.
    item: Regex,
    /// In a contract: a neighbour's name directly before a place.
    neighbour: Regex,
    /// In a contract: what joins places of the same file.
    joint: Regex,
}

/// The forms that citations had before. They are assembled, so that this file does not contain them.
pub(super) fn old_forms() -> Result<Regex, regex::Error> {
    let files = ["design", "ecosystem"].join("|");
    Regex::new(&format!("\\b{}/[a-z-]+\\.md|\\b(?:{files})\\.md", "spec"))
}

/// The document that the places of a paragraph belong to: the one that was named last.
#[derive(Clone, Copy)]
enum CitationTarget<'a> {
    Nothing,
    Contract(&'a str),
    Foreign,
}

impl Search {
    pub(super) fn new(contracts: Contracts) -> Result<Self, regex::Error> {
        let foreign = "RFC \\d+|\\bCore\\b|ECMA-48|HTML Standard|draft-[a-z0-9-]+|Discovery 1\\.0|Logout 1\\.0|\
                       PROXY protocol specification";
        let token = format!(
            "contract/(?<name>[a-z-]+)\\.md|(?<foreign>{foreign})|\
             §(?<from>[0-9.]*[0-9])(?:(?:–| to )§?(?<to>[0-9.]*[0-9]))?|\
             \"Do better\"(?: (?<items>(?:[A-Z] )?[0-9]+(?:(?:, | and |–)(?:[A-Z] )?[0-9]+)*))?|\
             \\b(?<row>[A-Z]{{2}}-[0-9]{{2}})\\b"
        );
        Ok(Self {
            contracts,
            token: Regex::new(&token)?,
            item: Regex::new("(?<part>[A-Z] )?(?<number>[0-9]+)")?,
            neighbour: Regex::new("(?<name>[a-z][a-z-]*)(?:\\.md)?[`)]*(?:\\([a-z-]+\\.md\\))? $")?,
            joint: Regex::new("^(?: \\([0-9]+\\))?[ ,;–]*(?:and |to )?$")?,
        })
    }

    pub(super) fn contracts(&self) -> &Contracts {
        &self.contracts
    }

    /// Each place that a paragraph names: that it exists, or what is wrong with it.
    pub(super) fn citations(&self, paragraph: &str) -> Vec<Result<(), String>> {
        let mut cited = CitationTarget::Nothing;
        let mut found = Vec::new();
        for token in self.token.captures_iter(paragraph) {
            if let Some(name) = token.name("name") {
                cited = CitationTarget::Contract(name.as_str());
                let known = self.contracts.contains_key(name.as_str());
                found.extend((!known).then(|| Err(format!("there is no contract {}", name.as_str()))));
            } else if token.name("foreign").is_some() {
                cited = CitationTarget::Foreign;
            } else {
                found.extend(self.place(&token, cited));
            }
        }
        found
    }

    fn place(&self, token: &Captures<'_>, cited: CitationTarget<'_>) -> Vec<Result<(), String>> {
        let whole = token.get(0).map_or("", |whole| whole.as_str());
        let better = whole.starts_with('"');
        let row = token.name("row").map(|row| row.as_str());
        let name = match cited {
            CitationTarget::Contract(name) => name,
            CitationTarget::Foreign if !better => return Vec::new(),
            // Letters and digits of that form are also other things than rows of the checklist.
            CitationTarget::Nothing if row.is_some() => return Vec::new(),
            CitationTarget::Nothing | CitationTarget::Foreign => {
                return vec![Err(format!("{whole} names no contract before it"))];
            }
        };
        let Some(contract) = self.contracts.get(name) else { return Vec::new() };
        let checked =
            |known: bool, what: String| if known { Ok(()) } else { Err(format!("{name}.md has no {what}")) };
        if let Some(row) = row {
            let found = (name == "systems").then(|| checked(contract.has_row(row), format!("row {row}")));
            return found.into_iter().collect();
        }
        if better {
            let items = self.items(token.name("items")).into_iter();
            return items
                .map(|item| checked(contract.has_item(&item), format!("\"Do better\" {item}")))
                .collect();
        }
        let sections = [token.name("from"), token.name("to")].into_iter().flatten();
        let check = |section: Match<'_>| {
            checked(contract.has_section(section.as_str()), format!("section {}", section.as_str()))
        };
        sections.map(check).collect()
    }

    /// `B 2, 3` is B 2 and B 3; nothing is the list as a whole.
    fn items(&self, listed: Option<Match<'_>>) -> Vec<String> {
        let Some(listed) = listed else { return vec![String::new()] };
        let mut part = String::new();
        let mut items = Vec::new();
        for item in self.item.captures_iter(listed.as_str()) {
            if let Some(letter) = item.name("part") {
                part = letter.as_str().to_owned();
            }
            items.push(format!("{part}{}", &item["number"]));
        }
        items
    }

    /// What is wrong with the places that a line of a contract names: they are its own, or those of the contract
    /// whose name stands directly before.
    pub(super) fn references(&self, line: &str, own: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut current = (own, 0);
        for token in self.token.captures_iter(line) {
            let numbered = token.name("from").or_else(|| token.name("items"));
            let (Some(whole), Some(_)) = (token.get(0), numbered) else { continue };
            let (Some(before), Some(between)) =
                (line.get(..whole.start()), line.get(current.1..whole.start()))
            else {
                continue;
            };
            let neighbour = self.neighbour.captures(before).and_then(|found| found.name("name"));
            let neighbour =
                neighbour.map(|name| name.as_str()).filter(|name| self.contracts.contains_key(*name));
            let joined = current.1 > 0 && self.joint.is_match(between);
            let name = neighbour.unwrap_or(if joined { current.0 } else { own });
            current = (name, whole.end());
            wrong.extend(
                self.place(&token, CitationTarget::Contract(name)).into_iter().filter_map(Result::err),
            );
        }
        wrong
    }
}
