//! For unit tests.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use rp_azure::{Arm, ArmOptions, Client, Credential, Endpoints, RetryPolicy};
use rp_base::{Secret, SharedClock, SystemClock, SystemRandom};
use rp_kube::{KubeBody, KubeClient};
use rp_metrics::Registry;
use rp_simulator_azure::{ArmControl, EmptyContents, LocalArm};
use serde_json::{Value, json};

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

/// An API server that answers a path and a body.
pub(crate) fn answering_api(answer: impl Fn(&str, Value) -> Value + Send + Sync + 'static) -> Api {
    let answer = Arc::new(answer);
    let serve = move |request: Request<KubeBody>| {
        let answer = Arc::clone(&answer);
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let body = KubeBody::from(answer(&path, body).to_string().into_bytes());
            Ok::<_, Infallible>(Response::new(body))
        }
    };
    let metrics = Metrics::register(&Registry::new());
    Api::new(KubeClient::new(tower::service_fn(serve), "default"), "test", metrics.client)
}

/// A group of the stand-in.
pub(crate) const GROUP: &str = "/subscriptions/00000000-0000-0000-0000-00000000a001/resourceGroups/managed";
const TENANT: &str = "00000000-0000-0000-0000-00000000a002";

/// The stand-in for Azure with an empty group, and a client of it.
#[derive(Debug)]
pub(crate) struct Cloud {
    pub(crate) control: ArmControl,
    pub(crate) client: Client,
    _alone: LocalArm,
}

impl Cloud {
    pub(crate) async fn start() -> Self {
        rp_net::tls::install_provider();
        let clock: SharedClock = Arc::new(SystemClock);
        let contents = Arc::new(EmptyContents);
        let alone = LocalArm::start(&[("operator", "s3cret")], contents, Arc::clone(&clock)).await.unwrap();
        let control = alone.arm.control();
        control.subscribe("00000000-0000-0000-0000-00000000a001", TENANT);
        assert!(control.put(GROUP, json!({ "location": "eastus" })));
        let url: url::Url = alone.url.parse().unwrap();
        let secret = Secret::new("s3cret".to_owned());
        let arm = Arm::new(ArmOptions {
            endpoints: Endpoints::at(url.clone(), url),
            credential: Credential::Secret { client_id: "operator".to_owned(), secret },
            ca_pem: None,
            clock,
            random: Arc::new(SystemRandom),
            registry: Registry::new(),
            observer: None,
            retry: RetryPolicy::NONE,
            patience: Duration::from_secs(60),
        });
        let client = arm.unwrap().in_tenant(TENANT);
        control.forget_requests();
        Self { control, client, _alone: alone }
    }

    /// The statuses of all requests of a method, in their order.
    pub(crate) fn answers(&self, method: &str) -> Vec<u16> {
        let all = self.control.requests();
        all.iter().filter(|one| one.method == method).map(|one| one.status).collect()
    }
}
