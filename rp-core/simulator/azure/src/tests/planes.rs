//! Services besides the resource manager: vaults, blobs, the directory, facts of subscriptions.

use super::*;

#[tokio::test]
async fn blobs_are_read_and_written_by_signature_and_by_token() {
    let (client, token, group) = with_group().await;
    let account = format!("{group}/providers/Microsoft.Storage/storageAccounts/acc");
    assert!(client.arm.put(&account, json!({"location": "eastus"})));
    let until = (SystemClock.now_plus_hour()).to_string();
    let asked = json!({"signedServices": "b", "signedResourceTypes": "co", "signedPermission": "cw", "signedExpiry": until});
    let path = format!("{account}/ListAccountSas?api-version=2021-09-01");
    let (_, sas) = client.ask(Method::POST, &path, &token, Some(asked)).await;
    let sas = sas["accountSasToken"].as_str().unwrap().to_owned();
    let url = |rest: &str| client.url(&format!("/blob/acc/{rest}"));
    let send = |method: Method, url: String, bearer: bool, body: &'static str| {
        let request = client.http.request(method, url).body(body);
        let request = if bearer { request.bearer_auth(&token) } else { request };
        async move {
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        }
    };
    assert_eq!(send(Method::PUT, url(&format!("c?restype=container&{sas}")), false, "").await.0, 201);
    assert_eq!(send(Method::PUT, url(&format!("c/dir/b?{sas}")), false, "text").await.0, 201);
    assert_eq!(send(Method::GET, url(&format!("c/dir/b?{sas}")), false, "").await.0, 403);
    assert_eq!(send(Method::GET, url("c/dir/b"), false, "").await.0, 403);
    assert_eq!(send(Method::GET, url("c/dir/b"), true, "").await, (200, "text".to_owned()));
    assert_eq!(client.arm.control().blob("acc", "c", "dir/b").unwrap(), "text");
    assert_eq!(send(Method::DELETE, url("c?restype=container"), true, "").await.0, 202);
    assert_eq!(send(Method::GET, url("c/dir/b"), true, "").await.0, 404);
}

#[tokio::test]
async fn a_signature_of_one_blob_reads_that_blob_and_no_other() {
    let (client, token, group) = with_group().await;
    let account = format!("{group}/providers/Microsoft.Storage/storageAccounts/acc");
    assert!(client.arm.put(&account, json!({"location": "eastus"})));
    let until = SystemClock.now_plus_hour().to_string();
    let asked = json!({"canonicalizedResource": "/blob/acc/c/b", "signedResource": "b", "signedPermission": "r",
        "signedProtocol": "https", "signedExpiry": until});
    let path = format!("{account}/ListServiceSas?api-version=2021-09-01");
    let (_, sas) = client.ask(Method::POST, &path, &token, Some(asked.clone())).await;
    let sas = sas["serviceSasToken"].as_str().unwrap().to_owned();
    let send = |method: Method, rest: String, bearer: bool| {
        let request = client.http.request(method, client.url(&format!("/blob/acc/{rest}"))).body("x");
        let request = if bearer { request.bearer_auth(&token) } else { request };
        async move { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!(send(Method::PUT, "c?restype=container".to_owned(), true).await, 201);
    for name in ["b", "other"] {
        assert_eq!(send(Method::PUT, format!("c/{name}"), true).await, 201);
    }
    assert_eq!(send(Method::GET, format!("c/b?{sas}"), false).await, 200);
    assert_eq!(send(Method::GET, format!("c/other?{sas}"), false).await, 403);
    assert_eq!(send(Method::PUT, format!("c/b?{sas}"), false).await, 403);
    // An account that allows no keys gives no such signature.
    assert!(
        client
            .arm
            .put(&account, json!({"location": "eastus", "properties": {"allowSharedKeyAccess": false}}))
    );
    let (status, refused) = client.ask(Method::POST, &path, &token, Some(asked)).await;
    assert_eq!((status, code(&refused)), (403, "KeyBasedAuthenticationNotPermitted"));
}

trait HourLater {
    fn now_plus_hour(&self) -> rp_base::Timestamp;
}

impl HourLater for SystemClock {
    fn now_plus_hour(&self) -> rp_base::Timestamp {
        rp_base::Clock::now(self) + Duration::from_hours(1)
    }
}

#[tokio::test]
async fn vaults_order_certificates() {
    let (client, token, _) = with_group().await;
    let path = |rest: &str| format!("/vault/clusters/{rest}?api-version=7.4");
    let policy = json!({"issuer": {"name": "OneCertV2-PublicCA"}, "x509_props": {"subject": "CN=api.a.example",
        "sans": {"dns_names": ["api.a.example"]}}});
    let create = json!({"policy": policy});
    let (_, missing) = client.get(&path("certificates/doc-apiserver/pending"), &token).await;
    assert_eq!(code(&missing), "CertificateNotFound");
    let (status, body) =
        client.ask(Method::POST, &path("certificates/doc-apiserver/create"), &token, Some(create)).await;
    assert_eq!((status, &body["status"]), (202, &json!("inProgress")));
    let (_, body) = client.get(&path("certificates/doc-apiserver/pending"), &token).await;
    assert_eq!(body["status"], "completed");
    let (_, secret) = client.get(&path("secrets/doc-apiserver"), &token).await;
    let pem = secret["value"].as_str().unwrap();
    assert!(pem.contains("PRIVATE KEY") && pem.contains("BEGIN CERTIFICATE"), "{secret}");
    assert_eq!(client.ask(Method::DELETE, &path("certificates/doc-apiserver"), &token, None).await.0, 200);
    assert_eq!(client.get(&path("secrets/doc-apiserver"), &token).await.0, 404);
}

#[tokio::test]
async fn what_subscriptions_may_have() {
    let (client, token, group) = with_group().await;
    let control = client.arm.control();
    let subscription = group.split('/').nth(2).unwrap().to_owned();
    let base = format!("/subscriptions/{subscription}/providers");
    control.restrict(&subscription, "Standard_D8s_v5");
    control.feature(&subscription, "Microsoft.Compute/EncryptionAtHost", "Registered");
    control.provider(&subscription, "Microsoft.Storage", "NotRegistered");
    control.quota(&subscription, "standardDSv5Family", 90, 100);
    let get = async |rest: &str| {
        let sign = if rest.contains('?') { "&" } else { "?" };
        client.get(&format!("{base}{rest}{sign}api-version=2024-03-01"), &token).await.1
    };
    let skus = get("/Microsoft.Compute/skus?$filter=location%20eq%20'westeurope'").await;
    let sku = skus["value"].as_array().unwrap().iter().find(|sku| sku["name"] == "Standard_D8s_v5").unwrap();
    assert_eq!(sku["restrictions"][0]["restrictionInfo"]["locations"][0], "westeurope");
    let feature = get("/Microsoft.Features/providers/Microsoft.Compute/features/EncryptionAtHost").await;
    assert_eq!(feature["properties"]["state"], "Registered");
    let providers = get("").await;
    let storage =
        providers["value"].as_array().unwrap().iter().find(|one| one["namespace"] == "Microsoft.Storage");
    assert_eq!(storage.unwrap()["registrationState"], "NotRegistered");
    assert_eq!(
        client
            .ask(
                Method::POST,
                &format!("{base}/Microsoft.Storage/register?api-version=2021-04-01"),
                &token,
                None
            )
            .await
            .0,
        200
    );
    assert_eq!(get("/Microsoft.Storage").await["registrationState"], "Registered");
    let usages = get("/Microsoft.Compute/locations/eastus/usages").await;
    let family =
        usages["value"].as_array().unwrap().iter().find(|one| one["name"]["value"] == "standardDSv5Family");
    assert_eq!(family.unwrap()["currentValue"], 90);
}

#[tokio::test]
async fn record_sets_are_written_under_conditions() {
    let (client, token, group) = with_group().await;
    let zone = format!("{group}/providers/Microsoft.Network/dnszones/a.example");
    assert!(client.arm.put(&zone, json!({})));
    let url = client.url(&format!("{zone}/A/*.apps.one?api-version=2018-05-01"));
    let put = |name: &'static str, value: String| {
        let body = json!({"properties": {"TTL": 300, "ARecords": []}});
        client.http.put(&url).bearer_auth(&token).header(name, value).json(&body).send()
    };
    let first = put("if-none-match", "*".to_owned()).await.unwrap();
    assert_eq!(first.status().as_u16(), 201);
    let etag = first.json::<Value>().await.unwrap()["etag"].as_str().unwrap().to_owned();
    assert_eq!(put("if-none-match", "*".to_owned()).await.unwrap().status().as_u16(), 412);
    assert_eq!(put("if-match", etag.clone()).await.unwrap().status().as_u16(), 200);
    assert_eq!(put("if-match", etag).await.unwrap().status().as_u16(), 412);
}

#[tokio::test]
async fn an_answer_is_lost_after_it_was_done() {
    let (client, token, group) = with_group().await;
    let fault = Fault {
        method: Some(Method::PUT),
        path: "/things/one".into(),
        times: Some(1),
        answer: FaultResponse::Lost,
    };
    client.arm.fail(fault);
    let path = format!("{group}/providers/Example.Kind/things/one?api-version=2024-05-01");
    let sent = client.http.put(client.url(&path)).bearer_auth(&token).json(&json!({})).send().await;
    let read = match sent {
        Ok(answer) => answer.bytes().await.map(|_| ()),
        Err(error) => Err(error),
    };
    assert!(read.is_err());
    assert_eq!(client.get(&path, &token).await.0, 200);
}
