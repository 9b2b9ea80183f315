//! The command line's cache: the token that kubectl was given last, one file a grant.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use parking_lot::Mutex;
use portal_cli::{CredentialArgs, Exit, Output, Verb, run_to_exit};
use rp_base::{Clock as _, SystemClock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::Workload;
use crate::recorder::{Marks, said};

const GRANTS: [&str; 3] = ["g-1", "g-2", "g-3"];
/// Each token is over at once, so that every call fetches one.
const CALLS: u32 = 12;

#[derive(Debug, Serialize, Deserialize)]
enum Mark {
    Asks(String),
    /// A token was given and is kept.
    Kept {
        grant: String,
        token: String,
    },
}

pub(super) struct Tokens;

#[async_trait]
impl Workload for Tokens {
    fn name(&self) -> &'static str {
        "tokens"
    }

    async fn run(&self, folder: &Path, marks: &Marks) -> Result<()> {
        let portal = portal().await?;
        // Outside the folder: the person's own.
        let mut token = tempfile::NamedTempFile::new()?;
        token.write_all(b"good\n")?;
        for call in 0..CALLS {
            let grant = GRANTS[call as usize % GRANTS.len()];
            marks.say(&Mark::Asks(grant.to_owned()))?;
            let (exit, text) = credential(folder, grant, Some((&portal, token.path()))).await;
            ensure!(exit == Exit::Ok, "{exit:?}: {text}");
            let answer: Value = serde_json::from_str(&text)?;
            let token = answer["status"]["token"].as_str().context("a token")?.to_owned();
            marks.say(&Mark::Kept { grant: grant.to_owned(), token })?;
        }
        Ok(())
    }

    async fn check(&self, folder: &Path, marks: &[String]) -> Result<()> {
        // By grant: what was kept last, and how often was asked since.
        let mut promised: BTreeMap<String, (Option<String>, u32)> = BTreeMap::new();
        for mark in said(marks)? {
            match mark {
                Mark::Asks(grant) => promised.entry(grant).or_default().1 += 1,
                Mark::Kept { grant, token } => drop(promised.insert(grant, (Some(token), 0))),
            }
        }
        for (grant, (kept, asked)) in promised {
            let found = cached(folder, &grant)?;
            let is_kept = found.is_some() && found == kept;
            let is_newer = found != kept && asked > 0;
            let is_none = found.is_none() && kept.is_none();
            let [kept, found] = [&kept, &found].map(|token| token.as_ref().and_then(|token| token.get(..20)));
            ensure!(is_kept || is_newer || is_none, "{grant}: {kept:?} was promised, {found:?} is there");
            // Without a portal the token that is there is given, or the person is told to sign in: nothing else.
            let (exit, text) = credential(folder, &grant, None).await;
            ensure!(matches!(exit, Exit::Ok | Exit::NotSignedIn), "{grant}: {exit:?}: {text}");
        }
        Ok(())
    }
}

/// The token in the cache, where every file is whole.
fn cached(folder: &Path, grant: &str) -> Result<Option<String>> {
    #[derive(Deserialize)]
    struct CachedToken {
        token: String,
    }
    let file = folder.join(format!("home/aro/profiles/default/grants/{grant}.json"));
    let text = match std::fs::read_to_string(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let cached: CachedToken =
        serde_json::from_str(&text).with_context(|| format!("{grant} is half-written: {text:?}"))?;
    Ok(Some(cached.token))
}

/// `aro credential`, in this process: its exit and what it prints.
async fn credential(folder: &Path, grant: &str, portal: Option<(&Url, &Path)>) -> (Exit, String) {
    let args = CredentialArgs {
        grant: grant.to_owned(),
        profile: "default".to_owned(),
        config_dir: Some(folder.join("home/aro")),
        portal: portal.map(|(url, _)| url.clone()),
        token_file: portal.map(|(_, file)| PathBuf::from(file)),
        ca_file: None,
    };
    let (answer, notes) = (Buffer::default(), Buffer::default());
    let mut out = Output::with_writers(Box::new(answer.clone()), Box::new(notes.clone()));
    let exit = run_to_exit(Verb::Credential(args), &mut out).await;
    (exit, answer.text() + &notes.text())
}

/// A portal that gives another token at every call.
async fn portal() -> Result<Url> {
    async fn token(State(given): State<Arc<AtomicU32>>) -> Json<Value> {
        let number = given.fetch_add(1, Ordering::Relaxed);
        // Longer than a sector, as tokens with many groups are.
        let token = format!("aro1_kubeconfig_{number}_{}", "x".repeat(1200));
        let not_after = SystemClock.now() - Duration::from_secs(1);
        Json(json!({"token": token, "not_after": not_after}))
    }
    let router = Router::new().route("/api/v1/grants/{grant}/token", post(token));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?).parse()?;
    tokio::spawn(async move { axum::serve(listener, router.with_state(Arc::default())).await });
    Ok(url)
}

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
