//! Numbers that a seed repeats.

/// A generator of PCG's multiplier: the same seed gives the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below the limit; 0 when the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }

    /// Puts the items into another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let other = usize::try_from(self.below(at as u64 + 1)).unwrap_or(0);
            items.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_numbers_and_a_shuffle_loses_nothing() {
        let numbers = |seed| {
            let mut dice = Dice::new(seed);
            [dice.below(1000), dice.below(1000), dice.below(1000)]
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        let mut items: Vec<u32> = (0..20).collect();
        Dice::new(3).shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
        assert_eq!(Dice::new(1).below(0), 0);
    }
}
