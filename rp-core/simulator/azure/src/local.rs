//! A stand-in for one test: on a free port of loopback, without TLS.

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use rp_base::{SharedClock, SystemRandom};
use rp_net::listen::Stop;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Application, ArmOptions, ArmStandIn, Contents, ResourcePath};

/// No resources exist but those that were put.
#[derive(Debug, Clone, Copy)]
pub struct EmptyContents;

impl Contents for EmptyContents {
    fn get(&self, _: &ResourcePath) -> Option<Value> {
        None
    }

    fn list(&self, _: &str, _: Option<&str>, _: &str) -> Vec<Value> {
        Vec::new()
    }

    fn has_group(&self, _: &str, _: &str) -> bool {
        false
    }

    fn tenant(&self, _: &str) -> Option<String> {
        None
    }
}

/// A stand-in that listens on a free local port.
#[derive(Debug)]
pub struct LocalArm {
    pub arm: ArmStandIn,
    /// Scheme, host and port, without a slash at the end.
    pub url: String,
    /// Stops the stand-in when dropped.
    pub cut: DropGuard,
}

impl LocalArm {
    /// Starts it; `applications`: client ids with their secrets.
    ///
    /// # Errors
    /// There is no port.
    pub async fn start(
        applications: &[(&str, &str)],
        contents: Arc<dyn Contents>,
        clock: SharedClock,
    ) -> io::Result<Self> {
        Self::start_with(applications, contents, clock, None).await
    }

    /// As [`Self::start`]; what is put is kept in the file.
    ///
    /// # Errors
    /// There is no port, or the file cannot be used.
    pub async fn start_with(
        applications: &[(&str, &str)],
        contents: Arc<dyn Contents>,
        clock: SharedClock,
        file: Option<PathBuf>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let cut = CancellationToken::new();
        let application = |(client_id, secret): &(&str, &str)| Application {
            client_id: (*client_id).to_owned(),
            secret: Some((*secret).to_owned()),
        };
        let arm = ArmStandIn::start(ArmOptions {
            listener,
            tls: None,
            url: url.parse().map_err(io::Error::other)?,
            applications: applications.iter().map(application).collect(),
            contents,
            file,
            clock,
            random: Arc::new(SystemRandom),
            stop: Stop { stop: cut.clone(), cut: cut.clone() },
        })?;
        Ok(Self { arm, url, cut: cut.drop_guard() })
    }
}
