//! A real API server in the place of a cluster's.

use std::sync::Arc;
use std::time::Duration;

use rp_kube::KubeClient;
use rp_kube::connect::{ClientOptions, Identity};
use rp_net::{Dialer, DialerOptions, Endpoint, Networks, PrivateWay, Target};
use tests_kit::OpenShift;

use crate::environment::ClusterClients;
use crate::errors::StepError;

/// The API server at its own address in the place of the private one.
#[derive(Debug)]
pub(crate) struct DirectClients(url::Url);

impl DirectClients {
    pub(crate) fn of(openshift: &OpenShift) -> Self {
        Self(openshift.plane.url().parse().unwrap())
    }
}

impl ClusterClients for DirectClients {
    fn client(&self, target: Arc<Target>) -> Result<KubeClient, StepError> {
        let endpoint = Endpoint::Direct { url: self.0.clone() };
        let target = Target { endpoint, ..Target::clone(&target) };
        let dialer = Dialer::new(DialerOptions {
            private: PrivateWay::Direct,
            networks: Networks::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new()),
            keepalive: Duration::from_secs(30),
        });
        let options = ClientOptions { user_agent: "aro-rp".to_owned(), ..ClientOptions::default() };
        rp_kube::connect::client(dialer, Arc::new(target), Identity::Admin, &options)
            .map_err(|error| StepError::other(error.to_string()))
    }
}
