//! Two texts, line by line, as rows for a page. The comparison is `similar`'s, with its bound on work.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use web::DiffRow;

/// Equal lines around a difference.
const AROUND: usize = 3;
/// From here on what is left to compare counts as changed: only texts that are made for it take so long.
const LONGEST: Duration = Duration::from_millis(50);
/// Rows of an answer.
const MOST_ROWS: usize = 4_000;

/// Rows of the comparison, none when nothing differs, and whether rows are left out.
pub fn diff(before: &[String], after: &[String]) -> (Vec<DiffRow>, bool) {
    let ops = edits(before, after);
    if ops.iter().all(|op| matches!(op, DiffOp::Equal { .. })) {
        return (Vec::new(), false);
    }
    let mut rows = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        if matches!(op, DiffOp::Equal { .. }) {
            fold(&mut rows, op, before, (at == 0, at + 1 == ops.len()));
        } else {
            beside(&mut rows, op, before, after);
        }
    }
    let cut = rows.len() > MOST_ROWS;
    rows.truncate(MOST_ROWS);
    (rows, cut)
}

fn edits(before: &[String], after: &[String]) -> Vec<DiffOp> {
    capture_diff_slices_deadline(Algorithm::Myers, before, after, Some(Instant::now() + LONGEST))
}

/// Equal lines; what is far from any difference becomes a gap. `ends`: nothing comes before or after them.
fn fold(rows: &mut Vec<DiffRow>, op: &DiffOp, before: &[String], ends: (bool, bool)) {
    let same = op.old_range().len();
    let (head, tail) = (if ends.0 { 0 } else { AROUND }, if ends.1 { 0 } else { AROUND });
    for (n, (i, j)) in op.old_range().zip(op.new_range()).enumerate() {
        if n < head || n + tail >= same {
            rows.push(DiffRow::Same(i + 1, j + 1, before[i].clone()));
        } else if n == head {
            rows.push(DiffRow::Gap(same.saturating_sub(head + tail)));
        }
    }
}

/// Removed and added lines beside each other.
fn beside(rows: &mut Vec<DiffRow>, op: &DiffOp, before: &[String], after: &[String]) {
    let (mut removed, mut added) = (op.old_range(), op.new_range());
    loop {
        rows.push(match (removed.next(), added.next()) {
            (Some(i), Some(j)) => DiffRow::Changed(i + 1, before[i].clone(), j + 1, after[j].clone()),
            (Some(i), None) => DiffRow::Removed(i + 1, before[i].clone()),
            (None, Some(j)) => DiffRow::Added(j + 1, after[j].clone()),
            (None, None) => return,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ').filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Applies the edits and gives what comes out.
    fn apply(before: &[String], after: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        let mut next = 0;
        for op in edits(before, after) {
            assert_eq!((op.old_range().start, op.new_range().start), (next, out.len()));
            next = op.old_range().end;
            if matches!(op, DiffOp::Equal { .. }) {
                assert_eq!(before[op.old_range()], after[op.new_range()]);
                out.extend_from_slice(&before[op.old_range()]);
            } else {
                out.extend_from_slice(&after[op.new_range()]);
            }
        }
        assert_eq!(next, before.len());
        out
    }

    #[test]
    fn tells_what_changed_and_folds_the_rest() {
        assert_eq!(diff(&lines("a b"), &lines("a b")), (Vec::new(), false));
        let before = lines("1 2 3 4 5 6 7 8 9 x y");
        let after = lines("1 2 3 4 5 6 7 8 9 z y w");
        let (rows, cut) = diff(&before, &after);
        assert!(!cut);
        assert_eq!(
            rows,
            [
                DiffRow::Gap(6),
                DiffRow::Same(7, 7, "7".into()),
                DiffRow::Same(8, 8, "8".into()),
                DiffRow::Same(9, 9, "9".into()),
                DiffRow::Changed(10, "x".into(), 10, "z".into()),
                DiffRow::Same(11, 11, "y".into()),
                DiffRow::Added(12, "w".into()),
            ]
        );
        assert_eq!(diff(&[], &lines("a")).0, [DiffRow::Added(1, "a".into())]);
        assert_eq!(diff(&lines("a"), &[]).0, [DiffRow::Removed(1, "a".into())]);
    }

    #[test]
    fn what_is_wholly_different_is_bounded() {
        let before: Vec<String> = (0..20_000).map(|n| format!("a{n}")).collect();
        let after: Vec<String> = (0..20_000).map(|n| format!("b{n}")).collect();
        let (rows, cut) = diff(&before, &after);
        assert!(cut && rows.len() == MOST_ROWS);
    }

    #[test]
    fn what_is_made_to_take_long_still_leads_from_one_to_the_other() {
        let words = |from: u32| -> Vec<String> {
            (from..from + 20_000).map(|n| (n.wrapping_mul(2_654_435_761) >> 24).to_string()).collect()
        };
        let (before, after) = (words(0), words(1_000_000));
        assert_eq!(apply(&before, &after), after);
    }

    proptest! {
        #[test]
        fn the_script_leads_from_one_to_the_other(before in "[abc ]{0,40}", after in "[abc ]{0,40}") {
            let (before, after) = (lines(&before), lines(&after));
            let _ = diff(&before, &after);
            prop_assert_eq!(apply(&before, &after), after);
        }
    }
}
