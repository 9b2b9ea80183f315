//! A process that writes is killed at any moment: what was answered is there, pairs are whole.
//!
//! The test starts its own binary again as the process that writes and dies.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use rp_database::{Expect, PostgresOptions, PostgresStore, Store as _, Version};

use crate::server::database;
use crate::{ANY, draft};

const URL: &str = "STORE_KILL_TEST_URL";
const ROUND: &str = "STORE_KILL_TEST_ROUND";
const SEED: u64 = 20_261_121;
const ROUNDS: u64 = 4;

/// Not a test by itself: without the variable it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_until_killed() {
    let (Ok(url), Ok(round)) = (std::env::var(URL), std::env::var(ROUND)) else { return };
    let store = PostgresStore::connect(PostgresOptions::from_url(&url).unwrap()).await.unwrap();
    let writers = (0..8).map(|writer| {
        let (store, round) = (store.clone(), round.clone());
        tokio::spawn(async move {
            for n in 0.. {
                let [a, b] = ["a", "b"].map(|half| format!("{half}-{round}-{writer}-{n}"));
                let pair = store.create_all(ANY, vec![draft(&a), draft(&b)]).await.unwrap();
                tell(&pair[0].id, pair[0].version);
                let again = store.replace(ANY, draft(&a), Expect::Version(pair[0].version)).await.unwrap();
                tell(&again.id, again.version);
            }
        })
    });
    futures_util::future::join_all(writers).await;
}

fn tell(id: &str, Version(version): Version) {
    // One write, so that lines of several writers do not mix. The reader may be gone first.
    let _ = std::io::stdout().lock().write_all(format!("\nacknowledged {id} {version}\n").as_bytes());
}

fn start(url: &str, round: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writes_until_killed", "--nocapture"])
        .env(URL, url)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// SplitMix64: the same moments in every run.
fn moment(round: u64) -> u64 {
    let mut z = SEED.wrapping_add((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Reads what the child acknowledges, kills it in the middle.
fn until_killed(url: &str, round: u64) -> BTreeMap<String, i64> {
    let mut acknowledged: BTreeMap<String, i64> = BTreeMap::new();
    let mut child = start(url, round);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut left = 1 + moment(round) % 300;
    while let Some(Ok(line)) = lines.next() {
        let Some(rest) = line.strip_prefix("acknowledged ") else { continue };
        // The last line may be cut in its middle.
        let Some((id, Ok(version))) = rest.split_once(' ').map(|(id, v)| (id, v.parse::<i64>())) else {
            continue;
        };
        if left > 0 {
            let last = acknowledged.entry(id.to_owned()).or_default();
            *last = version.max(*last);
            left -= 1;
            if left == 0 {
                // SIGKILL; the lines still in the pipe are not needed.
                child.kill().unwrap();
            }
        }
    }
    let status = child.wait().unwrap();
    assert!(
        !status.success() && left == 0,
        "round {round}: the writer ended by itself, {left} left: {status}"
    );
    acknowledged
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_killed_writer() {
    let database = database().await;
    let store = database.store().await;
    let url = database.url(database.server.port());
    for round in 0..ROUNDS {
        let acknowledged = until_killed(&url, round);
        for (id, version) in &acknowledged {
            let found = store.get(ANY, id).await.unwrap();
            let found = found.unwrap_or_else(|| panic!("seed {SEED}, round {round}: {id} is gone"));
            assert!(
                found.version.0 >= *version,
                "seed {SEED}, round {round}: {id} is older than acknowledged"
            );
        }
        // The dead writer's transaction is over, so the counter can be had.
        store.ready().await.unwrap();
        store.create(ANY, draft(&format!("a-{round}-after"))).await.unwrap();
        store.create(ANY, draft(&format!("b-{round}-after"))).await.unwrap();
    }
    let mut ids = Vec::new();
    let mut from = None;
    loop {
        let page = store.list(ANY, None, from.as_deref(), 1000).await.unwrap();
        ids.extend(page.items.into_iter().map(|item| item.id));
        from = page.continuation;
        if from.is_none() {
            break;
        }
    }
    let (a, b): (Vec<_>, Vec<_>) = ids.iter().partition(|id| id.starts_with("a-"));
    let names = |ids: Vec<&String>| ids.into_iter().map(|id| id[2..].to_owned()).collect::<Vec<_>>();
    assert_eq!(names(a), names(b), "seed {SEED}: half of a pair");
    store.close().await;
}
