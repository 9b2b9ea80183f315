//! Measures how many entries a second the log takes in and makes durable: `cargo run --release -p rp-audit --example rate`.

use std::sync::Arc;
use std::time::Instant;

use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Clock as _, Id, SystemClock, SystemRandom};
use rp_database::{SqliteOptions, SqliteStore};
use rp_documents::{Actor, Entry, Phase};

const ENTRIES: u32 = 100_000;
const PROMISES: u32 = 500;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("aro-audit-rate-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let clock = Arc::new(SystemClock);
    let store = SqliteStore::open(SqliteOptions::new(folder.join("audit.db"), clock.clone())).await?;
    let audit =
        Audit::start(Arc::new(store), clock.clone(), AuditOptions::new(CheckpointKey::generate()?)).await?;
    let entry = || Entry::new(clock.now(), Phase::Single, Id::random(&SystemRandom), Actor::default(), "get");
    let started = Instant::now();
    for _ in 0..ENTRIES {
        audit.queue(entry()).await?;
    }
    audit.promise(entry()).await?;
    let queued = started.elapsed();
    let started = Instant::now();
    for _ in 0..PROMISES {
        audit.promise(entry()).await?;
    }
    let promised = started.elapsed() / PROMISES;
    let started = Instant::now();
    let verdict = audit.verify().await?;
    let verified = started.elapsed();
    audit.close().await;
    std::fs::remove_dir_all(&folder)?;
    let rate = f64::from(ENTRIES) / queued.as_secs_f64();
    #[expect(clippy::print_stdout, reason = "an example answers here")]
    {
        println!("queued: {rate:.0} entries/s; one promise after another: {promised:?} each");
        println!("verified {} entries in {verified:?}, intact: {}", verdict.entries, verdict.is_intact());
    }
    Ok(())
}
