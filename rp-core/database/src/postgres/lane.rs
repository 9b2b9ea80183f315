//! Writes of one collection: what waits goes into one transaction, and where it can into one statement, and is answered
//! after the commit.
//!
//! The transaction begins by taking positions from the collection's counter, whose row stays locked until the
//! commit. So writers of a collection, in all processes, follow one another; a reader sees every position
//! below the highest that he sees, and the rules can be checked without races.

use std::sync::Arc;

use rp_base::{Timestamp, chain};
use rp_documents::Collection;
use sqlx::{PgConnection, Row as _};
use tokio::sync::{mpsc, watch};

use super::announcer::Outbox;
use super::fault::{Fault, RetryDeadline, bounded};
use super::link::Link;
use super::op::{Failure, Op, Request, Work, WriteEffect};
use super::together::run_together;
use crate::StoreError;
use crate::notify::Notifiers;

/// Writes that one transaction takes at most: bounds the wait of the first.
const BATCH: usize = 256;
/// Bytes of bodies in one transaction, unless one write alone has more.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

pub(super) struct Lane {
    pub(super) collection: Collection,
    pub(super) link: Link,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) notifiers: Arc<Notifiers>,
    pub(super) outbox: Arc<Outbox>,
}

type Outcome = Result<WriteEffect, StoreError>;

/// A transaction that is ready to be committed.
struct PendingCommit {
    outcomes: Vec<Outcome>,
    /// The last position that it reserved.
    last: i64,
    now: Timestamp,
}

/// The outcome of a commit whose answer was lost.
enum CommitOutcome {
    Committed,
    /// Nothing of it was written.
    Lost,
    Unknown,
}

impl Lane {
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
            while !batch.is_empty() {
                let part = batch.drain(..fitting(&batch)).collect::<Vec<_>>();
                let outcomes = self.write(&part).await;
                for (request, outcome) in part.into_iter().zip(outcomes) {
                    // A caller that went away does not want to know.
                    let _ = request.reply.send(outcome);
                }
            }
        }
        drop(stop);
    }

    /// One outcome for each request, in order.
    async fn write(&self, batch: &[Request]) -> Vec<Outcome> {
        match self.transact(batch).await {
            Ok(outcomes) => self.announce(outcomes),
            // A write that the database does not take must not fail the good ones beside it.
            Err(fault) if batch.len() > 1 && fault.concerns_one() => {
                let mut outcomes = Vec::with_capacity(batch.len());
                for request in batch {
                    let alone = std::slice::from_ref(request);
                    match self.transact(alone).await {
                        Ok(done) => outcomes.extend(self.announce(done)),
                        Err(fault) => outcomes.push(Err(fault.into())),
                    }
                }
                outcomes
            }
            Err(fault) => fail(fault, batch.len()),
        }
    }

    fn announce(&self, outcomes: Vec<Outcome>) -> Vec<Outcome> {
        if outcomes.iter().flatten().any(WriteEffect::changed) {
            self.notifiers.bump(self.collection);
            self.outbox.put(self.collection);
        }
        outcomes
    }

    /// All of the batch in one transaction; `Err`: nothing of it was written, or the fault says that this is unknown.
    async fn transact(&self, batch: &[Request]) -> Result<Vec<Outcome>, Fault> {
        let mut tries = RetryDeadline::for_at_most(self.link.retry_for);
        loop {
            match self.attempt(batch).await {
                Err(fault) if tries.again(&fault).await => {}
                outcome => return outcome,
            }
        }
    }

    async fn attempt(&self, batch: &[Request]) -> Result<Vec<Outcome>, Fault> {
        let mut connection = self.link.acquire().await?;
        let fill = async { Ok(self.fill(&mut connection, batch).await) };
        let filled = match bounded(self.link.call_wait, fill).await.and_then(|filled| filled) {
            Ok(filled) => filled,
            Err(fault) => {
                let lost = fault.is_lost() || {
                    let rollback = sqlx::raw_sql("ROLLBACK").execute(&mut *connection);
                    bounded(self.link.call_wait, rollback).await.is_err()
                };
                if lost {
                    connection.close_on_drop();
                }
                return Err(fault);
            }
        };
        // Of what was refused nothing is written: nobody waits for the disk, and no position is used up.
        let refused = filled.outcomes.iter().all(Result::is_err);
        let end = sqlx::raw_sql(if refused { "ROLLBACK" } else { "COMMIT" }).execute(&mut *connection);
        let Err(fault) = bounded(self.link.call_wait, end).await else { return Ok(filled.outcomes) };
        connection.close_on_drop();
        drop(connection);
        match self.fate(&filled).await {
            CommitOutcome::Committed => Ok(filled.outcomes),
            CommitOutcome::Lost => Err(fault),
            CommitOutcome::Unknown => Err(Fault::Unknown(Box::new(fault))),
        }
    }

    async fn fill(&self, connection: &mut PgConnection, batch: &[Request]) -> Result<PendingCommit, Fault> {
        // The lock orders us, so each statement must see what was committed before it.
        sqlx::raw_sql("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").execute(&mut *connection).await?;
        let needed: i64 = batch.iter().map(|request| request.op.positions()).sum();
        let row = sqlx::query(
            "INSERT INTO counters AS counter (collection, seq) VALUES ($1, $2)
             ON CONFLICT (collection) DO UPDATE SET seq = counter.seq + $2
             RETURNING seq, coalesce($3::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now",
        )
        .bind(self.collection.name())
        .bind(needed)
        .bind(self.link.fixed_now())
        .fetch_one(&mut *connection)
        .await?;
        let last: i64 = row.try_get("seq")?;
        let now = Timestamp::from_millis(row.try_get("now")?);
        let mut work = Work { connection, collection: self.collection, seq: last - needed, now };
        let outcomes = match run_together(&mut work, batch).await? {
            Some(outcomes) => outcomes,
            None => run_all(&mut work, batch).await?,
        };
        Ok(PendingCommit { outcomes, last, now })
    }

    /// Waits for our own transaction to be over, for it holds the counter, and looks for what it wrote.
    async fn fate(&self, filled: &PendingCommit) -> CommitOutcome {
        const SQL: &str =
            "WITH counter AS MATERIALIZED (SELECT seq FROM counters WHERE collection = $1 FOR UPDATE)
            SELECT seq FROM counter";
        const EVIDENCE: &str = "SELECT FROM documents JOIN unnest($2::text[], $3::bigint[]) AS mine(id, seq)
                ON documents.id = mine.id AND documents.seq = mine.seq
             WHERE documents.collection = $1 AND documents.written = $4 LIMIT 1";
        let name = self.collection.name();
        let (ids, seqs): (Vec<String>, Vec<i64>) =
            filled.outcomes.iter().flatten().filter_map(|done| done.mark.clone()).unzip();
        if ids.is_empty() {
            return CommitOutcome::Lost;
        }
        let Ok(rows) = self.link.rows(|_| sqlx::query(SQL).bind(name)).await else {
            return CommitOutcome::Unknown;
        };
        let seq: i64 = rows.first().and_then(|row| row.try_get(0).ok()).unwrap_or(0);
        if seq < filled.last {
            return CommitOutcome::Lost;
        }
        let make = |_| {
            let written = filled.now.millis();
            sqlx::query(EVIDENCE).bind(name).bind(ids.clone()).bind(seqs.clone()).bind(written)
        };
        match self.link.rows(make).await {
            Ok(rows) if !rows.is_empty() => CommitOutcome::Committed,
            // Others have written since: over what we wrote, or because we did not.
            Ok(_) | Err(_) => CommitOutcome::Unknown,
        }
    }
}

/// How many of the first requests go into one transaction.
fn fitting(batch: &[Request]) -> usize {
    let mut bytes = 0;
    let more = batch.iter().skip(1).take_while(|request| {
        bytes += request.op.size();
        bytes + batch[0].op.size() <= BATCH_BYTES
    });
    1 + more.count()
}

/// One after the other.
async fn run_all(work: &mut Work<'_>, batch: &[Request]) -> Result<Vec<Outcome>, Fault> {
    let mut outcomes = Vec::with_capacity(batch.len());
    for request in batch {
        outcomes.push(run(work, &request.op).await?);
    }
    Ok(outcomes)
}

/// One write, whole or not at all, without harm to its neighbours.
async fn run(work: &mut Work<'_>, op: &Op) -> Result<Outcome, Fault> {
    // Only of many drafts may some be written before one is refused.
    let several = matches!(op, Op::Create(drafts) if drafts.len() > 1);
    if several {
        sqlx::raw_sql("SAVEPOINT op").execute(&mut *work.connection).await?;
    }
    match work.run(op).await {
        Ok(done) => {
            if several {
                sqlx::raw_sql("RELEASE op").execute(&mut *work.connection).await?;
            }
            Ok(Ok(done))
        }
        Err(Failure::Refused(error)) => {
            if several {
                sqlx::raw_sql("ROLLBACK TO op").execute(&mut *work.connection).await?;
            }
            Ok(Err(error))
        }
        Err(Failure::Fault(fault)) => Err(fault),
    }
}

fn fail(fault: Fault, count: usize) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(count);
    for _ in 1..count {
        outcomes.push(Err(match &fault {
            Fault::Database(sqlx::Error::PoolClosed) => StoreError::Closed,
            fault if fault.is_full() => StoreError::Full,
            fault => StoreError::Unavailable(chain(fault).to_string().into()),
        }));
    }
    outcomes.push(Err(fault.into()));
    outcomes
}
