//! The management cluster: the few calls that an investigation makes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Limited};
use rp_base::text::clean;
use rp_base::{Secret, Timestamp};
use rp_documents::ResourceId;
use rp_kube::connect::{self, ClientOptions, Identity};
use rp_kube::{KubeBody, KubeClient, kubeconfig};
use rp_net::{Dialer, DialerOptions, Endpoint, Networks, PrivateWay, Source, Target};
use serde::Deserialize;
use serde_json::{Value, json};

use super::objects::{EXPIRES, INVESTIGATION, ObjectKind};
use crate::error::ManagementError;

/// Largest answer, bytes: an object of etcd, or one page of names.
const MOST_BODY: usize = 4 << 20;
/// Objects of each kind that one look for leftovers sees.
const PAGE: usize = 500;
/// Lists come without what is in the objects: Secrets are among them.
const NAMES_ONLY: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// A client of the management cluster, for one namespace.
#[derive(Clone)]
pub(super) struct Management {
    client: KubeClient,
    namespace: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    message: String,
}

#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    items: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    labels: std::collections::BTreeMap<String, String>,
}

impl Management {
    /// By a kubeconfig. Nothing is dialled yet. `silence`: the longest pause of a log, also before its first line.
    pub(super) fn connect(
        text: &Secret<String>,
        namespace: &str,
        silence: Duration,
        now: Timestamp,
    ) -> Result<Self, ManagementError> {
        let file = kubeconfig::read_at(text.expose(), None, now)?;
        let host = file.server.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let target = Target {
            // Only a name: the management cluster is none of ours.
            id: ResourceId::imported("management").map_err(|_| ManagementError::Unreadable)?,
            source: Source::Imported,
            endpoint: Endpoint::Direct { url: file.server },
            server_name: file.tls_server_name.unwrap_or(host),
            ca_pem: file.ca_pem,
            read: file.credential.clone(),
            admin: file.credential,
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 0,
        };
        // The address is one of the settings, so it may be anywhere.
        let everywhere = ["0.0.0.0/0", "::/0"].into_iter().filter_map(|net| net.parse().ok()).collect();
        let dialer = Dialer::new(DialerOptions {
            private: PrivateWay::Direct,
            networks: Networks::new(everywhere, Vec::new()),
            keepalive: Duration::from_secs(30),
        });
        let options =
            ClientOptions { answer_bytes: MOST_BODY, stream_silence: silence, ..ClientOptions::default() };
        let client = connect::client(dialer, Arc::new(target.fingerprinted()), Identity::Admin, &options)?;
        Ok(Self { client, namespace: namespace.to_owned() })
    }

    fn path(&self, kind: ObjectKind) -> String {
        format!("/api/v1/namespaces/{}/{}", self.namespace, kind.plural())
    }

    /// Creates an object; what the server made of it is not looked at.
    pub(super) async fn create(&self, kind: ObjectKind, object: &Value) -> Result<(), ManagementError> {
        self.read(Method::POST, &self.path(kind), Some(object), None).await.map(drop)
    }

    /// Deletes an object; one that is not there is deleted.
    pub(super) async fn delete(&self, kind: ObjectKind, name: &str) -> Result<(), ManagementError> {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        let path = format!("{}/{name}", self.path(kind));
        match self.read(Method::DELETE, &path, Some(&options), None).await {
            Err(error) if !error.is_missing() => Err(error),
            _ => Ok(()),
        }
    }

    /// The pod.
    pub(super) async fn pod(&self, name: &str) -> Result<Value, ManagementError> {
        let path = format!("{}/{name}", self.path(ObjectKind::Pod));
        let body = self.read(Method::GET, &path, None, None).await?;
        serde_json::from_slice(&body).map_err(|_| ManagementError::Unreadable)
    }

    /// The log of the pod's only container as it comes.
    pub(super) async fn log(&self, name: &str, most: usize) -> Result<KubeBody, ManagementError> {
        let path = format!("{}/{name}/log?follow=true&limitBytes={most}", self.path(ObjectKind::Pod));
        let request = request(Method::GET, &path, None, None)?;
        Ok(answered(self.client.send(request).await?).await?.into_body())
    }

    /// Names of objects of investigations that expired before that instant.
    pub(super) async fn expired(
        &self,
        kind: ObjectKind,
        now: Timestamp,
    ) -> Result<Vec<String>, ManagementError> {
        let selector = INVESTIGATION.replace('/', "%2F");
        let path = format!("{}?labelSelector={selector}&limit={PAGE}", self.path(kind));
        let body = self.read(Method::GET, &path, None, Some(NAMES_ONLY)).await?;
        let found: Names = serde_json::from_slice(&body).map_err(|_| ManagementError::Unreadable)?;
        let expired = |labels: &std::collections::BTreeMap<String, String>| {
            let at: Option<i64> = labels.get(EXPIRES).and_then(|at| at.parse().ok());
            at.is_some_and(|at| at < now.seconds())
        };
        let all = found.items.into_iter().map(|item| item.metadata);
        Ok(all.filter(|metadata| expired(&metadata.labels)).map(|metadata| metadata.name).collect())
    }

    async fn read(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        accept: Option<&str>,
    ) -> Result<Bytes, ManagementError> {
        let answer = answered(self.client.send(request(method, path, body, accept)?).await?).await?;
        let read = Limited::new(answer.into_body(), MOST_BODY).collect().await;
        Ok(read.map_err(|_| ManagementError::Unreadable)?.to_bytes())
    }
}

fn request(
    method: Method,
    path: &str,
    body: Option<&Value>,
    accept: Option<&str>,
) -> Result<Request<KubeBody>, ManagementError> {
    let bytes = body.map(Value::to_string).unwrap_or_default().into_bytes();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .header("accept", accept.unwrap_or("application/json"))
        .body(KubeBody::from(bytes));
    request.map_err(|_| ManagementError::Unreadable)
}

/// The answer, if its status is a success.
async fn answered(answer: Response<KubeBody>) -> Result<Response<KubeBody>, ManagementError> {
    if answer.status().is_success() {
        return Ok(answer);
    }
    let status = answer.status().as_u16();
    let told = Limited::new(answer.into_body(), MOST_BODY).collect().await;
    let told = told.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let told: Status = serde_json::from_slice(&told).unwrap_or_default();
    Err(ManagementError::Refused { status, message: clean(&told.message, 1024) })
}
