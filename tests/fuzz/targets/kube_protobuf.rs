//! An access review in protobuf means to us what it means to an API server.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::api::fuzzing::access_review;
use tests_fuzz::kube_protobuf;

fuzz_target!(|data: &[u8]| {
    let Some(read) = access_review(data) else { return };
    // What an API server refuses is the API server's answer.
    let Some(server) = kube_protobuf::access_review(data) else { return };
    assert_eq!(read["spec"], server["spec"]);
    for name in ["apiVersion", "kind"] {
        assert_eq!(read[name].as_str().unwrap_or_default(), server[name].as_str().unwrap_or_default());
    }
});
