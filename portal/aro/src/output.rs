//! Output of the commands.

/// Prints JSON, which may hold text from outside, to standard output.
pub(crate) fn print_json(json: String) {
    print_line(&rp_base::text::terminal_json(json));
}

/// Prints one line of a command's result to standard output.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(crate) fn print_line(line: &str) {
    println!("{line}");
}
