//! What goes wrong with Azure, and what becomes of it.

use http::Method;
use rp_simulator_azure::{DenyRule, Fault, FaultResponse};
use serde_json::json;

use super::world::{FIRST_PARTY, GROUP, OURS, World, subnet};
use super::{making, removing, run};
use crate::cleanup::delete_resource_group;
use crate::resources::{base, dns, group, oidc, rbac, subnets};
use crate::step::ActionFn;

fn once(method: &Method, path: &str, answer: FaultResponse) -> Fault {
    Fault { method: Some(method.clone()), path: path.to_owned(), times: Some(1), answer }
}

fn told(status: u16, code: &str, message: &str, retry_after: Option<u32>) -> FaultResponse {
    FaultResponse::Status { status, code: code.to_owned(), message: message.to_owned(), retry_after }
}

/// Faults that go away: the first write of every step meets one.
fn passing() -> Vec<(&'static str, FaultResponse)> {
    vec![
        ("429 with Retry-After", FaultResponse::throttled(7)),
        ("429 without", told(429, "TooManyRequests", "slow down", None)),
        ("409 with Retry-After", told(409, "AnotherOperationInProgress", "busy", Some(3))),
        ("409 that asks for patience", told(409, "Conflict", "Please retry later", None)),
        ("500", told(500, "InternalServerError", "oh", None)),
        ("503", told(503, "ServiceUnavailable", "oh", None)),
        ("done, and the answer lost", FaultResponse::Lost),
    ]
}

#[tokio::test]
async fn faults_that_pass_change_nothing() {
    let mut clean = World::new(&[]).await;
    run(&mut clean, &making(), 1).await;
    let expected = clean.ids(GROUP);
    for (name, answer) in passing() {
        let mut world = World::new(&[]).await;
        for step in making() {
            world.arm.fail(once(&Method::PUT, "/providers/", answer.clone()));
            run(&mut world, &[step], 1).await;
            world.arm.heal();
        }
        assert_eq!(world.ids(GROUP), expected, "{name}");
        for step in removing() {
            world.arm.fail(once(&Method::DELETE, "/providers/", answer.clone()));
            run(&mut world, &[step], 1).await;
            world.arm.heal();
        }
        assert!(world.ids(GROUP).is_empty(), "{name}");
    }
}

/// Runs one step and gives its error's text.
async fn error(world: &World, step: ActionFn) -> String {
    step(&world.context).await.unwrap_err().to_string()
}

#[tokio::test]
async fn policies_are_told_to_the_customer() {
    let world = World::new(&[]).await;
    let policy = || FaultResponse::policy("No link services", "Corp");
    world.arm.fail(once(&Method::PUT, "/subnets/master", policy()));
    let text = error(&world, |c| Box::pin(subnets::set_master_subnet_policies(c))).await;
    assert_eq!(
        text,
        "400: RequestDisallowedByPolicy: : Resource master was disallowed by policy. Details: RequestDisallowedByPolicy: : Policy definition : No link services\nPolicy Assignment : Corp"
    );
    world.arm.fail(once(&Method::PUT, "/resourcegroups/aro-shop", policy()));
    let text = error(&world, |c| Box::pin(group::ensure_resource_group(c))).await;
    assert!(text.starts_with("400: DeploymentFailed: : Deployment failed. Details: : : {"), "{text}");
    assert!(text.contains("RequestDisallowedByPolicy"), "{text}");
}

#[tokio::test]
async fn a_group_of_somebody_else_is_not_taken() {
    let mut world = World::new(&[]).await;
    for body in [
        json!({"location": "eastus"}),
        json!({"location": "eastus", "managedBy": "/subscriptions/x/other"}),
        json!({"location": "westus", "managedBy": world.context.document().cluster_id()}),
    ] {
        world.arm.remove(GROUP);
        assert!(world.arm.put(GROUP, body));
        let text = error(&world, |c| Box::pin(group::ensure_resource_group(c))).await;
        assert_eq!(
            text,
            format!(
                "400: ClusterResourceGroupAlreadyExists: : Resource group {GROUP} must not already exist."
            )
        );
    }
    // Nor is anything of it deleted.
    world.arm.remove(GROUP);
    assert!(world.arm.put(GROUP, json!({"location": "eastus", "managedBy": "/subscriptions/x/other"})));
    let kept = format!("{GROUP}/providers/Microsoft.Network/publicIPAddresses/theirs");
    assert!(world.arm.put(&kept, json!({"location": "eastus"})));
    run(&mut world, &removing(), 1).await;
    assert!(world.arm.get(&kept).is_some());
    assert!(world.memory.lines.lock().iter().any(|line| line.contains("stays as it is")));
}

#[tokio::test]
async fn what_a_deployment_meets_is_told_as_azure_told_it() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making()[..5], 1).await;
    world.arm.quota(super::world::CUSTOMER, "PublicIPAddresses", 10, 10);
    let text = error(&world, |c| Box::pin(base::deploy_base_resource_template(c))).await;
    assert!(text.starts_with("400: DeploymentFailed: : Deployment failed. Details: : : {"), "{text}");
    assert!(text.contains("PublicIPCountLimitReached"), "{text}");
    world.arm.quota(super::world::CUSTOMER, "PublicIPAddresses", 0, 100);
    // Rights that arrive late are no failure: the next run of the step asks again.
    let late = DenyRule {
        subject: Some(FIRST_PARTY.to_owned()),
        action: "deployments/write".to_owned(),
        times: Some(1),
        ..DenyRule::default()
    };
    world.arm.forbid(late);
    let failed = base::deploy_base_resource_template(&world.context).await.unwrap_err();
    let crate::StepError::Azure(failed) = failed else { panic!("{failed}") };
    assert!(failed.is_authorization(), "{failed}");
    run(&mut world, &making()[5..], 1).await;
}

#[tokio::test]
async fn a_group_that_is_deleted_meanwhile_fails_the_step_and_not_the_next_run() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making()[..6], 1).await;
    world.arm.remove(GROUP);
    let text = error(&world, |c| Box::pin(base::create_or_update_deny_assignment(c))).await;
    assert_eq!(text, "the cluster's resource group is not there");
    assert!(subnets::attach_nsgs(&world.context).await.is_err());
    run(&mut world, &making(), 1).await;
    // The customer deletes it while it is being deleted.
    world.arm.remove(GROUP);
    run(&mut world, &removing(), 1).await;
    assert!(world.ids(GROUP).is_empty());
}

#[tokio::test]
async fn a_lock_is_told_and_taken_away_lets_the_deletion_end() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making(), 1).await;
    let lock = format!("{GROUP}/providers/Microsoft.Authorization/locks/keep");
    assert!(world.arm.put(&lock, json!({"properties": {"level": "CanNotDelete"}})));
    let text = error(&world, |c| Box::pin(delete_resource_group(c))).await;
    assert!(text.starts_with("409: ScopeLocked: features.ResourcesClient#DeleteByID: "), "{text}");
    world.arm.remove(&lock);
    run(&mut world, &removing(), 1).await;
    assert!(world.ids(GROUP).is_empty());
}

#[tokio::test]
async fn a_name_belongs_to_one_cluster() {
    let mut world = World::new(&[]).await;
    let record = format!("{OURS}/providers/Microsoft.Network/dnsZones/eastus.aroapp.io/A/api.shop");
    let theirs = json!({"properties": {"TTL": 300, "metadata": {"resourceId": "/other"}, "ARecords": []}});
    assert!(world.arm.put(&record, theirs));
    let text = error(&world, |c| Box::pin(dns::create_dns(c))).await;
    assert_eq!(text, "400: DuplicateDomain: : The provided domain 'shop' is already in use by a cluster.");
    let text = dns::update_api(&world.context, "1.2.3.4").await.unwrap_err().to_string();
    assert_eq!(text, "recordset \"api.shop\" already registered");
    run(&mut world, &removing()[1..2], 1).await;
    assert!(world.arm.get(&record).is_some(), "what is not ours stays");
    // A domain of the customer's own has no record.
    world.change("/properties/clusterProfile/domain", json!("shop.example.com"));
    run(&mut world, &making()[1..2], 1).await;
    for domain in ["", ".shop", "shop."] {
        world.change("/properties/clusterProfile/domain", json!(domain));
        let text = error(&world, |c| Box::pin(dns::create_dns(c))).await;
        assert_eq!(text, format!("invalid domain {domain:?}"));
        // Nothing was made by that name, and nothing keeps the cluster from going.
        run(&mut world, &removing()[1..2], 1).await;
    }
}

#[tokio::test]
async fn what_a_creation_made_before_it_failed_goes_with_the_cluster() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making()[..9], 1).await;
    *world.records.silent.lock() = true;
    let (name, gateway) = making()[9];
    assert_eq!(name, "ensureGatewayCreate");
    assert!(gateway(&world.context).await.is_err());
    assert_eq!(world.records.count(), 1);
    run(&mut world, &removing(), 1).await;
    assert_eq!(world.records.count(), 0, "the gateway forgets it");

    let mut world = World::with_identities().await;
    let account = format!("{OURS}/providers/Microsoft.Storage/storageAccounts/oidc");
    assert!(world.arm.put(&account, json!({"location": "eastus"})));
    world.arm.put(&format!("{account}/blobServices/default/containers/$web"), json!({}));
    world.arm.fail(once(&Method::PUT, "/openid/v1/jwks", told(400, "Told", "no", None)));
    error(&world, |c| Box::pin(oidc::create_oidc(c))).await;
    let folder = format!("{}/{}", world.context.tenant(), world.context.document().id());
    let discovery = format!("{folder}/.well-known/openid-configuration");
    assert!(world.arm.blob("oidc", "$web", &discovery).is_some());
    run(&mut world, &removing()[3..4], 2).await;
    assert!(world.arm.blob("oidc", "$web", &discovery).is_none(), "nothing is published any more");
}

#[tokio::test]
async fn a_subnet_with_another_group_is_refused() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making()[..6], 1).await;
    let other = format!("{GROUP}/providers/Microsoft.Network/networkSecurityGroups/other");
    assert!(world.arm.put(&other, json!({"location": "eastus"})));
    let mut body = world.subnet("worker");
    body["properties"]["networkSecurityGroup"] = json!({ "id": other });
    assert!(world.arm.put(&subnet("worker"), body));
    let text = error(&world, |c| Box::pin(subnets::attach_nsgs(c))).await;
    assert_eq!(
        text,
        format!(
            "400: InvalidLinkedVNet: : The provided subnet '{}' is invalid: must not have a network security group attached.",
            subnet("worker")
        )
    );
    // A group that Azure does not know everywhere yet is tried again.
    let mut world = World::new(&[]).await;
    run(&mut world, &making()[..6], 1).await;
    let young = "Resource /x/networkSecurityGroups/n referenced by resource /y was not found.";
    world.arm.fail(once(&Method::PUT, "/subnets/master", told(400, "InvalidResourceReference", young, None)));
    run(&mut world, &making()[6..7], 1).await;
    assert!(world.subnet("master")["properties"]["networkSecurityGroup"]["id"].is_string());
}

#[tokio::test]
async fn only_our_own_assignments_are_replaced() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making()[..6], 1).await;
    let assignment = |name: &str, role: &str, by: &str, principal: &str| {
        let id = format!("{GROUP}/providers/Microsoft.Authorization/roleAssignments/{name}");
        let body = json!({"properties": {"roleDefinitionId": format!("/subscriptions/x/providers/Microsoft.Authorization/roleDefinitions/{role}"),
            "principalId": principal, "principalType": "ServicePrincipal", "createdBy": by}});
        assert!(world.arm.put(&id, body));
        id
    };
    let theirs = assignment(
        "11111111-0000-0000-0000-000000000001",
        crate::roles::CONTRIBUTOR,
        "somebody",
        "their-app",
    );
    let owner = assignment("11111111-0000-0000-0000-000000000002", crate::roles::OWNER, "", "owner");
    world.change(
        "/properties/servicePrincipalProfile/spObjectId",
        json!("eeeeeeee-0000-0000-0000-00000000000e"),
    );
    run(&mut world, &[("rbac", |c| Box::pin(rbac::create_or_update_cluster_service_principal_rbac(c)))], 2)
        .await;
    assert!(world.arm.get(&theirs).is_some() && world.arm.get(&owner).is_some());
    let found = rbac::assignments_at(&world.context.customer(), GROUP).await.unwrap();
    let principals: Vec<&str> =
        found.iter().filter_map(|one| one["properties"]["principalId"].as_str()).collect();
    assert_eq!(principals.len(), 3, "{principals:?}");
    assert!(principals.contains(&"eeeeeeee-0000-0000-0000-00000000000e"), "{principals:?}");
}

#[tokio::test]
async fn another_deployment_of_the_name_is_waited_for_and_ours_is_deployed() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making()[..5], 1).await;
    let active = told(409, "DeploymentActive", "there is one", None);
    world.arm.fail(once(&Method::PUT, "/deployments/storage", active));
    run(&mut world, &making()[5..], 1).await;
    let mut clean = World::new(&[]).await;
    run(&mut clean, &making(), 1).await;
    assert_eq!(world.ids(GROUP), clean.ids(GROUP));
}

#[tokio::test]
async fn an_interrupted_step_ends_with_the_lease() {
    let mut world = World::new(&[]).await;
    run(&mut world, &making(), 1).await;
    world.lose();
    let failed = delete_resource_group(&world.context).await.unwrap_err();
    assert!(failed.is_interruption(), "{failed}");
    assert!(!world.ids(GROUP).is_empty());
}
