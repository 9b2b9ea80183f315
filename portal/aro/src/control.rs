//! What an operator of this machine asks of a running process over its control socket, and how the verbs ask.

mod client;
mod keys;
mod monitor;
mod state;
mod store;

use std::sync::Arc;

use axum::Router;
use parking_lot::Mutex;
use rp_access::Access;
use rp_base::chain;
use rp_core::Services;
use rp_runtime::Lifecycle;

pub use client::Client;
use state::Control;

/// Opens the socket that the settings name. A process that cannot have it serves nevertheless.
pub fn start(services: &Services, access: &Arc<Access>, life: &Lifecycle) {
    let Some(path) = &services.settings.listen.control else { return };
    let control = Arc::new(Control {
        services: services.clone(),
        access: Arc::clone(access),
        reseal: Mutex::new(None),
    });
    let routes = Router::new()
        .merge(store::routes())
        .merge(keys::routes())
        .merge(monitor::routes())
        .with_state(control);
    match rp_runtime::control::serve(path, routes, life.cutting()) {
        Ok(()) => tracing::info!(path = %path.display(), "control socket open"),
        Err(error) => {
            tracing::error!(error = %chain(&error), "no control socket: aro store and aro keys do not work");
        }
    }
}
