//! The dependencies of an API in tests; shared by the crate's own tests and those in `tests/properties`.

use std::sync::Arc;

use rp_base::{ManualClock, SystemRandom};
use rp_database::SharedStore;
use rp_seal::Keyring;

// By the parent: one sees the crate from within, the other from outside.
use super::{AdminParts, AllowAll, Edge, FrontendParts, Offers, OperatorRole, RoleSet};

#[derive(Debug)]
struct Offered;

impl Offers for Offered {
    fn versions(&self) -> Vec<String> {
        vec!["4.19.1".to_owned(), "4.9.10".to_owned(), "4.18.2".to_owned()]
    }

    fn default_version(&self) -> Option<String> {
        Some("4.19.1".to_owned())
    }

    fn role_sets(&self) -> Vec<RoleSet> {
        let role = |name: &str| OperatorRole {
            operator_name: name.to_owned(),
            role_definition_name: format!("{name} role"),
            role_definition_id: "/role".to_owned(),
        };
        vec![RoleSet {
            open_shift_version: "4.19".to_owned(),
            platform_workload_identity_roles: vec![role("disk"), role("file")],
        }]
    }
}

/// Over that store; every caller is allowed, and Azure is not queried.
pub(crate) fn parts(store: SharedStore, keyring: Keyring, clock: ManualClock) -> FrontendParts {
    FrontendParts {
        store,
        keyring,
        clock: Arc::new(clock),
        random: Arc::new(SystemRandom),
        authorizer: Arc::new(AllowAll),
        offers: Arc::new(Offered),
        checks: None,
        region: "eastus".to_owned(),
        domain: "eastus.aroapp.io".to_owned(),
        commit: "commit".to_owned(),
        development_workers: false,
        gateway: true,
        edge: Edge::default(),
        admin: AdminParts::default(),
        detectors: None,
    }
}
