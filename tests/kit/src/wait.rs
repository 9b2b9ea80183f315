//! The one place where tests wait.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// For whatever should take a moment: far longer than needed, for the machine may be busy. Speed is
/// asserted in benchmarks only.
pub const GENEROUS: Duration = Duration::from_secs(60);

/// Shortest and longest pause between two looks.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// Looks again and again until `look` succeeds, and gives what it found. The pause is twice what a look took, so that a
/// wait does not take the processor from what it waits for: a look may start a program.
///
/// # Errors
/// `what` did not become true within `limit`; the source is what the last look saw.
pub async fn until<T, F>(what: &str, limit: Duration, mut look: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let deadline = Instant::now() + limit;
    let mut last = anyhow::anyhow!("the first look did not end");
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let began = Instant::now();
        match tokio::time::timeout(left, look()).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(seen)) => last = seen,
            Err(_) => {}
        }
        if Instant::now() >= deadline {
            return Err(last).with_context(|| format!("waited {} s for: {what}; last seen", limit.as_secs()));
        }
        tokio::time::sleep((began.elapsed() * 2).clamp(PAUSES[0], PAUSES[1])).await;
    }
}
