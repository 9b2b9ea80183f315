//! Allocation of buckets: a pure function of the current owners and the live workers (`contract/monitor.md` §3.3 and
//! "Do better" 2: a worker keeps up to the rounded-down share, the remainder goes by rendezvous hashing).

use rp_documents::BUCKETS;

/// The share of a worker: the first `rich` of those with more than the floor keep one more.
struct Share {
    floor: usize,
    /// Number of workers that have one more than the floor.
    rich: usize,
}

/// The next allocation: [`BUCKETS`] names; empty names when there is no live worker. `workers` are
/// the live ones, in any order. Every worker gets its share rounded down, some one more so that all are assigned,
/// and a bucket moves only when its owner is dead or has more than that.
pub fn balance(current: &[String], workers: &[&str]) -> Vec<String> {
    let mut workers = workers.to_vec();
    workers.sort_unstable();
    workers.dedup();
    if workers.is_empty() {
        return vec![String::new(); BUCKETS];
    }
    let share = Share { floor: BUCKETS / workers.len(), rich: BUCKETS % workers.len() };
    let (mut owners, mut counts, mut left) = keep(current, &workers, &share);
    for (bucket, owner) in owners.iter_mut().enumerate().filter(|(_, owner)| owner.is_none()) {
        let poor = counts.iter().any(|count| *count < share.floor);
        let most = if poor { share.floor } else { share.floor + usize::from(left > 0) };
        let next = (0..workers.len())
            .filter(|worker| counts[*worker] < most)
            .max_by_key(|worker| score(bucket, workers[*worker]));
        if let Some(worker) = next {
            counts[worker] += 1;
            left -= usize::from(counts[worker] > share.floor);
            *owner = Some(worker);
        }
    }
    owners
        .into_iter()
        .map(|owner| owner.map_or_else(String::new, |worker| workers[worker].to_owned()))
        .collect()
}

/// The unchanged part: owner of each bucket, buckets of each worker, how many more workers may have one more.
fn keep(current: &[String], workers: &[&str], share: &Share) -> (Vec<Option<usize>>, Vec<usize>, usize) {
    let present = |bucket: usize| {
        let name = current.get(bucket)?;
        workers.binary_search(&name.as_str()).ok()
    };
    let mut has = vec![0usize; workers.len()];
    for worker in (0..BUCKETS).filter_map(present) {
        has[worker] += 1;
    }
    let mut left = share.rich;
    let mut quota = vec![share.floor; workers.len()];
    for worker in 0..workers.len() {
        if has[worker] > share.floor && left > 0 {
            quota[worker] += 1;
            left -= 1;
        }
    }
    let mut counts = vec![0usize; workers.len()];
    let owners = (0..BUCKETS)
        .map(|bucket| {
            let worker = present(bucket).filter(|worker| counts[*worker] < quota[*worker])?;
            counts[worker] += 1;
            Some(worker)
        })
        .collect();
    (owners, counts, left)
}

/// The weight of a worker for a bucket (highest random weight, Thaler and Ravishankar 1998): the same in
/// every process, so that every master assigns alike.
fn score(bucket: usize, worker: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ bucket as u64;
    let sum = worker.bytes().fold(start, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // FNV alone gives similar hashes for neighbouring inputs.
    let mixed = (sum ^ (sum >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// How many buckets have another owner than before.
pub fn moved(before: &[String], after: &[String]) -> usize {
    let none = String::new();
    after.iter().enumerate().filter(|(bucket, owner)| before.get(*bucket).unwrap_or(&none) != *owner).count()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn count(allocation: &[String]) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for owner in allocation {
            *counts.entry(owner.as_str()).or_default() += 1;
        }
        counts
    }

    fn names(ids: &BTreeSet<u16>) -> Vec<String> {
        ids.iter().map(|id| format!("worker-{id}")).collect()
    }

    fn next(current: &[String], workers: &[String]) -> Vec<String> {
        balance(current, &workers.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn as_the_contract_says() {
        assert_eq!(next(&[], &[]), vec![String::new(); 256]);
        let three: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        let first = next(&[], &three);
        let mut counts: Vec<usize> = count(&first).into_values().collect();
        counts.sort_unstable();
        assert_eq!(counts, [85, 85, 86]);
        let two = next(&first, &three[..2]);
        assert_eq!(count(&two), BTreeMap::from([("a", 128), ("b", 128)]));
        assert_eq!(moved(&first, &two), count(&first)["c"]);
    }

    #[test]
    fn a_late_joiner_of_many_gets_its_share() {
        let mut workers: Vec<String> = (0..100).map(|n| format!("worker-{n}")).collect();
        let mut allocation = next(&[], &workers);
        for n in 100..120 {
            workers.push(format!("worker-{n}"));
            allocation = next(&allocation, &workers);
            assert!(count(&allocation)[&*format!("worker-{n}")] >= 256 / workers.len());
        }
    }

    #[test]
    fn more_workers_than_buckets_leave_some_without() {
        let workers: Vec<String> = (0..300).map(|n| format!("worker-{n}")).collect();
        let allocation = next(&[], &workers);
        assert_eq!(count(&allocation).len(), 256);
        assert_eq!(next(&allocation, &workers), allocation);
    }

    proptest! {
        #[test]
        fn every_bucket_has_one_living_owner_and_only_what_must_moves(
            generations in proptest::collection::vec(proptest::collection::btree_set(0u16..400, 1..40), 1..8),
            length in 0usize..300,
            strange in proptest::collection::vec("[a-c]?", 0..300),
        ) {
            // The old allocation may be anything: too short, too long, unknown owners.
            let mut current: Vec<String> = strange;
            current.truncate(length);
            for ids in generations {
                let workers = names(&ids);
                let after = next(&current, &workers);
                prop_assert_eq!(after.len(), BUCKETS);
                let counts = count(&after);
                let floor = BUCKETS / workers.len();
                for worker in &workers {
                    let has = counts.get(worker.as_str()).copied().unwrap_or_default();
                    prop_assert!(has == floor || has == floor + 1, "{worker} has {has} of {floor}");
                }
                prop_assert!(counts.keys().all(|owner| workers.iter().any(|worker| worker == owner)));
                let before: Vec<String> = current.iter().take(BUCKETS).cloned().collect();
                let had = count(&before);
                for (bucket, owner) in before.iter().enumerate().filter(|(bucket, owner)| after[*bucket] != **owner) {
                    let dead = !workers.contains(owner);
                    prop_assert!(dead || had[owner.as_str()] > floor, "bucket {bucket} left {owner} without need");
                }
                // A live worker gives away only its excess.
                for worker in &workers {
                    let left = before.iter().zip(&after).filter(|(a, b)| *a == worker && a != b).count();
                    let has = had.get(worker.as_str()).copied().unwrap_or_default();
                    prop_assert!(left <= has.saturating_sub(floor));
                }
                prop_assert_eq!(&next(&after, &workers), &after, "what is balanced stays");
                current = after;
            }
        }
    }
}
