//! Lengths of life that a form offers, shortest first, in seconds.

/// Whether this one is chosen: the posted one, else the second shortest.
pub(crate) fn is_chosen(lives: &[u64], posted: &str, life: u64) -> bool {
    is_chosen_or(lives, posted, lives.get(1).or(lives.first()).copied(), life)
}

/// Whether this one is chosen: the posted one, else the default.
pub(crate) fn is_chosen_or(lives: &[u64], posted: &str, default: Option<u64>, life: u64) -> bool {
    let posted = posted.parse::<u64>().ok().filter(|posted| lives.contains(posted));
    posted.or(default) == Some(life)
}

/// "4 h", and "8 h (maximum)" for the longest of several.
pub(crate) fn words(lives: &[u64], life: u64) -> String {
    let words = crate::when::span(i64::try_from(life).unwrap_or(i64::MAX));
    let most = lives.len() > 1 && lives.last() == Some(&life);
    if most { format!("{words} (maximum)") } else { words }
}
