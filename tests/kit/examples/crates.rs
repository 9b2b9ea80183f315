//! Prints the picture of the crates: `make generated` writes it into `docs/architecture/crates.svg`.

use std::io::Write as _;

fn main() -> anyhow::Result<()> {
    std::io::stdout().write_all(tests_kit::crates_picture()?.as_bytes())?;
    Ok(())
}
