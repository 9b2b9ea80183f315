//! The accounts of the built-in sign-in: made once per folder, with random passwords.

use rp_base::{Id, Random, Secret};
use rp_simulator_oidc::Account;
use serde::{Deserialize, Serialize};

/// What an account may do; groups as [`GROUPS`] maps them to roles.
const ACCOUNTS: [(&str, &[&str]); 7] = [
    ("viewer", &["dev-viewers"]),
    ("sre", &["dev-sres"]),
    ("elevated", &["dev-sres", "dev-elevated"]),
    ("approver", &["dev-sres", "dev-approvers"]),
    ("auditor", &["dev-auditors"]),
    ("admin", &["dev-sres", "dev-elevated", "dev-auditors", "dev-admins"]),
    ("nobody", &["dev-strangers"]),
];

/// Role and group, for `[roles]`.
pub(crate) const GROUPS: [(&str, &str); 6] = [
    ("viewer", "dev-viewers"),
    ("sre", "dev-sres"),
    ("elevated", "dev-elevated"),
    ("approver", "dev-approvers"),
    ("auditor", "dev-auditors"),
    ("admin", "dev-admins"),
];

/// An account as the folder keeps it and `dev.json` shows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DevAccount {
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) groups: Vec<String>,
}

/// Fresh accounts.
pub(crate) fn make(random: &dyn Random) -> Vec<DevAccount> {
    ACCOUNTS
        .iter()
        .map(|(name, groups)| DevAccount {
            name: (*name).to_owned(),
            password: Id::random(random).as_str()[..14].to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        })
        .collect()
}

/// The same for the provider.
pub(crate) fn for_provider(accounts: &[DevAccount]) -> Vec<Account> {
    accounts
        .iter()
        .map(|account| Account {
            name: account.name.clone(),
            password: Secret::new(account.password.clone()),
            groups: account.groups.clone(),
            sub: format!("dev-{}", account.name),
        })
        .collect()
}
