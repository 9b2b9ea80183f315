//! Output of the commands.

/// Prints one line of a command's result to standard output.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(crate) fn print_line(line: &str) {
    println!("{line}");
}
