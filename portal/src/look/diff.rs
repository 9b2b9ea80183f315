//! Two texts, line by line: the shortest way from one to the other (Myers, "An O(ND) Difference Algorithm and Its
//! Variations"), bounded in work.

use web::DiffRow;

/// Equal lines around a difference.
const AROUND: usize = 3;
/// Lines that are removed and added, at most; beyond, all of the middle counts as changed.
const MOST_EDITS: usize = 1_000;
/// Rows of an answer.
const MOST_ROWS: usize = 4_000;

#[derive(Clone, Copy)]
enum Edit {
    Same(usize, usize),
    Removed(usize),
    Added(usize),
}

/// Rows of the comparison, none when nothing differs, and whether rows are left out.
pub(crate) fn diff(before: &[String], after: &[String]) -> (Vec<DiffRow>, bool) {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (a, b) = (&before[start..], &after[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    if a.is_empty() && b.is_empty() {
        return (Vec::new(), false);
    }
    let middle = shortest(a, b)
        .unwrap_or_else(|| (0..a.len()).map(Edit::Removed).chain((0..b.len()).map(Edit::Added)).collect());
    let shift = |edit| match edit {
        Edit::Same(i, j) => Edit::Same(i + start, j + start),
        Edit::Removed(i) => Edit::Removed(i + start),
        Edit::Added(j) => Edit::Added(j + start),
    };
    let tail = (before.len() - end..before.len()).zip(after.len() - end..after.len());
    let edits: Vec<Edit> = (0..start)
        .map(|i| Edit::Same(i, i))
        .chain(middle.into_iter().map(shift))
        .chain(tail.map(|(i, j)| Edit::Same(i, j)))
        .collect();
    let mut rows = rows(&edits, before, after);
    let cut = rows.len() > MOST_ROWS;
    rows.truncate(MOST_ROWS);
    (rows, cut)
}

/// The edits of a shortest script; `None` when it is too long.
fn shortest(a: &[String], b: &[String]) -> Option<Vec<Edit>> {
    let most = (a.len() + b.len()).min(MOST_EDITS);
    // Diagonals x - y = k stand at k + middle; each holds how far into `a` it is reached.
    let middle = most + 1;
    let mut reached = vec![0_usize; 2 * middle + 1];
    // Before each step: the diagonals -d-1 to d+1.
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for d in 0..=most {
        trace.push(reached[middle - d - 1..=middle + d + 1].to_vec());
        for k in (middle - d..=middle + d).step_by(2) {
            let down = k == middle - d || (k != middle + d && reached[k - 1] < reached[k + 1]);
            let mut x = if down { reached[k + 1] } else { reached[k - 1] + 1 };
            let mut y = x + middle - k;
            while x < a.len() && y < b.len() && a[x] == b[y] {
                (x, y) = (x + 1, y + 1);
            }
            reached[k] = x;
            if x >= a.len() && y >= b.len() {
                return Some(walk_back(&trace, a.len(), b.len()));
            }
        }
    }
    None
}

/// From the end to the start, step by step.
fn walk_back(trace: &[Vec<usize>], mut x: usize, mut y: usize) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (d, reached) in trace.iter().enumerate().rev() {
        // Diagonal k stands at k + d + 1 here.
        let k = x + d + 1 - y;
        let down = k == 1 || (k != 2 * d + 1 && reached[k - 1] < reached[k + 1]);
        let from = if down { k + 1 } else { k - 1 };
        let (before_x, before_y) =
            if d == 0 { (0, 0) } else { (reached[from], reached[from] + d + 1 - from) };
        while x > before_x && y > before_y {
            (x, y) = (x - 1, y - 1);
            edits.push(Edit::Same(x, y));
        }
        if d > 0 {
            edits.push(if down { Edit::Added(before_y) } else { Edit::Removed(before_x) });
        }
        (x, y) = (before_x, before_y);
    }
    edits.reverse();
    edits
}

/// Removed and added lines beside each other, equal ones folded.
fn rows(edits: &[Edit], before: &[String], after: &[String]) -> Vec<DiffRow> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < edits.len() {
        let same = edits[at..].iter().take_while(|edit| matches!(edit, Edit::Same(..))).count();
        if same > 0 {
            let (first, last) = (at == 0, at + same == edits.len());
            let (head, tail) = (if first { 0 } else { AROUND }, if last { 0 } else { AROUND });
            for (n, edit) in edits[at..at + same].iter().enumerate() {
                let Edit::Same(i, j) = *edit else { continue };
                if n < head || n + tail >= same {
                    rows.push(DiffRow::Same(i + 1, j + 1, before[i].clone()));
                } else if n == head {
                    rows.push(DiffRow::Gap(same.saturating_sub(head + tail)));
                }
            }
            at += same;
        }
        let changed = edits[at..].iter().take_while(|edit| !matches!(edit, Edit::Same(..))).count();
        let part = &edits[at..at + changed];
        let removed: Vec<usize> =
            part.iter().filter_map(|e| if let Edit::Removed(i) = e { Some(*i) } else { None }).collect();
        let added: Vec<usize> =
            part.iter().filter_map(|e| if let Edit::Added(j) = e { Some(*j) } else { None }).collect();
        for n in 0..removed.len().max(added.len()) {
            rows.push(match (removed.get(n), added.get(n)) {
                (Some(&i), Some(&j)) => DiffRow::Changed(i + 1, before[i].clone(), j + 1, after[j].clone()),
                (Some(&i), None) => DiffRow::Removed(i + 1, before[i].clone()),
                (None, Some(&j)) => DiffRow::Added(j + 1, after[j].clone()),
                (None, None) => continue,
            });
        }
        at += changed;
    }
    rows
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
        let edits = shortest(before, after).expect("short enough");
        let mut out = Vec::new();
        let mut next = 0;
        for edit in edits {
            match edit {
                Edit::Same(i, j) => {
                    assert_eq!((i, &before[i]), (next, &after[j]));
                    next += 1;
                    out.push(before[i].clone());
                }
                Edit::Removed(i) => {
                    assert_eq!(i, next);
                    next += 1;
                }
                Edit::Added(j) => out.push(after[j].clone()),
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

    proptest! {
        #[test]
        fn the_script_leads_from_one_to_the_other(before in "[abc ]{0,40}", after in "[abc ]{0,40}") {
            let (before, after) = (lines(&before), lines(&after));
            let _ = diff(&before, &after);
            prop_assert_eq!(apply(&before, &after), after);
        }
    }
}
