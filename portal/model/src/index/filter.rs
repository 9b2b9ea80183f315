//! Parses the filters of a list; text that cannot be parsed is an error, it is not ignored.

use std::collections::HashSet;
use std::time::Duration;

use rp_base::Timestamp;
use web::ListQuery;

use super::Entry;
use super::part::in_view;
use super::search::state_word;

/// A query of text is cut here, in characters.
const MOST_TEXT: usize = 500;
/// Clusters that one list can name.
const MOST_NAMES: usize = 1000;
/// States that one list can name.
const MOST_STATES: usize = 20;
const DAY: u64 = 24 * 3600;
/// What a filter may say of states: the words of [`state_word`], among them every provisioning state in lower case.
const STATES: [&str; 13] = [
    "healthy",
    "succeeded",
    "degraded",
    "failed",
    "noanswer",
    "creating",
    "updating",
    "adminupdating",
    "deleting",
    "canceled",
    "maintenance",
    "imported",
    "unknown",
];
/// What is said when a state is none of these.
const STATES_ARE: &str = "States are healthy, succeeded, degraded, failed, noanswer, creating, updating, adminupdating, \
                          deleting, canceled, maintenance, imported and unknown.";

/// A filter that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFilter {
    pub field: &'static str,
    /// A sentence that describes the valid form.
    pub right: &'static str,
}

/// The filters of a query, made ready.
#[derive(Debug)]
pub(super) struct Filter<'a> {
    query: &'a ListQuery,
    now: Timestamp,
    words: Vec<String>,
    states: Vec<String>,
    version: Option<Version>,
    expires: Option<Timestamp>,
    since: Option<Timestamp>,
    unseen: Option<Timestamp>,
    names: HashSet<String>,
}

impl<'a> Filter<'a> {
    pub(super) fn read(query: &'a ListQuery, now: Timestamp) -> Result<Self, BadFilter> {
        let text: String = query.q.chars().take(MOST_TEXT).collect();
        let mut states = parts(&query.state, MOST_STATES, "state", "It names 20 states at most.")?;
        let certificate = states.iter().position(|state| state == "certificate");
        // The name that "a certificate ends within 30 days" had.
        let mut expires = certificate.map(|at| {
            states.remove(at);
            now + Duration::from_secs(30 * DAY)
        });
        if !states.iter().all(|state| STATES.contains(&state.as_str())) {
            return Err(BadFilter { field: "state", right: STATES_ARE });
        }
        if !query.expires.is_empty() {
            expires = Some(now + days(&query.expires)?);
        }
        Ok(Self {
            query,
            now,
            words: text.to_lowercase().split_whitespace().map(str::to_owned).collect(),
            states,
            version: Version::read(&query.version)?,
            expires,
            since: length(&query.age, "age", 1)?.map(|age| now - age),
            unseen: length(&query.unseen, "unseen", 60)?.map(|age| now - age),
            names: parts(&query.names, MOST_NAMES, "names", "It names 1,000 clusters at most.")?
                .into_iter()
                .collect(),
        })
    }

    pub(super) fn matches(&self, entry: &Entry) -> bool {
        let q = self.query;
        let same = |wanted: &str, is: &str| wanted.is_empty() || is.eq_ignore_ascii_case(wanted);
        (self.words.is_empty() || entry.has_words(&self.words))
            && in_view(entry, q.view, self.now)
            && (self.states.is_empty() || self.states.iter().any(|state| in_state(entry, state)))
            && self.version.as_ref().is_none_or(|version| version.has(&entry.version))
            && same(&q.source, if entry.imported.is_some() { "imported" } else { "aro" })
            && same(&q.subscription, entry.id.subscription())
            && same(&q.group, entry.id.resource_group())
            && same(&q.api, &entry.visibility)
            && same(&q.region, &entry.location)
            && (q.phase.is_empty() || entry.install.as_deref().is_some_and(|phase| same(&q.phase, phase)))
            && self.matches_health(entry)
            && (self.names.is_empty()
                || self.names.contains(entry.lower_name())
                || self.names.contains(entry.id.key()))
    }

    fn matches_health(&self, entry: &Entry) -> bool {
        let q = self.query;
        let health = entry.health.as_deref();
        named(&q.operator, health.iter().flat_map(|h| h.operators.iter().map(String::as_str)))
            && named(&q.alert, health.iter().flat_map(|h| h.alert_names.iter().map(String::as_str)))
            && named(&q.collector, health.iter().flat_map(|h| h.failed.iter().map(|(name, _)| name.as_str())))
            && self
                .expires
                .is_none_or(|by| health.and_then(|health| health.certificate).is_some_and(|end| end < by))
            && self.since.is_none_or(|by| entry.since.is_some_and(|since| since <= by))
            && self.unseen.is_none_or(|by| entry.looked_at().is_none_or(|at| at <= by))
    }
}

/// Whether a name is there; `any` stands for all of them.
fn named<'n>(wanted: &str, mut names: impl Iterator<Item = &'n str>) -> bool {
    match wanted {
        "" => true,
        "any" | "*" => names.next().is_some(),
        wanted => names.any(|name| name.eq_ignore_ascii_case(wanted)),
    }
}

fn in_state(entry: &Entry, wanted: &str) -> bool {
    state_word(entry.state_shown()) == wanted || entry.state_name().eq_ignore_ascii_case(wanted)
}

/// What stands between commas, lower case.
fn parts(
    text: &str,
    most: usize,
    field: &'static str,
    right: &'static str,
) -> Result<Vec<String>, BadFilter> {
    let mut parts = text.split(',').map(|part| part.trim().to_lowercase()).filter(|part| !part.is_empty());
    let found: Vec<String> = parts.by_ref().take(most).collect();
    if parts.next().is_some() { Err(BadFilter { field, right }) } else { Ok(found) }
}

fn days(text: &str) -> Result<Duration, BadFilter> {
    let wrong = BadFilter { field: "expires", right: "It is a number of days, 0 to 3650." };
    let text = text.trim();
    let number: u64 = text.strip_suffix('d').unwrap_or(text).parse().map_err(|_| wrong.clone())?;
    if number > 3650 { Err(wrong) } else { Ok(Duration::from_secs(number * DAY)) }
}

/// `90s`, `30m`, `12h`, `7d`; a bare number counts in `unit` seconds where that is more than one.
fn length(text: &str, field: &'static str, unit: u64) -> Result<Option<Duration>, BadFilter> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let right = if unit == 60 {
        "It is a number of minutes, or 12h, 7d."
    } else {
        "It is a length such as 30m, 12h or 7d."
    };
    let wrong = BadFilter { field, right };
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, letter) = text.split_at(split);
    let factor = match letter {
        "" if unit > 1 => unit,
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => DAY,
        _ => return Err(wrong),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    // Ten years: nothing here is older, and the subtraction cannot overflow.
    seconds
        .filter(|seconds| *seconds <= 3650 * DAY)
        .map(|seconds| Some(Duration::from_secs(seconds)))
        .ok_or(wrong)
}

/// Numbers of a version; what is no number counts as zero.
pub(super) fn numbers(version: &str) -> Vec<u64> {
    let plain = version.trim_start_matches('v');
    plain.split(['.', '-', '+']).take(8).map(|part| part.parse().unwrap_or(0)).collect()
}

/// Versions that are asked for.
#[derive(Debug, PartialEq, Eq)]
enum Version {
    /// `4.18` is `4.18` and `4.18.3`, not `4.180`.
    Begins(String),
    /// `<4.16` is older.
    Below(Vec<u64>),
    /// `4.14..4.16`: both ends are in it, each with all that begins so.
    Between(Option<Vec<u64>>, Option<Vec<u64>>),
}

impl Version {
    fn read(text: &str) -> Result<Option<Self>, BadFilter> {
        let text = text.trim();
        let wrong =
            BadFilter { field: "version", right: "It is 4.18, <4.16, or a range such as 4.14..4.16." };
        let bound = |text: &str| {
            let sound = !text.is_empty()
                && text.len() <= 40
                && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
            if sound { Ok(numbers(text)) } else { Err(wrong.clone()) }
        };
        let end = |text: &str| if text.trim().is_empty() { Ok(None) } else { bound(text.trim()).map(Some) };
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(below) = text.strip_prefix('<') {
            return Ok(Some(Self::Below(bound(below.trim())?)));
        }
        let Some((from, to)) = text.split_once("..") else {
            return if text.len() <= 60 { Ok(Some(Self::Begins(text.to_owned()))) } else { Err(wrong) };
        };
        match (end(from)?, end(to)?) {
            (None, None) => Err(wrong),
            (Some(from), Some(to)) if to < from => Err(wrong),
            (from, to) => Ok(Some(Self::Between(from, to))),
        }
    }

    fn has(&self, version: &str) -> bool {
        if version.is_empty() {
            return false;
        }
        match self {
            Self::Begins(start) => version
                .strip_prefix(start.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-'])),
            Self::Below(bound) => numbers(version) < *bound,
            Self::Between(from, to) => {
                let is = numbers(version);
                let up_to = |to: &Vec<u64>| is.iter().take(to.len()).copied().collect::<Vec<_>>() <= *to;
                from.as_ref().is_none_or(|from| is >= *from) && to.as_ref().is_none_or(up_to)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(version: &str, wanted: &str) -> bool {
        Version::read(wanted).unwrap().unwrap().has(version)
    }

    #[test]
    fn versions_match_by_whole_parts() {
        assert!(has("4.18.3", "4.18") && has("4.18", "4.18") && has("4.19.0-rc.1", "4.19.0"));
        assert!(!has("4.180.1", "4.18") && !has("", "4"));
        assert!(has("4.9.1", "<4.16") && !has("4.16.0", "<4.16"));
        assert!(numbers("v1.36.3") > numbers("v1.9.9"));
    }

    #[test]
    fn an_unknown_state_is_refused_with_the_known_ones() {
        use web::State;
        let read = |state: &str| {
            let query = ListQuery { state: state.to_owned(), ..ListQuery::default() };
            Filter::read(&query, Timestamp::from_seconds(0)).map(|filter| filter.states)
        };
        for state in [
            State::Healthy,
            State::Succeeded,
            State::Degraded,
            State::Failed(String::new()),
            State::NoAnswer,
            State::Creating,
            State::Updating(None),
            State::AdminUpdate,
            State::Deleting,
            State::Canceled,
            State::Maintenance,
            State::Imported,
            State::Unknown,
        ] {
            let word = state_word(&state);
            assert_eq!(read(word), Ok(vec![word.to_owned()]));
            assert!(STATES_ARE.contains(word), "{word}");
        }
        // Provisioning states as the contract writes them, and the name that an earlier filter had.
        for state in ["AdminUpdating", "Failed, Degraded", "certificate", ""] {
            assert!(read(state).is_ok(), "{state}");
        }
        for state in ["bogus", "failed,bogus", "fail"] {
            assert_eq!(read(state).unwrap_err().right, STATES_ARE, "{state}");
        }
    }

    #[test]
    fn ranges_hold_both_ends() {
        for version in ["4.14.0", "4.15.9", "4.16.48"] {
            assert!(has(version, "4.14..4.16"), "{version}");
        }
        assert!(!has("4.13.9", "4.14..4.16") && !has("4.17.0", "4.14..4.16"));
        assert!(has("4.2.0", "..4.16") && has("4.20.1", "4.16.."));
        for bad in ["..", "4.16..4.14", "4..x", "<", "4.16...", "4.1..4.2..4.3"] {
            assert!(Version::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lengths_are_read_or_refused() {
        let seconds = |text: &str, unit| length(text, "age", unit).map(|found| found.map(|d| d.as_secs()));
        assert_eq!(seconds("15", 60), Ok(Some(900)));
        assert_eq!(seconds("7d", 1), Ok(Some(7 * DAY)));
        assert_eq!(seconds(" ", 1), Ok(None));
        for bad in ["15", "d", "-1d", "1w", "99999999999999999999d", "4000d", "1.5h"] {
            assert!(seconds(bad, 1).is_err(), "{bad}");
        }
        assert!(days("30").is_ok() && days("30d").is_ok() && days("x").is_err() && days("9999").is_err());
    }
}
