//! What the portal asks of a cluster when a person acts on a page, on the command line or by JSON, without a grant.
//!
//! The caller has checked that the person may, and has written the entry in the audit log: this only sends, with the
//! credential that changes things and with the identity headers of a grant.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use rp_base::{Id, chain};
use rp_documents::{ResourceId, Side};

use super::assembly::{address, ours};
use super::error::{ErrorText, ProxyError};
use super::impersonation::ShownPerson;
use super::pool::{Class, Outgoing};
use super::service::ApiProxy;

/// Largest answer, bytes: objects of etcd have at most 1.5 MiB, and lists of pods are those of one node.
const MOST_ANSWER: usize = 16 << 20;

/// One request of an action.
#[derive(Debug)]
pub struct ActRequest<'a> {
    pub cluster: &'a ResourceId,
    pub person: ShownPerson<'a>,
    /// The request of the person, which the cluster's own audit log then names.
    pub request_id: &'a Id,
    pub from: IpAddr,
    pub method: Method,
    /// Path and query as the API server knows them.
    pub path: PathAndQuery,
    /// JSON; of a PATCH a merge patch (RFC 7396).
    pub body: Option<Bytes>,
    /// For the whole answer.
    pub within: Duration,
}

/// What the cluster answered, whatever its status.
#[derive(Debug)]
pub struct ActAnswer {
    pub status: StatusCode,
    pub body: Bytes,
    /// Whom the cluster saw.
    pub identity: String,
}

impl ApiProxy {
    /// Sends a request of an action and reads the whole answer.
    ///
    /// # Errors
    /// The cluster is not known, cannot be reached or did not answer in time.
    pub async fn act(&self, asked: ActRequest<'_>) -> Result<ActAnswer, ErrorText> {
        let (id, within) = (asked.cluster, asked.within);
        let sent = tokio::time::timeout(within, self.send_action(asked)).await;
        sent.unwrap_or(Err(ProxyError::NoAnswer)).map_err(|error| {
            if error.side() != Side::You {
                tracing::warn!(
                    resource_id = id.key(),
                    side = error.side().name(),
                    error = %chain(&error),
                    "request of an action failed"
                );
            }
            error.error_text()
        })
    }

    async fn send_action(&self, asked: ActRequest<'_>) -> Result<ActAnswer, ProxyError> {
        let target = self.directory.find(asked.cluster).await.map_err(ProxyError::Directory)?;
        let upstream = self.pools.for_target(&target, Class::Admin)?;
        let seen = upstream.impersonation_mode().await?;
        let mut head = Request::new(());
        *head.uri_mut() = address(&upstream, &asked.path)?;
        let kind =
            if asked.method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        *head.method_mut() = asked.method;
        let headers = head.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let identity = seen.apply_person(asked.person, headers);
        ours(&upstream, asked.request_id, asked.from, headers);
        let body = match asked.body {
            Some(body) => {
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
                headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
                Outgoing::Full(body)
            }
            None => Outgoing::Empty,
        };
        let answer = upstream.send(head, body, self.timeouts.head).await?;
        let status = answer.status();
        let read = Limited::new(answer.into_body(), MOST_ANSWER).collect().await;
        Ok(ActAnswer { status, body: read.map_err(ProxyError::Broken)?.to_bytes(), identity })
    }
}
