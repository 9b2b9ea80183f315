//! Codes that a command line trades for a token, and the provider's refresh tokens. Writer: the portal.

use std::borrow::Cow;

use rp_base::{Digest, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Sealed, Unknown};

/// Which flow a code belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoginFlow {
    /// A browser on the same machine (RFC 8252, RFC 7636).
    Loopback,
    /// A browser anywhere (RFC 8628).
    Device,
    /// The one-time password of an SSH grant (`contract/portal.md` §9).
    Password,
}

/// A code that works once. The id is its SHA-256 in hex: a copy of the store opens nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoginCode {
    pub id: String,
    pub flow: LoginFlow,
    pub created: Timestamp,
    pub not_after: Timestamp,
    /// What the flow remembers, sealed with the id as associated data.
    pub sealed: Sealed,
    /// SHA-256 of a second code by which it is found: the device flow's user code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for LoginCode {
    const COLLECTION: Collection = Collection::LoginCodes;

    fn id(&self) -> &str {
        &self.id
    }

    fn unique_key(&self) -> Option<Cow<'_, str>> {
        self.second.as_deref().map(Cow::Borrowed)
    }
}

/// The provider's refresh token of one person (`contract/rules.md` §5.4 "Sign-in of the CLI").
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignIn {
    /// SHA-256 of the subject in hex.
    pub id: String,
    pub sub: String,
    pub signed_in: Timestamp,
    /// When the provider was last asked, and said yes.
    pub confirmed: Timestamp,
    /// When it is asked next; the replica that moves this on asks.
    pub next_look: Timestamp,
    /// Refusals to answer in a row; a refusal of the person ends the record.
    #[serde(default)]
    pub failures: u32,
    /// The provider refused the person: what they hold is being ended.
    #[serde(default)]
    pub refused: bool,
    /// SHA-256 of the groups that were last seen: a change is written to sessions and grants.
    pub groups: Digest,
    /// The refresh token, sealed with the id as associated data; `None`: the provider gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Sealed>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for SignIn {
    const COLLECTION: Collection = Collection::SignIns;

    fn id(&self) -> &str {
        &self.id
    }
}
