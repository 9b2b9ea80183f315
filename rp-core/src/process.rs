//! What a process has beside its roles: logging, signals, the admin listener, files that are read again, its end.

use std::sync::Arc;

use rp_access::Access;
use rp_config::{Log, Settings};
use rp_net::tls::ServerTls;
use rp_runtime::{Admin, Lifecycle, LogControl, LogOutput, Readiness, ShutdownTimeouts, WATCH_PERIOD, Watch};

use crate::{Services, reload};

/// How long the end of a process takes.
pub const fn shutdown_timeouts(settings: &Settings) -> ShutdownTimeouts {
    ShutdownTimeouts { leave: settings.limits.leave, drain: settings.limits.drain }
}

/// Starts logging on standard error and follows the signals that end the process.
///
/// # Errors
/// The log filter is wrong, or the signals cannot be followed.
pub fn begin(log: &Log, timeouts: ShutdownTimeouts) -> anyhow::Result<(LogControl, Lifecycle)> {
    begin_with(log, LogOutput::StandardError, timeouts)
}

/// [`begin`] with the log somewhere else.
///
/// # Errors
/// As [`begin`].
pub fn begin_with(
    log: &Log,
    output: LogOutput,
    timeouts: ShutdownTimeouts,
) -> anyhow::Result<(LogControl, Lifecycle)> {
    let control = rp_runtime::start_logging(log, output)?;
    Ok((control, Lifecycle::with_signals(timeouts)?))
}

/// Writes what was taken in and closes the stores: the last step of a process.
pub async fn close(services: &Services) {
    services.close().await;
    tracing::info!("stopped");
}

/// Serves metrics, health, log filter and profiles, for this machine only. Gives the checks, for a role to add its own.
///
/// # Errors
/// The address cannot be bound.
pub async fn start_admin(
    services: &Services,
    life: &Lifecycle,
    log: Option<LogControl>,
) -> anyhow::Result<Readiness> {
    let readiness = Readiness::new(life.leaving());
    let store = Arc::clone(&services.store);
    readiness.add("store", move || {
        let store = Arc::clone(&store);
        async move { store.ready().await.map_err(|error| error.to_string()) }
    });
    let audit = services.audit.clone();
    readiness.add("audit", move || {
        let ready = audit.ready().map_err(|error| error.to_string());
        async move { ready }
    });
    let admin = Admin { registry: services.registry.clone(), readiness: readiness.clone(), log };
    admin.serve(services.settings.listen.admin, life.cutting()).await?;
    Ok(readiness)
}

/// Reads the certificate and the keyring again when a file of `watch` changes, and on SIGHUP; tokens are then checked
/// with the new keys.
///
/// # Errors
/// The signal cannot be followed.
pub fn follow_files(
    services: &Services,
    life: &Lifecycle,
    watch: Watch,
    tls: Option<Arc<ServerTls>>,
    access: Option<Arc<Access>>,
) -> anyhow::Result<()> {
    let keyring = services.keyring.clone();
    reload::follow(life, watch, WATCH_PERIOD, move || {
        if let Some(tls) = &tls {
            reload::certificate(tls);
        }
        reload::keyring(&keyring, || {
            if let Some(access) = &access {
                access.reload_keys();
            }
        });
    })
}
