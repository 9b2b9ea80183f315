//! Frames of a tunnel have one way to be written, and so have its destinations.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rp_tunnel::{Destination, Frame, MOST_DATA};

fuzz_target!(|data: &[u8]| {
    if let Ok(frame) = Frame::decode(data.to_vec().into()) {
        assert_eq!(&frame.encode()[..], data, "one way to write each");
        if let Frame::Data { bytes, .. } = &frame {
            assert!((1..=MOST_DATA).contains(&bytes.len()));
        }
        if let Frame::Open { host, port, .. } = &frame {
            let _ = Destination::new(host, *port);
        }
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(place) = Destination::parse(text) {
        let shown = place.to_string();
        assert_eq!(Destination::parse(&shown).as_ref(), Ok(&place), "{shown}");
        assert!(place.port() > 0 && place.host().len() <= 253);
        assert!(place.host().bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase()));
        assert!(!place.host().contains(['/', '@', '%', '?', '#', '\\']), "{shown}");
        // A name of the same below a domain is below it in any case, and never the domain itself.
        assert!(!place.is_below(place.host()));
    }
});
