//! Templates: expressions, order, loops, failures, operations that last.

use super::*;

const VERSION: &str = "api-version=2021-04-01";

fn template() -> Value {
    json!({
        "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "parameters": {"prefix": {"type": "string"}, "zones": {"type": "array", "defaultValue": ["1", "2"]}},
        "variables": {"account": "[concat(toLower(parameters('prefix')), 'acc')]"},
        "resources": [
            {"type": "Microsoft.Storage/storageAccounts/blobServices/containers", "apiVersion": "2021-09-01",
                "name": "[concat(variables('account'), '/default/ignition')]",
                "dependsOn": ["[resourceId('Microsoft.Storage/storageAccounts', variables('account'))]"]},
            {"type": "Example.Kind/notes", "apiVersion": "2021-09-01", "name": "note",
                "properties": {"blob": "[reference(resourceId('Microsoft.Storage/storageAccounts', variables('account')), '2019-04-01').primaryEndpoints.blob]",
                    "text": "[base64(concat('it''s {\"a\":', string(2), '}'))]", "zone": "[parameters('zones')[1]]",
                    "literal": "[[not an expression]", "id": "[guid(resourceGroup().id, 'x')]"}},
            {"type": "Microsoft.Storage/storageAccounts", "apiVersion": "2021-09-01", "name": "[variables('account')]",
                "location": "eastus", "properties": {}},
            {"type": "Example.Kind/many", "apiVersion": "2021-09-01", "name": "[concat('n', copyIndex())]",
                "copy": {"name": "loop", "count": 3}, "properties": {"at": "[copyIndex('loop', 1)]"}},
            {"type": "Example.Kind/never", "apiVersion": "2021-09-01", "name": "no", "condition": "[equals(1, 2)]"}
        ],
        "outputs": {"account": {"type": "string", "value": "[variables('account')]"}}
    })
}

async fn deploy(
    client: &Client,
    token: &str,
    group: &str,
    template: Value,
    parameters: Value,
) -> (u16, Value, String) {
    let url = client.url(&format!("{group}/providers/Microsoft.Resources/deployments/d?{VERSION}"));
    let body = json!({"properties": {"mode": "Incremental", "template": template, "parameters": parameters}});
    let answer = client.http.put(url).bearer_auth(token).json(&body).send().await.unwrap();
    let link = answer.headers().get("azure-asyncoperation").map(|link| link.to_str().unwrap().to_owned());
    (answer.status().as_u16(), answer.json().await.unwrap(), link.unwrap_or_default())
}

async fn follow(client: &Client, token: &str, link: &str) -> Value {
    client.http.get(link).bearer_auth(token).send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn a_template_is_deployed_in_its_order() {
    let (client, token, group) = with_group().await;
    let parameters = json!({"prefix": {"value": "ABC"}});
    let (status, body, link) = deploy(&client, &token, &group, template(), parameters).await;
    assert_eq!(status, 201, "{body}");
    assert_eq!(follow(&client, &token, &link).await["status"], "Succeeded");
    let (_, done) =
        client.get(&format!("{group}/providers/Microsoft.Resources/deployments/d?{VERSION}"), &token).await;
    assert_eq!(done["properties"]["outputs"]["account"]["value"], "abcacc", "{done}");
    let control = client.arm.control();
    let note =
        control.get(&format!("{group}/providers/Example.Kind/notes/note")).unwrap()["properties"].clone();
    assert_eq!(note["blob"], client.url("/blob/abcacc/"));
    assert_eq!((&note["zone"], &note["literal"]), (&json!("2"), &json!("[not an expression]")));
    let text =
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, note["text"].as_str().unwrap())
            .unwrap();
    assert_eq!(text, b"it's {\"a\":2}");
    assert_eq!(note["id"].as_str().unwrap().len(), 36);
    let last = control.get(&format!("{group}/providers/Example.Kind/many/n2")).unwrap();
    assert_eq!(last["properties"]["at"], 3);
    assert!(control.get(&format!("{group}/providers/Example.Kind/never/no")).is_none());
}

#[tokio::test]
async fn a_wrong_template_is_refused_and_a_failing_one_fails() {
    let (client, token, group) = with_group().await;
    let (status, body, _) = deploy(&client, &token, &group, template(), json!({})).await;
    assert_eq!((status, code(&body)), (400, "InvalidTemplate"));
    let mut wrong = template();
    wrong["outputs"]["account"]["value"] = json!("[nothing('x')]");
    let parameters = json!({"prefix": {"value": "ABC"}});
    assert_eq!(deploy(&client, &token, &group, wrong, parameters.clone()).await.0, 400);
    let fault = Fault {
        method: Some(Method::PUT),
        path: "/many/n1".into(),
        times: Some(1),
        answer: FaultResponse::quota(),
    };
    client.arm.fail(fault);
    let (_, _, link) = deploy(&client, &token, &group, template(), parameters.clone()).await;
    let told = follow(&client, &token, &link).await;
    assert_eq!((&told["status"], &told["error"]["code"]), (&json!("Failed"), &json!("DeploymentFailed")));
    let detail = &told["error"]["details"][0];
    assert_eq!(detail["code"], "Conflict");
    assert!(detail["message"].as_str().unwrap().contains("OperationNotAllowed"), "{detail}");
    client.arm.control().slow(Duration::from_hours(1));
    let (_, _, link) = deploy(&client, &token, &group, template(), parameters.clone()).await;
    assert_eq!(follow(&client, &token, &link).await["status"], "InProgress");
    let (status, body, _) = deploy(&client, &token, &group, template(), parameters).await;
    assert_eq!((status, code(&body)), (409, "DeploymentActive"));
}
