//! Pull secrets: credentials of image registries, as OpenShift keeps them in `.dockerconfigjson`
//! (`contract/installer.md` §5, `contract/operator.md` §8.25).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Secret;
use serde_json::{Map, Value, json};

/// The largest pull secret that is read, in bytes: what a Kubernetes Secret can hold.
const MOST_SECRET: usize = 1 << 20;
/// Telemetry of clusters; it is not for clusters that somebody else manages.
pub const TELEMETRY: &str = "cloud.openshift.com";

/// Why a text is not a pull secret. It holds nothing of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PullSecretError {
    #[error("the pull secret is larger than {MOST_SECRET} bytes")]
    TooLarge,
    #[error("the pull secret is no JSON object")]
    NoObject,
    #[error("`auths` of the pull secret is no object")]
    NoRegistries,
    #[error("the entry of a registry in the pull secret is no object")]
    NoEntry,
    #[error("`auth` of a registry in the pull secret is not the base64 of `user:password`")]
    NoCredentials,
}

/// User and password of a registry.
#[derive(Debug, Clone)]
pub struct RegistryCredentials {
    pub user: String,
    pub password: Secret<String>,
}

impl PartialEq for RegistryCredentials {
    fn eq(&self, other: &Self) -> bool {
        self.user == other.user && self.password.expose() == other.password.expose()
    }
}

/// A pull secret. Members that we do not know are kept, at its top and in the entries of registries.
#[derive(Clone, PartialEq, Default)]
pub struct PullSecret {
    registries: Map<String, Value>,
    unknown: Map<String, Value>,
}

/// The names of the registries and nothing else.
impl fmt::Debug for PullSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.registries.keys()).finish()
    }
}

impl PullSecret {
    /// Reads a pull secret. An entry without `auth` is kept as it is.
    ///
    /// # Errors
    /// [`PullSecretError`]: its form is another.
    pub fn parse(text: &str) -> Result<Self, PullSecretError> {
        if text.len() > MOST_SECRET {
            return Err(PullSecretError::TooLarge);
        }
        let Ok(Value::Object(mut unknown)) = serde_json::from_str(text) else {
            return Err(PullSecretError::NoObject);
        };
        let registries = match unknown.remove("auths") {
            Some(Value::Object(registries)) => registries,
            None => Map::new(),
            Some(_) => return Err(PullSecretError::NoRegistries),
        };
        for entry in registries.values() {
            let entry = entry.as_object().ok_or(PullSecretError::NoEntry)?;
            if let Some(auth) = entry.get("auth") {
                credentials(auth).ok_or(PullSecretError::NoCredentials)?;
            }
        }
        Ok(Self { registries, unknown })
    }

    /// Takes over everything of another pull secret. Where both have a registry or a member, the other's stands.
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        self.registries.extend(other.registries);
        self.unknown.extend(other.unknown);
        self
    }

    /// Sets the credentials of a registry; other members of its entry stay.
    pub fn set(&mut self, registry: &str, credentials: &RegistryCredentials) {
        let RegistryCredentials { user, password } = credentials;
        let auth = STANDARD.encode(format!("{user}:{}", password.expose()));
        let entry = self.registries.entry(registry).or_insert_with(|| json!({}));
        entry["auth"] = Value::from(auth);
    }

    /// Removes a registry.
    pub fn remove(&mut self, registry: &str) {
        self.registries.remove(registry);
    }

    /// The credentials of a registry; `None`: it has no entry, or one without `auth`.
    pub fn get(&self, registry: &str) -> Option<RegistryCredentials> {
        credentials(self.registries.get(registry)?.get("auth")?)
    }

    /// The names of the registries, sorted.
    pub fn registries(&self) -> impl Iterator<Item = &str> {
        self.registries.keys().map(String::as_str)
    }

    /// The JSON with sorted names.
    pub fn to_json(&self) -> Secret<String> {
        let mut all = self.unknown.clone();
        all.insert("auths".to_owned(), Value::Object(self.registries.clone()));
        Secret::new(Value::Object(all).to_string())
    }
}

fn credentials(auth: &Value) -> Option<RegistryCredentials> {
    let text = String::from_utf8(STANDARD.decode(auth.as_str()?).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some(RegistryCredentials { user: user.to_owned(), password: Secret::new(password.to_owned()) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn auth(text: &str) -> String {
        STANDARD.encode(text)
    }

    fn credentials_of(user: &str, password: &str) -> RegistryCredentials {
        RegistryCredentials { user: user.to_owned(), password: Secret::new(password.to_owned()) }
    }

    #[test]
    fn the_later_one_wins_and_nothing_is_lost() {
        let service = json!({
            "auths": {
                "arosvc.azurecr.io": { "auth": auth("service:one") },
                "quay.io": { "auth": auth("service:two") },
                TELEMETRY: { "auth": auth("t:t") },
            },
            "credHelpers": { "a": "b" },
        });
        let customer = json!({
            "auths": { "quay.io": { "auth": auth("customer:a:b"), "email": "x@example.com" } },
            "credsStore": "s",
        });
        let parse = |value: &Value| PullSecret::parse(&value.to_string()).unwrap();
        let mut merged = parse(&service).merged(parse(&customer));
        merged.remove(TELEMETRY);
        merged.set("arosvc.azurecr.io", &credentials_of("cluster", "three"));
        merged.set("quay.io", &merged.get("quay.io").unwrap());
        let expected = json!({
            "auths": {
                "arosvc.azurecr.io": { "auth": auth("cluster:three") },
                "quay.io": { "auth": auth("customer:a:b"), "email": "x@example.com" },
            },
            "credHelpers": { "a": "b" },
            "credsStore": "s",
        });
        assert_eq!(*merged.to_json().expose(), expected.to_string());
        assert_eq!(merged.get("quay.io"), Some(credentials_of("customer", "a:b")));
        assert_eq!(merged.get("docker.io"), None);
        assert_eq!(merged.registries().collect::<Vec<_>>(), ["arosvc.azurecr.io", "quay.io"]);
    }

    #[test]
    fn other_forms_are_refused_without_showing_them() {
        for (text, error) in [
            ("SECRET", PullSecretError::NoObject),
            (r#"["SECRET"]"#, PullSecretError::NoObject),
            (r#"{"auths":"SECRET"}"#, PullSecretError::NoRegistries),
            (r#"{"auths":{"SECRET":1}}"#, PullSecretError::NoEntry),
            (r#"{"auths":{"a":{"auth":"SECRET"}}}"#, PullSecretError::NoCredentials),
            (r#"{"auths":{"a":{"auth":"U0VDUkVU"}}}"#, PullSecretError::NoCredentials),
            (r#"{"auths":{"a":{"auth":7}}}"#, PullSecretError::NoCredentials),
        ] {
            let found = PullSecret::parse(text).unwrap_err();
            assert_eq!(found, error, "{text}");
            assert!(!format!("{found} {found:?}").contains("SECRET"));
        }
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(MOST_SECRET));
        assert_eq!(PullSecret::parse(&large), Err(PullSecretError::TooLarge));
        let secret =
            PullSecret::parse(&json!({ "auths": { "a": { "auth": auth("u:SECRET") } } }).to_string());
        assert_eq!(format!("{:?}", secret.unwrap()), r#"{"a"}"#);
    }

    proptest! {
        #[test]
        fn any_credentials_are_read_back(user in "[^:]{0,20}", password in any::<String>()) {
            let mut secret = PullSecret::default();
            let credentials = credentials_of(&user, &password);
            secret.set("registry.example", &credentials);
            let read = PullSecret::parse(secret.to_json().expose()).unwrap();
            prop_assert_eq!(read.get("registry.example"), Some(credentials));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = PullSecret::parse(&text);
        }
    }
}
