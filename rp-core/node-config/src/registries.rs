//! `/etc/containers/registries.conf` of workers (`contract/installer.md` §7 step 5): where images are fetched instead.

use crate::NodeFiles;
use crate::ignition::File;

/// Registries of images that are named without one.
const UNQUALIFIED: [&str; 2] = ["registry.access.redhat.com", "docker.io"];

/// A text that does not name a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the repository is not a registry with a path of lower-case letters, digits and . _ - : /")]
pub struct RepositoryError;

/// A repository with its registry, such as `quay.io/openshift-release-dev/ocp-release`. It has no character that must be
/// escaped in TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository(String);

impl Repository {
    /// Reads a repository.
    ///
    /// # Errors
    /// [`RepositoryError`]: it has another form.
    pub fn parse(text: &str) -> Result<Self, RepositoryError> {
        let plain = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-' | b':')
        };
        let segment = |part: &str| !part.is_empty() && part.bytes().all(plain);
        match text.len() <= 512 && text.split('/').all(segment) {
            true => Ok(Self(text.to_owned())),
            false => Err(RepositoryError),
        }
    }
}

/// Images of a repository that are fetched by digest from others first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    pub source: Repository,
    pub mirrors: Vec<Repository>,
}

/// The file.
pub fn node_files(mirrors: &[Mirror]) -> NodeFiles {
    let path = "/etc/containers/registries.conf";
    NodeFiles { files: vec![File::text(path, 0o644, &configuration(mirrors))], units: Vec::new() }
}

/// The text of the file.
pub fn configuration(mirrors: &[Mirror]) -> String {
    let mut text = format!("unqualified-search-registries = {UNQUALIFIED:?}\n");
    for Mirror { source, mirrors } in mirrors {
        text += &format!(
            "\n[[registry]]\n  prefix = \"\"\n  location = \"{}\"\n  mirror-by-digest-only = true\n",
            source.0
        );
        for mirror in mirrors {
            text += &format!("\n  [[registry.mirror]]\n    location = \"{}\"\n", mirror.0);
        }
    }
    text
}
