//! SPDY of an exec: what the recorder reads without complaint is what the node reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::api::fuzzing::{ReadSession, spdy};
use tests_fuzz::{first, node_spdy, wire};

fuzz_target!(|data: &[u8]| {
    let Some((piece, data)) = first(data) else { return };
    let raw = spdy(data, usize::from(piece), false, &[(1, "error"), (5, "stdout"), (7, "stderr")]);
    assert!(raw.input.is_empty() && raw.output.len() + raw.error.len() <= data.len());
    let wire = wire::spdy(data);
    let ours = spdy(&wire, usize::from(piece), true, &[]);
    assert_eq!(ours, spdy(&wire, wire.len(), true, &[]), "pieces do not matter");
    let Some(node) = node_spdy::read(&wire).filter(|_| ours.readable) else { return };
    if node.reset {
        return;
    }
    let ReadSession { streams, input, .. } = ours;
    for (id, kind) in &node.streams {
        assert!(
            streams.iter().any(|(known, name)| known == id && name.as_bytes() == kind),
            "{id} {kind:?} {streams:?}"
        );
    }
    assert!(input.starts_with(&node.input), "the node got other keystrokes: {:?} {input:?}", node.input);
});
