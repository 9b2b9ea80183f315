//! A process that writes until it is killed, and who kills it: the same for every store.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use rp_database::{Draft, Expect, Store, Version};
use rp_documents::Collection;

/// Of the moments of death.
pub(crate) const SEED: u64 = 20_261_121;
/// Tells the writing process its round.
pub(crate) const ROUND: &str = "STORE_KILL_TEST_ROUND";

/// Writes pairs and new versions of their first halves, and tells what was acknowledged.
pub(crate) async fn write<S: Store + Clone>(
    store: S,
    any: Collection,
    draft: fn(&str) -> Draft,
    round: &str,
) {
    let writers = (0..8).map(|writer| {
        let (store, round) = (store.clone(), round.to_owned());
        tokio::spawn(async move {
            for n in 0.. {
                let [a, b] = ["a", "b"].map(|half| format!("{half}-{round}-{writer}-{n}"));
                let pair = store.create_all(any, vec![draft(&a), draft(&b)]).await.unwrap();
                tell(&pair[0].id, pair[0].version);
                let again = store.replace(any, draft(&a), Expect::Version(pair[0].version)).await.unwrap();
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

/// Starts this binary again as the writer, by the name of its test and a variable that says where; reads what it
/// acknowledges, and kills it after 1 to `most` of them.
pub(crate) fn until_killed(
    test: &str,
    variable: (&str, &str),
    most: u64,
    round: u64,
) -> BTreeMap<String, i64> {
    let mut acknowledged: BTreeMap<String, i64> = BTreeMap::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(variable.0, variable.1)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut left = 1 + moment(round) % most;
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

/// SplitMix64: the same moments in every run.
fn moment(round: u64) -> u64 {
    let mut z = SEED.wrapping_add((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
