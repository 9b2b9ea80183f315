//! What the stand-in answers to a plain client. The client of ours: `tests/stories/azure.rs`.

use std::time::Duration;

use rp_base::SystemClock;
use rp_simulator::fleet::Fleet;

use super::*;

mod keep;
mod network;
mod planes;
mod templates;

struct Client {
    arm: ArmStandIn,
    http: reqwest::Client,
    fleet: Arc<Fleet>,
    _cut: tokio_util::sync::DropGuard,
}

/// Its first subscription's token and a group `g` in it.
async fn with_group() -> (Client, String, String) {
    let client = start().await;
    let subscription = client.fleet.cluster(0).unwrap().subscription;
    let token =
        client.token(&tenant_of(&subscription), &[]).await.1["access_token"].as_str().unwrap().to_owned();
    let group = format!("/subscriptions/{subscription}/resourceGroups/g");
    assert!(client.arm.put(&group, json!({"location": "eastus"})));
    (client, token, group)
}

async fn start() -> Client {
    let clock: SharedClock = Arc::new(SystemClock);
    let fleet = Arc::new(Fleet::new(7, 40, vec![], clock.now()));
    let contents = Arc::new(Clusters::new(Arc::clone(&fleet), Arc::clone(&clock)));
    let LocalArm { arm, cut, .. } =
        LocalArm::start(&[("first-party", "s3cret")], contents, clock).await.unwrap();
    rp_net::tls::install_provider();
    let http = rp_net::http::client(None, Duration::from_secs(60)).unwrap();
    Client { arm, http, fleet, _cut: cut }
}

impl Client {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.arm.address())
    }

    async fn token(&self, tenant: &str, change: &[(&str, &str)]) -> (u16, Value) {
        let scope = self.url("/.default");
        let mut form = vec![
            ("grant_type", "client_credentials"),
            ("client_id", "first-party"),
            ("client_secret", "s3cret"),
            ("scope", &scope),
        ];
        for (name, text) in change {
            form.retain(|(known, _)| known != name);
            form.push((name, text));
        }
        let answer = self
            .http
            .post(self.url(&format!("/{tenant}/oauth2/v2.0/token")))
            .form(&form)
            .send()
            .await
            .unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn ask(&self, method: Method, path: &str, token: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = self.http.request(method, self.url(path)).bearer_auth(token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["x-aro-simulated"], "true");
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn get(&self, path: &str, token: &str) -> (u16, Value) {
        self.ask(Method::GET, path, token, None).await
    }
}

fn code(body: &Value) -> &str {
    body["error"]["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn tokens_are_given_to_known_applications_only() {
    let client = start().await;
    let tenant = tenant_of(&client.fleet.cluster(0).unwrap().subscription);
    let (status, body) = client.token(&tenant, &[]).await;
    assert_eq!((status, body["expires_in"].as_u64()), (200, Some(3600)));
    for (change, expected) in [
        (("client_secret", "wrong"), "AADSTS7000215"),
        (("client_id", "other"), "AADSTS700016"),
        (("scope", "https://elsewhere/.default"), "AADSTS70011"),
        (("grant_type", "password"), "AADSTS70003"),
    ] {
        let (status, body) = client.token(&tenant, &[change]).await;
        assert!(status >= 400 && body["error_description"].as_str().unwrap().starts_with(expected), "{body}");
    }
    let (_, body) = client.token("not-a-tenant", &[]).await;
    assert!(body["error_description"].as_str().unwrap().starts_with("AADSTS90002"));
    let jwt = [
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", "a.b.c"),
    ];
    assert_eq!(client.token(&tenant, &jwt).await.0, 401);
}

#[tokio::test]
async fn machines_subnets_and_groups_of_a_simulated_cluster() {
    let client = start().await;
    let cluster = client.fleet.clusters().find(rp_simulator::fleet::Cluster::has_own_security_group).unwrap();
    let token = client.token(&tenant_of(&cluster.subscription), &[]).await.1["access_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let managed = format!("/subscriptions/{}/resourceGroups/aro-{}", cluster.subscription, cluster.infra_id);
    let list = format!("{managed}/providers/Microsoft.Compute/virtualMachines");
    let (status, body) = client.get(&format!("{list}?api-version=2024-07-01&$top=2"), &token).await;
    assert_eq!((status, body["value"].as_array().map(Vec::len)), (200, Some(2)));
    let next = body["nextLink"].as_str().unwrap();
    assert!(next.starts_with(&client.url("/subscriptions/")) && next.contains("$skiptoken=2"), "{next}");
    let name = body["value"][0]["name"].as_str().unwrap();
    let (_, view) = client.get(&format!("{list}/{name}/instanceView?api-version=2024-07-01"), &token).await;
    assert!(view["statuses"][1]["code"].as_str().unwrap().starts_with("PowerState/"), "{view}");
    let subnet = format!(
        "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network/virtualNetworks/{}-vnet/subnets/master?api-version=2024-05-01",
        cluster.subscription, cluster.resource_group, cluster.name
    );
    let group = "/properties/networkSecurityGroup/properties/securityRules/0/name";
    let (status, plain) = client.get(&subnet, &token).await;
    assert!(status == 200 && plain.pointer(group).is_none(), "{plain}");
    let (_, whole) = client.get(&format!("{subnet}&$expand=NetworkSecurityGroup"), &token).await;
    assert_eq!(whole.pointer(group).and_then(Value::as_str), Some("apiserver_in"));
    // Any casing names the same.
    assert_eq!(client.get(&subnet.replace("resourceGroups", "RESOURCEGROUPS"), &token).await.0, 200);
}

#[tokio::test]
async fn refuses_as_the_resource_manager_does() {
    let client = start().await;
    let cluster = client.fleet.cluster(0).unwrap();
    let token = client.token(&tenant_of(&cluster.subscription), &[]).await.1["access_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let other = client.fleet.clusters().find(|other| other.subscription != cluster.subscription).unwrap();
    let base = format!("/subscriptions/{}/resourceGroups/{}", cluster.subscription, cluster.resource_group);
    let resource = format!("{base}/providers/Microsoft.Network/virtualNetworks/none");
    let version = "api-version=2024-05-01";
    for (path, token, status, expected) in [
        (resource.clone(), &*token, 400, "MissingApiVersionParameter"),
        (format!("{resource}?api-version=latest"), &token, 400, "InvalidApiVersionParameter"),
        (format!("{resource}?{version}"), "stranger", 401, "InvalidAuthenticationToken"),
        (format!("{resource}?{version}"), &token, 404, "ResourceNotFound"),
        (format!("{base}-none/providers/a.b/c/d?{version}"), &token, 404, "ResourceGroupNotFound"),
        (format!("/subscriptions/none/resourceGroups/g?{version}"), &token, 404, "SubscriptionNotFound"),
        (
            format!("/subscriptions/{}/resourceGroups/g?{version}", other.subscription),
            &token,
            401,
            "InvalidAuthenticationTokenTenant",
        ),
    ] {
        let (got, body) = client.get(&path, token).await;
        assert_eq!((got, code(&body)), (status, expected), "{path}");
    }
}

#[tokio::test]
async fn resources_of_any_kind_are_kept_listed_and_deleted() {
    let client = start().await;
    let cluster = client.fleet.cluster(0).unwrap();
    let token = client.token(&tenant_of(&cluster.subscription), &[]).await.1["access_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let list = format!(
        "/subscriptions/{}/resourceGroups/new-group/providers/Example.Kind/things",
        cluster.subscription
    );
    let version = "?api-version=2024-05-01-preview";
    let body = json!({"location": "westeurope", "properties": {"size": 3}});
    let path = format!("{list}/One{version}");
    let (_, refused) = client.ask(Method::PUT, &path, &token, Some(body.clone())).await;
    assert_eq!(code(&refused), "ResourceGroupNotFound");
    let group = format!("/subscriptions/{}/resourceGroups/new-group{version}", cluster.subscription);
    let (status, made) = client.ask(Method::PUT, &group, &token, Some(json!({"location": "eastus"}))).await;
    assert_eq!((status, &made["name"]), (201, &json!("new-group")));
    assert_eq!(client.ask(Method::PUT, &path, &token, Some(body.clone())).await.0, 201);
    let (status, kept) = client.ask(Method::PUT, &path, &token, Some(body)).await;
    assert_eq!((status, &kept["properties"]["size"], &kept["name"]), (200, &json!(3), &json!("One")));
    assert_eq!(kept["properties"]["provisioningState"], "Succeeded");
    let (_, all) = client.get(&format!("{list}{version}"), &token).await;
    assert_eq!(all["value"].as_array().map(Vec::len), Some(1));
    let whole = format!("/subscriptions/{}/providers/Example.Kind/things{version}", cluster.subscription);
    assert_eq!(client.get(&whole, &token).await.1["value"].as_array().map(Vec::len), Some(1));
    assert_eq!(client.ask(Method::DELETE, &path, &token, None).await.0, 200);
    assert_eq!(client.ask(Method::DELETE, &path, &token, None).await.0, 204);
    assert_eq!(client.ask(Method::PATCH, &path, &token, None).await.0, 404);
    assert_eq!(client.ask(Method::POST, &path, &token, None).await.0, 405);
    assert_eq!(client.ask(Method::PUT, &path, &token, None).await.0, 400);
}

#[tokio::test]
async fn answers_can_be_scripted_and_are_logged() {
    let client = start().await;
    let path = "/subscriptions/s/resourceGroups/g?api-version=2024-05-01";
    let fault = |times, answer| Fault { method: None, path: "/resourcegroups/G".into(), times, answer };
    client.arm.fail(fault(Some(1), FaultResponse::throttled(3)));
    client.arm.fail(fault(None, FaultResponse::status(500, "InternalServerError")));
    let answer = client.http.get(client.url(path)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (429, "3"));
    assert_eq!(client.get(path, "x").await.0, 500);
    client.arm.heal();
    assert_eq!(client.get(path, "x").await.0, 404);
    let statuses: Vec<u16> = client.arm.requests().iter().map(|logged| logged.status).collect();
    assert_eq!(statuses, [429, 500, 404]);
}

#[test]
fn tenants_are_uuids() {
    let tenant = tenant_of("ABC");
    assert_eq!(tenant, tenant_of("abc"));
    assert_eq!(tenant.len(), 36);
    assert_ne!(tenant, tenant_of("abd"));
}
