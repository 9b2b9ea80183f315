//! Classes of errors, for the decision whether to retry (`contract/backend.md` §9, §10).

use crate::error::{AzureError, ErrorKind};
use crate::service_error::ServiceError;

/// Class of an error: the first that matches, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorClass {
    /// 404: it is not there.
    Missing,
    /// A credential that is not known yet, wrong or expired, or rights that are missing.
    Authorization,
    /// 429.
    Throttled,
    /// A policy of the customer denies it.
    Policy,
    /// A lock of the customer is on it.
    Lock,
    /// The subscription's quota or the region's capacity is used up.
    Quota,
    /// 409 and 412.
    Conflict,
    /// No answer, or 5xx: may go away by itself.
    Unavailable,
    Other,
}

const POLICY: [&str; 2] = ["RequestDisallowedByPolicy", "PolicyViolation"];
const LOCK: [&str; 2] = ["ScopeLocked", "ReadOnlyDisabledSubscription"];
const QUOTA: [&str; 7] = [
    "QuotaExceeded",
    "ResourceQuotaExceeded",
    "SkuNotAvailable",
    "NotAvailableForSubscription",
    "PublicIPCountLimitReached",
    "AllocationFailed",
    "ZonalAllocationFailed",
];
const QUOTA_WORDS: [&str; 4] = ["quota", "cores", "current limit", "new limit required"];

impl AzureError {
    /// The class of the error.
    pub fn class(&self) -> ErrorClass {
        let any = |codes: &[&str]| codes.iter().any(|code| self.has_code(code));
        if self.is_missing() {
            ErrorClass::Missing
        } else if any(&POLICY) {
            ErrorClass::Policy
        } else if any(&LOCK) {
            ErrorClass::Lock
        } else if any(&QUOTA) || self.is_quota_refusal() {
            ErrorClass::Quota
        } else if self.is_authorization() || self.aadsts().is_some() {
            ErrorClass::Authorization
        } else if matches!(self.kind, ErrorKind::Throttled) || any(&["TooManyRequests"]) {
            ErrorClass::Throttled
        } else {
            match self.kind {
                ErrorKind::Unauthorized | ErrorKind::Forbidden | ErrorKind::Credential => {
                    ErrorClass::Authorization
                }
                ErrorKind::Conflict => ErrorClass::Conflict,
                ErrorKind::Server => ErrorClass::Unavailable,
                kind if kind.is_transport() => ErrorClass::Unavailable,
                _ => ErrorClass::Other,
            }
        }
    }

    /// The error and everything inside it, outermost first.
    pub fn chain(&self) -> Vec<ServiceError> {
        match self.service() {
            Some(service) => service.all(),
            None => {
                let (code, message) = (self.code.clone(), self.message.clone());
                vec![ServiceError { code, message, ..ServiceError::default() }]
            }
        }
    }

    /// Whether any error in it has that code.
    pub fn has_code(&self, code: &str) -> bool {
        self.chain().iter().any(|error| error.code == code) || self.code == code
    }

    /// Whether any message in it contains that text.
    pub fn has_text(&self, words: &str) -> bool {
        let has = |error: &ServiceError| error.code.contains(words) || error.message.contains(words);
        self.code.contains(words) || self.message.contains(words) || self.chain().iter().any(has)
    }

    /// The number of an error of Entra ID: 700016 of `AADSTS700016: …`.
    pub fn aadsts(&self) -> Option<u32> {
        self.chain().iter().flat_map(|error| [&error.code, &error.message]).find_map(|text| {
            let (_, rest) = text.split_once("AADSTS")?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest.get(..end)?.parse().ok()
        })
    }

    /// `AuthorizationFailed` or `LinkedAuthorizationFailed`, direct or inside a deployment's failure, and
    /// `InvalidTemplateDeployment` for want of authorization (`contract/backend.md` §9.1).
    pub fn is_authorization_failed(&self) -> bool {
        let template = |error: &ServiceError| {
            error.code == "InvalidTemplateDeployment"
                && error.message.contains("Authorization failed for template resource")
        };
        self.has_code("AuthorizationFailed")
            || self.has_code("LinkedAuthorizationFailed")
            || self.chain().iter().any(template)
    }

    /// Whether a step may repeat it in the hope that rights or credentials arrive
    /// (`contract/backend.md` §9.1).
    pub fn is_authorization(&self) -> bool {
        self.is_authorization_failed() || matches!(self.aadsts(), Some(700_016 | 7_000_215))
    }

    fn is_quota_refusal(&self) -> bool {
        let refusal = |error: &ServiceError| {
            let said = error.message.to_ascii_lowercase();
            error.code == "OperationNotAllowed" && QUOTA_WORDS.iter().any(|word| said.contains(word))
        };
        self.chain().iter().any(refusal)
    }
}
