//! What rights a request needs, whatever is made of its path: sessions are seen, and who may read does nothing but read.
#![no_main]

use http::Method;
use http::uri::PathAndQuery;
use libfuzzer_sys::fuzz_target;
use proxy::api::{Classified, allow, classify, fuzzing};
use rp_documents::Rights;
use tests_fuzz::METHODS;
use tests_fuzz::request_info::{self, RequestInfo};

fuzz_target!(|data: &[u8]| {
    let Some((choice, address)) = tests_fuzz::first(data) else { return };
    let (name, upgrade) = (METHODS[usize::from(choice & 7)], choice & 8 != 0);
    let Ok(address) = PathAndQuery::try_from(address) else { return };
    let Ok(method) = Method::from_bytes(name.as_bytes()) else { return };
    let found = classify(&method, address.path(), address.query());
    // What the server answers with an error does nothing.
    let Some(info) = request_info::read(name, address.path(), address.query().unwrap_or_default()) else {
        return;
    };
    sessions_are_seen(&found, &info, upgrade);
    reading_reads(&found, &info, upgrade);
});

fn sessions_are_seen(found: &Classified, info: &RequestInfo, upgrade: bool) {
    let session = match (info.resource.as_slice(), info.subresource.as_slice()) {
        (b"pods", b"exec" | b"attach" | b"portforward") | (b"pods" | b"services" | b"nodes", b"proxy") => {
            true
        }
        _ => info.verb == "proxy",
    };
    if info.is_resource && info.group.is_empty() && session {
        assert_ne!(fuzzing::opens(found, upgrade), "Answer", "{found:?}");
        assert!(fuzzing::needed(found, upgrade) >= Rights::Write);
    }
    let named = info.is_resource && !info.subresource.is_empty() && info.subresource != b"log";
    if upgrade && named {
        assert_ne!(fuzzing::opens(found, upgrade), "Answer", "an upgrade that is on no record: {found:?}");
    }
}

fn reading_reads(found: &Classified, info: &RequestInfo, upgrade: bool) {
    if allow(found, upgrade, Rights::Read).is_err() {
        return;
    }
    let review = info.verb == "create" && info.resource.starts_with(b"selfsubject") && info.name.is_empty();
    let plain = matches!(info.subresource.as_slice(), b"" | b"log" | b"status" | b"scale");
    let reads = plain && matches!(info.verb.as_str(), "get" | "list" | "watch");
    let page = !info.is_resource && matches!(info.verb.as_str(), "get" | "head") && !upgrade;
    assert!(review || reads && info.is_resource || page, "{found:?} {info:?}");
    assert!(!upgrade || info.verb == "watch");
    assert!(!(info.is_resource && info.resource.eq_ignore_ascii_case(b"secrets") && info.group.is_empty()));
}
