//! Manifests that we add to those of `create manifests`, before `create ignition-configs` (`contract/installer.md` §7, §11.5,
//! §16). Each is a file of one JSON object, which YAML includes.

mod machine_configs;
mod objects;

use std::collections::BTreeSet;

use rp_node_config::registries::{Mirror, Repository};
use serde_json::Value;

use crate::InputError;
use crate::config::{RELEASE_REPOSITORIES, mirror};
use crate::facts::InstallFacts;

/// A file of the installer's folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// `manifests/NAME` or `openshift/NAME`.
    pub path: String,
    pub object: Value,
    /// The cluster version operator leaves the object alone.
    pub unmanaged: bool,
}

impl Manifest {
    fn new(path: impl Into<String>, object: Value) -> Self {
        Self { path: path.into(), object, unmanaged: false }
    }

    /// The contents of the file.
    pub fn contents(&self) -> String {
        format!("{:#}\n", self.object)
    }
}

/// A custom manifest that cannot be taken.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ManifestError {
    #[error("the custom manifest {name} is no object with apiVersion, kind and metadata.name")]
    NoObject { name: String },
    #[error("the custom manifests have the same object twice: {identity}")]
    Twice { identity: String },
    #[error(
        "the name of the custom manifest {name:?} is none of letters, digits and . _ -, with .yaml or .yml at its end"
    )]
    Name { name: String },
}

/// Our manifests. `http_secret`: 64 random bytes as hex, chosen once for an installation, since the image registry's
/// replicas must have the same.
///
/// # Errors
/// A repository of images that is none.
pub fn ours(facts: &InstallFacts, http_secret: &str) -> Result<Vec<Manifest>, InputError> {
    let mut all = vec![
        Manifest::new("manifests/aro-imageregistry.yaml", objects::image_registry(facts, http_secret)),
        Manifest::new("manifests/aro-ingress-namespace.yaml", objects::ingress_namespace()),
        Manifest::new("manifests/aro-ingress-service.yaml", objects::ingress_service(facts)),
        Manifest::new("manifests/cluster-dns-02-config.yml", objects::dns(facts)),
    ];
    if let Some(issuer) = &facts.oidc_issuer {
        let authentication = objects::authentication(issuer);
        all.push(Manifest::new("manifests/cluster-authentication-02-config.yaml", authentication));
    }
    if !facts.has_pull_secret {
        all.push(Manifest::new("manifests/cluster-config-samples.yaml", objects::no_samples()));
    }
    all.extend(machine_configs::all(facts)?);
    Ok(all)
}

/// Custom manifests: objects by the names of their files. The cluster version operator leaves them alone.
///
/// # Errors
/// [`ManifestError`]: a name or an object that cannot be taken, or one object twice.
pub fn custom(files: Vec<(String, Value)>) -> Result<Vec<Manifest>, ManifestError> {
    let mut known = BTreeSet::new();
    let mut all = Vec::with_capacity(files.len());
    for (name, object) in files {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let yaml = name.ends_with(".yaml") || name.ends_with(".yml");
        if !yaml || name.starts_with('.') || !name.bytes().all(plain) {
            return Err(ManifestError::Name { name });
        }
        let Some(identity) = Identity::of(&object) else { return Err(ManifestError::NoObject { name }) };
        let text = identity.text();
        if !known.insert(text.clone()) {
            return Err(ManifestError::Twice { identity: text });
        }
        all.push(Manifest { path: format!("manifests/{name}"), object, unmanaged: true });
    }
    Ok(all)
}

/// `manifests/cvo-overrides.yaml` with an override for each manifest that is not managed, over those that are there.
/// Everything else of the file stays. Applied twice it gives the same.
#[must_use]
pub fn with_overrides(mut cluster_version: Value, manifests: &[Manifest]) -> Value {
    let mut overrides = match cluster_version.pointer_mut("/spec/overrides").map(Value::take) {
        Some(Value::Array(there)) => there,
        _ => Vec::new(),
    };
    for manifest in manifests.iter().filter(|manifest| manifest.unmanaged) {
        let Some(identity) = Identity::of(&manifest.object) else { continue };
        let entry = identity.component_override();
        if !overrides.contains(&entry) {
            overrides.push(entry);
        }
    }
    if !overrides.is_empty() {
        if !cluster_version["spec"].is_object() {
            cluster_version["spec"] = Value::Object(serde_json::Map::new());
        }
        cluster_version["spec"]["overrides"] = Value::Array(overrides);
    }
    cluster_version
}

/// What an object is.
struct Identity<'a> {
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Identity<'a> {
    fn of(object: &'a Value) -> Option<Self> {
        let version = object.get("apiVersion")?.as_str()?;
        let metadata = object.get("metadata")?;
        Some(Self {
            group: version.split_once('/').map_or("", |(group, _)| group),
            kind: object.get("kind")?.as_str()?,
            namespace: metadata.get("namespace").and_then(Value::as_str).unwrap_or_default(),
            name: metadata.get("name")?.as_str()?,
        })
    }

    fn text(&self) -> String {
        let Self { group, kind, namespace, name } = self;
        format!("{kind}.{group} {namespace}/{name}")
    }

    fn component_override(&self) -> Value {
        let Self { group, kind, namespace, name } = self;
        serde_json::json!({
            "group": group, "kind": kind, "namespace": namespace, "name": name, "unmanaged": true,
        })
    }
}

/// Where images of the release come from instead.
fn mirrors(facts: &InstallFacts) -> Result<Vec<Mirror>, InputError> {
    RELEASE_REPOSITORIES
        .iter()
        .map(|source| {
            let mirrors = vec![Repository::parse(&mirror(&facts.acr_domain, source))?];
            Ok(Mirror { source: Repository::parse(source)?, mirrors })
        })
        .collect()
}
