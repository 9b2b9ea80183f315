//! The issuer of a cluster's own tokens: one key, and the documents by which others verify
//! (`contract/cluster.md` §6.5).

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeyPair, KeySize, PublicKey};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rp_azure::{BlobAccess, BlobStore};
use rp_base::{Secret, sha256};
use rp_documents::OpenShiftCluster;
use rp_documents::cluster::{ClusterSecret, Worker};
use serde_json::{Value, json};

use crate::context::Context;
use crate::environment::OidcStorage;
use crate::errors::StepError;
use crate::values::{der, pkcs1_of};

const KEY: ClusterSecret = ClusterSecret::BoundServiceAccountSigningKey;
const CONTAINER: &str = "$web";

/// Makes the key, once, then publishes it. The key is kept before anybody can see its public half: a second run goes on
/// with the same.
pub(crate) async fn create_oidc(context: &Context) -> Result<(), StepError> {
    if !context.document().is_workload_identity() {
        return Ok(());
    }
    let storage = storage(context)?;
    let key = match context.secret(KEY)? {
        Some(key) => key,
        None => {
            let made = tokio::task::spawn_blocking(generate).await;
            let made = made.map_err(|error| StepError::other(error.to_string()))??;
            context.set_secret(KEY, made.expose().as_bytes()).await?;
            made
        }
    };
    let folder = folder(context);
    let issuer = format!("https://{}/{folder}", storage.endpoint);
    let blobs = blobs(context, storage)?;
    for (name, content) in
        [(".well-known/openid-configuration", discovery(&issuer)), ("openid/v1/jwks", keys(&key)?)]
    {
        let content = content.to_string().into_bytes().into();
        blobs.put(CONTAINER, &format!("{folder}/{name}"), content, "application/json").await?;
    }
    if context.document().issuer() != issuer {
        let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
            cluster.properties.cluster_profile.oidc_issuer.set(by, issuer.as_str());
        };
        context.patch(change).await?;
    }
    Ok(())
}

/// Takes the documents back. Some may be there as soon as there is a key: the issuer is written after both.
pub(crate) async fn remove(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let none = KEY.sealed_in(&document).is_none() && document.issuer().is_empty();
    if context.env.oidc.is_none() || none {
        return Ok(());
    }
    let blobs = blobs(context, storage(context)?)?;
    let folder = folder(context);
    for name in ["openid/v1/jwks", ".well-known/openid-configuration"] {
        blobs.delete(CONTAINER, &format!("{folder}/{name}")).await?;
    }
    Ok(())
}

fn storage(context: &Context) -> Result<&OidcStorage, StepError> {
    let storage = context.env.oidc.as_ref();
    storage.ok_or_else(|| {
        StepError::other(
            "the region has no storage for issuers of workload identities: rp.oidc_account is not set",
        )
    })
}

fn blobs(context: &Context, storage: &OidcStorage) -> Result<BlobStore, StepError> {
    let url =
        storage.blob_url.parse().map_err(|_| StepError::other("the issuers' storage has no address"))?;
    Ok(BlobStore::new(context.gateway(), url, BlobAccess::Token))
}

fn folder(context: &Context) -> String {
    format!("{}/{}", context.tenant(), context.document().id())
}

/// PEM of PKCS#1 (RFC 8017, RFC 7468).
fn generate() -> Result<Secret<String>, StepError> {
    let failed = |_| StepError::other("no key could be made");
    let pair = KeyPair::generate(KeySize::Rsa4096).map_err(failed)?;
    let pkcs8: Pkcs8V1Der<'static> = pair.as_der().map_err(failed)?;
    let inner = pkcs1_of(pkcs8.as_ref()).ok_or_else(|| StepError::other("the key has an unknown form"))?;
    let text = STANDARD.encode(inner);
    let mut pem = String::from("-----BEGIN RSA PRIVATE KEY-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem.push_str("-----END RSA PRIVATE KEY-----\n");
    Ok(Secret::new(pem))
}

/// OpenID Connect Discovery 1.0.
fn discovery(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "jwks_uri": format!("{issuer}/openid/v1/jwks"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "claims_supported": ["aud", "exp", "sub", "iat", "iss", "sub"],
    })
}

/// The public half as a key set (RFC 7517).
fn keys(pem: &Secret<String>) -> Result<Value, StepError> {
    let unreadable = || StepError::other("the issuer's key cannot be read");
    let lines = pem.expose().lines().filter(|line| !line.starts_with("-----"));
    let private = STANDARD.decode(lines.collect::<String>()).map_err(|_| unreadable())?;
    let pair = KeyPair::from_der(&private).map_err(|_| unreadable())?;
    let public: &PublicKey = pair.public_key();
    let info: PublicKeyX509Der<'_> = public.as_der().map_err(|_| unreadable())?;
    let (modulus, exponent) = numbers(public.as_ref()).ok_or_else(unreadable)?;
    Ok(json!({ "keys": [{
        "use": "sig",
        "kty": "RSA",
        "kid": URL_SAFE_NO_PAD.encode(sha256(info.as_ref()).0),
        "alg": "RS256",
        "n": URL_SAFE_NO_PAD.encode(modulus),
        "e": URL_SAFE_NO_PAD.encode(exponent),
    }]}))
}

/// Modulus and exponent of a PKCS#1 public key, without leading zeros.
fn numbers(public: &[u8]) -> Option<(&[u8], &[u8])> {
    let (0x30, inside, _) = der(public)? else { return None };
    let (0x02, modulus, rest) = der(inside)? else { return None };
    let (0x02, exponent, _) = der(rest)? else { return None };
    Some((modulus.strip_prefix(&[0]).unwrap_or(modulus), exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_key_is_the_public_half() {
        let pem = generate().unwrap();
        assert!(pem.expose().starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
        let set = keys(&pem).unwrap();
        assert_eq!(set, keys(&pem).unwrap(), "the same key, the same set");
        let key = &set["keys"][0];
        assert_eq!((&key["e"], &key["alg"]), (&json!("AQAB"), &json!("RS256")));
        assert_eq!(URL_SAFE_NO_PAD.decode(key["n"].as_str().unwrap()).unwrap().len(), 512);
        assert_eq!(URL_SAFE_NO_PAD.decode(key["kid"].as_str().unwrap()).unwrap().len(), 32);
    }
}
