//! The copies of the audit log that the settings name.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rp_audit_copies::{IfxOrigin, SinkFormat, SinkOptions, SinkPolicy, SinkTarget, SyslogTarget};
use rp_config::{AuditSink, AuditSinkTarget, SecretFile, SecretFileError, Settings, Word as _};
use rp_net::tls::{TlsError, client_config};
use rustls_pki_types::ServerName;

/// Why a copy cannot be made at all. No secret is in it.
#[derive(Debug, thiserror::Error)]
#[error("the audit sink {sink}")]
pub struct SinkOpenError {
    pub sink: String,
    #[source]
    pub cause: SinkFault,
}

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum SinkFault {
    #[error("cannot read {path}")]
    Read {
        path: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("its token")]
    Token(#[source] SecretFileError),
    #[error("its CA")]
    Tls(#[source] TlsError),
    #[error("its host is no server name")]
    Name,
}

/// One answer of a collector.
const ANSWER: Duration = Duration::from_secs(30);

/// The sinks of the settings. Reads certificates and tokens; connects nowhere.
///
/// # Errors
/// The first sink that cannot be used.
pub fn audit_sinks(settings: &Settings) -> Result<Vec<SinkOptions>, SinkOpenError> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let place = Arc::new(IfxOrigin {
        cloud: settings.azure.environment.word().to_owned(),
        host: host.trim().to_owned(),
        region: settings.azure.region.clone().unwrap_or_default(),
    });
    let make = |sink: &AuditSink| {
        let to = sink_target(&sink.to).map_err(|cause| SinkOpenError { sink: sink.name.clone(), cause })?;
        let policy = sink.refuse_after.map_or(SinkPolicy::Alarm, |after| SinkPolicy::Refuse { after });
        let format = if sink.ifx { SinkFormat::Ifx(Arc::clone(&place)) } else { SinkFormat::Aro };
        Ok(SinkOptions { name: sink.name.clone(), to, format, policy })
    };
    settings.audit.sinks.iter().map(make).collect()
}

fn sink_target(to: &AuditSinkTarget) -> Result<SinkTarget, SinkFault> {
    Ok(match to {
        AuditSinkTarget::File { path, rotate, keep, sync } => {
            SinkTarget::File { path: path.clone(), rotate: *rotate, keep: *keep, sync: *sync }
        }
        AuditSinkTarget::SyslogTcp(address) => SinkTarget::Syslog(SyslogTarget::Tcp(address.clone())),
        AuditSinkTarget::SyslogUdp(address) => SinkTarget::Syslog(SyslogTarget::Udp(address.clone())),
        AuditSinkTarget::SyslogUnix(path) => SinkTarget::Syslog(SyslogTarget::Unix(path.clone())),
        AuditSinkTarget::SyslogTls { address, ca_file } => {
            let tls = client_config(&read(ca_file)?, None, &[]).map_err(SinkFault::Tls)?;
            let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let name = ServerName::try_from(host.to_owned()).map_err(|_| SinkFault::Name)?;
            SinkTarget::Syslog(SyslogTarget::Tls { address: address.clone(), name, tls: Arc::new(tls) })
        }
        AuditSinkTarget::Http { url, token_file, ca_file } => {
            let ca = ca_file.as_deref().map(read).transpose()?;
            let client = rp_net::http::client(ca.as_deref(), ANSWER).map_err(SinkFault::Tls)?;
            let token = token_file.as_ref().map(SecretFile::read).transpose().map_err(SinkFault::Token)?;
            SinkTarget::Http { client, url: url.to_string(), token: token.map(Arc::new) }
        }
    })
}

fn read(path: &Path) -> Result<String, SinkFault> {
    std::fs::read_to_string(path).map_err(|cause| SinkFault::Read { path: path.display().to_string(), cause })
}
