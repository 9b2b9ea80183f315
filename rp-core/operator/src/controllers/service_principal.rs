//! The identity of the cluster in Azure (`contract/operator.md` §8.7): whether it can sign in, and has no right that it
//! must not have.

use rp_azure::Audience;
use rp_operator_api::conditions::Check;
use serde_json::Value;

use crate::controller::{Outcome, Reconciled, Run};

/// A right over applications of the whole directory.
const FORBIDDEN: &str = "Application.ReadWrite.OwnedBy";
/// Codes of a wrong secret, an expired secret, and an application that is not there.
const INVALID: [&str; 3] = ["AADSTS7000215", "AADSTS7000222", "AADSTS700016"];

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let check = Check::ServicePrincipalValid;
    if !run.enabled {
        return Ok(Outcome::unknown(check));
    }
    let claims = match run.context.azure.client(run.cluster) {
        Ok(azure) => {
            // A token that is kept says nothing of a secret that ended meanwhile.
            azure.renew();
            azure.claims(Audience::Graph).await.map_err(|error| rp_base::chain(&error).to_string())
        }
        Err(error) => Err(rp_base::chain(&error).to_string()),
    };
    let (status, reason, message) = result(&claims);
    let outcome = Outcome::check(check, status, reason, &message);
    Ok(if status == "True" { outcome } else { outcome.retried(message) })
}

fn result(claims: &Result<Value, String>) -> (&'static str, &'static str, String) {
    match claims {
        Ok(claims) if has_role(claims) => {
            let message = format!("The provided service principal must not have the {FORBIDDEN} permission.");
            ("False", "ServicePrincipalInvalid", message)
        }
        Ok(_) => ("True", "ValidationSuccessful", "Service Principal is valid".to_owned()),
        Err(error) if INVALID.iter().any(|code| error.contains(code)) => {
            ("False", "ServicePrincipalInvalid", error.clone())
        }
        Err(error) => ("Unknown", "ValidationUnavailable", format!("Unable to validate: {error}")),
    }
}

fn has_role(claims: &Value) -> bool {
    claims.get("roles").and_then(Value::as_array).into_iter().flatten().any(|role| role == FORBIDDEN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refused_identity_is_invalid_and_silence_is_unknown() {
        assert_eq!(result(&Ok(json!({ "roles": ["User.Read"] }))).0, "True");
        assert_eq!(result(&Ok(json!({}))).1, "ValidationSuccessful");
        let (status, reason, message) = result(&Ok(json!({ "roles": [FORBIDDEN] })));
        assert_eq!((status, reason), ("False", "ServicePrincipalInvalid"));
        assert!(message.contains(FORBIDDEN));
        assert_eq!(result(&Err("AADSTS7000222: expired".to_owned())).0, "False");
        let (status, _, message) = result(&Err("no answer".to_owned()));
        assert_eq!((status, message.as_str()), ("Unknown", "Unable to validate: no answer"));
    }
}
