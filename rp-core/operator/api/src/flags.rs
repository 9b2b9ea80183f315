//! Flags of the operator: a typed schema, and defaults that are resolved when the flags are read
//! (`contract/operator.md` §4, "Do better" 7).

mod grammar;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use table::{Fallback, Flag};

/// Problems that are listed of one set of flags.
const MOST_PROBLEMS: usize = 20;
/// Octets of a name or a value that a problem shows.
const MOST_SHOWN: usize = 100;

/// Which values a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`, any case.
    Switch,
    /// `true`, `false`, or empty for hands off, any case.
    Managed,
    /// One of these.
    Choice(&'static [&'static str]),
    /// A whole number, least and most.
    Number(u32, u32),
    /// A quantity of Kubernetes: digits and a suffix.
    Quantity,
    /// A reference of a container image.
    Image,
    /// The name of an object of Kubernetes.
    Resource,
    /// At most 253 printable characters of ASCII.
    Words,
}

/// What happens to objects that a flag manages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Managed {
    /// They are applied.
    Deploy,
    /// They are removed.
    Remove,
    /// They are left alone.
    Leave,
}

/// A flag that is not known, or whose value is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("flag {name:?} is not known")]
    Unknown { name: String },
    #[error("flag {name:?} has the value {value:?}, which is not {expected}; {instead}")]
    Value { name: &'static str, value: String, expected: String, instead: String },
    #[error("{0} more problems")]
    More(usize),
}

/// A flag that a person may not set so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    #[error("flag {name:?} is not known")]
    Unknown { name: String },
    #[error("flag {name} takes {expected}; {value:?} is not")]
    Value { name: &'static str, value: String, expected: String },
}

/// A flag and its value as they are stored: what people set, before it is in a document.
///
/// # Errors
/// The flag is not known, or does not take the value; the error names what it takes.
pub fn checked(name: &str, value: &str) -> Result<(Flag, String), SetError> {
    let flag = Flag::named(name).ok_or_else(|| SetError::Unknown { name: shown(name) })?;
    if grammar::is_valid(flag.kind(), value) {
        return Ok((flag, grammar::normal(flag.kind(), value)));
    }
    Err(SetError::Value { name: flag.name(), value: shown(value), expected: flag.kind().expected() })
}

impl Kind {
    /// All values that it takes, where they are few.
    pub fn values(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Switch => Some(vec!["true", "false"]),
            Self::Managed => Some(vec!["true", "false", ""]),
            Self::Choice(values) => Some(values.to_vec()),
            Self::Number(..) | Self::Quantity | Self::Image | Self::Resource | Self::Words => None,
        }
    }

    /// The values that it takes, for a message.
    pub fn expected(self) -> String {
        grammar::expected(self)
    }
}

impl Flag {
    /// The flag of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|flag| flag.name() == name)
    }
}

/// The flags of a cluster, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flags {
    values: BTreeMap<Flag, String>,
    problems: Vec<Problem>,
}

impl Flags {
    /// Reads `spec.operatorflags`. A flag that is not set, or whose value is not valid, has its default; a flag that
    /// manages objects and has a value that is not valid leaves them alone.
    pub fn resolve(set: &BTreeMap<String, String>) -> Self {
        let mut flags = Self { values: BTreeMap::new(), problems: unknown(set) };
        for flag in Flag::ALL {
            if let Some(value) = set.get(flag.name()) {
                flags.read(*flag, value);
            }
        }
        let more = flags.problems.len().saturating_sub(MOST_PROBLEMS);
        flags.problems.truncate(MOST_PROBLEMS);
        flags.problems.extend((more > 0).then_some(Problem::More(more)));
        flags
    }

    fn read(&mut self, flag: Flag, value: &str) {
        if grammar::is_valid(flag.kind(), value) {
            self.values.insert(flag, grammar::normal(flag.kind(), value));
            return;
        }
        let instead = match flag.kind() {
            Kind::Managed => {
                self.values.insert(flag, String::new());
                "its objects are left alone".to_owned()
            }
            _ => "its default holds".to_owned(),
        };
        self.problems.push(Problem::Value {
            name: flag.name(),
            value: shown(value),
            expected: grammar::expected(flag.kind()),
            instead,
        });
    }

    /// The value that holds; `None` where the controller works it out.
    pub fn text(&self, flag: Flag) -> Option<&str> {
        match (self.values.get(&flag), flag.default()) {
            (Some(value), _) => Some(value),
            (None, Fallback::Set(value) | Fallback::Implied(value)) => Some(value),
            (None, Fallback::SameAs(other)) => self.text(other),
            (None, Fallback::Computed) => None,
        }
    }

    /// Whether a switch is on.
    pub fn on(&self, flag: Flag) -> bool {
        self.text(flag) == Some("true")
    }

    /// What happens to the objects of a flag.
    pub fn managed(&self, flag: Flag) -> Managed {
        match self.text(flag) {
            Some("true") => Managed::Deploy,
            Some("false") => Managed::Remove,
            _ => Managed::Leave,
        }
    }

    /// The number of a flag of that kind; 0 for flags of other kinds.
    pub fn number(&self, flag: Flag) -> u32 {
        self.text(flag).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// All flags as they hold, without those that controllers work out.
    pub fn effective(&self) -> BTreeMap<String, String> {
        let pair = |flag: &Flag| Some((flag.name().to_owned(), self.text(*flag)?.to_owned()));
        Flag::ALL.iter().filter_map(pair).collect()
    }

    /// What is wrong with the flags that are set; at most 21.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

fn unknown(set: &BTreeMap<String, String>) -> Vec<Problem> {
    let names = set.keys().filter(|name| Flag::named(name).is_none());
    names.map(|name| Problem::Unknown { name: shown(name) }).collect()
}

fn shown(text: &str) -> String {
    let end = text.floor_char_boundary(MOST_SHOWN);
    match text.get(..end) {
        Some(start) if end < text.len() => format!("{start}…"),
        _ => text.to_owned(),
    }
}

/// The default set: the flags of a new cluster.
pub fn default_set() -> impl Iterator<Item = (&'static str, &'static str)> {
    Flag::ALL.iter().filter_map(|flag| match flag.default() {
        Fallback::Set(value) => Some((flag.name(), value)),
        _ => None,
    })
}
