//! What one setting may be: its shape, default, further name and bounds. The functions here are what a declaration says
//! after the `=`, see [`crate::section!`].

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use url::Url;

use crate::{Reader, SecretFile, Word};

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `http(s)://host[:port]`; `https` unless the host is this machine.
    Url,
    /// An origin: [`Kind::Url`] without a path.
    Origin,
    /// `address:port` to listen on.
    Listen,
    /// `host:port` to dial.
    Dial,
    /// A path; relative ones in a file count from the file's folder.
    File,
    /// As [`Kind::File`]; the value is never shown, for it may be the secret itself, put there by mistake.
    Secret,
    /// `postgres://USER@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?…]` without a password; never shown, for one may be in it.
    Database,
    Duration,
    Count {
        least: u64,
        most: u64,
    },
    Switch,
    Texts,
    Networks,
}

impl Kind {
    /// What would be right.
    pub(crate) fn expects(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Url => "a URL such as \"https://host/path\" (http only for this machine)".to_owned(),
            Self::Origin => {
                "a URL without a path such as \"https://host:8444\" (http only for this machine)".to_owned()
            }
            Self::Listen => "an address to listen on such as \"0.0.0.0:8444\"".to_owned(),
            Self::Dial => "a host and port such as \"host:443\"".to_owned(),
            Self::File | Self::Secret => "the path of a file".to_owned(),
            Self::Database => {
                "a URL such as \"postgres://user@host:5432/database\", without a password".to_owned()
            }
            Self::Duration => "a duration such as \"8h\", \"1h30m\" or \"250ms\"".to_owned(),
            Self::Count { least, most } => format!("a whole number from {least} to {most}"),
            Self::Switch => "true or false".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Networks => "a list of networks such as \"10.0.0.0/8\"".to_owned(),
        }
    }

    pub(crate) const fn is_list(self) -> bool {
        matches!(self, Self::Texts | Self::Networks)
    }
}

/// A setting's name in the contract and the conversion of its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contract {
    pub(crate) name: &'static str,
    pub(crate) value: fn(&str) -> String,
}

/// One key of the settings.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// `section.key`.
    pub path: &'static str,
    pub(crate) kind: Kind,
    /// As written in the environment; empty: none.
    pub(crate) default: &'static str,
    pub(crate) contract: Option<Contract>,
    pub(crate) followed: bool,
    /// Lines of the documentation, as they stand at the declaration.
    pub(crate) help: &'static [&'static str],
}

impl Key {
    /// `ARO_SECTION__KEY`.
    pub fn environment(&self) -> String {
        format!("ARO_{}", self.path.replace('.', "__").to_ascii_uppercase())
    }
}

/// How a value is written, and how it becomes a `T`.
#[derive(Debug)]
pub struct Setting<T> {
    kind: Kind,
    default: &'static str,
    contract: Option<Contract>,
    followed: bool,
    read: fn(&mut Reader, &'static Key) -> T,
}

impl<T> Setting<T> {
    /// The contract's name in the environment; the value is taken as it is.
    #[must_use]
    pub const fn also(self, name: &'static str) -> Self {
        self.also_as(name, str::to_owned)
    }

    /// The contract's name in the environment, and what its value means here.
    #[must_use]
    pub const fn also_as(mut self, name: &'static str, value: fn(&str) -> String) -> Self {
        self.contract = Some(Contract { name, value });
        self
    }

    /// The file stands in [`Reader::followed`], for the wiring to watch; for single files only.
    #[must_use]
    pub const fn followed(mut self) -> Self {
        self.followed = true;
        self
    }

    /// The key at that path. Declarations call it.
    pub const fn key(&self, path: &'static str, help: &'static [&'static str]) -> Key {
        let (kind, default, contract, followed) = (self.kind, self.default, self.contract, self.followed);
        Key { path, kind, default, contract, followed, help }
    }

    /// Reads the value of a key that is declared so.
    pub fn read(&self, reader: &mut Reader, key: &'static Key) -> T {
        (self.read)(reader, key)
    }
}

/// A value of that kind, read by a function of the caller. `default` as written in the environment; empty: none.
pub const fn read_by<T>(
    kind: Kind,
    default: &'static str,
    read: fn(&mut Reader, &'static Key) -> T,
) -> Setting<T> {
    Setting { kind, default, contract: None, followed: false, read }
}

/// A text; empty when there is neither a value nor a default.
pub const fn text(default: &'static str) -> Setting<String> {
    read_by(Kind::Text, default, |r, key| r.text(key).unwrap_or_default())
}

/// A text that may be left out.
pub const fn optional_text() -> Setting<Option<String>> {
    read_by(Kind::Text, "", Reader::text)
}

/// One of the words of an enum, see [`crate::words!`].
pub const fn word<T: Word>(default: &'static str) -> Setting<T> {
    read_by(Kind::Word(T::WORDS), default, Reader::word)
}

/// A URL, `https` unless it is of this machine.
pub const fn url() -> Setting<Option<Url>> {
    read_by(Kind::Url, "", Reader::url)
}

/// A URL without a path.
pub const fn origin(default: &'static str) -> Setting<Option<Url>> {
    read_by(Kind::Origin, default, Reader::origin)
}

/// An address to listen on.
pub const fn listen(default: &'static str) -> Setting<SocketAddr> {
    read_by(Kind::Listen, default, Reader::listen)
}

/// An address to listen on, or none.
pub const fn optional_listen() -> Setting<Option<SocketAddr>> {
    read_by(Kind::Listen, "", |r, key| {
        let (is_set, address) = (r.is_set(key.path), r.listen(key));
        is_set.then_some(address)
    })
}

/// `host:port`.
pub const fn dial() -> Setting<Option<String>> {
    read_by(Kind::Dial, "", Reader::dial)
}

/// The path of a file.
pub const fn file(default: &'static str) -> Setting<PathBuf> {
    read_by(Kind::File, default, |r, key| r.file(key).unwrap_or_default())
}

/// The path of a file that may be left out.
pub const fn optional_file() -> Setting<Option<PathBuf>> {
    read_by(Kind::File, "", Reader::file)
}

/// Paths of files.
pub const fn files() -> Setting<Vec<PathBuf>> {
    read_by(Kind::Texts, "", |r, key| {
        let folder = r.folder(key.path);
        r.texts(key).into_iter().map(|file| folder.join(file)).collect()
    })
}

/// A file with a secret.
pub const fn secret() -> Setting<Option<SecretFile>> {
    read_by(Kind::Secret, "", Reader::secret)
}

/// As [`secret`], for a file that its user opens and makes.
pub const fn secret_path(default: &'static str) -> Setting<PathBuf> {
    read_by(Kind::Secret, default, |r, key| r.file(key).unwrap_or_default())
}

/// The URL of a PostgreSQL database.
pub const fn database() -> Setting<Option<String>> {
    read_by(Kind::Database, "", Reader::database)
}

/// A duration that is not zero.
pub const fn duration(default: &'static str) -> Setting<Duration> {
    read_by(Kind::Duration, default, |r, key| r.duration(key).unwrap_or_default())
}

/// A duration that may be left out.
pub const fn optional_duration() -> Setting<Option<Duration>> {
    read_by(Kind::Duration, "", Reader::duration)
}

/// A whole number within bounds, which fit `T`.
pub const fn count<T: TryFrom<u64> + Default>(
    default: &'static str,
    bounds: RangeInclusive<u64>,
) -> Setting<T> {
    read_by(Kind::Count { least: *bounds.start(), most: *bounds.end() }, default, Reader::count)
}

/// On or off.
pub const fn switch(default: bool) -> Setting<bool> {
    read_by(Kind::Switch, if default { "true" } else { "false" }, Reader::switch)
}

/// A list of texts; the default with commas.
pub const fn texts(default: &'static str) -> Setting<Vec<String>> {
    read_by(Kind::Texts, default, Reader::texts)
}

/// Groups of the provider; by the contract's names they are UUIDs (`contract/portal.md` §1.1).
pub const fn groups() -> Setting<Vec<String>> {
    read_by(Kind::Texts, "", Reader::groups)
}

/// A list of networks; the default with commas.
pub const fn networks(default: &'static str) -> Setting<Vec<IpNet>> {
    read_by(Kind::Networks, default, Reader::networks)
}
