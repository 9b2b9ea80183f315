//! `aro keys`: the keyring of a running process, and single values offline.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Subcommand;
use rp_base::Secret;
use rp_core::reseal::Progress;
use rp_documents::Sealed;
use rp_seal::Keyring;
use serde_json::{Value, json};

use crate::config_args::ConfigArgs;
use crate::control::Client;
use crate::output::{print_bytes, print_json, print_line};

/// Between two looks at a sealing again.
const LOOK: Duration = Duration::from_millis(300);
/// Largest value on standard input.
const MOST: u64 = 64 * 1024 * 1024;

#[derive(Debug, Subcommand)]
pub enum KeysVerb {
    /// Name the keys of a running process; the first one seals
    List(ConfigArgs),
    /// Add a key; it seals at once, and the older ones go on opening
    Rotate {
        #[command(flatten)]
        config: ConfigArgs,
        /// Only add it: bring the file to the other machines, then `aro keys use`
        #[arg(long)]
        later: bool,
    },
    /// Seal with this key from now on
    Use {
        /// Its id, such as `k2`
        key: String,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Seal everything again that older keys sealed, and say how far it is
    Reseal(ConfigArgs),
    /// Remove a key that seals nothing any more
    Forget {
        /// Its id, such as `k1`
        key: String,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Open a sealed value from standard input; needs no process
    Open(ValueArgs),
    /// Seal standard input with the current key; needs no process
    Seal(ValueArgs),
}

#[derive(Debug, clap::Args)]
pub struct ValueArgs {
    /// The keyring's file
    #[arg(long, value_name = "FILE")]
    pub keyring: PathBuf,
    /// Where the value stands: `Collection/id/member`; the two older forms know no place
    #[arg(long, value_name = "PLACE", default_value = "")]
    pub place: String,
}

/// Runs a verb.
///
/// # Errors
/// No process answers, or it refuses; a value does not open.
pub async fn run(verb: KeysVerb) -> anyhow::Result<()> {
    let client = |config: &ConfigArgs| Client::new(&config.settings(&[])?);
    match verb {
        KeysVerb::List(config) => {
            let keys = client(&config)?.get("/keys").await?;
            let current = text(&keys, "current");
            print_line(current)?;
            let all = keys.get("keys").and_then(Value::as_array).into_iter().flatten();
            all.filter_map(Value::as_str).filter(|key| *key != current).try_for_each(print_line)?;
        }
        KeysVerb::Rotate { config, later } => {
            let made = client(&config)?.post("/keys/rotate", &json!({ "use": !later })).await?;
            print_line(text(&made, "key"))?;
        }
        KeysVerb::Use { key, config } => {
            client(&config)?.post("/keys/use", &json!({ "key": key })).await?;
            print_line(&key)?;
        }
        KeysVerb::Reseal(config) => reseal(&client(&config)?).await?,
        KeysVerb::Forget { key, config } => {
            client(&config)?.post("/keys/forget", &json!({ "key": key })).await?;
            print_line(&key)?;
        }
        KeysVerb::Open(args) => open(&args)?,
        KeysVerb::Seal(args) => {
            let keyring = Keyring::open_file(&args.keyring)?;
            print_line(&keyring.seal(input()?.expose(), &args.place)?.0)?;
        }
    }
    Ok(())
}

fn text<'a>(answer: &'a Value, member: &str) -> &'a str {
    answer.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// Ended here, the process goes on with it; asked again, this follows.
async fn reseal(client: &Client) -> anyhow::Result<()> {
    let mut answer = client.post("/keys/reseal", &json!({})).await?;
    loop {
        if let Some(failed) = answer.get("failed").and_then(Value::as_str) {
            bail!("ended early, start it again: {failed}");
        }
        let progress = answer.get("progress").cloned().unwrap_or_default();
        let progress: Progress = serde_json::from_value(progress).context("the answer has another form")?;
        print_progress(&progress);
        if progress.done {
            print_json(serde_json::to_string(&progress)?)?;
            let left: u64 = progress.left.values().sum();
            ensure!(left == 0, "{left} values could not be sealed again; the log of the process names them");
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
        answer = client.get("/keys/reseal").await?;
    }
}

#[expect(clippy::print_stderr, reason = "progress goes to the person who waits")]
fn print_progress(progress: &Progress) {
    let Progress { collection, documents, values, resealed, .. } = progress;
    eprintln!("{collection}: {documents} documents read, {values} sealed values, {resealed} sealed again");
}

/// The plain value goes to standard output as it is.
fn open(args: &ValueArgs) -> anyhow::Result<()> {
    let keyring = Keyring::open_file(&args.keyring)?;
    let sealed = input()?;
    let sealed = std::str::from_utf8(sealed.expose()).context("the sealed value is not text")?;
    let sealed = Sealed(sealed.trim().trim_matches('"').to_owned());
    let (plain, _) = keyring.open_any(&sealed, &args.place)?;
    Ok(print_bytes(plain.expose())?)
}

fn input() -> anyhow::Result<Secret<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
    let bytes = Secret::new(bytes);
    ensure!(read? as u64 <= MOST, "the value on standard input is larger than 64 MiB");
    Ok(bytes)
}
