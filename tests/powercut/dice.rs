//! A seeded random generator: the same sequence in every run.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than that.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        let most = u64::try_from(most.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % most).unwrap_or(0)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn hits(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
