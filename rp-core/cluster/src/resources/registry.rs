//! The cluster's token of the container registry (`contract/cluster.md` §6.3).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_azure::{Client, Resources};
use rp_base::{Secret, Timestamp};
use rp_documents::cluster::{ClusterSecret, Outcome, RegistryProfile, Worker};
use rp_documents::{OpenShiftCluster, Sealed};
use rp_kube::api_status;
use rp_openshift::{PullSecret, Whole};
use serde_json::{Value, json};

use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, Tries, retry, secret, secrets};
use crate::operator;
use crate::templates::versions;

/// The cluster's one registry profile is the first.
const PASSWORD: ClusterSecret = ClusterSecret::RegistryPassword(0);
/// A password lives 180 days.
const OLD: Duration = Duration::from_hours(140 * 24);
/// Tolerance between the registry's clock and ours.
const LEEWAY: Duration = Duration::from_mins(5);
const CONFIG: &str = ".dockerconfigjson";
const CONFIG_TYPE: &str = "kubernetes.io/dockerconfigjson";
/// Attempts of a write into the cluster.
const TRIES: u32 = 10;

/// Creates the cluster's pull token and a password, once.
pub(crate) async fn ensure_acr_token(context: &Context) -> Result<(), StepError> {
    let env = &context.env;
    if env.features.development || env.registry_id.is_empty() {
        return Ok(());
    }
    record_token_name(context).await?;
    if context.secret(PASSWORD)?.is_some() {
        return Ok(());
    }
    let client = context.own();
    let name = token_name(context);
    ensure_token(&client, &env.registry_id, &name).await?;
    let password = generate(&client, &env.registry_id, &name, "password1").await?;
    let sealed = context.sealed(PASSWORD, password.expose().as_bytes())?;
    set_password(context, sealed).await
}

/// Makes a new password before the old one ends; the cluster has what the document has. A run that ended in between is
/// taken up by the next: what the registry made and nobody kept is made again.
pub(crate) async fn rotate_acr_token_password(context: &Context) -> Result<(), StepError> {
    let env = &context.env;
    let name = token_name(context);
    if env.features.development || env.registry_id.is_empty() || name.is_empty() {
        return Ok(());
    }
    let document = context.document();
    let issued = document.properties.registry_profiles.first().and_then(|profile| profile.issue_date.get());
    let issued = issued.map(|issued| issued.at());
    if issued.is_none_or(|issued| env.clock.now().since(issued) > OLD) {
        let client = context.own();
        let token =
            super::azure::must_get(&client, &token_id(&env.registry_id, &name), versions::REGISTRY).await?;
        let which = password_to_renew(&token["properties"]["credentials"]["passwords"], issued);
        let password = generate(&client, &env.registry_id, &name, which).await?;
        let sealed = context.sealed(PASSWORD, password.expose().as_bytes())?;
        set_password(context, sealed).await?;
        context.record_line("info", &format!("the registry's token has a new {which}"));
    }
    let Some(password) = context.secret(PASSWORD)? else { return Ok(()) };
    write_credentials(context, &name, &password).await
}

/// Which of the two passwords is made anew: one that an interrupted run made, one that is missing, one of unknown age,
/// the older.
fn password_to_renew(passwords: &Value, issued: Option<Timestamp>) -> &'static str {
    let made = |which: &str| -> Option<Option<Timestamp>> {
        let mut all = passwords.as_array().into_iter().flatten();
        let found = all.find(|password| password["name"] == which)?;
        Some(Timestamp::parse(found["creationTime"].as_str().unwrap_or_default()).ok())
    };
    let both = ["password1", "password2"];
    let lost = |which: &&&str| {
        let made = made(which).flatten();
        made.zip(issued).is_some_and(|(made, issued)| made > issued + LEEWAY)
    };
    let missing = |which: &&&str| made(which).is_none();
    let ageless = |which: &&&str| made(which) == Some(None);
    let older = || both.iter().min_by_key(|which| made(which).flatten());
    let found = both.iter().find(lost).or_else(|| both.iter().find(missing));
    found.or_else(|| both.iter().find(ageless)).or_else(older).copied().unwrap_or("password1")
}

/// The operator's own secret, where the operator is, and the cluster's pull secret.
pub(crate) async fn write_credentials(
    context: &Context,
    name: &str,
    password: &Secret<String>,
) -> Result<(), StepError> {
    let kube = Kube::connect(context)?;
    let host = context.env.registry_host.as_str();
    let auth = STANDARD.encode(format!("{name}:{}", password.expose()));
    retry(context, Tries::of(TRIES), passes, || async {
        operator::update_pull_secret(context, &kube).await?;
        merge_pull_secret(&kube, host, &auth).await
    })
    .await
}

/// Puts the registry into the pull secret; what the customer has in it stays.
async fn merge_pull_secret(kube: &Kube, host: &str, auth: &str) -> Result<(), StepError> {
    let namespace = "openshift-config";
    let path = format!("{}/pull-secret", secrets(namespace));
    let found: Option<PullSecret<Whole>> = kube.get(&path).await?;
    let data = found.as_ref().and_then(|found| found.data.config.as_ref());
    let data = data.map_or("", |config| config.expose().as_str());
    let fits = |found: &PullSecret<Whole>| found.kind.as_str() == CONFIG_TYPE && !found.immutable;
    let usable = !data.is_empty() && found.as_ref().is_some_and(fits);
    let mut config: Value = STANDARD
        .decode(data)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .filter(|config: &Value| {
            usable && config.is_object() && (config["auths"].is_object() || config["auths"].is_null())
        })
        .unwrap_or_else(|| json!({}));
    if usable && config["auths"][host]["auth"] == auth {
        return Ok(());
    }
    config["auths"][host] = json!({ "auth": auth });
    if found.is_some() && !usable {
        kube.delete(&path).await?;
    }
    kube.apply(&path, &secret(namespace, "pull-secret", CONFIG_TYPE, &[(CONFIG, &config.to_string())])).await
}

/// The API server is restarting, or others write the same object.
fn passes(error: &StepError) -> bool {
    matches!(error, StepError::Kube { error, .. } if matches!(api_status(error), Some(400 | 409 | 500 | 504)))
}

/// Writes the name of the token to the document before the token is created.
async fn record_token_name(context: &Context) -> Result<(), StepError> {
    if !token_name(context).is_empty() {
        return Ok(());
    }
    let host = context.env.registry_host.clone();
    let token = format!("token-{}", context.env.random.uuid());
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        let profile = RegistryProfile {
            name: Outcome::new(by, &*host),
            username: Outcome::new(by, token.as_str()),
            ..RegistryProfile::default()
        };
        cluster.properties.registry_profiles.set(by, vec![Outcome::new(by, profile)]);
    };
    context.patch(change).await.map(|_| ())
}

/// Stores a new password with its date.
async fn set_password(context: &Context, sealed: Sealed) -> Result<(), StepError> {
    let now = context.env.clock.now();
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        if let Some(profile) = cluster.properties.registry_profiles.elements_mut().first_mut() {
            profile.password.set(by, sealed.clone());
            profile.issue_date.set(by, now);
        }
    };
    context.patch(change).await.map(|_| ())
}

pub(crate) fn token_name(context: &Context) -> String {
    let document = context.document();
    document
        .properties
        .registry_profiles
        .first()
        .map(|profile| profile.username.to_string())
        .unwrap_or_default()
}

/// Id of a token.
pub(crate) fn token_id(registry: &str, name: &str) -> String {
    format!("{registry}/tokens/{name}")
}

async fn ensure_token(client: &Client, registry: &str, name: &str) -> Result<(), StepError> {
    let body = json!({ "properties": {
        "scopeMapId": format!("{registry}/scopeMaps/_repositories_pull"),
        "status": "enabled",
    }});
    match client.put(&token_id(registry, name), versions::REGISTRY, &body).await {
        // An earlier run made it.
        Err(error) if error.status == Some(409) => Ok(()),
        done => Ok(done.map(|_| ())?),
    }
}

/// Generates a new password of a token.
pub(crate) async fn generate(
    client: &Client,
    registry: &str,
    name: &str,
    which: &str,
) -> Result<Secret<String>, StepError> {
    let body = json!({ "tokenId": token_id(registry, name), "name": which });
    let answer =
        client.post(&format!("{registry}/generateCredentials"), versions::REGISTRY, Some(&body)).await?;
    let passwords = answer["passwords"].as_array().into_iter().flatten();
    let mut found = passwords.into_iter().filter(|password| password["name"] == which);
    let value = found.find_map(|password| password["value"].as_str()).filter(|value| !value.is_empty());
    value
        .map(|value| Secret::new(value.to_owned()))
        .ok_or_else(|| StepError::other("the registry made no password"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_that_is_made_anew_is_the_one_that_nobody_uses() {
        let issued = Timestamp::parse("2026-05-01T00:00:00Z").ok();
        let of = |passwords: &[(&str, &str)]| {
            let all: Vec<Value> =
                passwords.iter().map(|(name, made)| json!({"name": name, "creationTime": made})).collect();
            password_to_renew(&json!(all), issued)
        };
        let (old, new, lost) = ("2026-01-01T00:00:00Z", "2026-05-01T00:00:00Z", "2026-10-01T00:00:00Z");
        assert_eq!(password_to_renew(&Value::Null, issued), "password1");
        assert_eq!(of(&[("password1", new)]), "password2");
        assert_eq!(of(&[("password1", ""), ("password2", old)]), "password1");
        assert_eq!(of(&[("password1", new), ("password2", old)]), "password2");
        assert_eq!(of(&[("password1", old), ("password2", new)]), "password1");
        // The first of a run that ended before it was kept: what the cluster uses stays good.
        assert_eq!(of(&[("password1", new), ("password2", lost)]), "password2");
        assert_eq!(of(&[("password1", lost), ("password2", new)]), "password1");
        let text =
            json!([{"name": "password1", "creationTime": lost}, {"name": "password2", "creationTime": new}]);
        assert_eq!(password_to_renew(&text, None), "password2", "without a date the older");
    }
}
