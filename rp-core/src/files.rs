//! Files that settings and arguments name.

use std::path::Path;

use anyhow::Context as _;
use rp_base::Secret;

/// Reads a text file; the error names it.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Reads a secret file that need not be one of the settings'; the error names it.
///
/// # Errors
/// The file cannot be read.
pub fn read_secret(path: &Path) -> anyhow::Result<Secret<String>> {
    rp_config::SecretFile::new(path).read().with_context(|| format!("cannot use {}", path.display()))
}
