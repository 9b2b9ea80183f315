//! Starts real parts and our own binaries for the tests, and servers that misbehave on request.
//!
//! Everything started here gets a free port, a process group of its own and a log file; readiness is
//! polled against a deadline, and an error says what was last seen and how the log ends. All of it ends
//! when its value is dropped, and also when the test process itself is killed ([`Folder`]).

mod aro;
mod authority;
mod browser;
mod cluster_body;
mod control_plane;
mod crates;
mod dice;
mod faulty_prometheus;
mod folder;
mod grant;
mod haproxy;
mod interposed;
mod kubectl;
mod limits;
mod measure;
mod monitoring;
mod openshift;
mod parts;
mod postgres;
mod process;
mod promise;
mod provider;
mod replica_settings;
pub mod report;
mod session;
mod shared;
mod sign_in;
pub mod stored;
mod swagger;
mod upstream;
mod wait;
mod wire;

pub use aro::{Account, Aro, AroOptions, Dev, binary, earlier_binary, shipped_binary};
pub use authority::{Authority, Pair};
pub use browser::{browser, browser_within};
pub use cluster_body::cluster_body;
pub use control_plane::ControlPlane;
pub use crates::crates_picture;
pub use dice::Dice;
pub use faulty_prometheus::FaultyPrometheus;
pub use folder::Folder;
pub use grant::grant;
pub use haproxy::{BALANCER, Haproxy};
pub use interposed::{Delivery, Interposed, Method, StoreCall, StoreInterceptor, told_to_fail};
pub use kubectl::{Kubectl, Output, Running};
pub use limits::raise_open_files;
pub use measure::resident;
pub use monitoring::Monitoring;
pub use openshift::OpenShift;
pub use parts::{part, workspace};
pub use postgres::Postgres;
pub use process::{Process, free_port};
pub use promise::{Times, promised};
pub use provider::Provider;
pub use replica_settings::{PortalSettings, process_settings};
pub use session::{
    Answer, Events, Session, StatusError, bearer_client, kubeconfig_server, kubeconfig_token, shown,
};
pub use shared::{InUse, Shared};
pub use sign_in::sign_in;
pub use stored::StoredFolder;
pub use swagger::{ApiExchange, Checker};
pub use upstream::{Behaviour, Received, Upstream};
pub use wait::{GENEROUS, until};
pub use wire::{Wire, WireError};
