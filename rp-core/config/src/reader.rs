//! Reads typed values from the raw settings, and collects every mistake.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use rp_base::text::clean;
use url::Url;

use crate::keys::{self, Kind};
use crate::source::{RawSetting, RawValue, Values};
use crate::{Mistake, SecretFile, values};

/// Reads keys. After a mistake it continues with a default value, which is discarded in the end.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    values: Values,
    needs: &'a [&'a str],
    pub(crate) mistakes: Vec<Mistake>,
    /// Keys that were read: a test checks that every key of the table is among them.
    pub(crate) asked: BTreeSet<&'static str>,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(values: Values, needs: &'a [&'a str], mistakes: Vec<Mistake>) -> Self {
        Self { values, needs, mistakes, asked: BTreeSet::new() }
    }

    /// Where a key's value was set; empty when it was not set.
    pub(crate) fn place(&self, key: &str) -> String {
        self.values.get(key).map_or_else(String::new, |found| found.place.clone())
    }

    /// Whether the key is set.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    pub(crate) fn mistake(&mut self, key: &str, message: impl Into<String>) {
        let mistake = Mistake { key: key.to_owned(), place: self.place(key), message: message.into() };
        self.mistakes.push(mistake);
    }

    /// The value with its kind: as found, or the default. `None` when there is neither.
    fn found(&mut self, path: &'static str) -> Option<(RawSetting, Kind)> {
        self.asked.insert(path);
        let key = keys::find(path)?;
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
                if self.needs.contains(&path) {
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
    fn scalar<T>(&mut self, path: &'static str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (found, kind) = self.found(path)?;
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
                self.mistake(path, wrong(kind, raw));
                return None;
            }
        };
        let value = read(text).filter(|_| !text.is_empty());
        if value.is_none() {
            self.mistake(path, wrong(kind, &found.raw));
        }
        value
    }

    /// A list; each part read by `read`.
    fn list<T>(&mut self, path: &'static str, read: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let Some((found, kind)) = self.found(path) else { return Vec::new() };
        let parts = match &found.raw {
            RawValue::Loose(text) => values::comma_list(text),
            RawValue::List(parts) => parts.clone(),
            raw => {
                self.mistake(path, wrong(kind, raw));
                return Vec::new();
            }
        };
        let mut out = Vec::with_capacity(parts.len());
        for part in parts {
            match read(&part).filter(|_| !part.trim().is_empty()) {
                Some(value) => out.push(value),
                None => self.mistake(path, wrong(kind, &RawValue::Text(part))),
            }
        }
        out
    }

    pub(crate) fn text(&mut self, path: &'static str) -> Option<String> {
        self.scalar(path, |text| {
            (!text.trim().is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
        })
    }

    pub(crate) fn word(&mut self, path: &'static str) -> String {
        let words = match keys::find(path).map(|key| key.kind) {
            Some(Kind::Word(words)) => words,
            _ => &[],
        };
        self.scalar(path, |text| {
            words.iter().find(|word| word.eq_ignore_ascii_case(text)).map(|word| (*word).to_owned())
        })
        .unwrap_or_default()
    }

    pub(crate) fn url(&mut self, path: &'static str) -> Option<Url> {
        self.scalar(path, values::url)
    }

    pub(crate) fn origin(&mut self, path: &'static str) -> Option<Url> {
        self.scalar(path, values::origin)
    }

    pub(crate) fn listen(&mut self, path: &'static str) -> SocketAddr {
        self.scalar(path, |text| text.parse().ok()).unwrap_or_else(|| (Ipv4Addr::LOCALHOST, 0).into())
    }

    pub(crate) fn dial(&mut self, path: &'static str) -> Option<String> {
        self.scalar(path, values::dial)
    }

    pub(crate) fn file(&mut self, path: &'static str) -> Option<PathBuf> {
        let text = self.text(path)?;
        let folder = self.values.get(path).and_then(|found| found.folder.clone());
        Some(folder.unwrap_or_default().join(text))
    }

    /// From where relative paths in a key's value count.
    pub(crate) fn folder(&self, path: &str) -> PathBuf {
        self.values.get(path).and_then(|found| found.folder.clone()).unwrap_or_default()
    }

    pub(crate) fn secret(&mut self, path: &'static str) -> Option<SecretFile> {
        self.file(path).map(SecretFile::new)
    }

    pub(crate) fn database(&mut self, path: &'static str) -> Option<String> {
        self.scalar(path, values::database)
    }

    pub(crate) fn duration(&mut self, path: &'static str) -> Duration {
        self.scalar(path, |text| values::duration(text).filter(|duration| !duration.is_zero()))
            .unwrap_or_default()
    }

    /// A number within the key's bounds, which fit the type asked for.
    pub(crate) fn count<T: TryFrom<u64> + Default>(&mut self, path: &'static str) -> T {
        let (least, most) = match keys::find(path).map(|key| key.kind) {
            Some(Kind::Count { least, most }) => (least, most),
            _ => (0, 0),
        };
        let read = |text: &str| {
            text.parse::<u64>().ok().filter(|n| (least..=most).contains(n)).and_then(|n| T::try_from(n).ok())
        };
        self.scalar(path, read).unwrap_or_default()
    }

    pub(crate) fn switch(&mut self, path: &'static str) -> bool {
        self.scalar(path, |text| text.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn texts(&mut self, path: &'static str) -> Vec<String> {
        self.list(path, |text| (!text.contains(char::is_control)).then(|| text.trim().to_owned()))
    }

    /// Groups; by the contract's names they are UUIDs (`contract/portal.md` §1.1).
    pub(crate) fn groups(&mut self, path: &'static str) -> Vec<String> {
        let groups = self.texts(path);
        let contract = self.values.get(path).and_then(|found| found.contract);
        for group in groups.iter().filter(|_| contract.is_some()).filter(|group| !values::is_uuid(group)) {
            self.mistake(path, format!("expected the UUIDs of groups, got {:?}", clean(group, 80)));
        }
        groups
    }

    pub(crate) fn networks(&mut self, path: &'static str) -> Vec<IpNet> {
        self.list(path, values::network)
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
