//! Where a cluster sends its visitor: to the same cluster, or nowhere.
#![no_main]

use http::StatusCode;
use libfuzzer_sys::fuzz_target;
use proxy::api::fuzzing::redirected;
use rp_documents::ResourceId;
use tests_fuzz::headers;
use url::Url;

const CLUSTER: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";

fuzz_target!(|data: &[u8]| {
    let Ok(cluster) = ResourceId::parse(CLUSTER) else { return };
    let below = format!("https://portal.example{CLUSTER}/kubeconfig/proxy/");
    let mut answer = headers(data);
    if !redirected(&mut answer, StatusCode::FOUND, &cluster, "api.c.example:6443", "/api/v1/pods") {
        return;
    }
    for location in answer.get_all("location") {
        let asked = Url::parse(&format!("{below}api/v1/pods")).expect("an address");
        let led = asked.join(location.to_str().expect("text")).expect("an address");
        assert!(led.as_str().starts_with(&below), "{location:?} leads to {led}");
    }
});
