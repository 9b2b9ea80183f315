//! Keeps a store as the version in a folder of programs writes it, on SQLite and on PostgreSQL:
//!
//! `cargo run -p tests-kit --example stored -- PROGRAMS SQLITE-NAME POSTGRES-NAME` makes `tests/fixtures/stores/NAME.tar.gz`
//! and `NAME.json` of both.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tests_kit::{Aro, AroOptions, GENEROUS, Postgres, StoredFolder, stored};

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut arg = || args.next().context("stored PROGRAMS SQLITE-NAME POSTGRES-NAME");
    let programs = PathBuf::from(arg()?).canonicalize()?;
    let (sqlite, postgres) = (arg()?, arg()?);
    let env = vec![("ARO_DEV_INSTALL_MILLIS".to_owned(), "2000".to_owned())];
    let options = AroOptions { clusters: 6, env, programs: Some(programs.clone()), ..AroOptions::default() };
    let mut aro = Aro::start(options).await?;
    stored::fill(&aro).await?;
    // Once more from the start: what is kept is what the version reads, and not what it remembers.
    aro.restart().await?;
    let answers = stored::answers(&aro).await?;
    aro.process().signal("TERM")?;
    let status = aro.process().wait(GENEROUS).await?;
    ensure!(status.success(), "aro-dev: {status}");
    StoredFolder::keep(&sqlite, &aro, &answers)?;
    into_postgres(&programs, &aro).await?;
    StoredFolder::keep(&postgres, &aro, &answers)
}

/// Moves the store into a database, and the database into a file of the folder.
async fn into_postgres(programs: &Path, aro: &Aro) -> Result<()> {
    let data = aro.data();
    let server = Postgres::start().await?;
    let url = server.database().await?;
    let (before, place) = url.rsplit_once('@').context("a URL")?;
    let (_, password) = before.rsplit_once(':').context("a password")?;
    aro.folder().write("data/password", password)?;
    let bare = format!("postgres://postgres@{place}");
    let mut copy = Command::new(programs.join("aro"));
    copy.args(["store", "copy", "--from", "settings:aro.toml", "--to", &bare, "--password-file", "password"]);
    let status = copy.current_dir(&data).status()?;
    ensure!(status.success(), "aro store copy: {status}");
    let (_, name) = url.rsplit_once('/').context("a database")?;
    server.dump(name, &data.join(stored::DATABASE)).await?;
    for file in std::fs::read_dir(&data)? {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == "password" || name.starts_with("aro.db") || name.starts_with("audit.db") {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}
