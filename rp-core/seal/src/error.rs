//! Why something could not be sealed, opened, or read.

use std::path::PathBuf;

/// A failure of the keyring. No text of a key or of a sealed value is in it.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The value names a key that the keyring does not have, also after reading its file again.
    #[error("the value is sealed with the key {0}, which the keyring does not have")]
    UnknownKey(String),
    /// Damaged, cut, forged, of another form, or sealed for another place: deliberately one answer.
    #[error("the sealed value cannot be opened")]
    Unopenable,
    /// The key seals: another must take its place first.
    #[error("the key {0} is in use: make another one current first")]
    Current(String),
    /// The keyring lives in memory only.
    #[error("the keyring has no file")]
    NoFile,
    /// The value could not be sealed.
    #[error("the value cannot be sealed")]
    Unsealable,
    /// The key file cannot be read or written.
    #[error("the key file {path}: cannot {what}")]
    File {
        path: PathBuf,
        what: &'static str,
        #[source]
        cause: std::io::Error,
    },
    /// Others than the owner may read or write the key file.
    #[error("the key file {path} is open to others (mode {mode:03o}); run: chmod 600 {path}")]
    Open { path: PathBuf, mode: u32 },
    /// The key file has not the expected form. The parser's own words are left out, for they may quote keys.
    #[error("the key file {path}: {what}")]
    Form { path: PathBuf, what: &'static str },
}
