//! Certificates and the registry's token.

use std::time::Duration;

use crate::certificates;
use crate::context::Context;
use crate::errors::StepError;

/// The longest life of a password of the registry, and the age from which it is to be renewed.
const LIFE: Duration = Duration::from_hours(180 * 24);
const RENEWED: Duration = Duration::from_hours(140 * 24);

/// Puts the certificates of the vault into the cluster: that of the API server and that of the ingress. Both are tried.
pub(super) async fn rotate_certificates(context: &Context) -> Result<(), StepError> {
    if context.env.features.disable_signed_certificates || context.env.certificates.is_none() {
        context.record_line("info", "signed certificates disabled");
        return Ok(());
    }
    if context.document().managed_prefix(&context.env.domain)?.is_none() {
        context.record_line("info", "cluster certificates are not managed");
        return Ok(());
    }
    let api = certificates::configure_api_server_certificate(context).await;
    let ingress = certificates::configure_ingress_certificate(context).await;
    match (api, ingress) {
        (Ok(()), done) | (done, Ok(())) => done,
        (Err(error), _) | (_, Err(error)) if error.is_interruption() => Err(error),
        (Err(api), Err(ingress)) => Err(StepError::other(format!("{api}; {ingress}"))),
    }
}

/// Says how long the password of the registry's token is still valid.
pub(super) async fn check_registry_token(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let issued = document.properties.registry_profiles.first().and_then(|profile| profile.issue_date.get());
    let Some(issued) = issued.map(|issued| issued.at()) else {
        return Err(StepError::other("no issue date detected, please rotate token"));
    };
    let line = token_line(context.env.clock.now().since(issued))?;
    context.record_line("info", &line);
    Ok(())
}

/// What is said of a token of that age.
fn token_line(age: Duration) -> Result<String, StepError> {
    let days = |time: Duration| format!("{} d", time.as_secs() / (24 * 3600));
    let Some(left) = LIFE.checked_sub(age).filter(|left| !left.is_zero()) else {
        return Err(StepError::other("token is expired"));
    };
    match RENEWED.checked_sub(age) {
        Some(wait) => {
            Ok(format!("token validity has {} remaining, should be rotated in {}", days(left), days(wait)))
        }
        None => {
            let since = age.saturating_sub(RENEWED);
            Err(StepError::other(format!(
                "token able to be renewed for {}, {} validity remaining, please rotate",
                days(since),
                days(left)
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_fresh_due_and_expired() {
        let line = |days: u64| token_line(Duration::from_hours(days * 24)).map_err(|error| error.to_string());
        assert_eq!(line(20), Ok("token validity has 160 d remaining, should be rotated in 120 d".to_owned()));
        assert_eq!(line(140), Ok("token validity has 40 d remaining, should be rotated in 0 d".to_owned()));
        assert_eq!(
            line(150),
            Err("token able to be renewed for 10 d, 30 d validity remaining, please rotate".to_owned())
        );
        assert_eq!(line(180), Err("token is expired".to_owned()));
    }
}
