//! What the installer says: its last lines, without secrets.

use rp_base::Secret;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes that are kept of the output.
const MOST_KEPT: usize = 16 << 10;
/// Characters of it that stand in an error.
const MOST_TOLD: usize = 4000;
/// Shorter texts are no secrets, and would take words apart.
const LEAST_SECRET: usize = 6;

/// The last [`MOST_KEPT`] bytes of a stream. An error of the stream ends it.
pub(super) async fn tail(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut piece = vec![0; 8 << 10];
    while let Ok(read) = stream.read(&mut piece).await {
        if read == 0 {
            break;
        }
        kept.extend_from_slice(piece.get(..read).unwrap_or_default());
        if kept.len() > 2 * MOST_KEPT {
            kept.drain(..kept.len() - MOST_KEPT);
        }
    }
    kept.drain(..kept.len().saturating_sub(MOST_KEPT));
    kept
}

/// The text for people: without control characters, with `…` for each secret.
pub(super) fn shown(output: &[u8], secrets: &[Secret<String>]) -> String {
    let mut text = String::from_utf8_lossy(output).into_owned();
    for secret in secrets.iter().map(Secret::expose).filter(|secret| secret.len() >= LEAST_SECRET) {
        text = text.replace(secret.as_str(), "…");
    }
    let start = text.char_indices().rev().nth(MOST_TOLD - 1).map_or(0, |(at, _)| at);
    rp_base::text::clean(text.get(start..).unwrap_or_default(), MOST_TOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept_and_secrets_are_not() {
        let mut stream = vec![b'x'; 100 << 10];
        stream.extend_from_slice("level=error msg=the password is hush-hush ü\n".as_bytes());
        let kept = tail(&*stream).await;
        assert_eq!(kept.len(), MOST_KEPT);
        let told = shown(&kept, &[Secret::new("hush-hush".to_owned()), Secret::new("x".to_owned())]);
        assert!(told.contains("level=error msg=the password is … ü") && told.starts_with('x'), "{told}");
        assert!(told.chars().count() <= MOST_TOLD);
    }
}
