//! Deterministic pseudo-random numbers (SplitMix64, Steele, Lea and Flood 2014).

/// A stream of numbers of a seed.
#[derive(Debug, Clone)]
pub struct Dice(u64);

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// FNV-1a: a name for a part, as a number.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Dice {
    /// The stream of a seed and a number.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut dice = Self(seed.wrapping_add(number.wrapping_mul(GOLDEN)));
        // Neighbouring numbers must not give neighbouring streams.
        Self(dice.next() ^ number.rotate_left(32))
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 when `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let number = self.next() >> 16;
        usize::try_from(number).unwrap_or(0).checked_rem(limit).unwrap_or(0)
    }

    /// Letters and digits as generated names have them: no vowels, nothing that looks alike.
    pub fn letters(&mut self, count: usize) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..count).map(|_| char::from(LETTERS[self.below(LETTERS.len())])).collect()
    }

    /// A version-4 UUID, lower case.
    pub fn uuid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | (b >> 48) & 0x3fff,
            b & 0xffff_ffff_ffff
        )
    }
}
