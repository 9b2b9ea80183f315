//! Who may do what over the admin API: every route, by the tool's certificate and by the person for whom it calls.

use std::sync::Arc;

use async_trait::async_trait;
use rp_audit::Query;
use serde_json::json;

use super::callers::{trail, unguarded};
use super::{Api, VERSION, id};
use crate::{AdminParts, AdminRole, AdminRoles, AuthorizedCaller, Authorizer, Caller, Edge, FrontendParts};

const PRINCIPAL: &str = "x-ms-client-principal-name";

/// Authorizes every caller as a tool with that role.
#[derive(Debug)]
struct Tool(AdminRole);

#[async_trait]
impl Authorizer for Tool {
    async fn authorize(&self, _: &Caller<'_>) -> Option<AuthorizedCaller> {
        Some(AuthorizedCaller { tool: "board".to_owned(), most: self.0 })
    }
}

fn api(most: AdminRole, roles: AdminRoles) -> Api {
    let admin = AdminParts { roles, ..AdminParts::default() };
    Api::from_parts(FrontendParts { authorizer: Arc::new(Tool(most)), admin, ..unguarded() })
}

/// Persons of each role, and nobody else.
fn people() -> AdminRoles {
    let one = |name: &str| [name.to_owned()];
    let (reader, operator, elevated) = (one("rita@x"), one("otto@x"), one("ella@x"));
    AdminRoles::new([
        (AdminRole::Reader, reader.as_slice()),
        (AdminRole::Operator, operator.as_slice()),
        (AdminRole::Elevated, elevated.as_slice()),
    ])
}

/// Every operation of the admin side, and what it needs.
fn operations() -> Vec<(&'static str, String, AdminRole)> {
    let cluster = id("c");
    let (admin, of) =
        (format!("{cluster}?api-version=admin"), |rest: &str| format!("/admin{cluster}/{rest}"));
    let below = |rest: &str| format!("{cluster}/{rest}?api-version=admin");
    vec![
        ("GET", "/admin/versions".to_owned(), AdminRole::Reader),
        ("PUT", "/admin/versions".to_owned(), AdminRole::Operator),
        ("GET", "/admin/platformworkloadidentityrolesets".to_owned(), AdminRole::Reader),
        ("PUT", "/admin/platformworkloadidentityrolesets".to_owned(), AdminRole::Operator),
        ("GET", "/admin/supportedvmsizes?vmRole=master".to_owned(), AdminRole::Reader),
        ("GET", "/admin/billingdocuments".to_owned(), AdminRole::Reader),
        ("GET", "/admin/billingdocuments/x".to_owned(), AdminRole::Reader),
        ("GET", "/admin/providers/microsoft.redhatopenshift/openshiftclusters".to_owned(), AdminRole::Reader),
        ("GET", "/admin/clusters".to_owned(), AdminRole::Reader),
        ("GET", "/admin/hivesyncset".to_owned(), AdminRole::Reader),
        ("GET", "/admin/hivesyncset/syncsetname/x".to_owned(), AdminRole::Reader),
        ("GET", "/admin/hive/k8sobjects/secrets".to_owned(), AdminRole::Elevated),
        ("GET", of("selectors"), AdminRole::Reader),
        ("GET", of("maintenancemanifests"), AdminRole::Reader),
        ("PUT", of("maintenancemanifests"), AdminRole::Operator),
        ("GET", of("maintenancemanifests/x"), AdminRole::Reader),
        ("DELETE", of("maintenancemanifests/x"), AdminRole::Operator),
        ("POST", of("maintenancemanifests/x/cancel"), AdminRole::Operator),
        ("GET", "/admin/maintenancemanifests/queued".to_owned(), AdminRole::Reader),
        ("POST", "/admin/maintenancemanifests/cancel".to_owned(), AdminRole::Operator),
        ("GET", "/admin/maintenanceschedules".to_owned(), AdminRole::Reader),
        ("PUT", "/admin/maintenanceschedules".to_owned(), AdminRole::Operator),
        ("GET", "/admin/maintenanceschedules/x".to_owned(), AdminRole::Reader),
        ("DELETE", "/admin/maintenanceschedules/x".to_owned(), AdminRole::Operator),
        ("GET", of("kubernetesobjects?kind=Node"), AdminRole::Reader),
        ("GET", of("kubernetesobjects?kind=Node&unrestricted=true"), AdminRole::Elevated),
        ("GET", of("kubernetesobjects?kind=Node&UNRESTRICTED=t"), AdminRole::Elevated),
        ("GET", of("serialconsole?vmName=m"), AdminRole::Operator),
        ("POST", of("kubeconfig/new"), AdminRole::Operator),
        ("POST", of("kubeconfig/newelevated"), AdminRole::Elevated),
        ("POST", of("ssh/newelevated"), AdminRole::Elevated),
        ("POST", of("investigate"), AdminRole::Elevated),
        ("GET", admin.clone(), AdminRole::Reader),
        ("PUT", admin.clone(), AdminRole::Operator),
        ("PATCH", admin.clone(), AdminRole::Operator),
        ("DELETE", admin, AdminRole::Operator),
        ("POST", below("listcredentials"), AdminRole::Elevated),
        ("POST", below("listadmincredentials"), AdminRole::Elevated),
        ("GET", below("detectors"), AdminRole::Reader),
    ]
}

#[tokio::test]
async fn every_operation_wants_its_role_of_the_tool_and_of_the_person() {
    const ALL: [AdminRole; 3] = [AdminRole::Reader, AdminRole::Operator, AdminRole::Elevated];
    for most in ALL {
        let (alone, named) = (api(most, AdminRoles::default()), api(most, people()));
        for (method, at, needed) in operations() {
            let refused =
                |told: &super::TestResponse| told.status == 403 && told.text.contains(" has no role that");
            let told = alone.call(method, &at, Some(json!({}))).await;
            assert_eq!(refused(&told), most < needed, "{most:?} {method} {at}: {}", told.text);
            for (who, role) in [
                ("RITA@x", Some(AdminRole::Reader)),
                ("otto@x", Some(AdminRole::Operator)),
                ("ella@x", Some(AdminRole::Elevated)),
                ("nobody@x", None),
            ] {
                let told = named.send(method, &at, &[(PRINCIPAL, who)], "{}".to_owned()).await;
                let allowed = most >= needed && role.is_some_and(|role| role >= needed);
                assert_eq!(!refused(&told), allowed, "{most:?} {who} {method} {at}: {}", told.text);
            }
            let told = named.send(method, &at, &[], "{}".to_owned()).await;
            assert_eq!(told.refusal().0, 403, "without a name: {method} {at}");
        }
        // ARM's side asks for no roles.
        let told = named.call("GET", &format!("{}?api-version={VERSION}", id("c")), None).await;
        assert_eq!(told.status, 404, "{}", told.text);
    }
}

#[test]
fn an_access_is_for_the_person_whose_role_allows_it() {
    let roles = people();
    for (principal, person, may) in
        [(Some("ella@x"), "Ella@X ", true), (Some("otto@x"), "ella@x", false), (None, "ella@x", false)]
    {
        assert_eq!(roles.check_recipient(principal, person).is_ok(), may, "{principal:?} {person}");
    }
    assert!(AdminRoles::default().check_recipient(None, "ella@x").is_ok(), "nobody looks at persons");
}

#[tokio::test]
async fn the_trail_names_the_tool_where_it_names_nobody() {
    let audit = trail().await;
    let edge = Edge { audit: Some(audit.clone()), ..Edge::default() };
    let parts = FrontendParts { authorizer: Arc::new(Tool(AdminRole::Reader)), edge, ..unguarded() };
    let api = Api::from_parts(parts);
    api.call("GET", "/admin/versions", None).await;
    api.call("PUT", "/admin/versions", Some(json!({}))).await;
    audit.close().await;
    let all = audit.search(&Query::default()).await.unwrap().entries;
    for verb in ["rp-admin.read", "rp-admin.put"] {
        let entry = all.iter().find(|entry| entry.verb == verb).unwrap();
        assert_eq!((entry.actor.sub.as_str(), entry.actor.name.as_str()), ("board", "board"), "{verb}");
    }
}
