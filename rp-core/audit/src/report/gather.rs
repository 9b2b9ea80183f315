//! Entries, newest first, into people, grants and kinds of actions.

use std::collections::BTreeMap;

use rp_base::{Id, Timestamp};
use rp_documents::{Entry, Phase};

use super::{ActionReport, ElevationReport, EndReport, GrantReport, PersonReport};

/// People of a report.
const MOST_PEOPLE: usize = 2_000;
/// Grants of a report.
const MOST_GRANTS: usize = 20_000;
/// Kinds of actions of a grant.
const MOST_ACTIONS: usize = 200;
/// Elevations of a person.
const MOST_ELEVATIONS: usize = 200;
/// Examples that are named.
const MOST_NAMES: usize = 10;

#[derive(Default)]
pub(super) struct Gather {
    /// By subject, or by name where there is none.
    people: BTreeMap<String, Person>,
    grants: usize,
    cut: bool,
    /// What was told of a grant by somebody else, such as an admin who revoked it, before its owner is known.
    ends: BTreeMap<Id, EndReport>,
}

#[derive(Default)]
struct Person {
    sub: String,
    name: String,
    from: Vec<String>,
    first: Timestamp,
    last: Timestamp,
    grants: BTreeMap<Option<Id>, Grant>,
    elevations: Vec<ElevationReport>,
}

#[derive(Default)]
struct Grant {
    report: GrantReport,
    actions: BTreeMap<[String; 5], ActionReport>,
}

fn note(names: &mut Vec<String>, name: &str) {
    if !name.is_empty() && names.len() < MOST_NAMES && !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

impl Gather {
    pub(super) const fn is_cut(&self) -> bool {
        self.cut
    }

    /// The next older entry.
    pub(super) fn take(&mut self, entry: &Entry) {
        if entry.verb == "grant.revoke" {
            let Some(grant) = entry.grant.clone() else { return };
            let by = entry.actor.name.clone();
            self.ends.insert(grant, EndReport { at: entry.at, by, why: entry.reason.clone() });
            return;
        }
        let key = if entry.actor.sub.is_empty() { &entry.actor.name } else { &entry.actor.sub };
        if !self.people.contains_key(key) {
            if self.people.len() >= MOST_PEOPLE {
                self.cut = true;
                return;
            }
            let person = Person {
                sub: entry.actor.sub.clone(),
                name: entry.actor.name.clone(),
                last: entry.at,
                ..Person::default()
            };
            self.people.insert(key.clone(), person);
        }
        let Some(person) = self.people.get_mut(key) else { return };
        person.first = entry.at;
        note(&mut person.from, &entry.actor.from);
        if entry.verb.starts_with("elevation.") {
            return person.elevation(entry);
        }
        if !person.grants.contains_key(&entry.grant) {
            if self.grants >= MOST_GRANTS {
                self.cut = true;
                return;
            }
            self.grants += 1;
            let report = GrantReport { id: entry.grant.clone(), last: entry.at, ..GrantReport::default() };
            person.grants.insert(entry.grant.clone(), Grant { report, ..Grant::default() });
        }
        if let Some(grant) = person.grants.get_mut(&entry.grant) {
            grant.take(entry);
        }
    }

    pub(super) fn people(self) -> Vec<PersonReport> {
        let Self { people, mut ends, .. } = self;
        let mut people: Vec<PersonReport> =
            people.into_values().map(|person| person.report(&mut ends)).collect();
        people.sort_by_key(|person| std::cmp::Reverse(person.last));
        people
    }
}

impl Person {
    fn elevation(&mut self, entry: &Entry) {
        if self.elevations.len() >= MOST_ELEVATIONS {
            return;
        }
        self.elevations.push(ElevationReport {
            at: entry.at,
            verb: entry.verb.clone(),
            reason: entry.reason.clone(),
            rights: entry.subresource.clone(),
            by: entry.actor.name.clone(),
            outcome: entry.result.word.clone(),
            what: entry.query.clone(),
        });
    }

    fn report(self, ends: &mut BTreeMap<Id, EndReport>) -> PersonReport {
        let Self { sub, name, from, first, last, grants, elevations } = self;
        let mut grants: Vec<GrantReport> = grants.into_values().map(|grant| grant.report(ends)).collect();
        grants.sort_by_key(|grant| std::cmp::Reverse(grant.last));
        PersonReport { sub, name, from, first, last, grants, elevations }
    }
}

impl Grant {
    fn take(&mut self, entry: &Entry) {
        self.report.first = entry.at;
        match entry.verb.as_str() {
            "grant.issue" if entry.result.word == "ok" => {
                self.report.kind.clone_from(&entry.resource);
                self.report.rights.clone_from(&entry.subresource);
                self.report.reason.clone_from(&entry.reason);
                self.report.issued = Some(entry.at);
                self.report.until.get_or_insert_with(|| until(entry));
            }
            "grant.extend" if entry.result.word == "ok" => {
                self.report.until.get_or_insert_with(|| until(entry));
            }
            _ => self.action(entry),
        }
    }

    fn action(&mut self, entry: &Entry) {
        // A start says that something was going to be done; its end counts. What has not ended yet counts as well.
        let key = [
            entry.verb.clone(),
            entry.group.clone(),
            entry.resource.clone(),
            entry.subresource.clone(),
            entry.namespace.clone(),
        ];
        if !self.actions.contains_key(&key) && self.actions.len() >= MOST_ACTIONS {
            return;
        }
        let action = self.actions.entry(key).or_insert_with(|| ActionReport {
            verb: entry.verb.clone(),
            group: entry.group.clone(),
            resource: entry.resource.clone(),
            subresource: entry.subresource.clone(),
            namespace: entry.namespace.clone(),
            last: entry.at,
            ..ActionReport::default()
        });
        action.first = entry.at;
        note(&mut action.names, &entry.name);
        note(&mut action.commands, &entry.command.join(" "));
        match entry.phase {
            Phase::Start => action.count += 1,
            Phase::Single => {
                action.count += 1;
                action.settle(entry);
            }
            Phase::End => action.settle(entry),
        }
    }

    fn report(self, ends: &mut BTreeMap<Id, EndReport>) -> GrantReport {
        let Self { mut report, actions } = self;
        report.ended = report.id.as_ref().and_then(|id| ends.remove(id));
        report.actions = actions.into_values().collect();
        report.actions.sort_by_key(|action| std::cmp::Reverse(action.last));
        report
    }
}

impl ActionReport {
    fn settle(&mut self, entry: &Entry) {
        match entry.result.word.as_str() {
            "ok" => self.ok += 1,
            "refused" => self.refused += 1,
            _ => self.failed += 1,
        }
        self.bytes_in = self.bytes_in.saturating_add(entry.bytes_in);
        self.bytes_out = self.bytes_out.saturating_add(entry.bytes_out);
    }
}

/// The end that an entry about a grant names.
fn until(entry: &Entry) -> String {
    entry.query.strip_prefix("until ").unwrap_or(&entry.query).to_owned()
}
