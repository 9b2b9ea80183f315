//! What can be installed, as administrators keep it (`contract/frontend.md` §10): versions of OpenShift, role
//! sets, sizes. The rules are `rp_api::catalogue`'s.

use std::collections::BTreeMap;

use http::StatusCode;
use rp_api::catalogue::{
    self, OperatorRole, ROLE_SET_TYPE, Resource, RoleSetProperties, SecretLocation, VERSION_TYPE,
    VersionProperties,
};
use rp_api::{CloudError, text, vm_sizes};
use rp_database::{Expect, StoreError, Typed, Versioned};
use rp_documents::offer::{self, OpenShiftVersion, OpenShiftVersionProperties, PlatformRoleSet};
use rp_documents::offer::{PlatformRole, PlatformRoleSetProperties};
use rp_documents::{Document, OpenShiftVersionDocument, RoleSetDocument, Unknown};
use serde::Serialize;
use serde_json::{Value, json};

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::response::{HttpResponse, json_response};

/// Attempts of a whole request after concurrent writes.
const TRIES: u32 = 5;

/// All versions, enabled or not, oldest first.
pub(super) async fn versions(parts: &FrontendParts) -> Result<HttpResponse, Fault> {
    let found = Typed::<OpenShiftVersionDocument>::new(parts.store.clone()).all().await?;
    let living = found.iter().filter(|found| !found.value.open_shift_version.deleting);
    let mut value: Vec<_> = living.map(|found| shown_version(&found.value)).collect();
    value.sort_by_cached_key(|version| text::version(&version.properties.version));
    Ok(json_response(StatusCode::OK, &json!({"value": value})))
}

/// All role sets, oldest minor version first.
pub(super) async fn role_sets(parts: &FrontendParts) -> Result<HttpResponse, Fault> {
    let found = Typed::<RoleSetDocument>::new(parts.store.clone()).all().await?;
    let living = found.iter().filter(|found| !found.value.platform_workload_identity_role_set.deleting);
    let mut value: Vec<_> = living.map(|found| shown_role_set(&found.value)).collect();
    value.sort_by_cached_key(|set| text::version(&format!("{}.0", set.properties.open_shift_version)));
    Ok(json_response(StatusCode::OK, &json!({"value": value})))
}

/// Creates or changes a version. There is one default: a new default replaces the old one.
pub(super) async fn put_version(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    let sent = catalogue::read_version(&call.body)?;
    let versions = Typed::<OpenShiftVersionDocument>::new(parts.store.clone());
    if !catalogue::is_version(&sent.properties.version) {
        catalogue::check_version(&sent, None)?;
    }
    let mut tried = 0;
    loop {
        let found = versions.get_by_key(&sent.properties.version.to_ascii_lowercase()).await?;
        let living = found.as_ref().filter(|found| !found.value.open_shift_version.deleting);
        let stored = living.map(|found| shown_version(&found.value));
        catalogue::check_version(&sent, stored.as_ref())?;
        let document = version_document(parts, &sent.properties, found.as_ref().map(|found| &found.value));
        let shown = shown_version(&document);
        tried += 1;
        let Some(()) = write(&versions, document, found.as_ref(), tried).await? else { continue };
        if sent.properties.default {
            others_are_no_default(&versions, &sent.properties.version).await?;
        }
        return Ok(put(living.is_some(), &shown));
    }
}

/// Creates a role set, or changes its roles.
pub(super) async fn put_role_set(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    let sent = catalogue::read_role_set(&call.body)?;
    let sets = Typed::<RoleSetDocument>::new(parts.store.clone());
    if !catalogue::is_minor(&sent.properties.open_shift_version) {
        catalogue::check_role_set(&sent, None)?;
    }
    let mut tried = 0;
    loop {
        let found = sets.get_by_key(&sent.properties.open_shift_version.to_ascii_lowercase()).await?;
        let living = found.as_ref().filter(|found| !found.value.platform_workload_identity_role_set.deleting);
        let stored = living.map(|found| shown_role_set(&found.value));
        catalogue::check_role_set(&sent, stored.as_ref())?;
        let document = role_set_document(parts, &sent.properties, found.as_ref().map(|found| &found.value));
        let shown = shown_role_set(&document);
        tried += 1;
        let Some(()) = write(&sets, document, found.as_ref(), tried).await? else { continue };
        return Ok(put(living.is_some(), &shown));
    }
}

fn put(there: bool, shown: &impl Serialize) -> HttpResponse {
    json_response(if there { StatusCode::OK } else { StatusCode::CREATED }, shown)
}

/// Writes a document that was checked; `None`: it was changed concurrently and attempts are left.
async fn write<T: Document>(
    typed: &Typed<T>,
    document: T,
    found: Option<&Versioned<T>>,
    tried: u32,
) -> Result<Option<()>, Fault> {
    let written = match found {
        Some(found) => typed.put(document, Expect::Version(found.version)).await,
        None => typed.create(document).await,
    };
    match written {
        Err(StoreError::Stale { .. } | StoreError::Exists { .. } | StoreError::Gone { .. })
            if tried < TRIES =>
        {
            Ok(None)
        }
        settled => Ok(settled.map(|_| Some(()))?),
    }
}

/// Until then readers take the last written default, so that they see exactly one.
async fn others_are_no_default(
    versions: &Typed<OpenShiftVersionDocument>,
    version: &str,
) -> Result<(), Fault> {
    for other in versions.all().await? {
        let properties = &other.value.open_shift_version.properties;
        if !properties.default || properties.version == version {
            continue;
        }
        let cleared = rp_database::update(versions, &other.value.id, |document| {
            document.open_shift_version.properties.default = false;
        });
        match cleared.await {
            Ok(_) | Err(StoreError::Gone { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Where a version's document has the image of machines; `rp-install` reads it there.
const OS_IMAGE: &str = "osImage";

fn shown_version(document: &OpenShiftVersionDocument) -> Resource<VersionProperties> {
    let OpenShiftVersion { properties, unknown, .. } = &document.open_shift_version;
    let (id, name, kind) = named(unknown, &properties.version, VERSION_TYPE);
    let properties = VersionProperties {
        version: properties.version.clone(),
        open_shift_pullspec: properties.open_shift_pullspec.clone(),
        installer_pullspec: properties.installer_pullspec.clone(),
        enabled: properties.enabled,
        default: properties.default,
        os_image: properties
            .unknown
            .get(OS_IMAGE)
            .and_then(|image| serde_json::from_value(image.clone()).ok()),
    };
    Resource { id, name, kind, properties }
}

fn shown_role_set(document: &RoleSetDocument) -> Resource<RoleSetProperties> {
    let PlatformRoleSet { properties, unknown, .. } = &document.platform_workload_identity_role_set;
    let (id, name, kind) = named(unknown, &properties.open_shift_version, ROLE_SET_TYPE);
    let roles = properties.platform_workload_identity_roles.iter().map(|role| OperatorRole {
        operator_name: role.operator_name.clone(),
        role_definition_name: role.role_definition_name.clone(),
        role_definition_id: role.role_definition_id.clone(),
        service_accounts: role.service_accounts.clone(),
        secret_location: role
            .secret_location
            .as_ref()
            .map(|place| SecretLocation { namespace: place.namespace.clone(), name: place.name.clone() }),
    });
    let properties = RoleSetProperties {
        open_shift_version: properties.open_shift_version.clone(),
        platform_workload_identity_roles: roles.collect(),
    };
    Resource { id, name, kind, properties }
}

/// Id, name and type of a stored resource; older ones have none.
fn named(unknown: &Unknown, version: &str, kind: &str) -> (String, String, String) {
    let text = |name: &str, default: &str| {
        unknown
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .unwrap_or(default)
            .to_owned()
    };
    (text("id", ""), text("name", version), text("type", kind))
}

fn version_document(
    parts: &FrontendParts,
    sent: &VersionProperties,
    old: Option<&OpenShiftVersionDocument>,
) -> OpenShiftVersionDocument {
    let mut document = old.cloned().unwrap_or_else(|| OpenShiftVersionDocument {
        id: parts.random.uuid().to_string(),
        open_shift_version: OpenShiftVersion::default(),
        unknown: Unknown::new(),
    });
    let version = &mut document.open_shift_version;
    version.deleting = false;
    name(&mut version.unknown, &sent.version, VERSION_TYPE);
    if let Some(image) = &sent.os_image {
        let image = serde_json::to_value(image).unwrap_or_default();
        version.properties.unknown.insert(OS_IMAGE.to_owned(), image);
    }
    version.properties = OpenShiftVersionProperties {
        version: sent.version.clone(),
        open_shift_pullspec: sent.open_shift_pullspec.clone(),
        installer_pullspec: sent.installer_pullspec.clone(),
        enabled: sent.enabled,
        default: sent.default,
        unknown: std::mem::take(&mut version.properties.unknown),
    };
    document
}

fn role_set_document(
    parts: &FrontendParts,
    sent: &RoleSetProperties,
    old: Option<&RoleSetDocument>,
) -> RoleSetDocument {
    let mut document = old.cloned().unwrap_or_else(|| RoleSetDocument {
        id: parts.random.uuid().to_string(),
        platform_workload_identity_role_set: PlatformRoleSet::default(),
        unknown: Unknown::new(),
    });
    let set = &mut document.platform_workload_identity_role_set;
    set.deleting = false;
    name(&mut set.unknown, &sent.open_shift_version, ROLE_SET_TYPE);
    let mut before = std::mem::take(&mut set.properties.platform_workload_identity_roles);
    let mut role = |role: &OperatorRole| {
        // Members written by newer software are kept.
        let known = before.iter().position(|known| known.operator_name == role.operator_name);
        let unknown = known.map(|at| before.swap_remove(at).unknown).unwrap_or_default();
        PlatformRole {
            operator_name: role.operator_name.clone(),
            role_definition_name: role.role_definition_name.clone(),
            role_definition_id: role.role_definition_id.clone(),
            service_accounts: role.service_accounts.clone(),
            secret_location: role.secret_location.as_ref().map(|place| offer::SecretLocation {
                namespace: place.namespace.clone(),
                name: place.name.clone(),
            }),
            unknown,
        }
    };
    let roles = sent.platform_workload_identity_roles.iter().map(&mut role).collect();
    set.properties = PlatformRoleSetProperties {
        open_shift_version: sent.open_shift_version.clone(),
        platform_workload_identity_roles: roles,
        unknown: std::mem::take(&mut set.properties.unknown),
    };
    document
}

fn name(unknown: &mut Unknown, version: &str, kind: &str) {
    unknown.entry("name").or_insert_with(|| version.into());
    unknown.entry("type").or_insert_with(|| kind.into());
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VmSizeView {
    core_count: u32,
    family: &'static str,
}

/// Sizes that machines of a role may have, by name.
pub(super) fn vm_sizes(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    let asked = call.parameter("vmRole").unwrap_or_default();
    let role = match asked {
        "master" => vm_sizes::Role::Master,
        "worker" if parts.development_workers => vm_sizes::Role::DevelopmentWorker,
        "worker" => vm_sizes::Role::Worker,
        _ => {
            let message =
                format!("The provided vmRole '{asked}' is invalid. vmRole can only be master or worker");
            return Err(CloudError::invalid("", message).into());
        }
    };
    let sizes = vm_sizes::for_role(role).into_iter();
    let sizes: BTreeMap<String, VmSizeView> = sizes
        .map(|(name, size)| (name, VmSizeView { core_count: size.cores, family: size.family }))
        .collect();
    Ok(json_response(StatusCode::OK, &sizes))
}
