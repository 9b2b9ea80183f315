//! Which server takes writes, and what happens when another one takes over.
//!
//! A promoted standby begins a new timeline. When it had not received everything that the old primary had answered
//! (asynchronous replication), its counters stand lower than what followers have seen: positions and versions would be
//! given a second time. So the first process that sees a timeline makes every counter jump, before anything is written.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, Row as _};
use tokio::sync::watch;
use tokio::time::timeout;

use super::fault::Fault;
use super::options::PostgresOptions;

/// Far more positions than a primary gives before its standby hears of them.
const JUMP: i64 = 1 << 24;
/// For one server to say what it is, when others could take its place.
const PROBE: Duration = Duration::from_secs(1);

/// The servers that the address names. A cheap clone.
#[derive(Debug, Clone)]
pub(super) struct Servers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    addresses: Vec<PgConnectOptions>,
    connect_wait: Duration,
    state: Mutex<State>,
    /// The term, for tasks that wait for another server.
    switched: watch::Sender<u64>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    current: usize,
    /// Grows when another server is used.
    term: u64,
    /// The last timeline that was seen.
    timeline: Option<i64>,
}

/// What a server is.
struct Role {
    standby: bool,
    timeline: Option<i64>,
}

impl Servers {
    pub(super) fn new(options: &PostgresOptions) -> Self {
        let addresses = options.addresses.iter().map(|address| options.session(address)).collect();
        let state = Mutex::new(State { current: 0, term: 0, timeline: None });
        let switched = watch::Sender::new(0);
        Self(Arc::new(Inner { addresses, connect_wait: options.connect_wait, state, switched }))
    }

    /// The server in use, and how often it was another one.
    pub(super) fn current(&self) -> (u64, PgConnectOptions) {
        let state = *self.0.state.lock();
        (state.term, self.0.addresses[state.current].clone())
    }

    pub(super) fn term(&self) -> u64 {
        self.0.state.lock().term
    }

    /// Wakes when another server is used.
    pub(super) fn switched(&self) -> watch::Receiver<u64> {
        self.0.switched.subscribe()
    }

    /// How long a good server takes at most to say what it is; `None`: there is no other to ask.
    pub(super) fn patience(&self) -> Option<Duration> {
        (self.0.addresses.len() > 1).then_some(PROBE)
    }

    /// Asks all servers at once, and uses the one that takes writes; of several, the one of the latest timeline: an
    /// old primary may have come back. When none does, everything stays as it is.
    pub(super) async fn seek(&self) {
        if self.0.addresses.len() == 1 {
            return;
        }
        let asked = self.0.addresses.iter().map(|address| async move {
            timeout(PROBE.min(self.0.connect_wait), probe(address)).await.ok()?.ok()
        });
        let roles = join_all(asked).await;
        let primaries = roles.into_iter().enumerate().filter_map(|(at, role)| {
            let role = role.filter(|role| !role.standby)?;
            Some((role.timeline?, at))
        });
        // Of equal ones the first.
        let Some((timeline, at)) = primaries.max_by_key(|(timeline, at)| (*timeline, usize::MAX - at)) else {
            return;
        };
        let mut state = self.0.state.lock();
        if state.current != at && state.timeline.is_none_or(|seen| seen <= timeline) {
            state.current = at;
            state.term += 1;
            self.0.switched.send_replace(state.term);
            let address = &self.0.addresses[at];
            tracing::warn!(
                host = address.get_host(),
                port = address.get_port(),
                "another server takes writes"
            );
        }
    }

    /// Refuses a server that must not be used, and prepares one that is new: called for each connection.
    pub(super) async fn admit(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let role = role(connection).await?;
        if role.standby {
            return Err(refused("the server is a standby"));
        }
        let seen = self.0.state.lock().timeline;
        match (role.timeline, seen) {
            (Some(timeline), Some(seen)) if timeline < seen && self.0.addresses.len() > 1 => {
                Err(refused("the server is behind another one that has taken its place"))
            }
            (Some(timeline), seen) if seen != Some(timeline) => {
                meet(connection, timeline).await?;
                self.0.state.lock().timeline = Some(timeline);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn refused(why: &'static str) -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::other(why))
}

async fn probe(address: &PgConnectOptions) -> Result<Role, Fault> {
    let mut connection = address.clone().application_name("aro probe").connect().await?;
    let role = role(&mut connection).await?;
    // The answer was read already.
    let _ = connection.close().await;
    Ok(role)
}

/// The first eight digits of a WAL file's name are the timeline; a standby has no such name to tell. What was answered
/// must be on the disk, whatever the server's default is; stronger settings (waiting for standbys) stay.
async fn role(connection: &mut PgConnection) -> Result<Role, sqlx::Error> {
    let row = sqlx::query(
        "SELECT pg_is_in_recovery() AS standby,
            CASE WHEN NOT pg_is_in_recovery() THEN
                ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END AS timeline
         FROM (SELECT CASE current_setting('synchronous_commit')
            WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END) AS durable",
    )
    .fetch_one(connection)
    .await?;
    Ok(Role { standby: row.try_get("standby")?, timeline: row.try_get("timeline")? })
}

/// The counters jump once for each timeline; the first process does it.
async fn meet(connection: &mut PgConnection, timeline: i64) -> Result<(), sqlx::Error> {
    sqlx::query(
        "WITH first AS (INSERT INTO timelines (timeline) VALUES ($1) ON CONFLICT DO NOTHING RETURNING timeline)
         UPDATE counters SET seq = seq + $2 WHERE EXISTS (SELECT FROM first)",
    )
    .bind(timeline)
    .bind(JUMP)
    .execute(connection)
    .await?;
    Ok(())
}
