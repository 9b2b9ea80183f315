//! What commands say.

/// A line of a command's answer.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
