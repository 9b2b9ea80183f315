//! Where values come from: file, environment, flags; flattened to `section.key` with its place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::setting::Key;
use crate::{Catalogue, Mistake};

/// The text of `aro.toml` with its path, which names places and from whose folder relative paths count.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

/// A value by a flag.
#[derive(Debug, Clone, Copy)]
pub struct Override<'a> {
    /// `section.key`.
    pub key: &'a str,
    /// As in the environment; lists with commas.
    pub value: &'a str,
    /// What to call it in a mistake, such as `--listen`.
    pub flag: &'a str,
}

/// Everything that settings are made of.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub file: Option<File<'a>>,
    pub environment: &'a BTreeMap<String, String>,
    pub overrides: &'a [Override<'a>],
    /// Keys that must be there.
    pub needs: &'a [&'a str],
}

/// A value before it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RawValue {
    /// From the environment, a flag or a default: any shape, lists with commas.
    Loose(String),
    Text(String),
    Whole(String),
    Switch(bool),
    List(Vec<String>),
    /// What it is instead.
    Other(&'static str),
}

/// A value with its origin.
#[derive(Debug, Clone)]
pub(crate) struct RawSetting {
    pub(crate) raw: RawValue,
    pub(crate) place: String,
    /// Folder from which relative paths count.
    pub(crate) folder: Option<PathBuf>,
    /// The contract's name, when the value came by it.
    pub(crate) contract: Option<&'static str>,
}

pub(crate) type Values = BTreeMap<&'static str, RawSetting>;

/// Reads a file into `values`.
pub(crate) fn file(all: Catalogue, file: &File<'_>, values: &mut Values, mistakes: &mut Vec<Mistake>) {
    let name = file
        .path
        .file_name()
        .map_or_else(|| file.path.display().to_string(), |n| n.to_string_lossy().into_owned());
    let starts: Vec<usize> = file.text.match_indices('\n').map(|(at, _)| at).collect();
    let place = |at: usize| format!("{name}:{}", starts.partition_point(|start| *start < at) + 1);
    let (table, errors) = DeTable::parse_recoverable(file.text);
    for error in errors {
        let place = place(error.span().map_or(0, |span| span.start));
        mistakes.push(Mistake {
            key: String::new(),
            place,
            message: format!("no TOML: {}", error.message()),
        });
    }
    let folder = file.path.parent().map(PathBuf::from);
    for (section, value) in table.get_ref() {
        let at = place(section.span().start);
        let Some(inner) = value.get_ref().as_table() else {
            mistakes.push(not_a_section(all, section.get_ref(), at));
            continue;
        };
        if !all.has_section(section.get_ref()) && inner.is_empty() {
            mistakes.push(unknown(all, section.get_ref(), at));
        }
        for (name, value) in inner {
            let path = format!("{}.{}", section.get_ref(), name.get_ref());
            let at = place(name.span().start);
            match all.find(&path) {
                None => mistakes.push(unknown(all, &path, at)),
                Some(key) => {
                    let found = RawSetting {
                        raw: raw(value.get_ref()),
                        place: at,
                        folder: folder.clone(),
                        contract: None,
                    };
                    values.insert(key.path, found);
                }
            }
        }
    }
}

fn raw(value: &DeValue<'_>) -> RawValue {
    match value {
        DeValue::String(text) => RawValue::Text(text.to_string()),
        DeValue::Integer(whole) if whole.radix() == 10 => RawValue::Whole(whole.as_str().replace('_', "")),
        DeValue::Boolean(on) => RawValue::Switch(*on),
        DeValue::Array(items) => {
            let texts: Option<Vec<String>> =
                items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
            texts.map_or(RawValue::Other("a list with something that is no text"), RawValue::List)
        }
        other => RawValue::Other(other.type_str()),
    }
}

/// Reads the environment: the contract's names first, so that `ARO_` names override them.
pub(crate) fn environment(
    all: Catalogue,
    environment: &BTreeMap<String, String>,
    values: &mut Values,
    mistakes: &mut Vec<Mistake>,
) {
    for key in all.keys() {
        let Some(contract) = key.contract else { continue };
        let Some(value) = environment.get(contract.name).filter(|value| !value.is_empty()) else { continue };
        let raw = RawValue::Loose((contract.value)(value));
        let found =
            RawSetting { raw, place: contract.name.to_owned(), folder: None, contract: Some(contract.name) };
        values.insert(key.path, found);
    }
    for (name, value) in environment {
        let Some(path) = ours(name) else { continue };
        match all.find(&path) {
            None => mistakes.push(unknown(all, &path, name.clone())),
            // An empty variable is one that is not set.
            Some(_) if value.is_empty() => {}
            Some(key) => loose(key, value, name.clone(), values),
        }
    }
}

/// `section.key` of `ARO_SECTION__KEY`; other names that start with `ARO_` are not settings.
fn ours(name: &str) -> Option<String> {
    let (section, key) = name.strip_prefix("ARO_")?.split_once("__")?;
    Some(format!("{}.{}", section.to_ascii_lowercase(), key.to_ascii_lowercase()))
}

/// Takes values from flags.
pub(crate) fn overrides(
    all: Catalogue,
    overrides: &[Override<'_>],
    values: &mut Values,
    mistakes: &mut Vec<Mistake>,
) {
    for Override { key, value, flag } in overrides {
        match all.find(key) {
            None => mistakes.push(unknown(all, key, (*flag).to_owned())),
            Some(key) => loose(key, value, (*flag).to_owned(), values),
        }
    }
}

fn loose(key: &'static Key, value: &str, place: String, values: &mut Values) {
    values.insert(
        key.path,
        RawSetting { raw: RawValue::Loose(value.to_owned()), place, folder: None, contract: None },
    );
}

fn unknown(all: Catalogue, path: &str, place: String) -> Mistake {
    let message = match all.nearest(path) {
        Some(near) => format!("no such key; did you mean {near}?"),
        None => "no such key".to_owned(),
    };
    Mistake { key: rp_base::text::clean(path, 80), place, message }
}

fn not_a_section(all: Catalogue, name: &str, place: String) -> Mistake {
    let known = all.has_section(name);
    if known {
        let message = format!("is a section: write [{name}] on a line of its own and its keys below");
        return Mistake { key: name.to_owned(), place, message };
    }
    unknown(all, name, place)
}
