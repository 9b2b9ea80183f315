//! Many grants: the memory and time of those in use, and what a store with many more costs at the start. Both ends
//! are processes of their own, so that nothing that filled the store is in their memory.
//!
//! That grants in use ask the store nothing is asserted by the tests of `rp-access` (`make soak`), not here.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use rp_access::{Access, AccessParts, Caller, IssueRequest, Policy, Via};
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Clock as _, Id, SharedClock, SystemClock, SystemRandom};
use rp_database::{Draft, SharedStore, SqliteOptions, SqliteStore};
use rp_documents::{Collection, Document as _, Grant, GrantKind, Person, ResourceId, Rights, Role, Roles};
use rp_net::PerMinute;
use rp_seal::Keyring;
use serde_json::{Value, json};
use tests_kit::Folder;
use tokio::task::JoinSet;

use crate::measure::resident;
use crate::report::{Part, line, progress, row, table, verdict};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const GROUP: &str = "sres";
const DAY: u64 = 86_400;
/// Grants that are asked for at the same time: they share the commits of the audit log.
const AT_ONCE: usize = 64;
const BATCH: usize = 1000;
/// KiB that a grant in use may take (`docs/performance.md`).
const MOST: f64 = 3.0;
/// Milliseconds of the start of a process that are asked for.
const START: f64 = 150.0;

#[derive(Debug, Clone, Args)]
pub(crate) struct GrantScale {
    /// Grants of the store, nearly all of the past
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) stored: usize,
    /// Grants in use
    #[arg(long, default_value_t = 20_000)]
    pub(crate) used: usize,
}

/// What the other process is told.
#[derive(Debug, Clone, Args)]
pub(crate) struct UseArgs {
    #[arg(long)]
    folder: PathBuf,
}

/// Gives the part's table.
pub(crate) async fn run(scale: &GrantScale) -> Result<Part> {
    let title = format!("Grants, {} in use of {}", scale.used, scale.stored);
    let mut part = Part::new("grants", title.clone())?;
    ensure!(scale.used > 0 && scale.stored >= scale.used, "there are no more in use than there are");
    let folder = Folder::new("bench-grants")?;
    folder.write("tokens", "")?;
    let empty = look(folder.path())?;
    let tokens = fill(&folder, scale).await?;
    folder.write("tokens", tokens.join("\n"))?;
    let full = look(folder.path())?;
    table(&title, &["", "", "aim", ""]);
    let number =
        |value: &Value, name: &str| value[name].as_f64().with_context(|| format!("no {name}: {value}"));
    let each = number(&full, "bytes")? / 1024.0;
    part.most("memory of a grant in use", each, MOST, "KiB");
    row(&[
        "memory of a grant in use, KiB".to_owned(),
        format!("{each:.2}"),
        format!("≤ {MOST}"),
        verdict(each, MOST),
    ]);
    for (what, name) in [("first use", "first"), ("every other use", "again")] {
        let took = format!("{:.1}", number(&full, name)?);
        part.stated(what, format_args!("{took} µs"));
        row(&[format!("{what}, µs"), took, String::new(), String::new()]);
    }
    for (what, seen) in [("start that makes store and keys", &empty), ("start over all of them", &full)] {
        let start = number(seen, "start")?;
        part.most(what, start, START, "ms");
        row(&[format!("{what}, ms"), format!("{start:.1}"), format!("≤ {START}"), verdict(start, START)]);
    }
    Ok(part)
}

/// Another process on the same store.
fn look(folder: &Path) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg("use-grants").arg("--folder").arg(folder).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// That other process.
pub(crate) async fn in_use(args: &UseArgs) -> Result<()> {
    let tokens = std::fs::read_to_string(args.folder.join("tokens"))?;
    let tokens: Vec<&str> = tokens.lines().collect();
    let started = Instant::now();
    let (access, _, store) = open(&args.folder).await?;
    let start = started.elapsed();
    let before = resident(std::process::id())?;
    let started = Instant::now();
    for token in &tokens {
        access.authenticate(token, HERE).await?;
    }
    let first = started.elapsed();
    let after = resident(std::process::id())?;
    let started = Instant::now();
    for token in &tokens {
        access.authenticate(token, HERE).await?;
    }
    let again = started.elapsed();
    let count = u32::try_from(tokens.len().max(1))?;
    let micros = |time: Duration| (time / count).as_secs_f64() * 1e6;
    line(json!({
        "start": start.as_secs_f64() * 1000.0,
        "bytes": after.saturating_sub(before) / u64::from(count),
        "first": micros(first),
        "again": micros(again),
    }));
    store.close().await;
    Ok(())
}

async fn open(folder: &Path) -> Result<(Arc<Access>, Audit, SharedStore)> {
    let clock: SharedClock = Arc::new(SystemClock);
    let options = SqliteOptions::new(folder.join("aro.db"), Arc::clone(&clock));
    let store: SharedStore = Arc::new(SqliteStore::open(options).await?);
    let audit = AuditOptions::new(CheckpointKey::generate()?);
    let audit = Audit::start(rp_database::in_memory(Arc::clone(&clock)), Arc::clone(&clock), audit).await?;
    let policy = Policy {
        roles: rp_config::Roles { sre: vec![GROUP.to_owned()], ..rp_config::Roles::default() },
        access: rp_config::Access { max_grants: usize::MAX, ..rp_config::Access::default() },
        rates: PerMinute { sign_in: 0, issue: 0, renew: 0, misses: 0, streams: 0 },
        ..Policy::default()
    };
    let parts = AccessParts {
        store: Arc::clone(&store),
        audit: audit.clone(),
        keyring: Keyring::open_or_create(&folder.join("keyring"), &SystemRandom)?,
        clock,
        random: Arc::new(SystemRandom),
        policy,
        registry: rp_metrics::Registry::new(),
    };
    Ok((Access::start(parts).await?, audit, store))
}

/// Grants of the past, then living ones; gives the tokens of these.
async fn fill(folder: &Folder, scale: &GrantScale) -> Result<Vec<String>> {
    let (access, audit, store) = open(folder.path()).await?;
    let (like, first) = issue(&access, 0).await?;
    let mut left = scale.stored - scale.used;
    while left > 0 {
        let some = left.min(BATCH);
        let drafts = (0..some).map(|n| past(&like, left - n)).collect::<Result<Vec<_>>>()?;
        store.create_all(Collection::Grants, drafts).await?;
        left -= some;
        if left % (100 * BATCH) < BATCH {
            progress(format_args!("grants: {left} to come"));
        }
    }
    let (mut asked, mut tokens) = (JoinSet::new(), vec![first]);
    for n in 1..scale.used {
        if asked.len() >= AT_ONCE
            && let Some(done) = asked.join_next().await
        {
            tokens.push(done??);
        }
        let access = Arc::clone(&access);
        asked.spawn(async move { Ok::<_, anyhow::Error>(issue(&access, n).await?.1) });
    }
    while let Some(done) = asked.join_next().await {
        tokens.push(done??);
    }
    audit.close().await;
    drop(access);
    store.close().await;
    Ok(tokens)
}

/// To one of many people: ten grants each.
async fn issue(access: &Access, n: usize) -> Result<(Grant, String)> {
    let person = Person {
        sub: format!("0d9f-{:06}", n / 10),
        name: format!("person-{:06}@aro.example", n / 10),
        groups: vec![GROUP.to_owned()],
    };
    let caller = Caller {
        person,
        roles: Roles::NONE.with(Role::Sre),
        from: HERE.to_string(),
        request_id: Id::random(&SystemRandom),
        via: Via::Session,
    };
    let ask = IssueRequest::new(
        GrantKind::Kubeconfig,
        Some(ResourceId::imported(&format!("cluster-{:04}", n % 997)).context("a name")?),
        Rights::Read,
        "INC-1234 pods of the ingress are pending".to_owned(),
    );
    let issued = access.issue(&caller, ask).await?;
    Ok((issued.grant, issued.token.expose().as_str().to_owned()))
}

/// A grant that ended long ago.
fn past(like: &Grant, n: usize) -> Result<Draft> {
    let created = SystemClock.now() - Duration::from_secs(100 * DAY + u64::try_from(n)?);
    let grant = Grant {
        id: Id::newest_first(created, &SystemRandom),
        created,
        not_after: created + Duration::from_secs(3600),
        ..like.clone()
    };
    Ok(Draft {
        id: grant.id.to_string(),
        partition: grant.partition().to_owned(),
        unique_key: grant.unique_key().map(std::borrow::Cow::into_owned),
        body: serde_json::to_string(&grant)?,
        expires_at: None,
    })
}
