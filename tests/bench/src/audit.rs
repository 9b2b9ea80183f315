//! The audit log: entries a second with fsync on, the delay of a promise, and the first page of searches over a large
//! log, on SQLite and PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use rp_audit::{Audit, AuditOptions, CheckpointKey, Query};
use rp_base::{Clock as _, Id, SharedClock, SystemClock, SystemRandom, Timestamp};
use rp_database::{PostgresOptions, PostgresStore, SharedStore, SqliteOptions, SqliteStore};
use rp_documents::{Actor, Entry, Phase, ResourceId};
use tests_kit::{Folder, Postgres};

use crate::report::{Part, progress, row, table, verdict};

/// Entries a second that are asked for.
const RATE: f64 = 20_000.0;
/// Milliseconds of a first page that are asked for.
const PAGE: f64 = 200.0;
/// Tasks that write at the same time.
const WRITERS: u64 = 2;
/// Promises, one after another.
const PROMISES: u32 = 300;
/// Times that a search is made.
const SEARCHES: usize = 7;

#[derive(Debug, Clone, Args)]
pub(crate) struct AuditScale {
    /// Entries of the log
    #[arg(long, default_value_t = 300_000)]
    pub(crate) entries: u64,
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) store: Stores,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stores {
    Sqlite,
    Postgres,
    Both,
}

impl AuditScale {
    /// Whether both stores are measured.
    pub(crate) fn is_whole(&self) -> bool {
        self.store == Stores::Both
    }
}

/// Gives the part's table.
pub(crate) async fn run(scale: &AuditScale) -> Result<Part> {
    let mut part = Part::new("audit", format!("The audit log, {} entries, fsync on", scale.entries))?;
    if scale.store != Stores::Postgres {
        let folder = Folder::new("bench-audit")?;
        let options = SqliteOptions::new(folder.path().join("audit.db"), Arc::new(SystemClock));
        let store = Arc::new(SqliteStore::open(options).await?);
        measure("SQLite", store, scale.entries, &mut part).await?;
    }
    if scale.store != Stores::Sqlite {
        let durable = ["fsync=on", "synchronous_commit=on", "full_page_writes=on", "shared_buffers=256MB"];
        let server = Postgres::start_with(&durable, None).await?;
        let url = server.database().await?;
        let store = PostgresStore::connect(PostgresOptions::from_url(&url)?).await?;
        measure("PostgreSQL", Arc::new(store), scale.entries, &mut part).await?;
    }
    Ok(part)
}

fn target(n: u64) -> Result<ResourceId> {
    ResourceId::imported(&format!("cluster-{:04}", n % 997)).context("a name")
}

/// The n-th entry: 200 people, 997 clusters, a grant for every 400 entries.
fn entry(n: u64) -> Result<Entry> {
    let person = (n / 13) % 200;
    let actor = Actor {
        sub: format!("0d9f-{person:04}"),
        name: format!("person-{person:03}@aro.example"),
        from: format!("192.0.2.{}", person % 250),
    };
    let verb = ["get", "list", "get", "list", "get", "watch", "get", "create"][usize::try_from(n % 8)?];
    let mut entry = Entry::new(SystemClock.now(), Phase::Single, Id::random(&SystemRandom), actor, verb);
    entry.target = Some(target(n / 11)?);
    entry.grant = Some(Id::parse(&format!("grant-{:08}", n / 400))?);
    entry.identity_used = "system:serviceaccount:openshift-azure-logging:sre".to_owned();
    entry.resource = "pods".to_owned();
    entry.namespace = format!("openshift-{}", n % 61);
    entry.name = format!("pod-{:010x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24);
    entry.query = "limit=500".to_owned();
    (entry.bytes_out, entry.took_ms) = (4300 + n % 1000, n % 50);
    entry.result.status = 200;
    if n == 1000 {
        // Found once, near the beginning.
        entry.name = "the-one-that-is-looked-for".to_owned();
        entry.actor.name = "somebody-else@aro.example".to_owned();
        entry.actor.sub = "0d9f-else".to_owned();
    }
    Ok(entry)
}

async fn write(audit: &Audit, entries: u64) -> Result<Duration> {
    let started = Instant::now();
    let mut tasks = Vec::new();
    for writer in 0..WRITERS {
        let audit = audit.clone();
        tasks.push(tokio::spawn(async move {
            for n in (writer..entries).step_by(usize::try_from(WRITERS)?) {
                audit.queue(entry(n)?).await?;
                if n % 1_000_000 < WRITERS {
                    progress(format_args!("audit: {n} of {entries} entries"));
                }
            }
            anyhow::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    // Behind everything that was queued before it, but for what the queue still holds.
    audit.promise(entry(entries)?).await?;
    Ok(started.elapsed())
}

async fn measure(name: &str, store: SharedStore, entries: u64, part: &mut Part) -> Result<()> {
    let clock: SharedClock = Arc::new(SystemClock);
    let options = AuditOptions::new(CheckpointKey::generate()?);
    let audit = Audit::start(Arc::clone(&store), Arc::clone(&clock), options.clone()).await?;
    let took = write(&audit, entries).await?;
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
    let rate = entries as f64 / took.as_secs_f64();
    let started = Instant::now();
    for _ in 0..PROMISES {
        audit.promise(entry(1)?).await?;
    }
    let promise = started.elapsed() / PROMISES;
    let indexed = indexed(&audit).await?;
    table(&format!("{name}, fsync on"), &["", "", "aim", ""]);
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let told = if rate >= RATE { "met".to_owned() } else { format!("missed: {rate:.0}") };
    part.least(format_args!("read entries, {name}"), rate, RATE, "/s");
    part.stated(
        format_args!("a promise, one after another, {name}"),
        format_args!("{:.2} ms", millis(promise)),
    );
    row(&["read entries/s".to_owned(), format!("{rate:.0}"), format!("≥ {RATE:.0}"), told]);
    row(&[
        "a promise, one after another, ms".to_owned(),
        format!("{:.2}", millis(promise)),
        String::new(),
        String::new(),
    ]);
    row(&[
        "index behind the last entry, s".to_owned(),
        format!("{:.1}", indexed.as_secs_f64()),
        String::new(),
        String::new(),
    ]);
    audit.close().await;
    // Another process searches: nothing of the log is in its memory.
    let started = Instant::now();
    let audit = Audit::start(Arc::clone(&store), clock, options).await?;
    self::indexed(&audit).await?;
    let at_hand = started.elapsed().as_secs_f64();
    part.stated(format_args!("index at hand after a start, {name}"), format_args!("{at_hand:.2} s"));
    row(&[
        "index at hand after a start, s".to_owned(),
        format!("{at_hand:.2}"),
        String::new(),
        String::new(),
    ]);
    table(
        &format!("{name}: first page (100) of a search over {entries} entries, ms"),
        &["search", "found", "first time", "median", "aim", ""],
    );
    let mut slowest = ("none", 0.0, 0.0);
    for (what, query) in queries(entries)? {
        let (first, median) = search(&audit, what, &query).await?;
        if median > slowest.2 {
            slowest = (what, first, median);
        }
    }
    let (what, first, median) = slowest;
    let what = format!("first page of the slowest search ({what}; first time {first:.0} ms), {name}");
    part.most(what, median, PAGE, "ms");
    audit.close().await;
    store.close().await;
    Ok(())
}

/// Waits until the index has every entry.
async fn indexed(audit: &Audit) -> Result<Duration> {
    let (started, now) = (Instant::now(), SystemClock.now());
    let last = entry(2)?;
    audit.promise(last).await?;
    while audit.proof().indexed_to.is_none_or(|to| to < now) {
        ensure!(started.elapsed() < Duration::from_secs(900), "the index does not follow");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(started.elapsed())
}

fn queries(entries: u64) -> Result<Vec<(&'static str, Query)>> {
    let base = || Query { limit: 100, ..Query::default() };
    let some = |text: &str| Some(text.to_owned());
    let grant = |n: u64| Id::parse(&format!("grant-{n:08}")).map(Some);
    let long_ago = Timestamp::from_seconds(1);
    Ok(vec![
        ("nothing asked", base()),
        ("a person of 200", Query { person: some("person-017@aro.example"), ..base() }),
        ("a cluster of 997", Query { target: Some(target(500)?), ..base() }),
        ("a verb of one in eight", Query { verb: some("create"), ..base() }),
        ("a grant in the middle", Query { grant: grant(entries / 800)?, ..base() }),
        (
            "a person seen once, at the beginning",
            Query { person: some("somebody-else@aro.example"), ..base() },
        ),
        ("a text seen once, at the beginning", Query { text: some("one-that-is-looked"), ..base() }),
        ("a text seen nowhere", Query { text: some("pod-that-never-was"), ..base() }),
        (
            "a person and a cluster",
            Query { person: some("person-017@aro.example"), target: Some(target(500)?), ..base() },
        ),
        (
            "a person and a verb never seen together",
            Query { person: some("somebody-else@aro.example"), verb: some("watch"), ..base() },
        ),
        ("a time without entries", Query { to: Some(long_ago), ..base() }),
    ])
}

/// The first time's milliseconds, and the median.
async fn search(audit: &Audit, what: &str, query: &Query) -> Result<(f64, f64)> {
    let mut times = Vec::with_capacity(SEARCHES);
    let mut found = 0;
    let mut partial = "";
    for _ in 0..SEARCHES {
        let started = Instant::now();
        let page = audit.search(query).await?;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        found = page.entries.len();
        partial = if page.continuation.is_some() && found < query.limit { " (so far)" } else { "" };
    }
    let first = times.first().copied().unwrap_or_default();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    row(&[
        what.to_owned(),
        format!("{found}{partial}"),
        format!("{first:.1}"),
        format!("{median:.1}"),
        format!("≤ {PAGE}"),
        verdict(median, PAGE),
    ]);
    Ok((first, median))
}
