//! The signature of our own webhooks: HMAC-SHA256 (RFC 2104) over time and body, so that a receiver knows who sent it and
//! refuses what somebody sends again later.

use aws_lc_rs::hmac;
use rp_base::{Digest, Secret, Timestamp};

/// Header: the id of the notification, the same when it is sent again.
pub const ID: &str = "aro-notification-id";
/// Header: when this attempt was made, Unix seconds.
pub const TIMESTAMP: &str = "aro-timestamp";
/// Header: `v1=` and the signature in lower-case hexadecimal.
pub const SIGNATURE: &str = "aro-signature";

/// The value of [`SIGNATURE`]: over the seconds of `at` in decimal, a full stop, and the body as it is sent.
pub fn signature(key: &Secret<String>, at: Timestamp, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose().as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(at.seconds().to_string().as_bytes());
    context.update(b".");
    context.update(body);
    let mut code = [0; 32];
    code.copy_from_slice(context.sign().as_ref());
    format!("v1={}", Digest(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_what_other_tools_compute() {
        // printf '1800000000.{"id":"n"}' | openssl dgst -sha256 -hmac secret
        let signed = signature(
            &Secret::new("secret".to_owned()),
            Timestamp::from_millis(1_800_000_000_999),
            br#"{"id":"n"}"#,
        );
        assert_eq!(signed, "v1=85e1ab379811fafa2009731e47a56aaac026d06a58ffba40709943c5ad6ad7c3");
    }
}
