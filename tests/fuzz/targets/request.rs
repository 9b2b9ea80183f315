//! Requests to an API server: what we take one for is what the server takes it for, and what could be taken for something
//! else needs administrator's rights.
#![no_main]

use http::Method;
use http::uri::PathAndQuery;
use libfuzzer_sys::fuzz_target;
use proxy::api::{Classified, classify, fuzzing};
use rp_documents::Rights;
use tests_fuzz::METHODS;
use tests_fuzz::request_info::{self, RequestInfo};

fuzz_target!(|data: &[u8]| {
    let Some((choice, address)) = tests_fuzz::first(data) else { return };
    let name = METHODS[usize::from(choice & 7)];
    let Ok(address) = PathAndQuery::try_from(address) else { return };
    let (path, query) = (address.path(), address.query());
    let Ok(method) = Method::from_bytes(name.as_bytes()) else { return };
    let found = classify(&method, path, query);
    // Both refuse it before they look at it.
    let Some(info) = request_info::read(name, path, query.unwrap_or_default()) else {
        assert!(found.odd || !fuzzing::is_escaped(path) || is_unfinished(&found));
        return;
    };
    if found.odd {
        assert_eq!(fuzzing::needed(&found, choice & 8 != 0), Rights::Admin);
    } else {
        same(&found, &info, name);
    }
});

/// A special verb with nothing behind it: the server answers 500 to everybody.
fn is_unfinished(found: &Classified) -> bool {
    matches!(found.resource.as_str(), "watch" | "proxy") && found.name.is_empty()
}

fn same(found: &Classified, info: &RequestInfo, method: &str) {
    assert_eq!(found.non_resource.is_none(), info.is_resource);
    if !info.is_resource {
        let verb = if method == "HEAD" { "get" } else { &info.verb };
        assert!(found.verb == verb || found.verb == "other");
        return;
    }
    if found.legacy_proxy {
        assert!(fuzzing::opens(found, false).starts_with("Refused"));
        return;
    }
    let parts = [&found.group, &found.namespace, &found.resource, &found.name, &found.subresource];
    let theirs = [&info.group, &info.namespace, &info.resource, &info.name, &info.subresource];
    for (ours, theirs) in parts.into_iter().zip(theirs) {
        assert_eq!(ours.as_bytes(), theirs.as_slice());
    }
    match info.verb.as_str() {
        // The prefix makes a watch of any method for the server's rules; for ours a change stays one.
        "watch" if !matches!(method, "GET" | "HEAD") => assert_ne!(found.verb, "watch"),
        "" => assert_eq!(found.verb, "other"),
        verb => assert_eq!(found.verb, verb),
    }
}
