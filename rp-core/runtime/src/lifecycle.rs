//! How a process ends: asked once it finishes, asked twice or too late it cuts (`design.md` §3 Lifecycle).

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The two stages of an end. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    stop: CancellationToken,
    cut: CancellationToken,
}

impl Lifecycle {
    /// A life without signals: tests, and parts inside another process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Follows SIGTERM and SIGINT: the first stops, the second, or `drain` later, cuts.
    ///
    /// # Errors
    /// The signals cannot be followed.
    pub fn with_signals(drain: Duration) -> std::io::Result<Self> {
        let life = Self::new();
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let told = life.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = told.stop.cancelled() => {}
            }
            tracing::info!(
                drain_seconds = drain.as_secs(),
                "stopping: no new connections, finishing what runs"
            );
            told.stop.cancel();
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = tokio::time::sleep(drain) => {}
            }
            told.cut.cancel();
        });
        Ok(life)
    }

    /// Cancelled when nothing new may begin; readiness is off from then on.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Cancelled when what still runs must end at once.
    pub fn cutting(&self) -> CancellationToken {
        self.cut.clone()
    }

    /// Asks for the end.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// Calls `reload` on every SIGHUP until the process stops: certificates, keyring, provider keys.
///
/// # Errors
/// The signal cannot be followed.
pub fn on_hangup(life: &Lifecycle, reload: impl Fn() + Send + 'static) -> std::io::Result<()> {
    let mut hangups = signal(SignalKind::hangup())?;
    let stop = life.stopping();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = hangups.recv() => reload(),
                () = stop.cancelled() => return,
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[tokio::test(start_paused = true)]
    async fn stops_first_and_cuts_after_the_drain() {
        let life = Lifecycle::with_signals(Duration::from_secs(20)).unwrap();
        let asked = tokio::time::Instant::now();
        life.stop();
        assert!(life.stopping().is_cancelled() && !life.cutting().is_cancelled());
        tokio::time::timeout(LONG, life.cutting().cancelled()).await.unwrap();
        assert_eq!(asked.elapsed().as_secs(), 20);
    }
}
