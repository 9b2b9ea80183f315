//! One module a version, oldest first: what it changes of the one before it.
//!
//! A new version is a new module with a function `after`, and a line in [`all`]; `docs/guides/api-versions.md` has the
//! steps.

mod v2019_12_31_preview;
mod v2020_04_30;
mod v2021_09_01_preview;
mod v2022_04_01;
mod v2022_09_04;
mod v2023_04_01;
mod v2023_07_01_preview;
mod v2023_09_04;
mod v2023_11_22;
mod v2024_08_12_preview;
mod v2025_07_25;

use crate::version::Version;

/// Every version, oldest first.
pub(crate) fn all() -> Vec<Version> {
    let mut all = vec![v2019_12_31_preview::first()];
    let later: [fn(&Version) -> Version; 10] = [
        v2020_04_30::after,
        v2021_09_01_preview::after,
        v2022_04_01::after,
        v2022_09_04::after,
        v2023_04_01::after,
        v2023_07_01_preview::after,
        v2023_09_04::after,
        v2023_11_22::after,
        v2024_08_12_preview::after,
        v2025_07_25::after,
    ];
    for after in later {
        if let Some(newest) = all.last() {
            all.push(after(newest));
        }
    }
    all
}

/// What the first version shows of a cluster; `admin` begins with it too.
pub(crate) fn first_members() -> crate::schema::Members {
    v2019_12_31_preview::members()
}

/// Values of a switch.
pub(crate) const SWITCH: &[&str] = &["Disabled", "Enabled"];
