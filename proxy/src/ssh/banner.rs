//! The words that clients show.

use rp_base::text::clean;

/// Before the sign-in: who is asked for what.
pub(super) fn greeting(host: &str) -> String {
    format!(
        "{host}: access to clusters. Sign in with the one-time password or the certificate of an access of yours.\r\n\
         What you do here is audited and may be recorded.\r\n"
    )
}

/// A reason in a disconnect message: one line, without what a terminal would obey.
pub(super) fn reason(text: &str) -> String {
    clean(text, 400)
}

/// A line among a program's output.
pub(super) fn line(text: &str) -> String {
    format!("aro: {}\r\n", clean(text, 400))
}
