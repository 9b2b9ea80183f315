//! The one writer: takes what waits, writes it in one transaction, answers after the commit.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedClock, chain};
use sqlx::SqliteConnection;
use tokio::sync::{mpsc, watch};

use super::fault::Fault;
use super::link::Link;
use super::op::{Failure, Op, Request, Work, WriteEffect};
use crate::StoreError;
use crate::notify::Notifiers;

/// Writes that one transaction takes at most: bounds the wait of the first.
const BATCH: usize = 256;
/// Tries against a file that somebody else (a backup, a person's shell) has locked; each waits SQLite's
/// own busy time first.
const BUSY_TRIES: u32 = 3;

pub(super) struct Writer {
    pub(super) link: Link,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) clock: SharedClock,
    pub(super) notifiers: Arc<Notifiers>,
    /// Held until the last write is done.
    pub(super) lock: Option<File>,
}

type Outcome = Result<WriteEffect, StoreError>;

impl Writer {
    /// Ends when the store is closed or nobody holds it any more, and everything accepted is written.
    /// `stop` is dropped at the very end.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                // Told, or the sender is gone: nothing new comes in; what waits is still taken.
                _ = stop.wait_for(|stop| *stop), if !self.requests.is_closed() => self.requests.close(),
                taken = self.requests.recv_many(&mut batch, BATCH) => if taken == 0 { break },
            }
            let outcomes = self.write(&batch).await;
            for (request, outcome) in batch.drain(..).zip(outcomes) {
                // A caller that went away does not want to know.
                let _ = request.reply.send(outcome);
            }
        }
        self.link.close().await;
        drop(self.lock);
        drop(stop);
    }

    /// One outcome for each request, in order.
    async fn write(&self, batch: &[Request]) -> Vec<Outcome> {
        match self.transact(batch).await {
            Ok(outcomes) => self.announce(outcomes),
            // A write that the disk has no room for must not fail the small ones beside it.
            Err(fault) if batch.len() > 1 && !fault.is_busy() => {
                let mut outcomes = Vec::with_capacity(batch.len());
                for request in batch {
                    outcomes.extend(self.write_alone(request).await);
                }
                outcomes
            }
            Err(fault) => self.fail(fault, batch.len()),
        }
    }

    async fn write_alone(&self, request: &Request) -> Vec<Outcome> {
        match self.transact(std::slice::from_ref(request)).await {
            Ok(outcomes) => self.announce(outcomes),
            Err(fault) => self.fail(fault, 1),
        }
    }

    fn announce(&self, outcomes: Vec<Outcome>) -> Vec<Outcome> {
        for done in outcomes.iter().flatten() {
            for collection in &done.touched {
                self.notifiers.bump(*collection);
            }
        }
        outcomes
    }

    #[expect(clippy::unused_self, reason = "reads as a pair with announce")]
    fn fail(&self, fault: Fault, count: usize) -> Vec<Outcome> {
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(count);
        for _ in 1..count {
            outcomes.push(Err(match &fault {
                fault if fault.is_full() => StoreError::Full,
                fault => StoreError::Unavailable(chain(fault).to_string().into()),
            }));
        }
        outcomes.push(Err(fault.into()));
        outcomes
    }

    /// All of the batch in one transaction; `Err`: nothing of it was written.
    async fn transact(&self, batch: &[Request]) -> Result<Vec<Outcome>, Fault> {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut connection = self.link.acquire().await?;
            match self.transact_once(&mut connection, batch).await {
                Err(fault) if fault.is_busy() && tries < BUSY_TRIES => {
                    drop(connection);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn transact_once(
        &self,
        connection: &mut SqliteConnection,
        batch: &[Request],
    ) -> Result<Vec<Outcome>, Fault> {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
        match self.fill(connection, batch).await {
            Ok(outcomes) => Ok(outcomes),
            Err(fault) => {
                // SQLite may have rolled back by itself; then this says so, and that is as good.
                let _ = sqlx::query("ROLLBACK").execute(connection).await;
                Err(fault)
            }
        }
    }

    async fn fill(
        &self,
        connection: &mut SqliteConnection,
        batch: &[Request],
    ) -> Result<Vec<Outcome>, Fault> {
        let seq: i64 = sqlx::query_scalar("SELECT seq FROM counter").fetch_one(&mut *connection).await?;
        let mut work = Work { connection, seq, now: self.clock.now() };
        let mut outcomes = Vec::with_capacity(batch.len());
        for request in batch {
            outcomes.push(savepoint(&mut work, &request.op).await?);
        }
        let Work { connection, seq: last, .. } = work;
        if last != seq || batch.iter().any(|request| matches!(request.op, Op::Probe)) {
            sqlx::query("UPDATE counter SET seq = ?1").bind(last).execute(&mut *connection).await?;
        }
        sqlx::query("COMMIT").execute(connection).await?;
        Ok(outcomes)
    }
}

/// One write, whole or not at all, without harm to its neighbours.
async fn savepoint(work: &mut Work<'_>, op: &Op) -> Result<Outcome, Fault> {
    sqlx::query("SAVEPOINT op").execute(&mut *work.connection).await?;
    let outcome = match work.run(op).await {
        Ok(done) => Ok(done),
        Err(Failure::Refused(error)) => {
            sqlx::query("ROLLBACK TO op").execute(&mut *work.connection).await?;
            Err(error)
        }
        Err(Failure::Fault(fault)) => return Err(fault),
    };
    sqlx::query("RELEASE op").execute(&mut *work.connection).await?;
    Ok(outcome)
}
