//! The objects of the deployment as text, for people who deploy the operator themselves.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rp_base::Secret;
use rp_operator_api::deployment::{Identity, ManagedIdentity, Settings, objects};
use serde_json::Value;

use crate::access::{self, AccessError};

/// What people choose.
#[derive(Debug, Clone, clap::Args)]
pub struct ManifestArgs {
    /// Reference of the image; its tag or digest is the version of the deployments.
    #[arg(long, value_name = "REFERENCE")]
    image: String,
    /// JSON as in .dockerconfigjson: registries whose credentials the operator keeps in the global pull secret. It stands
    /// in the output.
    #[arg(long, value_name = "FILE")]
    pull_secret: Option<PathBuf>,
    /// Client id of a managed identity; without it the cloud credential operator gives a service principal.
    #[arg(long, value_name = "ID", requires_all = ["tenant_id", "subscription_id", "region"])]
    client_id: Option<String>,
    /// Tenant of the managed identity.
    #[arg(long, value_name = "ID", requires = "client_id")]
    tenant_id: Option<String>,
    /// Subscription of the cluster, with a managed identity.
    #[arg(long, value_name = "ID", requires = "client_id")]
    subscription_id: Option<String>,
    /// Azure region of the cluster, with a managed identity.
    #[arg(long, value_name = "NAME", requires = "client_id")]
    region: Option<String>,
    /// The pods run in development mode.
    #[arg(long)]
    development: bool,
}

/// Why there are no manifests.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("{0} is no JSON object with the member auths")]
    PullSecret(PathBuf),
    #[error("the manifests cannot be written as YAML")]
    Yaml,
}

impl ManifestArgs {
    /// The objects as YAML documents, in the order of application (`contract/operator.md` §5.3).
    ///
    /// # Errors
    /// [`ManifestError`].
    pub fn text(self) -> Result<String, ManifestError> {
        let mut out = String::new();
        for object in objects(&self.settings()?) {
            let yaml = serde_saphyr::to_string(&object).map_err(|_| ManifestError::Yaml)?;
            // A string takes whatever is written.
            let _ = writeln!(out, "---\n{}", yaml.trim_end());
        }
        Ok(out)
    }

    fn settings(self) -> Result<Settings, ManifestError> {
        let pull_secret = self.pull_secret.as_deref().map(pull_secret).transpose()?;
        let identity = match self.client_id {
            None => Identity::ServicePrincipal,
            Some(client_id) => Identity::Managed(ManagedIdentity {
                client_id,
                tenant_id: self.tenant_id.unwrap_or_default(),
                region: self.region.unwrap_or_default(),
                subscription_id: self.subscription_id.unwrap_or_default(),
            }),
        };
        Ok(Settings {
            image: self.image,
            identity,
            development: self.development,
            // All versions since 4.11, which every version in support is.
            restricted: true,
            pull_secret: pull_secret.unwrap_or_else(|| Secret::new("{\"auths\":{}}".to_owned())),
        })
    }
}

fn pull_secret(path: &Path) -> Result<Secret<String>, ManifestError> {
    let text = access::read(path)?;
    let other = || ManifestError::PullSecret(path.to_owned());
    let content: Value = serde_json::from_str(&text).map_err(|_| other())?;
    if !content.get("auths").is_some_and(Value::is_object) {
        return Err(other());
    }
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: ManifestArgs,
    }

    fn read(args: &[&str]) -> Vec<Value> {
        let all = ["x", "--image", "registry.example/aro-operator:v1"].iter().chain(args);
        let text = Cli::try_parse_from(all).unwrap().args.text().unwrap();
        let documents = text.split("---\n").filter(|document| !document.is_empty());
        documents.map(|document| serde_saphyr::from_str(document).unwrap()).collect()
    }

    #[test]
    fn the_manifests_are_the_objects_of_the_deployment() {
        for (args, managed) in [
            (&[][..], false),
            (&["--client-id", "c", "--tenant-id", "t", "--subscription-id", "s", "--region", "eastus"], true),
        ] {
            let identity = match managed {
                false => Identity::ServicePrincipal,
                true => Identity::Managed(ManagedIdentity {
                    client_id: "c".to_owned(),
                    tenant_id: "t".to_owned(),
                    region: "eastus".to_owned(),
                    subscription_id: "s".to_owned(),
                }),
            };
            let settings = Settings {
                image: "registry.example/aro-operator:v1".to_owned(),
                identity,
                development: false,
                restricted: true,
                pull_secret: Secret::new("{\"auths\":{}}".to_owned()),
            };
            assert_eq!(read(args), objects(&settings), "{managed}");
        }
    }

    #[test]
    fn half_of_an_identity_is_refused() {
        for args in [&["--client-id", "c"][..], &["--tenant-id", "t"]] {
            assert!(Cli::try_parse_from(["x", "--image", "i"].iter().chain(args)).is_err(), "{args:?}");
        }
        assert!(Cli::try_parse_from(["x"]).is_err(), "an image is needed");
    }

    #[test]
    fn a_pull_secret_is_checked_and_not_shown_in_an_error() {
        let file = std::env::temp_dir().join(format!("aro-pull-secret-{}", std::process::id()));
        std::fs::write(&file, "{\"auth\": \"SECRET\"}").unwrap();
        let error = pull_secret(&file).unwrap_err().to_string();
        assert!(error.contains("auths") && !error.contains("SECRET"), "{error}");
        std::fs::write(&file, "{\"auths\": {\"a\": {}}}").unwrap();
        assert_eq!(pull_secret(&file).unwrap().expose(), "{\"auths\": {\"a\": {}}}");
        std::fs::remove_file(&file).unwrap();
        assert!(pull_secret(&file).is_err());
    }
}
