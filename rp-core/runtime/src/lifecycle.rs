//! How a process shuts down: the first signal drains it, a further signal or a timeout ends what still runs
//! (`contract/rules.md` §3.13).

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Time limits of the stages of a shutdown.
#[derive(Debug, Clone, Copy)]
pub struct ShutdownTimeouts {
    /// Not ready, but still accepting: the time a load balancer needs to notice it.
    pub leave: Duration,
    /// Accepting nothing, and finishing running requests.
    pub drain: Duration,
}

/// The stages of a shutdown. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    leave: CancellationToken,
    stop: CancellationToken,
    cut: CancellationToken,
}

impl Lifecycle {
    /// A lifecycle without signals: for tests, and for parts inside another process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Handles SIGTERM and SIGINT: the first begins the shutdown, each further one starts the next stage.
    ///
    /// # Errors
    /// The signals cannot be followed.
    pub fn with_signals(timeouts: ShutdownTimeouts) -> std::io::Result<Self> {
        let life = Self::new();
        let mut signals = StopSignals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        };
        let stages = life.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = signals.recv() => {}
                () = stages.stop.cancelled() => {}
            }
            stages.leave.cancel();
            if !stages.stop.is_cancelled() && !timeouts.leave.is_zero() {
                tracing::info!(leave_seconds = timeouts.leave.as_secs(), "leaving: not ready any more");
                let _ = tokio::time::timeout(timeouts.leave, signals.recv()).await;
            }
            let drain_seconds = timeouts.drain.as_secs();
            tracing::info!(drain_seconds, "stopping: no new connections, finishing what runs");
            stages.stop.cancel();
            let _ = tokio::time::timeout(timeouts.drain, signals.recv()).await;
            stages.cut.cancel();
        });
        Ok(life)
    }

    /// Cancelled when the shutdown begins: readiness is off from then on.
    pub fn leaving(&self) -> CancellationToken {
        self.leave.clone()
    }

    /// Cancelled when no new work may begin.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Cancelled when what still runs must end at once.
    pub fn cutting(&self) -> CancellationToken {
        self.cut.clone()
    }

    /// Begins the shutdown, without the `leave` stage.
    pub fn stop(&self) {
        self.leave.cancel();
        self.stop.cancel();
    }
}

/// The signals that request a shutdown.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
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
        let timeouts = ShutdownTimeouts { leave: Duration::from_secs(5), drain: Duration::from_secs(20) };
        let life = Lifecycle::with_signals(timeouts).unwrap();
        let asked = tokio::time::Instant::now();
        life.stop();
        assert!(life.leaving().is_cancelled() && life.stopping().is_cancelled());
        assert!(!life.cutting().is_cancelled());
        tokio::time::timeout(LONG, life.cutting().cancelled()).await.unwrap();
        assert_eq!(asked.elapsed().as_secs(), 20);
    }
}
