//! Realistic cluster names.

const WORDS: [&str; 48] = [
    "harbor", "quarry", "thistle", "gannet", "moss", "lantern", "ferry", "cobalt", "juniper", "meridian",
    "otter", "saffron", "tundra", "willow", "basalt", "cedar", "delta", "ember", "fjord", "granite", "heron",
    "indigo", "jasper", "kestrel", "lagoon", "maple", "nimbus", "onyx", "pollen", "quartz", "raven", "slate",
    "tamarind", "umber", "velvet", "walnut", "yarrow", "zephyr", "anchor", "birch", "clover", "drift",
    "falcon", "glacier", "hazel", "iris", "larch", "marble",
];
const PURPOSES: [&str; 10] =
    ["prod", "batch", "api", "hr", "legacy-prod", "shop", "ml", "stage", "payments", "edge"];
/// First halves of resource groups.
pub(super) const GROUPS: [&str; 12] = [
    "rg-platform",
    "rg-retail",
    "rg-claims",
    "rg-logistics",
    "rg-data",
    "rg-mobile",
    "rg-finance",
    "rg-core",
    "rg-research",
    "rg-web",
    "rg-iot",
    "rg-identity",
];
/// Second halves.
pub(super) const STAGES: [&str; 4] = ["prod", "stage", "dev", "dr"];

/// Word, purpose and number of a cluster's name: no two indexes share all three.
pub(super) fn name(seed: u64, index: usize) -> (&'static str, &'static str, usize) {
    let all = WORDS.len() * PURPOSES.len();
    let shift = usize::try_from(seed % 480).unwrap_or(0);
    // 133 and 480 have no common divisor: a permutation.
    let mixed = (index % all * 133 + shift) % all;
    (WORDS[mixed % WORDS.len()], PURPOSES[mixed / WORDS.len()], index / all + 1)
}
