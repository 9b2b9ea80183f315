//! PostgreSQL's error codes, as the store's errors; what is tried again, and for how long.

use std::time::Duration;

use rp_base::{Backoff, SystemRandom};
use tokio::time::Instant;

use crate::StoreError;

/// What went wrong below the store's own rules. Codes: PostgreSQL, appendix A.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("the database failed")]
    Database(#[source] sqlx::Error),
    #[error("the database did not answer in time")]
    Late,
    #[error("the database's schema has step {0}, made by a newer version of this software")]
    Newer(i64),
    #[error("{0}")]
    Unfit(&'static str),
    #[error("the server went away while it committed: the outcome is not known")]
    Unknown(#[source] Box<Fault>),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl Fault {
    /// The connection is of no use any more.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Late => true,
            Self::Database(sqlx::Error::Database(_)) => {
                let code = self.code();
                // Connection exceptions; shutdown, crash, start-up; idle in a transaction or at all; a standby.
                code.starts_with("08")
                    || matches!(
                        code.as_str(),
                        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "25P04" | "25006"
                    )
            }
            Self::Database(sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_)) => true,
            Self::Database(sqlx::Error::WorkerCrashed) => true,
            Self::Database(_) | Self::Newer(_) | Self::Unfit(_) | Self::Unknown(_) => false,
        }
    }

    /// Another transaction interfered: serialisation failure, deadlock, a lock timeout.
    fn is_contended(&self) -> bool {
        matches!(self.code().as_str(), "40001" | "40P01" | "55P03")
    }

    /// May be gone in a moment.
    fn is_passing(&self) -> bool {
        !matches!(self, Self::Late) && (self.is_lost() || self.is_contended())
    }

    /// Its neighbours in the transaction may do better without it.
    pub(super) fn concerns_one(&self) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(_) | sqlx::Error::Encode(_)))
            && !self.is_lost()
            && !self.is_contended()
    }

    /// No room on the disk.
    pub(super) fn is_full(&self) -> bool {
        self.code() == "53100"
    }

    /// Text that no database encoding has.
    pub(super) fn is_bad_text(&self) -> bool {
        self.code() == "22021"
    }

    fn code(&self) -> String {
        let Self::Database(sqlx::Error::Database(error)) = self else { return String::new() };
        error.code().map(|code| code.into_owned()).unwrap_or_default()
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match &fault {
            Fault::Database(sqlx::Error::PoolClosed) => Self::Closed,
            _ if fault.is_full() => Self::Full,
            _ if fault.is_bad_text() => Self::BadCall("text holds a NUL"),
            _ => Self::Unavailable(Box::new(fault)),
        }
    }
}

/// Ends what takes too long: a server that is paused or cut off answers nothing, not even a refusal.
pub(super) async fn bounded<T>(
    most: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(most, work).await {
        Ok(outcome) => Ok(outcome?),
        Err(_) => Err(Fault::Late),
    }
}

/// Until when a statement that failed is tried again, and the waits between.
pub(super) struct RetryDeadline {
    until: Instant,
    backoff: Backoff,
}

impl RetryDeadline {
    pub(super) fn for_at_most(most: Duration) -> Self {
        let backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500));
        Self { until: Instant::now() + most, backoff }
    }

    /// Waits, if the fault may pass and there is time for another try; false: give up.
    pub(super) async fn again(&mut self, fault: &Fault) -> bool {
        if !fault.is_passing() {
            return false;
        }
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        tokio::time::sleep(self.backoff.step(&SystemRandom).min(left)).await;
        true
    }
}
