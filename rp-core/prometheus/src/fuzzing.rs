//! What reads answers as they pass, for `tests/fuzz`. Compiled with `--cfg fuzzing` alone.

use bytes::Bytes;

use crate::scan::{ScanOutput, Scanner};
use crate::unquote::Strings;

/// What passes of an answer in pieces, how many elements it has, and whether it was cut; `None`: it is refused.
pub fn scan<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    most_elements: usize,
) -> Option<(Vec<u8>, usize, bool)> {
    let (mut scanner, mut out) = (Scanner::new(most_elements, 1 << 20, None), Vec::new());
    for piece in pieces {
        match scanner.feed(&Bytes::copy_from_slice(piece)).ok()? {
            ScanOutput::Pass(bytes) => out.extend_from_slice(&bytes),
            ScanOutput::Last(bytes) => {
                out.extend_from_slice(&bytes);
                return Some((out, scanner.elements, true));
            }
        }
    }
    scanner.end().ok()?;
    Some((out, scanner.elements, false))
}

/// The strings of lists.
pub fn strings<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let (mut parser, mut out) = (Strings::default(), Vec::new());
    for piece in pieces {
        parser.feed(piece, |text| out.push(text.to_owned()));
    }
    out
}
