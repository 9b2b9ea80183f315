//! The one writer of standard output for the commands that need no portal.

use std::io::{self, Write};

/// Prints JSON, which may hold text from outside, and a newline.
///
/// # Errors
/// As [`print_text`].
pub(crate) fn print_json(json: String) -> io::Result<()> {
    print_line(&rp_base::text::terminal_json(json))
}

/// Prints a text and a newline.
///
/// # Errors
/// As [`print_text`].
pub fn print_line(line: &str) -> io::Result<()> {
    print_text(&format!("{line}\n"))
}

/// Prints a text as it is.
///
/// # Errors
/// Standard output cannot be written, for example because the disk is full. A reader that has gone (`aro … | head`) is no
/// error: it wanted no more.
pub fn print_text(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())
}

/// Prints bytes as they are.
///
/// # Errors
/// As [`print_text`].
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    written(&mut io::stdout().lock(), bytes).map(drop)
}

/// Prints a text as it is; `false`: the reader has gone, and a long answer can stop.
///
/// # Errors
/// As [`print_text`].
pub(crate) fn print_part(text: &str) -> io::Result<bool> {
    written(&mut io::stdout().lock(), text.as_bytes())
}

/// Whether there is still a reader.
fn written(out: &mut impl Write, bytes: &[u8]) -> io::Result<bool> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error_and_a_full_disk_is_one() {
        assert!(written(&mut Vec::new(), b"x").unwrap());
        assert!(!written(&mut Failing(io::ErrorKind::BrokenPipe), b"x").unwrap());
        assert!(written(&mut Failing(io::ErrorKind::StorageFull), b"x").is_err());
    }
}
