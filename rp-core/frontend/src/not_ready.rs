//! Why requests cannot be taken yet (`contract/frontend.md` §13).

use http::StatusCode;
use rp_audit::AuditError;
use rp_base::chain;
use rp_database::StoreError;

use crate::auth::TokenError;

/// What is waited for, with its causes.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error("the process is about to end")]
    Ending,
    #[error("the process has just started")]
    Starting,
    #[error("what can be installed was not read lately")]
    Offers,
    #[error("ARM's certificates were never read")]
    ArmUnread,
    #[error("ARM's certificates were not read for a day")]
    ArmStale,
    #[error("none of ARM's certificates is valid now")]
    ArmExpired,
    /// The keys of the issuer of tokens are not known.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    #[error("the token check is not ready: {0}")]
    TokenCheck(StatusCode),
    #[error("the token check does not answer")]
    TokenCheckAway(#[source] reqwest::Error),
    /// Neither kind of authentication can be used.
    #[error("{}; {}", chain(&**tokens), chain(&**certificates))]
    Callers { tokens: Box<Self>, certificates: Box<Self> },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Audit(#[from] AuditError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_authentication_are_named() {
        let tokens = Box::new(NotReady::from(TokenError::IssuerUrl));
        let error = NotReady::Callers { tokens, certificates: Box::new(NotReady::ArmStale) };
        let said = "the issuer is no URL; ARM's certificates were not read for a day";
        assert_eq!(chain(&error).to_string(), said);
    }
}
