//! Detectors: the API asks AppLens, and tells what it says.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use rp_base::{Clock as _, SystemClock};
use rp_simulator_azure::{
    ArmControl, DIAGNOSES, DIAGNOSIS_TENANT, EmptyContents, Fault, FaultResponse, LocalArm,
};
use serde_json::{Value, json};

use super::site::{Rp, SQLITE, SUB, Site, VERSION, path, wanted};

const CLIENT: &str = "00000000-0000-4000-8000-0000000000de";

/// A service account's token; the stand-in believes its signature.
fn token() -> String {
    let now = SystemClock.now().seconds();
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(&json!({"alg": "RS256", "kid": "test"}));
    let claims = part(&json!({"iss": "https://localhost/test", "sub": "system:serviceaccount:aro:rp",
        "aud": "api://AzureADTokenExchange", "nbf": now - 60, "exp": now + 24 * 3600}));
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode([7_u8; 256]))
}

fn settings(url: &str) -> String {
    format!(
        "credential = \"workload_identity\"\nclient_id = \"{CLIENT}\"\nfederated_token_file = \"azure-token\"\n\
         resource_manager = \"{url}\"\nauthority = \"{url}\"\n\
         diagnosis = \"{url}{DIAGNOSES}\"\ndiagnosis_tenant = \"{DIAGNOSIS_TENANT}\"\n"
    )
}

/// Where the detectors of a cluster are.
fn detectors(rest: &str) -> String {
    path("Orion").replace('?', &format!("/detectors{rest}?"))
}

async fn get(rp: &Rp, rest: &str) -> Result<(u16, Value)> {
    let told = rp.call(Method::GET, &detectors(rest), None).await?;
    Ok((told.status, told.json()?))
}

/// The next answers of AppLens.
fn says(azure: &ArmControl, times: u32, answer: FaultResponse) {
    azure.fail(Fault { method: None, path: DIAGNOSES.to_owned(), times: Some(times), answer });
}

fn again(status: u16, code: &str) -> FaultResponse {
    let (code, message) = (code.to_owned(), "words of Azure".to_owned());
    FaultResponse::Status { status, code, message, retry_after: Some(1) }
}

#[tokio::test(flavor = "multi_thread")]
async fn detectors_are_listed_and_run_and_what_goes_wrong_is_told() -> Result<()> {
    let LocalArm { arm, url, cut: _cut } =
        LocalArm::start(&[(CLIENT, "none")], Arc::new(EmptyContents), Arc::new(SystemClock)).await?;
    let azure = arm.control();
    azure.subscribe(SUB, SUB);
    let mut site = Site::new()?;
    site.folder.write("azure-token", token())?;
    site.azure = settings(&url);
    let rp = site.run("rp", SQLITE, &Site::named()).await?;
    rp.prepare().await?;
    // Azure is asked about a new cluster too.
    let told = rp.call(Method::PUT, &path("Orion"), Some(&wanted(1))).await?;
    ensure!(told.status == 201, "{told:?}");

    let (status, list) = get(&rp, "").await?;
    let value = list["value"].as_array().with_context(|| format!("{status} {list}"))?;
    ensure!(status == 200 && value.len() == 3, "{status} {list}");
    let id = path("Orion").split('?').next().unwrap_or_default().to_owned();
    for one in value {
        let name = one["name"].as_str().context("a name")?;
        ensure!(one["id"] == format!("{id}/detectors/{name}"), "{one}");
        ensure!(one["type"] == "Microsoft.RedHatOpenShift/openShiftClusters/detectors", "{one}");
        ensure!(one["location"] == "eastus" && one["properties"]["metadata"]["id"] == name, "{one}");
    }
    let (status, one) = get(&rp, "/ClusterNodes").await?;
    let rows = &one["properties"]["dataset"][0]["table"]["rows"];
    ensure!(status == 200 && rows[0][0] == "Success", "{status} {one}");
    let asked = azure.requests().into_iter().rfind(|one| one.path == DIAGNOSES).context("asked")?;
    ensure!(asked.query == format!("{id}/detectors/clusternodes"), "{asked:?}");

    wrong(&rp, &azure).await?;
    hostile(&rp, &azure, &id).await?;
    // After all that it still works.
    ensure!(get(&rp, "").await?.0 == 200, "the list");
    ensure!(!rp.process.log().contains("[7,7,7"), "no token in the log");
    Ok(())
}

/// What AppLens refuses, and what is not there.
async fn wrong(rp: &Rp, azure: &ArmControl) -> Result<()> {
    let code = |(status, body): (u16, Value)| {
        (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let of = |status: u16, code: &str| (status, code.to_owned());
    ensure!(code(get(rp, "/Nothing").await?) == of(404, "ResourceNotFound"));
    let before = azure.latest_request();
    ensure!(code(get(rp, "/..%2fx").await?) == of(404, "ResourceNotFound"));
    ensure!(azure.latest_request() == before, "AppLens is not asked for what is no detector");
    let gone = detectors("").replace("Orion", "Vega");
    let told = rp.call(Method::GET, &gone, None).await?;
    ensure!(told.status == 404 && told.text.contains("openshiftclusters/vega"), "{told:?}");

    // It is asked again, as long as that may help.
    says(azure, 2, again(429, "TooManyRequests"));
    ensure!(get(rp, "").await?.0 == 200, "two refusals pass");
    says(azure, 9, again(429, "TooManyRequests"));
    let told = rp.call(Method::GET, &detectors(""), None).await?;
    azure.heal();
    ensure!(told.status == 429 && told.headers.contains_key("retry-after"), "{told:?}");
    ensure!(told.json()?["error"]["code"] == "ThrottlingLimitExceeded", "{told:?}");
    for (answer, wanted) in [
        (again(503, "Away"), of(503, "ServiceUnavailable")),
        (FaultResponse::status(403, "AuthorizationFailed"), of(500, "InternalServerError")),
        (FaultResponse::status(400, "BadRequest"), of(500, "InternalServerError")),
    ] {
        says(azure, 9, answer);
        let told = get(rp, "").await?;
        azure.heal();
        ensure!(!told.1.to_string().contains("words of Azure"), "{told:?}");
        ensure!(code(told.clone()) == wanted, "{told:?}");
    }
    Ok(())
}

/// Text that no answer may contain.
async fn hostile(rp: &Rp, azure: &ArmControl, id: &str) -> Result<()> {
    let question = format!("{id}/detectors");
    let many: Vec<Value> = (0..5000).map(|n| json!({"metadata": {"id": format!("d{n}")}})).collect();
    let odd = ["", ".", "..", "a/b", "a?b", "é", "x\n", &"x".repeat(129)];
    let odd: Vec<Value> = odd.iter().map(|id| json!({"metadata": {"id": id}})).collect();
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    for (what, said, wanted) in [
        ("a huge answer", json!("x".repeat(17 << 20)), 500),
        ("a large answer", json!("x".repeat(5 << 20)), 500),
        ("a deep answer", deep, 500),
        ("a text", json!("x"), 200),
        ("nothing", Value::Null, 200),
        ("names that are none", json!(odd), 200),
        ("another form", json!({"value": {"metadata": {"id": "one"}}}), 200),
    ] {
        azure.diagnosis(&question, said);
        let (status, told) = get(rp, "").await?;
        let listed = told["value"].as_array().map_or(0, Vec::len);
        ensure!(status == wanted && listed == 0, "{what}: {status}, {listed} listed");
        ensure!(status == 200 || told["error"]["message"] == "Internal server error.", "{what}");
    }
    azure.diagnosis(&question, json!(many));
    let (status, told) = get(rp, "").await?;
    let listed = told["value"].as_array().map_or(0, Vec::len);
    ensure!(status == 200 && listed == 1000, "{status}, {listed} listed");
    let told = rp.call(Method::GET, &format!("/subscriptions/{SUB}/providers/Microsoft.RedHatOpenShift/openShiftClusters?api-version={VERSION}"), None).await?;
    ensure!(told.status == 200, "{told:?}");
    Ok(())
}
