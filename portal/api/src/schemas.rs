//! Shapes of answers. Those of lists whose rows other guides describe say only that they are lists.

use serde_json::{Value, json};

/// All of them, by name.
pub fn all() -> Value {
    json!({
        "Error": object(&["code", "message", "side", "request_id"], json!({
            "code": { "type": "string", "description": "A stable word for machines" },
            "message": { "type": "string", "description": "What failed and why, as a sentence" },
            "side": { "type": "string", "enum": ["you", "us", "cluster"], "description": "Whose fault it is" },
            "action": { "type": "string", "description": "What to do; may be empty" },
            "request_id": { "type": "string" },
            "login_url": { "type": "string", "description": "Where a sign-in begins that would help" },
        })),
        "Cluster": cluster(),
        "Operation": object(&["id", "kind", "state", "started", "step", "planned", "steps", "lines", "diagnostics"], json!({
            "id": text(),
            "kind": { "type": "string", "enum": ["Creating", "Updating", "AdminUpdating", "Deleting"] },
            "phase": text(),
            "state": { "type": "string", "enum": ["running", "succeeded", "failed"] },
            "started": instant(), "ended": { "type": ["string", "null"], "format": "date-time" },
            "result": { "type": "string", "description": "The state it left the cluster in, once ended" },
            "error": { "type": "string", "description": "Why it failed" },
            "attempt": { "type": "integer", "description": "How often a worker took it up" },
            "step": { "type": "integer", "description": "Place of the last step in the plan of its phase, from 1; 0: none has begun" },
            "planned": { "type": "integer", "description": "Steps of that plan; 0: not known" },
            "current": { "type": ["object", "null"], "description": "The step that runs, or where it stopped" },
            "askedBy": text(), "correlation": { "type": ["object", "null"] },
            "steps": { "type": "array", "items": { "type": "object" } },
            "lines": { "type": "array", "items": { "type": "object" } },
            "diagnostics": { "type": "array", "items": { "type": "object" } },
        })),
        "ClusterPage": object(&["items", "total", "of"], json!({
            "items": { "type": "array", "items": reference("Cluster") },
            "total": { "type": "integer", "description": "Clusters that match" },
            "of": { "type": "integer", "description": "Clusters there are" },
            "continue": { "type": "string", "description": "For the parameter continue; absent on the last page" },
        })),
        "ListedCluster": strings(&["key", "name", "subscription", "resourceGroup", "resourceId", "provisioningState", "failedprovisioningState", "failedProvisioningState", "version", "createdAt", "lastModified", "provisionedBy"]),
        "ListedClusters": { "type": "array", "items": reference("ListedCluster"), "description": "contract/portal.md §8.4" },
        "ClusterDetail": strings(&["name", "subscription", "resourceGroup", "resourceId", "provisioningState", "failedProvisioningState", "lastProvisioningState", "version", "createdAt", "provisionedBy", "createdBy", "architectureVersion", "lastAdminUpdateError", "infraId", "apiServerVisibility", "installStatus"]),
        "Info": object(&["location", "csrf", "elevated", "username", "rpversion", "roles", "simulated"], json!({
            "location": { "type": "string" },
            "csrf": { "type": "string", "description": "Empty for a bearer token, which needs none" },
            "elevated": { "type": "boolean" },
            "username": { "type": "string" },
            "rpversion": { "type": "string" },
            "roles": { "type": "array", "items": { "type": "string" } },
            "session_ends": instant(),
            "session_idle_seconds": { "type": "integer" },
            "simulated": { "type": "boolean" },
        })),
        "Regions": object(&["regions"], json!({
            "regions": { "type": "array", "items": object(&["name", "url"], json!({ "name": text(), "url": text() })) },
        })),
        "View": object(&["id", "name", "query", "shared", "owner", "mine", "created"], json!({
            "id": text(), "name": text(), "owner": text(), "created": instant(),
            "query": { "type": "string", "description": "Query string of the list, without ?" },
            "shared": { "type": "boolean" }, "mine": { "type": "boolean" },
        })),
        "Views": object(&["items"], json!({ "items": { "type": "array", "items": reference("View") } })),
        "Places": object(&["groups"], json!({
            "groups": { "type": "array", "items": object(&["words", "items"], json!({
                "words": text(),
                "items": { "type": "array", "items": object(&["text", "note", "tone", "icon", "href"], json!({
                    "text": text(), "note": text(), "tone": text(), "icon": text(), "href": text(),
                })) },
            })) },
        })),
        "List": object(&["items"], json!({
            "items": { "type": "array", "items": { "type": "object" } },
            "total": { "type": "integer" },
            "continue": { "type": "string" },
        })),
        "Objects": object(&["as_of", "state", "items"], json!({
            "as_of": { "type": ["string", "null"], "description": "Last heard from the cluster" },
            "state": { "type": "string", "enum": ["live", "loading", "stale", "forbidden", "missing", "failed"] },
            "why": text(),
            "left_out": { "type": "integer" },
            "items": { "type": "array", "items": { "type": "object" } },
        })),
        "Object": { "type": "object" },
    })
}

fn cluster() -> Value {
    object(
        &[
            "name",
            "resourceId",
            "subscription",
            "resourceGroup",
            "region",
            "source",
            "state",
            "provisioningState",
            "failedProvisioningState",
            "version",
            "health",
            "wrong",
            "operatorsDegraded",
            "alerts",
            "nodes",
            "nodesNotReady",
        ],
        json!({
            "name": text(), "resourceId": text(), "subscription": text(), "resourceGroup": text(), "region": text(),
            "source": { "type": "string", "enum": ["aro", "imported"] },
            "state": { "type": "string", "enum": ["healthy", "succeeded", "degraded", "failed", "noanswer", "creating", "updating", "adminupdating", "deleting", "canceled", "maintenance", "imported", "unknown"], "description": "The worst that is known" },
            "since": instant(),
            "provisioningState": text(), "failedProvisioningState": text(), "installPhase": text(), "maintenanceState": text(),
            "version": text(), "updatingTo": text(),
            "health": { "type": "string", "enum": ["ok", "degraded", "no answer", "unknown"] },
            "wrong": { "type": "string", "description": "What is wrong, as a sentence; empty when nothing is" },
            "operatorsDegraded": { "type": "array", "items": text() },
            "alerts": { "type": "array", "items": text() },
            "nodes": { "type": "integer" }, "nodesNotReady": { "type": "integer" },
            "certificateExpiry": instant(),
            "lastLook": object(&["at", "tookMs", "failed"], json!({
                "at": instant(), "tookMs": { "type": "integer" },
                "failed": { "type": "array", "items": object(&["name", "error"], json!({ "name": text(), "error": text() })) },
            })),
            "apiServerVisibility": text(), "infraId": text(), "createdAt": instant(), "lastModified": instant(),
        }),
    )
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn instant() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

#[expect(clippy::needless_pass_by_value, reason = "it is written into the schema at each call")]
fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Every member is text, and is there.
fn strings(names: &[&str]) -> Value {
    let members: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), text())).collect();
    object(names, Value::Object(members))
}
