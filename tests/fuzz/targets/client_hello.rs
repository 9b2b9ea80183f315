//! A tunnel's hello is read in any pieces alike, and passes only when it asks for the destination's name.
#![no_main]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use libfuzzer_sys::fuzz_target;
use proxy::tunnel_endpoint::fuzzing::hello;
use rp_tunnel::Destination;
use tests_fuzz::client_hello::names;
use tests_fuzz::first;
use tokio::io::{AsyncRead, ReadBuf};

const HOST: &str = "console.apps.harbor.example";

/// Gives at most so many bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let length = self.1.min(self.0.len()).min(out.remaining());
        let (piece, rest) = self.0.split_at(length);
        out.put_slice(piece);
        self.0 = rest;
        Poll::Ready(Ok(()))
    }
}

fn read(bytes: &[u8], size: usize) -> Result<Vec<u8>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let destination = Destination::new(HOST, 443).unwrap();
    runtime.block_on(hello(&mut Pieces(bytes, size), &destination))
}

fuzz_target!(|data: &[u8]| {
    let Some((size, bytes)) = first(data) else { return };
    let cut = read(bytes, 1 + usize::from(size));
    let whole = read(bytes, usize::MAX);
    assert_eq!(cut.is_ok(), whole.is_ok(), "{cut:?} in pieces, {whole:?} at once");
    let Ok(passed) = cut else { return };
    assert!(bytes.starts_with(&passed), "what was read is passed on");
    if passed.is_empty() {
        assert!(bytes.is_empty());
        return;
    }
    let asked = names(&passed);
    assert!(
        asked.as_deref().is_some_and(|asked| {
            asked.len() == 1 && asked[0].trim_end_matches('.').eq_ignore_ascii_case(HOST)
        }),
        "another program reads {asked:?}"
    );
});
