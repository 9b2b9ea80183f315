//! When something was broken on purpose: what fails then was to be expected.

use std::time::Instant;

use parking_lot::Mutex;

/// The faults so far, each from its begin until all parts had recovered from it.
#[derive(Debug, Default)]
pub(crate) struct FaultWindows(Mutex<Vec<Window>>);

#[derive(Debug, Clone, Copy)]
struct Window {
    begin: Instant,
    /// `None`: it lasts.
    end: Option<Instant>,
}

impl FaultWindows {
    /// A fault begins now.
    pub(crate) fn open(&self) {
        self.0.lock().push(Window { begin: Instant::now(), end: None });
    }

    /// All parts have recovered from the last one.
    pub(crate) fn close(&self) {
        if let Some(window) = self.0.lock().last_mut() {
            window.end = Some(Instant::now());
        }
    }

    /// Whether a fault lasted at any instant between these two.
    pub(crate) fn touches(&self, from: Instant, to: Instant) -> bool {
        let apart = |window: &Window| window.begin > to || window.end.is_some_and(|end| end < from);
        !self.0.lock().iter().all(apart)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_overlaps_a_fault_touches_it_and_nothing_else_does() {
        let zero = Instant::now();
        let at = |second| zero + Duration::from_secs(second);
        let window = |begin, end: Option<u64>| Window { begin: at(begin), end: end.map(at) };
        let windows = FaultWindows(Mutex::new(vec![window(10, Some(20)), window(50, None)]));
        for (from, to, touches) in
            [(0, 9, false), (0, 10, true), (15, 16, true), (20, 30, true), (21, 49, false), (60, 61, true)]
        {
            assert_eq!(windows.touches(at(from), at(to)), touches, "{from} to {to}");
        }
        let windows = FaultWindows::default();
        assert!(!windows.touches(zero, at(99)));
        windows.open();
        assert!(windows.touches(at(98), at(99)));
        windows.close();
        assert!(!windows.touches(at(98), at(99)) && windows.touches(zero, at(99)));
    }
}
