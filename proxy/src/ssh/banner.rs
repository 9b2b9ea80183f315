//! Texts that SSH clients show.

use rp_base::text::clean;

/// The banner before the sign-in.
pub(super) fn greeting(host: &str) -> String {
    format!(
        "{host}: access to clusters. Sign in with the one-time password or the certificate of an access of yours.\r\n\
         What you do here is audited and may be recorded.\r\n"
    )
}

/// The reason of a disconnect message: one line without control characters.
pub(super) fn reason(text: &str) -> String {
    clean(text, 400)
}

/// A line among a program's output.
pub(super) fn line(text: &str) -> String {
    format!("aro: {}\r\n", clean(text, 400))
}
