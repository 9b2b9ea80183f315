//! Investigations by pods in a namespace of a management cluster, which is named by a kubeconfig of the settings.

mod cleanup;
mod management;
mod objects;
mod state;

use std::io::Read as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use rp_base::{SharedClock, SharedRandom, chain};
use rp_config::{RpInvestigate, SecretFile};
use rp_documents::ClusterDocument;
use rp_kube::KubeBody;
use tokio::time::Instant;

use self::cleanup::{Cleanup, remove_expired};
use self::management::Management;
use self::objects::{ObjectInputs, ObjectKind};
use self::state::PodState;
use crate::answer::MOST_ANSWER;
use crate::credential::KubeconfigIssuer;
use crate::error::{InvestigateError, ManagementError};
use crate::investigator::{Investigation, Investigator};
use crate::question::Question;

/// The largest configuration file of the program, in bytes.
const MOST_CONFIGURATION: u64 = 256 << 10;
/// From the end of an investigation until its objects count as left over: clocks differ.
const EXPIRY_MARGIN: Duration = Duration::from_mins(10);

/// How long the provider waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodTimes {
    /// For a pod to run.
    pub start: Duration,
    /// Between two looks at it.
    pub poll: Duration,
    /// For a pod to end whose log has ended.
    pub end: Duration,
    /// For the removal of the objects.
    pub cleanup: Duration,
}

impl Default for PodTimes {
    /// The contract's.
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            poll: Duration::from_secs(1),
            end: Duration::from_secs(10),
            cleanup: Duration::from_secs(30),
        }
    }
}

/// [`Investigator`] by pods.
#[derive(Debug, Clone)]
pub struct KubernetesPods {
    /// Namespace, image and limits.
    pub settings: RpInvestigate,
    /// The kubeconfig of the management cluster, read for each investigation.
    pub kubeconfig: SecretFile,
    /// Gives the pod its way into the cluster.
    pub issuer: Arc<dyn KubeconfigIssuer>,
    /// How long it waits.
    pub times: PodTimes,
    /// When objects expire.
    pub clock: SharedClock,
    /// Names of objects.
    pub random: SharedRandom,
}

#[async_trait]
impl Investigator for KubernetesPods {
    async fn begin(
        &self,
        cluster: &ClusterDocument,
        question: &Question,
    ) -> Result<Box<dyn Investigation>, InvestigateError> {
        let address = private_endpoint(cluster).ok_or(InvestigateError::NoPrivateEndpoint)?;
        let doing = "the management cluster cannot be used";
        let api = self.management().map_err(|error| error.while_doing(doing))?;
        let configuration = self.configuration()?;
        let kubeconfig = self.issuer.issue(cluster).await?;
        let now = self.clock.now();
        tokio::spawn(remove_expired(api.clone(), now, self.times.cleanup));
        let id = self.id();
        let inputs = ObjectInputs {
            settings: &self.settings,
            id: &id,
            cluster: cluster.cluster.id.original(),
            address,
            question,
            kubeconfig: &kubeconfig,
            configuration: &configuration,
            expires: now + self.times.start + self.within() + EXPIRY_MARGIN,
        };
        // From here on everything is removed, also when this future is dropped.
        let mut cleanup = Cleanup::new(api.clone(), self.times.cleanup);
        for kind in ObjectKind::ALL {
            let created = cleanup.create(kind, kind.name(&id), &inputs.object(kind)).await;
            created.map_err(|error| error.while_doing("the investigation cannot be created"))?;
        }
        let pod = ObjectKind::Pod.name(&id);
        self.wait_until_it_runs(&api, &pod).await?;
        Ok(Box::new(PodInvestigation { api, pod, log: None, cleanup, times: self.times }))
    }

    fn within(&self) -> Duration {
        self.settings.investigate_timeout + self.times.end + self.times.cleanup
    }
}

impl KubernetesPods {
    fn management(&self) -> Result<Management, ManagementError> {
        let text = self.kubeconfig.read()?;
        // A program may think for as long as it runs.
        let silence = self.within();
        Management::connect(&text, &self.settings.investigate_namespace, silence, self.clock.now())
    }

    fn configuration(&self) -> Result<String, InvestigateError> {
        let Some(path) = &self.settings.investigate_config_file else { return Ok(String::new()) };
        let mut text = String::new();
        let read = std::fs::File::open(path)
            .and_then(|file| file.take(MOST_CONFIGURATION + 1).read_to_string(&mut text));
        match read {
            Err(error) => Err(InvestigateError::Configuration(chain(&error).to_string())),
            Ok(length) if length as u64 > MOST_CONFIGURATION => {
                Err(InvestigateError::Configuration(format!("it has more than {MOST_CONFIGURATION} bytes")))
            }
            Ok(_) => Ok(text),
        }
    }

    /// Eight hexadecimal digits.
    fn id(&self) -> String {
        let mut bytes = [0; 4];
        self.random.fill(&mut bytes);
        format!("{:08x}", u32::from_be_bytes(bytes))
    }

    async fn wait_until_it_runs(&self, api: &Management, pod: &str) -> Result<(), InvestigateError> {
        let (within, begun) = (self.times.start, Instant::now());
        let mut seen = "nothing was seen of it".to_owned();
        while begun.elapsed() < within {
            match api.pod(pod).await.map(|pod| PodState::of(&pod)) {
                Ok(PodState::Waiting(why)) => seen = why,
                // A pod that failed at once has a log too.
                Ok(_) => return Ok(()),
                Err(error) => seen = chain(&error).to_string(),
            }
            tokio::time::sleep(self.times.poll).await;
        }
        Err(InvestigateError::NotRunning { within, seen })
    }
}

/// The address at which the management cluster reaches the cluster's API server.
fn private_endpoint(cluster: &ClusterDocument) -> Option<IpAddr> {
    cluster.cluster.properties.network_profile.private_endpoint_ip.parse().ok()
}

/// An investigation whose pod runs.
struct PodInvestigation {
    api: Management,
    pod: String,
    /// What it prints, once it was asked for: the answer comes with the first line only.
    log: Option<KubeBody>,
    cleanup: Cleanup,
    times: PodTimes,
}

#[async_trait]
impl Investigation for PodInvestigation {
    async fn next(&mut self) -> Result<Option<Bytes>, InvestigateError> {
        let log = match &mut self.log {
            Some(log) => log,
            empty @ None => {
                // One byte more shows that there is more.
                let log = self.api.log(&self.pod, MOST_ANSWER + 1).await;
                let doing = "the log of the investigation pod cannot be read";
                empty.insert(log.map_err(|error| error.while_doing(doing))?)
            }
        };
        while let Some(frame) = log.frame().await {
            let frame = frame.map_err(|error| InvestigateError::Log(chain(&error).to_string()))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    async fn end(&mut self) -> Result<(), InvestigateError> {
        let begun = Instant::now();
        loop {
            let seen = match self.api.pod(&self.pod).await.map(|pod| PodState::of(&pod)) {
                Ok(PodState::Succeeded) => return Ok(()),
                Ok(PodState::Failed(why)) => return Err(InvestigateError::Failed(why)),
                Ok(PodState::Running) => "its log ended and it still runs".to_owned(),
                Ok(PodState::Waiting(why)) => why,
                Err(error) if error.is_missing() => "it was deleted".to_owned(),
                Err(error) => chain(&error).to_string(),
            };
            if begun.elapsed() >= self.times.end {
                return Err(InvestigateError::Failed(seen));
            }
            tokio::time::sleep(self.times.poll).await;
        }
    }

    async fn close(self: Box<Self>) -> Result<(), InvestigateError> {
        let removed = self.cleanup.run().await;
        removed.map_err(|error| error.while_doing("objects of the investigation stay until they expire"))
    }
}
