//! The table of a run, on standard output and in its place in `docs/performance.md`.

use tests_kit::report::ReportPlace;

pub(crate) use tests_kit::report::{ReportTable as Report, number, progress};

/// Where the table stands in the document.
pub(crate) const PLACE: ReportPlace = ReportPlace { program: "endurance", name: "hours" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_a_place() {
        PLACE.replaced(include_str!("../../../docs/performance.md"), "").unwrap();
    }
}
