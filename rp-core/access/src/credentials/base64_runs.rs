//! Base64 wherever it stands in a text: alone, behind a key, in a data URL, over several lines.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Letters of the shortest base64 that is decoded, and of the shortest line that goes on in the next. Lines are wrapped
/// at 64 or 76 letters.
pub(super) const SHORTEST_RUN: usize = 36;
/// Letters of a sample.
const SAMPLE: usize = 32;

/// Takes base64 however it ends: what is decoded may be the beginning of more.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A letter of base64, but for `=`, which ends it.
pub(super) const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// What such letters are the base64 of. A last letter that has less than a byte is left out.
pub(super) fn decoded(letters: &[u8]) -> Vec<u8> {
    let whole = letters.len() - usize::from(letters.len() % 4 == 1);
    LENIENT.decode(&letters[..whole]).unwrap_or_default()
}

/// The next long run of letters in a text from a place on, without its line breaks, and where it ends.
pub(super) fn next_run(text: &[u8], from: usize) -> Option<(Cow<'_, [u8]>, usize)> {
    let mut at = from;
    let line = loop {
        at += text.get(at..)?.iter().position(|byte| is_letter(*byte))?;
        let line = letters(&text[at..]);
        at += line.len();
        if line.len() >= SHORTEST_RUN {
            break line;
        }
    };
    let (mut run, mut last) = (Cow::Borrowed(line), line.len());
    while last >= SHORTEST_RUN {
        // In YAML the lines of a folded scalar are joined by spaces.
        let blanks = text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let line = letters(&text[at + blanks..]);
        last = if blanks == 0 { 0 } else { line.len() };
        if last > 0 {
            run.to_mut().extend_from_slice(line);
            at += blanks + last;
        }
    }
    Some((run, at))
}

/// The letters at the beginning.
fn letters(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !is_letter(*byte)).unwrap_or(text.len());
    &text[..end]
}

/// Whether a sample from the middle of a run decodes to text. What is decoded from a wrong letter on does not.
pub(super) fn may_be_text(run: &[u8]) -> bool {
    let middle = run.len() / 8 * 4;
    let sample = run[middle..].get(..SAMPLE).unwrap_or(&run[middle..]);
    let sample = decoded(sample);
    !sample.is_empty() && sample.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str) -> Vec<String> {
        let (mut at, mut runs) = (0, Vec::new());
        while let Some((run, end)) = next_run(text.as_bytes(), at) {
            assert!(end > at, "{text}");
            at = end;
            runs.push(String::from_utf8(run.into_owned()).unwrap());
        }
        runs
    }

    #[test]
    fn a_run_goes_on_over_lines_and_ends_at_what_is_no_letter() {
        let (a, b) = ("a".repeat(64), "b".repeat(40));
        for (text, found) in [
            (format!("data:text/plain;base64,{a}"), vec![a.clone()]),
            (format!("x: |\n  {a}\n  {a}\n  bbb==\n  {b}\n"), vec![format!("{a}{a}bbb"), b.clone()]),
            (format!("{a}\r\n{b}, {b}"), vec![format!("{a}{b}"), b.clone()]),
            (format!("a word\n{a}=\n{b}"), vec![a.clone(), b.clone()]),
            (format!("{a}:\n{b}"), vec![a.clone(), b]),
            ("a few words\nin short lines".to_owned(), vec![]),
            (format!("{a}\n\n"), vec![a]),
            (String::new(), vec![]),
        ] {
            assert_eq!(runs(&text), found, "{text}");
        }
    }

    #[test]
    fn what_is_decoded_from_a_wrong_letter_on_is_no_text() {
        let run = "Y2x1c3RlcnM6IFtdCmNvbnRleHRzOiBbXQp1c2VyczoKLSBuYW1lOiB1CiAgdXNlcjoK";
        assert!(decoded(run.as_bytes()).starts_with(b"clusters: []\ncontexts: []\nusers:\n"));
        assert!(may_be_text(run.as_bytes()) && !may_be_text(&run.as_bytes()[1..]));
        assert!(!may_be_text(b"") && !may_be_text("x".repeat(100).as_bytes()));
        for cut in 0..run.len() {
            assert_eq!(decoded(&run.as_bytes()[..cut]).len(), cut * 6 / 8, "{cut}");
        }
    }
}
