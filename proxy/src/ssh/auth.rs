//! Who signs in: with a one-time password, or with a certificate of ours (`contract/portal.md` §16.2).
//!
//! A key that is offered is not a key that is proved (CVE-2024-45337): nothing is decided, and nothing looked up, before the
//! library has verified the signature.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rp_access::{Access, ActiveGrant, Refusal, ssh_machine};
use rp_base::SharedClock;
use rp_base::text::clean;
use rp_documents::GrantKind;
use russh::keys::Certificate;

use super::keys::ServiceKeys;

/// The longest user name that is looked at, bytes; its characters are shown in the log.
pub(super) const MOST_USER: usize = 256;
/// Minimum time before a wrong password is answered, so that timing reveals nothing.
const WRONG_AFTER: Duration = Duration::from_millis(700);

/// Who has signed in.
#[derive(Debug)]
pub(super) struct AuthenticatedUser {
    pub(super) live: Arc<ActiveGrant>,
    /// The machine as it was named; `None` when no machine was named.
    pub(super) machine: Option<String>,
    pub(super) way: &'static str,
}

/// Verifies one-time passwords and certificates.
#[derive(Debug)]
pub(super) struct Authority {
    pub(super) access: Arc<Access>,
    pub(super) keys: Arc<ServiceKeys>,
    pub(super) clock: SharedClock,
}

impl Authority {
    /// A one-time password: gone when it was right.
    pub(super) async fn password(
        &self,
        user: &str,
        password: &str,
        from: IpAddr,
    ) -> Result<AuthenticatedUser, Refusal> {
        let answer = tokio::time::sleep(WRONG_AFTER);
        let redeemed = match user.len() <= MOST_USER {
            true => self.access.redeem_ssh(password, user, from).await,
            false => Err(Refusal::Unknown),
        };
        match redeemed {
            Ok(live) => Ok(known(live, user, "password")),
            Err(refusal) => {
                answer.await;
                Err(refusal)
            }
        }
    }

    /// A certificate whose key is proved.
    pub(super) async fn certificate(
        &self,
        user: &str,
        certificate: &Certificate,
        from: IpAddr,
    ) -> Result<AuthenticatedUser, Refusal> {
        let grant = self.keys.grant_of(certificate, self.clock.now()).filter(|_| user.len() <= MOST_USER);
        let grant = grant.ok_or(Refusal::Unknown)?;
        let live = self.access.live_by_id(grant.as_str(), from).await?;
        if live.grant.kind != GrantKind::Ssh {
            return Err(Refusal::Unknown);
        }
        Ok(known(live, user, "certificate"))
    }
}

fn known(live: Arc<ActiveGrant>, user: &str, way: &'static str) -> AuthenticatedUser {
    let machine = ssh_machine(&live.grant, user).map(|name| clean(name, MOST_USER));
    AuthenticatedUser { live, machine, way }
}
