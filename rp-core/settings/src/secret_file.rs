//! A secret that is named by its file.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rp_base::Secret;

/// Larger files are no secrets.
const MOST: u64 = 64 * 1024;

/// The path of a file that holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFile(PathBuf);

/// A secret's file that cannot be used. Never shows its content.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("{} can be read by every user of this machine; run chmod o-rwx on it", path.display())]
    Open { path: PathBuf },
    #[error("{} is empty", path.display())]
    Empty { path: PathBuf },
    #[error("{} is larger than 64 KiB: not a secret", path.display())]
    Large { path: PathBuf },
    #[error("{} is not UTF-8 text", path.display())]
    NotText { path: PathBuf },
}

impl SecretFile {
    /// Names the file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the secret as it is now, without line ends after it.
    ///
    /// # Errors
    /// The file is missing, open to every user, empty, too large, or no text.
    pub fn read(&self) -> Result<Secret<String>, SecretFileError> {
        let path = || self.0.clone();
        let read = |cause| SecretFileError::Read { path: path(), cause };
        let file = File::open(&self.0).map_err(read)?;
        if file.metadata().map_err(read)?.permissions().mode() & 0o007 != 0 {
            return Err(SecretFileError::Open { path: path() });
        }
        // The room for all of it at once: growing would leave copies behind.
        let mut taken = Vec::with_capacity(MOST as usize + 1);
        let outcome = file.take(MOST + 1).read_to_end(&mut taken);
        let bytes = Secret::new(taken);
        outcome.map_err(read)?;
        if bytes.expose().len() as u64 > MOST {
            return Err(SecretFileError::Large { path: path() });
        }
        let text =
            std::str::from_utf8(bytes.expose()).map_err(|_| SecretFileError::NotText { path: path() })?;
        match text.trim_end_matches(['\r', '\n']) {
            "" => Err(SecretFileError::Empty { path: path() }),
            text => Ok(Secret::new(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn reads_only_what_is_kept_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let file = SecretFile::new(&path);
        assert!(matches!(file.read(), Err(SecretFileError::Read { .. })));
        fs::write(&path, "hunter2\r\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(file.read(), Err(SecretFileError::Open { .. })));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(file.read().unwrap().expose(), "hunter2");
        fs::write(&path, "\n").unwrap();
        assert!(matches!(file.read(), Err(SecretFileError::Empty { .. })));
        fs::write(&path, vec![b'x'; 70_000]).unwrap();
        assert!(matches!(file.read(), Err(SecretFileError::Large { .. })));
        fs::write(&path, [0xff, 0xfe]).unwrap();
        let error = file.read().unwrap_err();
        assert!(matches!(error, SecretFileError::NotText { .. }) && !error.to_string().contains("hunter2"));
    }
}
