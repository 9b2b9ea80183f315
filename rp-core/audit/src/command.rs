//! Commands as entries hold them: no part of one can be hidden.
//!
//! The person who runs a command chooses its bytes. They are shown escaped, so that a newline cannot start a line and a
//! control sequence cannot erase text before it; a cut is marked; and the digest covers all bytes, so that a script
//! found elsewhere can be compared with the entry.

use rp_base::{sha256, text};
use rp_documents::Entry;

/// Longest argument that is shown whole, bytes.
const ARGUMENT: usize = 8 * 1024;
/// Most arguments that are shown.
const ARGUMENTS: usize = 256;

/// A command, ready for an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The arguments, escaped and within bounds.
    pub shown: Vec<String>,
    /// SHA-256 in hex over each argument and a NUL after each; empty when there is no argument.
    pub digest: String,
}

impl Command {
    /// From the arguments as they came.
    pub fn new<T: AsRef<[u8]>>(arguments: &[T]) -> Self {
        if arguments.is_empty() {
            return Self::default();
        }
        let mut whole = Vec::with_capacity(arguments.iter().map(|each| each.as_ref().len() + 1).sum());
        for argument in arguments {
            whole.extend_from_slice(argument.as_ref());
            whole.push(0);
        }
        let kept = arguments.iter().take(ARGUMENTS);
        let mut shown: Vec<String> = kept.map(|each| text::visible(each.as_ref(), ARGUMENT)).collect();
        if arguments.len() > ARGUMENTS {
            shown.push(format!("[{} more arguments]", arguments.len() - ARGUMENTS));
        }
        Self { shown, digest: sha256(&whole).to_string() }
    }

    /// Writes it into an entry.
    pub fn write_to(&self, entry: &mut Entry) {
        entry.command.clone_from(&self.shown);
        entry.command_digest.clone_from(&self.digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_command_hides() {
        let command = Command::new(&["sh", "-c", "true #\nrm -rf /"]);
        assert_eq!(command.shown, ["sh", "-c", r"true #\nrm -rf /"]);
        // printf 'sh\0-c\0true #\nrm -rf /\0' | sha256sum
        assert_eq!(command.digest, sha256(b"sh\0-c\0true #\nrm -rf /\0").to_string());
        assert_eq!(Command::new::<&str>(&[]), Command::default());
    }

    #[test]
    fn what_is_cut_has_a_mark_and_counts_in_the_digest() {
        let many: Vec<String> = (0..300).map(|n| n.to_string()).collect();
        let command = Command::new(&many);
        assert_eq!(command.shown.len(), 257);
        assert_eq!(command.shown[256], "[44 more arguments]");
        let mut other = many;
        other[299].push_str("; rm -rf /");
        assert_eq!(Command::new(&other).shown, command.shown);
        assert_ne!(Command::new(&other).digest, command.digest);
        let long = Command::new(&["x".repeat(128 * 1024)]);
        assert!(long.shown[0].ends_with("[122880 more bytes]"), "{}", &long.shown[0][8000..]);
    }
}
