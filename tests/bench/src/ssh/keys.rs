//! Keys of machines, of the bastion and of people.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use tests_kit::{Folder, part};
use tokio::process::Command;

/// A key that OpenSSH made.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// The private half; the public one lies beside it with `.pub`.
    pub(crate) file: PathBuf,
    /// Type and base64.
    pub(crate) public: String,
}

impl Key {
    pub(crate) async fn new(folder: &Folder, name: &str) -> Result<Self> {
        let file = folder.path().join(name);
        let mut command = Command::new(part("ssh-keygen")?);
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(&file);
        let made = command.output().await?;
        ensure!(made.status.success(), "ssh-keygen: {}", String::from_utf8_lossy(&made.stderr));
        let text = std::fs::read_to_string(beside(&file, ".pub"))?;
        let public = text.split(' ').take(2).collect::<Vec<_>>().join(" ");
        Ok(Self { file, public: public.trim().to_owned() })
    }

    /// Its private half in OpenSSH's form.
    pub(crate) fn private(&self) -> Result<String> {
        Ok(std::fs::read_to_string(&self.file)?)
    }
}

/// A file of the same name with more at its end.
pub(crate) fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
