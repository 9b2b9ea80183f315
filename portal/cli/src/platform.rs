//! What differs between systems: modes of files, the end of a process by a signal, and becoming another program.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::process::Command;

use crate::CliError;

/// Options for a new file that only its owner may read. Where files have no modes, the folder of the person's profile says so.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The mode of a file that others than its owner can read or write; `None` for a private one, and where files have no modes.
///
/// # Errors
/// The system's.
#[cfg(unix)]
pub(crate) fn exposed(file: &File) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    Ok((mode & 0o077 != 0).then_some(mode))
}

#[cfg(not(unix))]
pub(crate) fn exposed(_: &File) -> io::Result<Option<u32>> {
    Ok(None)
}

/// Closes a folder to others than its owner.
///
/// # Errors
/// The system's.
#[cfg(unix)]
pub(crate) fn close_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if std::fs::metadata(folder)?.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
pub(crate) fn close_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Becomes a program, so that exit codes, signals and the terminal are its own. Returns only when it cannot be started.
#[cfg(unix)]
pub(crate) fn become_program(mut command: Command, program: &str) -> CliError {
    let cause = std::os::unix::process::CommandExt::exec(&mut command);
    CliError::Program { program: program.to_owned(), cause }
}

/// Runs a program in place of this one and ends with its exit code. Returns only when it cannot be started.
#[cfg(not(unix))]
pub(crate) fn become_program(mut command: Command, program: &str) -> CliError {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(cause) => CliError::Program { program: program.to_owned(), cause },
    }
}

/// Waits for the signal that asks this process to end; for ever where there is none.
///
/// # Errors
/// The signal cannot be listened for.
#[cfg(unix)]
pub(crate) fn terminated() -> Result<impl Future<Output = ()>, CliError> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate()).map_err(CliError::Output)?;
    Ok(async move {
        terminated.recv().await;
    })
}

#[cfg(not(unix))]
pub(crate) fn terminated() -> Result<impl Future<Output = ()>, CliError> {
    Ok(std::future::pending())
}
