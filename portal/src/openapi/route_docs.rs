//! The descriptions of the JSON API's routes in the OpenAPI document.

use serde_json::{Value, json};
use web::{Column, ListQuery, filter_words};

use crate::routes::Handler;

/// What the OpenAPI document says of a route.
#[derive(Debug, Clone, Copy)]
pub(super) struct RouteDoc {
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    /// Parameters of the query, and what they mean.
    pub(super) query: &'static [(&'static str, &'static str)],
    /// Name of the answer's schema; empty: anything.
    pub(super) schema: &'static str,
    /// Content type of the answer.
    pub(super) kind: &'static str,
    /// Content type of the body of a POST.
    pub(super) body: &'static str,
    pub(super) status: u16,
}

pub(super) const TAGS: [(&str, &str); 9] = [
    ("clusters", "The fleet, and one cluster"),
    ("objects", "What a cluster is made of"),
    ("metrics", "Prometheus and alerts of clusters"),
    ("grants", "Access that was given out"),
    ("elevations", "More rights for a while"),
    ("robots", "Identities of scripts"),
    ("audit", "Who did what"),
    ("imports", "Clusters of one's own"),
    ("service", "Sign-in, and what this portal is"),
];

const JSON: &str = "application/json";

const fn route(tag: &'static str, summary: &'static str, schema: &'static str) -> RouteDoc {
    RouteDoc { tag, summary, query: &[], schema, kind: JSON, body: JSON, status: 200 }
}

const fn no_content(tag: &'static str, summary: &'static str) -> RouteDoc {
    RouteDoc { status: 204, ..route(tag, summary, "") }
}

const LIST: &[(&str, &str)] = &[("limit", "Rows, 1 to 500"), ("continue", "Where the answer before ended")];
const OBJECTS: &[(&str, &str)] =
    &[("namespace", "Only of this namespace"), ("name", "Only of this name"), ("limit", "Rows at most")];

/// The description of a route. An empty summary means that it is missing; a test fails then.
pub(super) fn route_doc(handler: Handler) -> RouteDoc {
    use Handler as H;
    match handler {
        H::V1Clusters => RouteDoc {
            query: &[
                ("limit", "Rows, 1 to 500; 50 without"),
                (
                    "continue",
                    "The member `continue` of the answer before; of another order it is refused with 400",
                ),
            ],
            ..route("clusters", "Search the fleet", "ClusterPage")
        },
        H::V1Cluster => route("clusters", "One cluster, as the list has it", "Cluster"),
        H::ClusterList => {
            route("clusters", "Every cluster of ours (contract/portal.md §8.4)", "ListedClusters")
        }
        H::ClusterDetail => route("clusters", "One cluster (contract/portal.md §8.5)", "ClusterDetail"),
        H::V1Operations => route("clusters", "Operations on one cluster, newest first", "List"),
        H::V1Operation => route("clusters", "One operation with its steps, log and diagnostics", "Operation"),
        H::V1Tunnel => {
            route("clusters", "What a tunnel to the cluster may lead to, and the keys to pin", "Object")
        }
        H::V1Credentials => route(
            "clusters",
            "The password of the cluster's own administrator, to an elevated person",
            "Object",
        ),
        H::V1Views => route("clusters", "Views that you keep or that others share", "Views"),
        H::V1ViewSave => RouteDoc { status: 201, ..route("clusters", "Keep a view of the list", "View") },
        H::V1ViewRemove => no_content("clusters", "Remove a view"),
        H::V1Jump => RouteDoc {
            query: &[
                ("q", "Letters of a cluster, a page, an action"),
                ("from", "Path of the page that asks"),
            ],
            ..route("clusters", "Places to go", "Places")
        },
        H::ClusterOperatorsList => route("objects", "Cluster operators (contract/portal.md §8.6)", "Object"),
        H::ClusterNodesList => route("objects", "Nodes (contract/portal.md §8.7)", "Object"),
        H::ClusterMachinesList => route("objects", "Machines (contract/portal.md §8.8)", "Object"),
        H::ClusterMachineSetsList => route("objects", "Machine sets (contract/portal.md §8.9)", "Object"),
        H::V1Objects => RouteDoc {
            query: OBJECTS,
            ..route("objects", "Objects of one kind, as they are watched", "Objects")
        },
        H::V1Log => RouteDoc {
            query: &[
                ("container", "Which container, where there are several"),
                ("follow", "1: go on with what is written next"),
                ("previous", "1: of the container before its last restart"),
                ("tail", "Lines from the end"),
                ("since", "Not older than so long, e.g. 5m"),
                ("timestamps", "1: with the instant of each line"),
                ("colour", "0: without colours"),
                (
                    "reason",
                    "Why you look, where you hold no access to the cluster yet; or the header X-Aro-Reason",
                ),
                ("ticket", "Ticket or incident; or the header X-Aro-Ticket"),
            ],
            kind: "text/plain",
            ..route("objects", "The log of a container", "")
        },
        H::V1Serial => RouteDoc {
            query: &[
                ("q", "Only lines with this text, in any case of letters"),
                ("before", "Only lines before this one: `older` of the answer before"),
                ("after", "Only lines after this one: `newer` of the answer before"),
                ("lines", "Lines at most, 1 to 5000; 500 without"),
                ("as", "text: all lines that were read, as text"),
                ("download", "1: with as=text, as a file"),
                ("reason", "Why you look; or the header X-Aro-Reason"),
                ("ticket", "Ticket or incident; or the header X-Aro-Ticket"),
            ],
            ..route("objects", "The end of a machine's serial console, secrets redacted", "Object")
        },
        H::V1Screenshot => RouteDoc {
            query: &[("reason", "Why you look; or the header X-Aro-Reason")],
            kind: "image/png",
            ..route("objects", "The picture of a machine's screen: PNG, JPEG or BMP", "")
        },
        H::V1ObjectList => RouteDoc {
            query: &[
                ("namespace", "Only of this namespace"),
                ("label", "A label selector"),
                ("limit", "Rows at most"),
                ("continue", "Where the answer before ended"),
            ],
            ..route("objects", "Objects of any kind, with the viewer's own access", "List")
        },
        H::V1Object => RouteDoc {
            query: &[("as", "json or yaml"), ("managed", "1: with managed fields")],
            ..route("objects", "One object of any kind, with the viewer's own access", "")
        },
        other => cluster_route_doc(other),
    }
}

fn cluster_route_doc(handler: Handler) -> RouteDoc {
    use Handler as H;
    match handler {
        H::Info => route("service", "Who you are here, and the token for unsafe calls", "Info"),
        H::Regions => route("service", "Portals of other regions", "Regions"),
        H::OpenApi => route("service", "This document", "Object"),
        H::LoginToken => route("service", "A code, for a token", "Object"),
        H::LoginDevice => route("service", "Begin a sign-in on a device without a browser", "Object"),
        H::V1Logout => route("service", "End the sign-in", "Object"),
        H::PromServe => route("metrics", "Prometheus' own API of one cluster, reading only", "Object"),
        H::PromSources => route("metrics", "Where the cluster's metrics can be asked", "Object"),
        H::PromSuggest => route("metrics", "Names and labels that complete what is typed", "Object"),
        H::PromExplain => route("metrics", "What an expression does, part by part", "Object"),
        H::ClusterAlerts => route("metrics", "What fires in one cluster", "Object"),
        H::Statistic => route("metrics", "One statistic of one cluster (contract/portal.md §14)", ""),
        H::FleetQuery => RouteDoc {
            kind: "application/x-ndjson",
            ..route("metrics", "One expression on many clusters, answers as they come", "")
        },
        H::V1Queries => route("metrics", "Expressions that you keep or that others share", "List"),
        H::V1QuerySave => RouteDoc { status: 201, ..route("metrics", "Keep an expression", "Object") },
        H::V1QueryRemove => no_content("metrics", "Remove an expression"),
        H::V1Grants => RouteDoc { query: LIST, ..route("grants", "Grants, newest first", "List") },
        H::V1Grant => route("grants", "One grant with its streams", "Object"),
        H::V1GrantNew => RouteDoc { status: 201, ..route("grants", "Take access to a cluster", "Object") },
        H::V1GrantRevoke => route("grants", "End a grant", "Object"),
        H::V1GrantExtend => route("grants", "Move a grant's end", "Object"),
        H::V1GrantToken => route("grants", "A token of minutes under a grant", "Object"),
        H::V1SshCertificate => {
            route("grants", "A certificate of one's own SSH key, for minutes, under an SSH grant", "Object")
        }
        H::V1SshDoor => route("service", "Where the SSH server is, and its host keys", "Object"),
        H::V1SshMachines => {
            route("objects", "Machines that can be signed in to, and the way to each", "List")
        }
        H::V1Terminals => route("objects", "Terminals of people in it that one may look on at", "List"),
        H::V1HostKeys => {
            route("objects", "Host keys of its machines that are known, and that were refused", "List")
        }
        H::V1HostKeyTrust => route("objects", "Trust the host key that a machine showed last", "Object"),
        H::V1GrantsRevoke => route("grants", "End many grants", "Object"),
        H::V1Elevations => {
            RouteDoc { query: LIST, ..route("elevations", "Elevations, newest first", "List") }
        }
        H::V1Elevation => route("elevations", "One elevation", "Object"),
        H::V1ElevationNew => RouteDoc { status: 201, ..route("elevations", "Ask for more rights", "Object") },
        H::V1ElevationApprove => route("elevations", "Approve", "Object"),
        H::V1ElevationRefuse => route("elevations", "Refuse", "Object"),
        H::V1ElevationEnd => route("elevations", "End an elevation", "Object"),
        H::V1ElevationReview => route("elevations", "Review a break-glass", "Object"),
        other => admin_route_doc(other),
    }
}

fn admin_route_doc(handler: Handler) -> RouteDoc {
    use Handler as H;
    match handler {
        H::V1Robots => route("robots", "Robots", "List"),
        H::V1RobotNew => RouteDoc { status: 201, ..route("robots", "Make a robot", "Object") },
        H::V1RobotRotate => route("robots", "A new token, the old one for a while beside it", "Object"),
        H::V1RobotRevoke => route("robots", "End a robot and all it was given", "Object"),
        H::V1Recordings => RouteDoc {
            query: &[
                ("q", "Only those that showed this text, with the lines"),
                ("person", "A part of the person's name; auditors"),
                ("cluster", "A resource id, or the name of a cluster"),
                ("grant", "Only those that were opened with this grant"),
                ("from", "Begun at or after: RFC 3339 or a day"),
                ("to", "Begun before; a day is taken whole"),
                ("limit", "Rows, 1 to 500"),
                ("continue", "Where the answer before ended"),
            ],
            ..route(
                "recordings",
                "Recorded sessions, newest first: one's own, for auditors everybody's",
                "List",
            )
        },
        H::V1Recording => route("recordings", "What is known of a recorded session", "Object"),
        H::V1RecordingCast => RouteDoc {
            query: &[("download", "1: as a file")],
            kind: "application/x-asciicast",
            ..route("recordings", "The recorded session as asciicast v3; audited before the first byte", "")
        },
        H::V1Audit => RouteDoc { query: LIST, ..route("audit", "Entries, newest first", "List") },
        H::V1AuditExport => RouteDoc {
            kind: "application/x-ndjson",
            ..route("audit", "Entries as lines, with their proof", "")
        },
        H::V1AuditReport => route("audit", "Who had access to a cluster and what they did", "Object"),
        H::V1AuditProof => route("audit", "Up to where the chain is proven", "Object"),
        H::V1Imports => route("imports", "Imported clusters", "List"),
        H::V1Import => {
            RouteDoc { status: 201, ..route("imports", "Put a cluster under the portal", "Object") }
        }
        H::V1ImportRemove => route("imports", "Take an imported cluster away", "Object"),
        _ => route("service", "", ""),
    }
}

/// The filters of the list, as parameters.
pub(super) fn list_filters() -> Vec<Value> {
    let text = |name: &str, what: String, schema: Value| json!({ "name": name, "in": "query", "required": false, "description": what, "schema": schema });
    let plain = || json!({ "type": "string" });
    let mut all = vec![
        text(
            "q",
            "Words; each is somewhere in name, ids, state, version, error, operators or alerts".to_owned(),
            plain(),
        ),
        text(
            "view",
            "A view that everybody has".to_owned(),
            json!({ "type": "string", "enum": ["not-healthy", "in-progress", "failed", "imported"] }),
        ),
    ];
    for (field, _) in ListQuery::default().fields() {
        let form = match field {
            "state" => ": one or several with commas between them",
            "version" => ": 4.18, <4.16, or a range such as 4.14..4.16 with both ends",
            "expires" => " within so many days",
            "age" => " for at least 30m, 12h or 7d",
            "unseen" => " for so many minutes",
            "operator" | "alert" | "collector" => ": its name, or any",
            "names" => ": names or resource ids with commas between them",
            _ => "",
        };
        all.push(text(field, format!("{}{form}", filter_words(field)), plain()));
    }
    let orders: Vec<&str> = std::iter::once(Column::Name).chain(Column::EVERY).map(Column::name).collect();
    all.push(text("sort", "Order; state without".to_owned(), json!({ "type": "string", "enum": orders })));
    all.push(text("reverse", "The order turned round".to_owned(), json!({ "type": "boolean" })));
    all
}
