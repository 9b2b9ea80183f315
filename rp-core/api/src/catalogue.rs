//! What can be installed, as the version `admin` writes and shows it (`contract/api.md` §15): versions of
//! OpenShift and the roles of a minor version's operators. JSON and rules only; storage is elsewhere.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decode;
use crate::error::CloudError;
use crate::schema::{Member, Members, Shape, member, object, objects, text};
use crate::version::JsonDialect;

/// The type of a version of OpenShift.
pub const VERSION_TYPE: &str = "Microsoft.RedHatOpenShift/OpenShiftVersion";
/// The type of a role set.
pub const ROLE_SET_TYPE: &str = "Microsoft.RedHatOpenShift/PlatformWorkloadIdentityRoleSet";

/// A resource of the catalogue; `P` are its properties.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resource<P> {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    pub properties: P,
}

/// A version of OpenShift. `enabled` and `default` are always written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VersionProperties {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub open_shift_pullspec: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub installer_pullspec: String,
    pub enabled: bool,
    pub default: bool,
    /// The image of clusters' machines. `None`, in a change: as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_image: Option<OsImage>,
}

/// A marketplace image of an operating system (`contract/installer.md` §9, "Do better" 12).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OsImage {
    /// Empty: `azureopenshift`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub publisher: String,
    /// Empty: `aro4`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub offer: String,
    /// `aro_420`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sku: String,
    /// `9.6.20251015`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// The roles of one minor version's operators.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleSetProperties {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub open_shift_version: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub platform_workload_identity_roles: Vec<OperatorRole>,
}

/// The role of one operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OperatorRole {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operator_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub role_definition_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub role_definition_id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_accounts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_location: Option<SecretLocation>,
}

/// A secret of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretLocation {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Reads a version of OpenShift from a request's body.
///
/// # Errors
/// 400 `InvalidRequestContent`.
pub fn read_version(body: &[u8]) -> Result<Resource<VersionProperties>, CloudError> {
    let flag = |name| member(name, Shape::Bool, "");
    read(
        body,
        vec![
            text("version", ""),
            text("openShiftPullspec", ""),
            text("installerPullspec", ""),
            flag("enabled"),
            flag("default"),
            object(
                "osImage",
                "",
                vec![text("publisher", ""), text("offer", ""), text("sku", ""), text("version", "")],
            )
            .nullable(),
        ],
    )
}

/// Reads a role set from a request's body.
///
/// # Errors
/// 400 `InvalidRequestContent`.
pub fn read_role_set(body: &[u8]) -> Result<Resource<RoleSetProperties>, CloudError> {
    let role = vec![
        text("operatorName", ""),
        text("roleDefinitionName", ""),
        text("roleDefinitionId", ""),
        member("serviceAccounts", Shape::List(Box::new(Shape::Text)), ""),
        object("secretLocation", "", vec![text("namespace", ""), text("name", "")]).nullable(),
    ];
    read(body, vec![text("openShiftVersion", ""), objects("platformWorkloadIdentityRoles", "", role)])
}

fn read<P: Default + for<'de> Deserialize<'de>>(
    body: &[u8],
    properties: Vec<Member>,
) -> Result<Resource<P>, CloudError> {
    let content = |message: String| CloudError::bad("InvalidRequestContent", "", message);
    if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err() {
        return Err(content("The request content was invalid and could not be deserialized.".to_owned()));
    }
    let properties = object("properties", "", properties);
    let members = Members(vec![text("id", ""), text("name", ""), text("type", ""), properties]);
    let mut sent = Value::Object(Map::new());
    let decoded = decode::decode_members(&members, JsonDialect::Declared, &mut sent, body);
    let decoded = decoded.and_then(|()| serde_json::from_value(without_nulls(sent)));
    decoded.map_err(|error| content(format!("The request content could not be deserialized: {error}")))
}

/// A list's `null` is an empty element.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        Value::Array(list) => list.into_iter().filter(|value| !value.is_null()).map(without_nulls).collect(),
        other => other,
    }
}

/// Whether it is `x.y.z`, with a short suffix at most.
pub fn is_version(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-+.".contains(&b);
    text.len() <= 64 && text.bytes().all(plain) && crate::text::version(text).is_some()
}

/// Whether it is `x.y`.
pub fn is_minor(text: &str) -> bool {
    text.len() <= 16 && crate::text::minor(&format!("{text}.0")).is_some_and(|minor| minor == text)
}

/// Checks a version, against the existing one. Name and type default to the existing ones (
/// `contract/frontend.md` "Do better" 12).
///
/// # Errors
/// The first rule that is broken.
pub fn check_version(
    sent: &Resource<VersionProperties>,
    stored: Option<&Resource<VersionProperties>>,
) -> Result<(), CloudError> {
    let (is, was) = (&sent.properties, stored.map(|stored| &stored.properties));
    let default = is.default || was.is_some_and(|was| was.default);
    if default && !is.enabled {
        let message = "You cannot disable the default installation version.";
        return Err(CloudError::invalid("properties.enabled", message));
    }
    if default && !is.default {
        // Another default takes its place; until then there is this one
        // (`contract/frontend.md` "Do better" 11).
        let message = "The default installation version stays the default until another one becomes it.";
        return Err(CloudError::invalid("properties.default", message));
    }
    require("properties.version", &is.version)?;
    require("properties.installerPullspec", &is.installer_pullspec)?;
    require("properties.openShiftPullspec", &is.open_shift_pullspec)?;
    if let Some(image) = &is.os_image {
        require("properties.osImage.sku", &image.sku)?;
        require("properties.osImage.version", &image.version)?;
        let parts = [&image.publisher, &image.offer, &image.sku, &image.version];
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if parts.iter().any(|part| part.len() > 128 || !part.bytes().all(plain)) {
            let message = "The image is named by letters, digits and the characters . _ and -.";
            return Err(CloudError::invalid("properties.osImage", message));
        }
    }
    if !is_version(&is.version) {
        let message = format!("The provided version '{}' is invalid.", is.version);
        return Err(CloudError::invalid("properties.version", message));
    }
    named(sent, stored)
}

/// Checks a role set, over the one that is there.
///
/// # Errors
/// The first rule that is broken; everything that is missing in the roles is one.
pub fn check_role_set(
    sent: &Resource<RoleSetProperties>,
    stored: Option<&Resource<RoleSetProperties>>,
) -> Result<(), CloudError> {
    require("properties.openShiftVersion", &sent.properties.open_shift_version)?;
    if !is_minor(&sent.properties.open_shift_version) {
        let message = format!("The provided version '{}' is invalid.", sent.properties.open_shift_version);
        return Err(CloudError::invalid("properties.openShiftVersion", message));
    }
    let roles = &sent.properties.platform_workload_identity_roles;
    if roles.is_empty() {
        let target = "properties.platformWorkloadIdentityRoles";
        return Err(CloudError::invalid(target, "Must be provided and must be non-empty"));
    }
    let mut missing = Vec::new();
    for (at, role) in roles.iter().enumerate() {
        let fields = [
            ("operatorName", role.operator_name.is_empty()),
            ("roleDefinitionName", role.role_definition_name.is_empty()),
            ("roleDefinitionId", role.role_definition_id.is_empty()),
            ("serviceAccounts", role.service_accounts.is_empty()),
        ];
        let empty = fields.into_iter().filter(|(_, empty)| *empty);
        missing
            .extend(empty.map(|(name, _)| format!("properties.platformWorkloadIdentityRoles[{at}].{name}")));
    }
    if !missing.is_empty() {
        return Err(CloudError::invalid(&missing.join(", "), "Must be provided"));
    }
    named(sent, stored)
}

fn require(target: &str, text: &str) -> Result<(), CloudError> {
    if text.is_empty() { Err(CloudError::invalid(target, "Must be provided")) } else { Ok(()) }
}

/// Id, name and type do not change.
fn named<P>(sent: &Resource<P>, stored: Option<&Resource<P>>) -> Result<(), CloudError> {
    let Some(stored) = stored else { return Ok(()) };
    let other = |is: &str, was: &str| !is.is_empty() && !is.eq_ignore_ascii_case(was);
    for (target, is, was) in
        [("id", &sent.id, &stored.id), ("name", &sent.name, &stored.name), ("type", &sent.kind, &stored.kind)]
    {
        if other(is, was) {
            return Err(CloudError::change(target));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn version(body: &Value) -> Result<Resource<VersionProperties>, CloudError> {
        let sent = read_version(body.to_string().as_bytes())?;
        check_version(&sent, None)?;
        Ok(sent)
    }

    fn told(result: Result<impl std::fmt::Debug, CloudError>) -> (String, String) {
        let error = result.unwrap_err();
        assert_eq!(error.status, 400);
        (error.body.target, error.body.message)
    }

    #[test]
    fn a_version_is_read_in_any_case_and_checked_in_order() {
        let good = json!({"Properties": {"VERSION": "4.17.1", "openshiftPullspec": "o", "installerPullspec": "i",
            "enabled": true, "x": 1}});
        let sent = version(&good).unwrap();
        assert_eq!((sent.properties.version.as_str(), sent.properties.default), ("4.17.1", false));
        assert_eq!(told(version(&json!({}))).0, "properties.version");
        let mut bad = good;
        bad["Properties"]["installerPullspec"] = json!("");
        assert_eq!(
            told(version(&bad)),
            ("properties.installerPullspec".to_owned(), "Must be provided".to_owned())
        );
        bad["Properties"]["installerPullspec"] = json!("i");
        bad["Properties"]["default"] = json!(true);
        bad["Properties"]["enabled"] = json!(false);
        assert_eq!(told(version(&bad)).1, "You cannot disable the default installation version.");
        let words = "The request content was invalid and could not be deserialized.";
        for body in ["", "{", "nul"] {
            assert_eq!(told(read_version(body.as_bytes())).1, words, "{body}");
        }
        let typed = told(read_version(br#"{"properties": {"enabled": "yes"}}"#)).1;
        assert!(typed.starts_with("The request content could not be deserialized: "), "{typed}");
        assert!(read_version(b"[]").is_err() && read_version(b"null").is_err());
    }

    #[test]
    fn what_is_there_keeps_its_name_and_the_default_stays_one() {
        let stored = Resource {
            name: "4.17.1".to_owned(),
            kind: VERSION_TYPE.to_owned(),
            properties: VersionProperties {
                version: "4.17.1".to_owned(),
                open_shift_pullspec: "o".to_owned(),
                installer_pullspec: "i".to_owned(),
                enabled: true,
                default: true,
                os_image: Some(OsImage {
                    sku: "aro_417".to_owned(),
                    version: "417.94.20250101".to_owned(),
                    ..OsImage::default()
                }),
            },
            ..Resource::default()
        };
        let mut sent = Resource { name: String::new(), ..stored.clone() };
        for (sku, target) in [("", "properties.osImage.sku"), ("a b", "properties.osImage")] {
            let mut wrong = stored.clone();
            let image = OsImage { sku: sku.to_owned(), version: "1".to_owned(), ..OsImage::default() };
            wrong.properties.os_image = Some(image);
            assert_eq!(told(check_version(&wrong, Some(&stored))).0, target);
        }
        sent.kind = sent.kind.to_ascii_uppercase();
        check_version(&sent, Some(&stored)).unwrap();
        sent.properties.default = false;
        assert_eq!(told(check_version(&sent, Some(&stored))).0, "properties.default");
        sent.properties.default = true;
        sent.name = "other".to_owned();
        assert_eq!(told(check_version(&sent, Some(&stored))).0, "name");
    }

    #[test]
    fn everything_that_is_missing_in_roles_is_one_error() {
        let body = json!({"properties": {"openShiftVersion": "4.17", "platformWorkloadIdentityRoles": [
            {"operatorName": "a", "roleDefinitionName": "b", "roleDefinitionId": "c", "serviceAccounts": ["d"]},
            {"operatorName": "a", "serviceAccounts": []}, null]}});
        let sent = read_role_set(body.to_string().as_bytes()).unwrap();
        let (target, message) = told(check_role_set(&sent, None));
        assert_eq!(message, "Must be provided");
        let all = "properties.platformWorkloadIdentityRoles";
        // An element that is null is an empty one.
        let empty = ["operatorName", "roleDefinitionName", "roleDefinitionId", "serviceAccounts"];
        let missing: Vec<_> = empty[1..].iter().map(|name| format!("{all}[1].{name}")).collect();
        let null: Vec<_> = empty.iter().map(|name| format!("{all}[2].{name}")).collect();
        assert_eq!(target, [missing, null].concat().join(", "));
        let none = read_role_set(br#"{"properties": {"openShiftVersion": "4.17"}}"#).unwrap();
        assert_eq!(told(check_role_set(&none, None)).1, "Must be provided and must be non-empty");
    }
}
