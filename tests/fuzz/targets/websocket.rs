//! WebSockets of an exec: what the recorder reads without complaint is what the node reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::api::fuzzing::websocket;
use tests_fuzz::{first, node_websocket, wire};

fuzz_target!(|data: &[u8]| {
    let Some((piece, data)) = first(data) else { return };
    let size = usize::from(piece >> 1);
    for up in [false, true] {
        let raw = websocket(data, size, up, piece & 1 != 0);
        assert!(raw.input.len() + raw.output.len() + raw.error.len() <= data.len());
    }
    for wire in [data.to_vec(), wire::websocket(data)] {
        let ours = websocket(&wire, size, true, false);
        assert_eq!(ours, websocket(&wire, wire.len(), true, false), "pieces do not matter");
        let (input, whole) = node_websocket::input(&wire);
        if ours.readable {
            assert!(
                ours.input.starts_with(&input),
                "the node got other keystrokes: {input:?} {:?}",
                ours.input
            );
            assert!(!whole || ours.input == input, "keystrokes that the node did not get: {:?}", ours.input);
        }
    }
});
