//! Reads typed values from the raw settings, and collects every mistake.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use rp_base::text::clean;
use url::Url;

use crate::setting::{Key, Kind};
use crate::source::{RawSetting, RawValue, Values};
use crate::{Mistake, SecretFile, Word, values};

/// Reads keys. After a mistake it continues with a default value, which is discarded in the end.
#[derive(Debug)]
pub struct Reader {
    values: Values,
    needs: Vec<String>,
    pub(crate) mistakes: Vec<Mistake>,
    asked: BTreeSet<&'static str>,
    followed: Vec<(&'static str, PathBuf)>,
}

impl Reader {
    pub(crate) const fn new(values: Values, needs: Vec<String>, mistakes: Vec<Mistake>) -> Self {
        Self { values, needs, mistakes, asked: BTreeSet::new(), followed: Vec::new() }
    }

    /// One that finds nothing set, so that it gives the defaults.
    pub const fn of_defaults() -> Self {
        Self::new(Values::new(), Vec::new(), Vec::new())
    }

    /// Every mistake so far.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// Keys that were read: a test checks that every key of the catalogue is among them.
    pub const fn asked(&self) -> &BTreeSet<&'static str> {
        &self.asked
    }

    /// Keys whose files are read again when they change, with the files: those declared with
    /// [`Setting::followed`](crate::Setting::followed) that were read so far.
    pub fn followed(&self) -> &[(&'static str, PathBuf)] {
        &self.followed
    }

    /// Where a key's value was set; empty when it was not set.
    pub(crate) fn place(&self, key: &str) -> String {
        self.values.get(key).map_or_else(String::new, |found| found.place.clone())
    }

    /// Whether the key is set.
    pub fn is_set(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// Adds a mistake: what is wrong with the key, and what would be right.
    pub fn mistake(&mut self, key: &str, message: impl Into<String>) {
        let mistake = Mistake { key: key.to_owned(), place: self.place(key), message: message.into() };
        self.mistakes.push(mistake);
    }

    /// The value with its kind: as found, or the default. `None` when there is neither.
    fn found(&mut self, key: &'static Key) -> Option<(RawSetting, Kind)> {
        let path = key.path;
        self.asked.insert(path);
        let default = || RawSetting {
            raw: RawValue::Loose(key.default.to_owned()),
            place: String::new(),
            folder: None,
            contract: None,
        };
        let found = match self.values.get(path) {
            Some(found) => found.clone(),
            None if !key.default.is_empty() => default(),
            None => {
                if self.needs.iter().any(|needed| needed == path) {
                    self.mistake(
                        path,
                        format!(
                            "is needed: {}; set it in the file or by {}",
                            key.kind.expects(),
                            key.environment()
                        ),
                    );
                }
                return None;
            }
        };
        Some((found, key.kind))
    }

    /// A scalar, read by `read`.
    fn scalar<T>(&mut self, key: &'static Key, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (found, kind) = self.found(key)?;
        let text = match (&found.raw, kind) {
            (RawValue::Loose(text), _) => text,
            (RawValue::Whole(text), Kind::Count { .. }) => text,
            (RawValue::Switch(on), Kind::Switch) => {
                if *on {
                    "true"
                } else {
                    "false"
                }
            }
            (RawValue::Text(text), kind) if !matches!(kind, Kind::Count { .. } | Kind::Switch) => text,
            (raw, kind) => {
                self.mistake(key.path, wrong(kind, raw));
                return None;
            }
        };
        let value = read(text).filter(|_| !text.is_empty());
        if value.is_none() {
            self.mistake(key.path, wrong(kind, &found.raw));
        }
        value
    }

    /// A list; each part read by `read`.
    fn list<T>(&mut self, key: &'static Key, read: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let Some((found, kind)) = self.found(key) else { return Vec::new() };
        let parts = match &found.raw {
            RawValue::Loose(text) => values::comma_list(text),
            RawValue::List(parts) => parts.clone(),
            raw => {
                self.mistake(key.path, wrong(kind, raw));
                return Vec::new();
            }
        };
        let mut out = Vec::with_capacity(parts.len());
        for part in parts {
            match read(&part).filter(|_| !part.trim().is_empty()) {
                Some(value) => out.push(value),
                None => self.mistake(key.path, wrong(kind, &RawValue::Text(part))),
            }
        }
        out
    }

    pub fn text(&mut self, key: &'static Key) -> Option<String> {
        self.scalar(key, |text| {
            (!text.trim().is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
        })
    }

    /// One of the words of an enum.
    pub fn word<T: Word>(&mut self, key: &'static Key) -> T {
        let words = T::WORDS.iter().zip(T::VALUES);
        let named = |text: &str| words.clone().find(|(word, _)| word.eq_ignore_ascii_case(text));
        self.scalar(key, |text| named(text).map(|(_, value)| *value)).unwrap_or_default()
    }

    pub fn url(&mut self, key: &'static Key) -> Option<Url> {
        self.scalar(key, values::url)
    }

    pub fn origin(&mut self, key: &'static Key) -> Option<Url> {
        self.scalar(key, values::origin)
    }

    pub fn listen(&mut self, key: &'static Key) -> SocketAddr {
        self.scalar(key, |text| text.parse().ok()).unwrap_or_else(|| (Ipv4Addr::LOCALHOST, 0).into())
    }

    pub fn dial(&mut self, key: &'static Key) -> Option<String> {
        self.scalar(key, values::dial)
    }

    pub fn file(&mut self, key: &'static Key) -> Option<PathBuf> {
        let text = self.text(key)?;
        let file = self.folder(key.path).join(text);
        if key.followed {
            self.followed.push((key.path, file.clone()));
        }
        Some(file)
    }

    /// From where relative paths in a key's value count.
    pub fn folder(&self, path: &str) -> PathBuf {
        self.values.get(path).and_then(|found| found.folder.clone()).unwrap_or_default()
    }

    pub fn secret(&mut self, key: &'static Key) -> Option<SecretFile> {
        self.file(key).map(SecretFile::new)
    }

    pub fn database(&mut self, key: &'static Key) -> Option<String> {
        self.scalar(key, values::database)
    }

    pub fn duration(&mut self, key: &'static Key) -> Option<Duration> {
        self.scalar(key, |text| values::duration(text).filter(|duration| !duration.is_zero()))
    }

    /// A number within the key's bounds, which fit the type asked for.
    pub fn count<T: TryFrom<u64> + Default>(&mut self, key: &'static Key) -> T {
        let (least, most) = match key.kind {
            Kind::Count { least, most } => (least, most),
            _ => (0, 0),
        };
        let read = |text: &str| {
            text.parse::<u64>().ok().filter(|n| (least..=most).contains(n)).and_then(|n| T::try_from(n).ok())
        };
        self.scalar(key, read).unwrap_or_default()
    }

    pub fn switch(&mut self, key: &'static Key) -> bool {
        self.scalar(key, |text| text.parse().ok()).unwrap_or_default()
    }

    pub fn texts(&mut self, key: &'static Key) -> Vec<String> {
        self.list(key, |text| (!text.contains(char::is_control)).then(|| text.trim().to_owned()))
    }

    /// Groups; by the contract's names they are UUIDs (`contract/portal.md` §1.1).
    pub fn groups(&mut self, key: &'static Key) -> Vec<String> {
        let groups = self.texts(key);
        let contract = self.values.get(key.path).and_then(|found| found.contract);
        for group in groups.iter().filter(|_| contract.is_some()).filter(|group| !values::is_uuid(group)) {
            self.mistake(key.path, format!("expected the UUIDs of groups, got {:?}", clean(group, 80)));
        }
        groups
    }

    pub fn networks(&mut self, key: &'static Key) -> Vec<IpNet> {
        self.list(key, values::network)
    }
}

/// The expected and the actual value; never one that could be a secret.
fn wrong(kind: Kind, raw: &RawValue) -> String {
    let expects = kind.expects();
    let got = match raw {
        _ if matches!(kind, Kind::Secret | Kind::Database) => return format!("expected {expects}"),
        RawValue::Loose(text) | RawValue::Text(text) => format!("{:?}", clean(text, 80)),
        RawValue::Whole(text) => clean(text, 80),
        RawValue::Switch(on) => on.to_string(),
        RawValue::List(_) if kind.is_list() => "something else in it".to_owned(),
        RawValue::List(_) => "a list".to_owned(),
        RawValue::Other(what) => (*what).to_owned(),
    };
    format!("expected {expects}, got {got}")
}
