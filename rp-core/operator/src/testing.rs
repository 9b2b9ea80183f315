//! For unit tests.

use std::convert::Infallible;

use http::{Request, Response};
use rp_kube::{KubeBody, KubeClient};

use crate::api::Api;
use crate::metrics::Metrics;

/// An API server that refuses everything.
pub(crate) fn unreachable_api(metrics: &Metrics) -> Api {
    let refuse = |_: Request<KubeBody>| async {
        let answer = Response::builder().status(503).body(KubeBody::empty());
        Ok::<_, Infallible>(answer.unwrap())
    };
    Api::new(KubeClient::new(tower::service_fn(refuse), "default"), "test", metrics.client.clone())
}
