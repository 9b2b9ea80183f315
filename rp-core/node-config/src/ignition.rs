//! Ignition configs of spec 3.x: what we read and write of them is typed, everything else is kept as it is.

mod resource;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use resource::Resource;

/// The version of configs that we write; every supported version of OpenShift reads it.
const VERSION: &str = "3.2.0";
/// The largest config that is read, in bytes. That of a bootstrap machine has about one MiB.
const MOST_CONFIG: usize = 32 << 20;

type Unknown = Map<String, Value>;

/// Why an Ignition config, or a file of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum IgnitionError {
    #[error("the Ignition config is larger than {MOST_CONFIG} bytes")]
    TooLarge,
    #[error("the Ignition config is no JSON of its form, at line {line}, column {column}")]
    Malformed { line: usize, column: usize },
    #[error("the Ignition config has a version other than 3.x")]
    Version,
    #[error("the contents of {path} are not in the config, but at a URL")]
    Remote { path: String },
    #[error("the contents of {path} are not encoded as their URL says")]
    Encoding { path: String },
    #[error("the contents of {path} are compressed by something other than gzip")]
    Compression { path: String },
    #[error("the contents of {path} are larger than {} bytes", resource::MOST_CONTENTS)]
    Contents { path: String },
}

/// An Ignition config.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    pub ignition: Ignition,
    #[serde(default, skip_serializing_if = "Storage::is_empty")]
    pub storage: Storage,
    #[serde(default, skip_serializing_if = "Systemd::is_empty")]
    pub systemd: Systemd,
    #[serde(flatten)]
    unknown: Unknown,
}

/// What concerns Ignition itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ignition {
    pub version: String,
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub config: Sources,
    #[serde(flatten)]
    unknown: Unknown,
}

/// Configs elsewhere.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sources {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merge: Vec<Resource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<Resource>,
    #[serde(flatten)]
    unknown: Unknown,
}

impl Sources {
    fn is_empty(&self) -> bool {
        self.merge.is_empty() && self.replace.is_none() && self.unknown.is_empty()
    }
}

/// Files; disks and the like are kept as they are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Storage {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    #[serde(flatten)]
    unknown: Unknown,
}

impl Storage {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.unknown.is_empty()
    }
}

/// Units.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Systemd {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<Unit>,
    #[serde(flatten)]
    unknown: Unknown,
}

impl Systemd {
    fn is_empty(&self) -> bool {
        self.units.is_empty() && self.unknown.is_empty()
    }
}

/// A file of a machine.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct File {
    pub path: String,
    #[serde(default, skip_serializing_if = "Resource::is_empty")]
    contents: Resource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<bool>,
    #[serde(flatten)]
    unknown: Unknown,
}

/// Without the contents: they may be secret.
impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("path", &self.path).field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl File {
    /// A file of text that belongs to root and replaces one that is there.
    pub fn text(path: impl Into<String>, mode: u32, contents: &str) -> Self {
        let mut unknown = Unknown::new();
        unknown.insert("user".to_owned(), serde_json::json!({ "name": "root" }));
        Self {
            path: path.into(),
            contents: Resource::from_text(contents),
            mode: Some(mode),
            overwrite: Some(true),
            unknown,
        }
    }

    /// What stands in the file.
    ///
    /// # Errors
    /// [`IgnitionError`]: the contents are elsewhere, are not encoded as they say, or are too large.
    pub fn contents(&self) -> Result<Vec<u8>, IgnitionError> {
        self.contents.decode(&self.path)
    }
}

/// A unit of systemd.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(flatten)]
    unknown: Unknown,
}

impl Unit {
    /// A unit that is started with the machine.
    pub fn enabled(name: impl Into<String>, contents: &str) -> Self {
        Self {
            name: name.into(),
            contents: Some(contents.to_owned()),
            enabled: Some(true),
            unknown: Unknown::new(),
        }
    }
}

impl Config {
    /// A config of nothing.
    pub fn empty() -> Self {
        let ignition =
            Ignition { version: VERSION.to_owned(), config: Sources::default(), unknown: Unknown::new() };
        Self { ignition, storage: Storage::default(), systemd: Systemd::default(), unknown: Unknown::new() }
    }

    /// Reads a config.
    ///
    /// # Errors
    /// [`IgnitionError`]: it is too large, is no JSON of a config's form, or has another version than 3.x. The error has
    /// nothing of the text, which holds secrets.
    pub fn parse(json: &[u8]) -> Result<Self, IgnitionError> {
        if json.len() > MOST_CONFIG {
            return Err(IgnitionError::TooLarge);
        }
        let config: Self = serde_json::from_slice(json)
            .map_err(|error| IgnitionError::Malformed { line: error.line(), column: error.column() })?;
        match config.ignition.version.starts_with("3.") {
            true => Ok(config),
            false => Err(IgnitionError::Version),
        }
    }

    /// Puts a file in place of the one with its path, or at the end.
    pub fn put_file(&mut self, file: File) {
        match self.storage.files.iter_mut().find(|there| there.path == file.path) {
            Some(there) => *there = file,
            None => self.storage.files.push(file),
        }
    }

    /// Puts a unit in place of the one with its name, or at the end.
    pub fn put_unit(&mut self, unit: Unit) {
        match self.systemd.units.iter_mut().find(|there| there.name == unit.name) {
            Some(there) => *there = unit,
            None => self.systemd.units.push(unit),
        }
    }

    /// The file of that path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.storage.files.iter().find(|file| file.path == path)
    }

    /// The config as JSON with sorted names, so that equal configs are equal bytes.
    pub fn to_json(&self) -> Value {
        // A config has text keys only and no number that JSON lacks.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// [`Config::to_json`] on one line.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_json().to_string().into_bytes()
    }
}
