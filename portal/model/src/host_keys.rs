//! Trust in the host key of a machine that showed another one than before.

use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use proxy::ssh::host_keys::TrustError;
use rp_base::text::clean;
use rp_documents::{HostKey, ResourceId, Side};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::state::PortalState;

/// Which key is trusted: the one that the machine showed last, by its fingerprint.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    extend("required" = ["uid", "fingerprint"]),
    example = serde_json::json!({"uid": "0b7c1f6e-4c8e-4a36-8a55-6f3d9c1e7a20", "fingerprint": "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"})
)]
pub struct TrustKeyRequest {
    /// The machine's, as the list of host keys has it.
    pub uid: String,
    /// Of the key that the machine showed.
    pub fingerprint: String,
}

/// Writes the audit entry, then trusts the key.
pub async fn trust(
    state: &PortalState,
    user: &CurrentUser,
    target: &ResourceId,
    asked: &TrustKeyRequest,
) -> Result<HostKey, Fault> {
    let parts = state.ssh()?;
    if asked.uid.is_empty() || asked.uid.len() > 200 || asked.fingerprint.len() > 200 {
        return Err(Fault::bad_input("uid and fingerprint name a machine and the key that it showed"));
    }
    let known = parts.host_keys.get(target, &asked.uid).await.map_err(|error| Fault::store(&error))?;
    let known = known.filter(|known| known.refused.is_some()).ok_or_else(|| refused(&TrustError::Nothing))?;
    let entry = |entry: &mut rp_documents::Entry| {
        entry.target = Some(target.clone());
        "host-key".clone_into(&mut entry.resource);
        entry.name.clone_from(&known.machine);
        entry.query = clean(&asked.fingerprint, 200);
    };
    state
        .session
        .promise(&user.caller, "host-key.trust", entry)
        .await
        .map_err(|error| Fault::audit(&error))?;
    let by = &user.caller.person.name;
    parts.host_keys.trust(target, &asked.uid, &asked.fingerprint, by).await.map_err(|error| refused(&error))
}

fn refused(error: &TrustError) -> Fault {
    let told =
        |status, code| Fault::new(status, code, Side::You, refusals::sentence(error).trim_end_matches('.'));
    match error {
        TrustError::Nothing => told(StatusCode::NOT_FOUND, "nothing_refused"),
        TrustError::Another => told(StatusCode::CONFLICT, "another_key"),
        TrustError::Store(cause) => Fault::store(cause),
    }
}
