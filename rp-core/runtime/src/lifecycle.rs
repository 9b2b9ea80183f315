//! How a process ends: asked once it says that it leaves and finishes, asked twice or too late it cuts
//! (`contract/rules.md` §3.13).

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// How long the stages of an end take.
#[derive(Debug, Clone, Copy)]
pub struct ShutdownTimeouts {
    /// Not ready any more, and still accepting: as long as a balancer needs to see it.
    pub leave: Duration,
    /// Accepting nothing, and finishing what runs.
    pub drain: Duration,
}

/// The stages of an end. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    leave: CancellationToken,
    stop: CancellationToken,
    cut: CancellationToken,
}

impl Lifecycle {
    /// A life without signals: tests, and parts inside another process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Follows SIGTERM and SIGINT: the first begins the end, each further one goes on to the next stage.
    ///
    /// # Errors
    /// The signals cannot be followed.
    pub fn with_signals(timeouts: ShutdownTimeouts) -> std::io::Result<Self> {
        let life = Self::new();
        let mut asked = Asked {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        };
        let told = life.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = asked.again() => {}
                () = told.stop.cancelled() => {}
            }
            told.leave.cancel();
            if !told.stop.is_cancelled() && !timeouts.leave.is_zero() {
                tracing::info!(leave_seconds = timeouts.leave.as_secs(), "leaving: not ready any more");
                let _ = tokio::time::timeout(timeouts.leave, asked.again()).await;
            }
            let drain_seconds = timeouts.drain.as_secs();
            tracing::info!(drain_seconds, "stopping: no new connections, finishing what runs");
            told.stop.cancel();
            let _ = tokio::time::timeout(timeouts.drain, asked.again()).await;
            told.cut.cancel();
        });
        Ok(life)
    }

    /// Cancelled when the end has begun: readiness is off from then on.
    pub fn leaving(&self) -> CancellationToken {
        self.leave.clone()
    }

    /// Cancelled when nothing new may begin.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Cancelled when what still runs must end at once.
    pub fn cutting(&self) -> CancellationToken {
        self.cut.clone()
    }

    /// Asks for the end, without a time to leave.
    pub fn stop(&self) {
        self.leave.cancel();
        self.stop.cancel();
    }
}

/// The signals that ask for the end.
struct Asked {
    terminate: Signal,
    interrupt: Signal,
}

impl Asked {
    async fn again(&mut self) {
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
