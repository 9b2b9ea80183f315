//! Errors for machines that are not trusted.

use rp_database::StoreError;

/// Why a machine is not trusted. Each is a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum HostKeyError {
    #[error(
        "the machine {machine} shows another host key than the one that is known ({shown}). Somebody may be listening, \
         or its keys were made anew: compare the fingerprint on the machine's own console, then let an administrator \
         trust it on the cluster's page of host keys"
    )]
    Changed { machine: String, shown: String },
    #[error(
        "the host key of {machine} is not known yet ({shown}). An administrator can trust it on the cluster's page of \
         host keys after comparing the fingerprint"
    )]
    Untrusted { machine: String, shown: String },
    #[error("the host certificate of {machine} is not good for it: {why}")]
    Certificate { machine: String, why: &'static str },
    #[error(
        "the host key of {machine} could not be read by the cluster's API ({why}), so the machine is not trusted. It shows \
         {shown}: an administrator can trust that on the cluster's page of host keys after comparing the fingerprint"
    )]
    Unread {
        machine: String,
        shown: String,
        why: &'static str,
        #[source]
        cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    #[error("the store did not answer, so the machine's host key is not known")]
    Store(#[source] StoreError),
}

/// Why a key was not trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("this machine has shown no key that was refused")]
    Nothing,
    #[error("the machine has shown another key since; look at it again")]
    Another,
    #[error("the store did not answer; nothing was changed")]
    Store(#[source] StoreError),
}
