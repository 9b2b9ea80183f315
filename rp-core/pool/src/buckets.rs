//! A set of buckets.

use std::fmt;

use rp_documents::BUCKETS;

/// Which of the 256 buckets: 32 bytes, copied freely.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Buckets([u64; BUCKETS / 64]);

impl Buckets {
    /// None.
    pub const fn none() -> Self {
        Self([0; BUCKETS / 64])
    }

    /// All buckets, for a process by itself.
    pub const fn all() -> Self {
        Self([u64::MAX; BUCKETS / 64])
    }

    /// The buckets of `owner` in an allocation of the contract.
    pub fn owned_by(allocation: &[String], owner: &str) -> Self {
        let mut own = Self::none();
        for (bucket, _) in (0..=u8::MAX).zip(allocation).filter(|(_, name)| *name == owner) {
            own.insert(bucket);
        }
        own
    }

    /// Adds a bucket.
    pub fn insert(&mut self, bucket: u8) {
        self.0[usize::from(bucket / 64)] |= 1 << (bucket % 64);
    }

    /// Whether a bucket is in it.
    pub const fn contains(&self, bucket: u8) -> bool {
        self.0[bucket as usize / 64] & 1 << (bucket % 64) != 0
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).filter(|bucket| self.contains(*bucket))
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
