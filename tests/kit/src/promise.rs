//! Promises about time that people rely on, such as a revocation that ends what runs within a second.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// What was timed in a round, and how long it took.
pub type Times = Vec<(String, Duration)>;

const ROUNDS: usize = 8;
/// Other programs have the machine too, in bursts that last as long as a round.
const LATE: usize = 1;

/// Holds `what` to its time: in seven of eight rounds everything that a round timed took less than `within`.
///
/// # Errors
/// A second round was late, with what each part of it took; a round failed, or timed nothing.
pub async fn promised(
    what: &str,
    within: Duration,
    mut round: impl AsyncFnMut(usize) -> Result<Times>,
) -> Result<()> {
    let mut late = String::new();
    let mut count = 0;
    for number in 0..ROUNDS {
        let times = round(number).await.with_context(|| format!("{what}: round {number}"))?;
        ensure!(!times.is_empty(), "{what}: round {number} timed nothing");
        if times.iter().any(|(_, took)| *took >= within) {
            count += 1;
            write!(late, "\nround {number}: {times:?}")?;
        }
        ensure!(count <= LATE, "{what}: not within {within:?}, {count} rounds of {}:{late}", number + 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_secs(1);

    async fn with_late_rounds(slow: &[usize]) -> (Result<()>, usize) {
        let mut rounds = 0;
        let ended = promised("a test", WITHIN, async |number| {
            rounds += 1;
            let took = if slow.contains(&number) { WITHIN } else { WITHIN / 2 };
            Ok(vec![("quick".to_owned(), Duration::ZERO), ("measured".to_owned(), took)])
        });
        let ended = ended.await;
        (ended, rounds)
    }

    #[tokio::test]
    async fn one_late_round_of_eight_is_borne_and_a_second_is_not() {
        for slow in [&[][..], &[0], &[7]] {
            let (ended, rounds) = with_late_rounds(slow).await;
            assert!(ended.is_ok(), "{slow:?}: {ended:?}");
            assert_eq!(rounds, ROUNDS);
        }
        let (ended, rounds) = with_late_rounds(&[1, 4]).await;
        let said = ended.map_err(|error| error.to_string()).unwrap_err();
        assert!(said.contains("round 1") && said.contains("round 4") && said.contains("measured"), "{said}");
        assert_eq!(rounds, 5, "the second late round decides");
    }

    #[tokio::test]
    async fn a_round_that_times_nothing_is_no_proof() {
        assert!(promised("a test", WITHIN, async |_| Ok(Vec::new())).await.is_err());
    }
}
