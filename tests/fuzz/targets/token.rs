//! Tokens: nothing but what was made is read, whatever is changed of it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rp_access::TokenCodec;
use rp_base::Id;
use rp_documents::GrantKind;
use rp_seal::Keyring;
use tests_fuzz::SameRandom;

static MADE: LazyLock<(TokenCodec, String)> = LazyLock::new(|| {
    let codec = TokenCodec::new(&Keyring::generate(&SameRandom));
    let made = codec.make(GrantKind::Kubeconfig, &Id::random(&SameRandom), &SameRandom);
    let text = made.map(|(token, _)| token.expose().clone()).expect("a token");
    (codec, text)
});

fuzz_target!(|data: &[u8]| {
    let (codec, token) = &*MADE;
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(text == token || codec.read(text).is_none(), "a forgery is read");
    }
    // Pairs of a place and what stands there now.
    let mut changed = token.clone().into_bytes();
    for pair in data.chunks_exact(2) {
        let place = usize::from(pair[0]) % changed.len();
        changed[place] = pair[1];
    }
    let Ok(changed) = String::from_utf8(changed) else { return };
    assert_eq!(codec.read(&changed).is_some(), changed == *token, "{changed}");
});
