//! Asking the cluster how a credential may show people: once per pool, by SelfSubjectAccessReview.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use rp_net::{Credential, Source};
use serde_json::{Value, json};

use super::error::ProxyError;
use super::impersonation::{EXTRAS, ImpersonationMode};
use super::pool::{Class, Outgoing, Upstream};

/// An answer of a review is small; more is not read.
const MOST_ANSWER: usize = 64 * 1024;
const ASK_WITHIN: Duration = Duration::from_secs(10);

impl Upstream {
    /// How the cluster sees people with this credential: asked once by SelfSubjectAccessReview.
    ///
    /// # Errors
    /// The cluster did not answer; the next request asks again.
    pub(super) async fn impersonation_mode(self: &Arc<Self>) -> Result<&ImpersonationMode, ProxyError> {
        match self.seen.get() {
            Some(seen) => Ok(seen),
            // Boxed: once per cluster, and every request would carry room for it.
            None => Box::pin(self.ask_in_turn()).await,
        }
    }

    /// One request asks at a time; the others wait no longer than for a dial of their own.
    async fn ask_in_turn(self: &Arc<Self>) -> Result<&ImpersonationMode, ProxyError> {
        let _turn = self.turn(&self.asking).await?;
        self.seen.get_or_try_init(|| self.ask()).await
    }

    async fn ask(self: &Arc<Self>) -> Result<ImpersonationMode, ProxyError> {
        let groups = match (self.target.source, self.class) {
            (Source::Aro, Class::Admin) => vec!["system:masters".to_owned()],
            (Source::Imported, _) => self.target.as_groups.clone(),
            (Source::Aro, Class::Read) => Vec::new(),
        };
        if !groups.is_empty() {
            let extras = self.may_add_extras().await?;
            return Ok(ImpersonationMode::Person { groups, extras });
        }
        let name = self.own_name();
        if self.target.source == Source::Imported {
            return Ok(ImpersonationMode::Shared { name });
        }
        let itself = self.may("", "users", "", &name).await? && self.may_add_extras().await?;
        Ok(if itself { ImpersonationMode::Itself { name } } else { ImpersonationMode::Shared { name } })
    }

    async fn may_add_extras(self: &Arc<Self>) -> Result<bool, ProxyError> {
        for (key, _) in &EXTRAS {
            if !self.may("authentication.k8s.io", "userextras", key, "").await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// May this credential impersonate? Anything but a plain yes is a no.
    async fn may(
        self: &Arc<Self>,
        group: &str,
        resource: &str,
        sub: &str,
        name: &str,
    ) -> Result<bool, ProxyError> {
        let mut attributes = json!({ "verb": "impersonate", "group": group, "resource": resource });
        for (key, text) in [("subresource", sub), ("name", name)] {
            if !text.is_empty() {
                attributes[key] = Value::from(text);
            }
        }
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": attributes },
        });
        let answer = self.review(&review).await?;
        Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or(false))
    }

    async fn review(self: &Arc<Self>, review: &Value) -> Result<Value, ProxyError> {
        let path =
            format!("{}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", self.target.base_path());
        let uri = http::Uri::builder()
            .scheme("https")
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
            .map_err(|_| ProxyError::BadRequest("the cluster's address"))?;
        let mut head = Request::new(());
        *head.method_mut() = Method::POST;
        *head.uri_mut() = uri;
        let body = Bytes::from(review.to_string());
        let headers = head.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        if let Some(authorization) = &self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        let response = self.send(head, Outgoing::Full(body), ASK_WITHIN).await?;
        if response.status().is_server_error() || response.status() == http::StatusCode::TOO_MANY_REQUESTS {
            // No answer: must not be cached as a refusal for the lifetime of the pool.
            return Err(ProxyError::Broken(
                format!("an access review was answered {}", response.status()).into(),
            ));
        }
        let limited = http_body_util::Limited::new(response.into_body(), MOST_ANSWER);
        let read =
            tokio::time::timeout(ASK_WITHIN, limited.collect()).await.map_err(|_| ProxyError::NoAnswer)?;
        let bytes = read.map_err(ProxyError::Broken)?.to_bytes();
        // Not JSON: treated as a refusal.
        Ok(serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    fn own_name(&self) -> String {
        let credential = match self.class {
            Class::Read => &self.target.read,
            Class::Admin => &self.target.admin,
        };
        match credential {
            Credential::Certificate { chain_pem, .. } => {
                rp_net::tls::common_name(chain_pem).unwrap_or_else(|| "the stored certificate".to_owned())
            }
            Credential::Token(_) => "the stored token".to_owned(),
        }
    }
}
