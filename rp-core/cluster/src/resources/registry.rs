//! The cluster's token of the container registry (`spec/cluster.md` §6.3).

use rp_azure::{Client, Resources};
use rp_base::Secret;
use serde_json::{Value, json};

use crate::context::Context;
use crate::document::set;
use crate::errors::StepError;
use crate::templates::versions;

const PASSWORD: &str = "/properties/registryProfiles/0/password";

/// The cluster may pull: a token with a password, made once.
pub(crate) async fn ensure_acr_token(context: &Context) -> Result<(), StepError> {
    let env = &context.env;
    if env.features.development || env.registry_id.is_empty() {
        return Ok(());
    }
    intend(context).await?;
    if context.secret(PASSWORD)?.is_some() {
        return Ok(());
    }
    let client = context.own();
    let name = token_name(context);
    ensure_token(&client, &env.registry_id, &name).await?;
    let password = generate(&client, &env.registry_id, &name, "password1").await?;
    let sealed = context.sealed(PASSWORD, &password)?;
    let issued = env.clock.now().to_string();
    let change = move |cluster: &mut Value| {
        set(cluster, PASSWORD, json!(sealed));
        set(cluster, "/properties/registryProfiles/0/issueDate", json!(issued));
    };
    context.patch(change).await.map(|_| ())
}

/// Writes which token will be made, before it is.
async fn intend(context: &Context) -> Result<(), StepError> {
    if !token_name(context).is_empty() {
        return Ok(());
    }
    let profile = json!({
        "name": context.env.registry_host,
        "username": format!("token-{}", context.env.random.uuid()),
    });
    let change = move |cluster: &mut Value| set(cluster, "/properties/registryProfiles", json!([profile]));
    context.patch(change).await.map(|_| ())
}

pub(crate) fn token_name(context: &Context) -> String {
    context.document().text_or_empty("/properties/registryProfiles/0/username").to_owned()
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

/// Makes a password of a token anew.
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
