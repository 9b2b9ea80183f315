//! Memory as the kernel sees it: sizes by kind of mapping, in plain text. What a heap profile does not know of
//! is here too: stacks, mapped files, memory that the allocator holds back.

use std::fs;

/// The kernel's sums over all mappings, and the largest of them.
pub(crate) fn page() -> String {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_else(|error| format!("{error}\n"));
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let mut out = "# Sizes by mapping, from /proc/self (proc(5)), in kB.\n\n## All mappings\n".to_owned();
    out.push_str(rollup.split_once('\n').map_or("", |(_, rest)| rest));
    out.push_str("\n## Largest mappings, resident\n");
    for (name, size) in largest(&smaps).into_iter().take(20) {
        out.push_str(&format!("{size:>10} {name}\n"));
    }
    out
}

/// Resident kB by the mapping's name, largest first. Anonymous ones, the heap among them, are `[anonymous]`.
fn largest(smaps: &str) -> Vec<(String, u64)> {
    let mut sums = std::collections::BTreeMap::<String, u64>::new();
    let mut name = String::new();
    for line in smaps.lines() {
        let first = line.split_ascii_whitespace().next().unwrap_or_default();
        if let Some(size) = line.strip_prefix("Rss:") {
            let size = size.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            *sums.entry(name.clone()).or_default() += size;
        } else if first.contains('-') && !first.ends_with(':') {
            name = line.split_ascii_whitespace().nth(5).unwrap_or("[anonymous]").to_owned();
        }
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up_mappings_of_one_name() {
        let text = "00-10 r--p 0 00:00 1 /bin/aro\nRss:  4 kB\n10-20 rw-p 0 00:00 0\nRss: 100 kB\nVmFlags: rd\n20-30 r-xp 0 00:00 1 /bin/aro\nRss: 8 kB\n";
        assert_eq!(largest(text), [("[anonymous]".to_owned(), 100), ("/bin/aro".to_owned(), 12)]);
        assert!(page().contains("Rss:"));
    }
}
