//! SQLite's result codes, as the store's errors.

use crate::StoreError;

/// Primary result codes, <https://www.sqlite.org/rescode.html>.
const BUSY: i64 = 5;
const LOCKED: i64 = 6;
const FULL: i64 = 13;

/// What went wrong below the store's own rules.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the database file has schema version {0}, made by a newer version of this software")]
    Newer(i64),
    #[error("the backup is damaged: {0}")]
    Damaged(String),
    #[error("cannot {0}")]
    File(&'static str, #[source] std::io::Error),
}

impl Fault {
    /// Another connection stood in the way; it may be gone in a moment.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.code(), Some(BUSY | LOCKED))
    }

    /// No room on the disk.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::File(_, cause) => cause.kind() == std::io::ErrorKind::StorageFull,
            Self::Database(_) | Self::Newer(_) | Self::Damaged(_) => self.code() == Some(FULL),
        }
    }

    fn code(&self) -> Option<i64> {
        let Self::Database(sqlx::Error::Database(error)) = self else { return None };
        // The extended code's low byte is the primary one.
        error.code()?.parse::<i64>().ok().map(|code| code & 0xff)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match &fault {
            Fault::Database(sqlx::Error::PoolClosed) => Self::Closed,
            _ if fault.is_full() => Self::Full,
            _ => Self::Unavailable(Box::new(fault)),
        }
    }
}
