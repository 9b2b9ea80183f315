//! Resolves a resource name against a cluster's API: `Kind`, `Kind.group` or the plural
//! (`contract/frontend.md` §11.1).

use futures_util::StreamExt as _;
use rp_actions::Resource;
use rp_api::CloudError;
use serde::Deserialize;

use super::cluster_api::ClusterApi;

/// A list of resources is not longer, in bytes.
const MOST: usize = 4 << 20;
/// Most groups that are searched.
const GROUPS: usize = 500;
/// Groups that are queried concurrently.
const AT_ONCE: usize = 5;

#[derive(Debug, Deserialize)]
struct ApiResourceList {
    #[serde(default)]
    resources: Vec<ApiResource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    kind: String,
}

#[derive(Debug, Deserialize)]
struct ApiGroupList {
    #[serde(default)]
    groups: Vec<ApiGroup>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroup {
    name: String,
    #[serde(default)]
    versions: Vec<GroupVersion>,
    #[serde(default)]
    preferred_version: Option<GroupVersion>,
}

#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
struct GroupVersion {
    version: String,
}

/// Resolves a resource name: first in the core group, then in the other groups in the server's order, each in its
/// preferred version first.
pub(super) async fn resolve(api: &ClusterApi, asked: &str) -> Result<Resource, CloudError> {
    let word = asked.to_ascii_lowercase();
    if word.is_empty() || !word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-') {
        return Err(CloudError::invalid("", "The provided resource is invalid."));
    }
    if let Some(found) = find_in_group(api, "", "v1", &word).await? {
        return Ok(found);
    }
    let groups: ApiGroupList = read(&api.get("/apis", MOST).await?)?;
    let wanted = word.split_once('.').map(|(_, group)| group);
    let groups: Vec<ApiGroup> = groups
        .groups
        .into_iter()
        .filter(|group| is_part(&group.name) && wanted.is_none_or(|wanted| wanted == group.name))
        .take(GROUPS)
        .collect();
    let preferred = groups.iter().filter_map(|group| {
        let version = group.preferred_version.as_ref().or(group.versions.first())?;
        Some((group.name.clone(), version.version.clone()))
    });
    let preferred: Vec<(String, String)> = preferred.collect();
    let others = groups
        .iter()
        .flat_map(|group| group.versions.iter().map(|version| (group.name.clone(), version.version.clone())));
    let others: Vec<_> = others.filter(|other| !preferred.contains(other)).take(GROUPS).collect();
    for list in [preferred, others] {
        // In order, several concurrently; a group whose server does not respond is skipped.
        let word = &word;
        let looks = list.into_iter().map(|(group, version)| async move {
            find_in_group(api, &group, &version, word).await.ok().flatten()
        });
        let mut found = futures_util::stream::iter(looks).buffered(AT_ONCE);
        while let Some(one) = found.next().await {
            if let Some(one) = one {
                return Ok(one);
            }
        }
    }
    let message = format!("The server has no resource type '{}'.", rp_base::text::clean(asked, 256));
    Err(CloudError::invalid("kind", message))
}

async fn find_in_group(
    api: &ClusterApi,
    group: &str,
    version: &str,
    word: &str,
) -> Result<Option<Resource>, CloudError> {
    if !is_part(version) {
        return Ok(None);
    }
    let path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let found: ApiResourceList = read(&api.get(&path, MOST).await?)?;
    let mine = |one: &ApiResource| {
        let plain = [&one.name, &one.singular_name, &one.kind];
        // Subresources (`pods/log`) are skipped. The names are checked, because they become part of a path.
        is_part(&one.name)
            && plain.into_iter().any(|name| {
                let name = name.to_ascii_lowercase();
                name == word
                    || word.strip_prefix(&name).and_then(|rest| rest.strip_prefix('.')) == Some(group)
            })
    };
    Ok(found.resources.into_iter().find(mine).map(|one| Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        name: one.name,
        kind: one.kind,
    }))
}

/// Whether it can be a segment of a path.
fn is_part(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'-';
    !text.is_empty() && text.bytes().all(good) && !text.starts_with('.')
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, CloudError> {
    serde_json::from_slice(body)
        .map_err(|_| super::failed("the API server's list of resources cannot be read"))
}
