//! Settings of this process.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rp_settings::{File, Input, Mistakes, Override};

use crate::{Settings, parse};

/// Larger files are no settings.
const MOST: u64 = 1024 * 1024;

/// Settings that could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot read the settings in {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
}

/// Reads `path` (none: no file) and the environment of this process.
///
/// # Errors
/// The file cannot be read, or there are mistakes.
pub fn load(path: Option<&Path>, overrides: &[Override<'_>], needs: &[&str]) -> Result<Settings, LoadError> {
    let text = path.map(read).transpose()?;
    // Names and values that are not Unicode cannot be settings of this program.
    let pairs = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let environment: BTreeMap<String, String> = pairs.collect();
    let file = path.zip(text.as_deref()).map(|(path, text)| File { path, text });
    Ok(parse(&Input { file, environment: &environment, overrides, needs })?)
}

fn read(path: &Path) -> Result<String, LoadError> {
    let error = |cause| LoadError::Read { path: path.to_owned(), cause };
    if std::fs::metadata(path).map_err(error)?.len() > MOST {
        return Err(error(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 1 MiB")));
    }
    std::fs::read_to_string(path).map_err(error)
}
