//! What is written while the power goes: through the interfaces that the product itself uses.

mod keyring;
mod log;
mod recordings;
mod restore;
mod store;
mod tokens;

use std::path::Path;

use anyhow::Result;
use async_trait::async_trait;

use crate::recorder::Marks;

/// Something that writes and makes promises.
#[async_trait]
pub(crate) trait Workload: Sync {
    fn name(&self) -> &'static str;

    /// Writes, and marks what it asks for and what it was promised. The power goes when this returns, if not before:
    /// nothing needs to be closed.
    async fn run(&self, folder: &Path, marks: &Marks) -> Result<()>;

    /// Opens what the disk holds as the product does at its start, and compares it with the promises; without help by
    /// hand, whatever state it is in.
    async fn check(&self, folder: &Path, marks: &[String]) -> Result<()>;
}

pub(crate) const STORE: &dyn Workload = &store::Documents;
pub(crate) const AUDIT: &dyn Workload = &log::Log { spooled: false };
pub(crate) const SPOOL: &dyn Workload = &log::Log { spooled: true };
pub(crate) const RECORDINGS: &dyn Workload = &recordings::Sessions;
pub(crate) const RESTORE: &dyn Workload = &restore::Restore;
pub(crate) const KEYRING: &dyn Workload = &keyring::Keys;
pub(crate) const TOKENS: &dyn Workload = &tokens::Tokens;

pub(crate) const ALL: [&dyn Workload; 7] = [STORE, RESTORE, AUDIT, SPOOL, RECORDINGS, KEYRING, TOKENS];
