//! Every route of the portal, with the decision who may call it (`contract/rules.md` §3.6: no route without a
//! decision). The router, the references and the test that calls each row with every kind of caller are made from
//! this table.

use rp_documents::Role;

use crate::route::{AllowedCaller, Route};

/// The resource path of a cluster, lower case (`contract/portal.md`, "Words used here"), and what follows.
macro_rules! res {
    ($rest:literal) => {
        concat!(
            "/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}",
            $rest
        )
    };
}

/// A cluster by JSON.
macro_rules! v1 {
    ($rest:literal) => {
        concat!("/api/v1/clusters", res!($rest))
    };
}

/// What the explorer asks of a cluster.
macro_rules! prom {
    ($rest:literal) => {
        concat!("/api/v1/prom", res!($rest))
    };
}

/// A function that answers, for the method of its row.
macro_rules! handler {
    ($function:path) => {
        |method| axum::routing::on(method, $function)
    };
}

mod access;
mod access_pages;
mod admin;
mod cluster_pages;
mod clusters;
mod fleet;
mod metrics;
mod service;

const VIEWER: AllowedCaller = AllowedCaller::Role(Role::Viewer);
const SRE: AllowedCaller = AllowedCaller::Role(Role::Sre);
const ELEVATED: AllowedCaller = AllowedCaller::Role(Role::Elevated);
const APPROVER: AllowedCaller = AllowedCaller::Role(Role::Approver);
const AUDITOR: AllowedCaller = AllowedCaller::Role(Role::Auditor);
const ADMIN: AllowedCaller = AllowedCaller::Role(Role::Admin);

/// A code, a signed token, a choice: bytes of the longest body.
const SMALL_BODY: usize = 32 * 1024;
/// A kubeconfig of 1 MiB, JSON- or form-encoded.
const IMPORT_BODY: usize = 3 * 1024 * 1024 + 64 * 1024;

/// Every route of the portal, in the order of the references.
pub fn table() -> impl Iterator<Item = &'static Route> {
    [
        service::ROWS,
        metrics::ROWS,
        clusters::ROWS,
        access::ROWS,
        admin::ROWS,
        cluster_pages::ROWS,
        access_pages::ROWS,
        fleet::ROWS,
    ]
    .into_iter()
    .flatten()
}
