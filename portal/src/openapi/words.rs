//! What each route of the JSON API does, in words.

use serde_json::{Value, json};
use web::{Column, ListQuery, filter_words};

use crate::routes::Handler;

/// What is told of a route.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
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

const fn told(tag: &'static str, summary: &'static str, schema: &'static str) -> Told {
    Told { tag, summary, query: &[], schema, kind: JSON, body: JSON, status: 200 }
}

const fn gone(tag: &'static str, summary: &'static str) -> Told {
    Told { status: 204, ..told(tag, summary, "") }
}

const LIST: &[(&str, &str)] = &[("limit", "Rows, 1 to 500"), ("continue", "Where the answer before ended")];
const OBJECTS: &[(&str, &str)] =
    &[("namespace", "Only of this namespace"), ("name", "Only of this name"), ("limit", "Rows at most")];

/// The words for a route; an empty summary: nobody wrote them yet, which a test finds.
pub(super) fn of(handler: Handler) -> Told {
    use Handler as H;
    match handler {
        H::V1Clusters => Told {
            query: &[
                ("limit", "Rows, 1 to 500; 50 without"),
                (
                    "continue",
                    "The member `continue` of the answer before; of another order it is refused with 400",
                ),
            ],
            ..told("clusters", "Search the fleet", "ClusterPage")
        },
        H::V1Cluster => told("clusters", "One cluster, as the list has it", "Cluster"),
        H::ClusterList => {
            told("clusters", "Every cluster of ours (contract/portal.md §8.4)", "ListedClusters")
        }
        H::ClusterDetail => told("clusters", "One cluster (contract/portal.md §8.5)", "ClusterDetail"),
        H::V1Operations => told("clusters", "Operations on one cluster, newest first", "List"),
        H::V1Operation => told("clusters", "One operation with its steps, log and diagnostics", "Operation"),
        H::V1Tunnel => {
            told("clusters", "What a tunnel to the cluster may lead to, and the keys to pin", "Object")
        }
        H::V1Credentials => told(
            "clusters",
            "The password of the cluster's own administrator, to an elevated person",
            "Object",
        ),
        H::V1Views => told("clusters", "Views that you keep or that others share", "Views"),
        H::V1ViewSave => Told { status: 201, ..told("clusters", "Keep a view of the list", "View") },
        H::V1ViewRemove => gone("clusters", "Remove a view"),
        H::V1Jump => Told {
            query: &[
                ("q", "Letters of a cluster, a page, an action"),
                ("from", "Path of the page that asks"),
            ],
            ..told("clusters", "Places to go", "Places")
        },
        H::ClusterOperatorsList => told("objects", "Cluster operators (contract/portal.md §8.6)", "Object"),
        H::ClusterNodesList => told("objects", "Nodes (contract/portal.md §8.7)", "Object"),
        H::ClusterMachinesList => told("objects", "Machines (contract/portal.md §8.8)", "Object"),
        H::ClusterMachineSetsList => told("objects", "Machine sets (contract/portal.md §8.9)", "Object"),
        H::V1Objects => {
            Told { query: OBJECTS, ..told("objects", "Objects of one kind, as they are watched", "Objects") }
        }
        H::V1Log => Told {
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
            ..told("objects", "The log of a container", "")
        },
        H::V1Serial => Told {
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
            ..told("objects", "The end of a machine's serial console, secrets redacted", "Object")
        },
        H::V1Screenshot => Told {
            query: &[("reason", "Why you look; or the header X-Aro-Reason")],
            kind: "image/png",
            ..told("objects", "The picture of a machine's screen: PNG, JPEG or BMP", "")
        },
        H::V1ObjectList => Told {
            query: &[
                ("namespace", "Only of this namespace"),
                ("label", "A label selector"),
                ("limit", "Rows at most"),
                ("continue", "Where the answer before ended"),
            ],
            ..told("objects", "Objects of any kind, with the viewer's own access", "List")
        },
        H::V1Object => Told {
            query: &[("as", "json or yaml"), ("managed", "1: with managed fields")],
            ..told("objects", "One object of any kind, with the viewer's own access", "")
        },
        other => of_rest(other),
    }
}

fn of_rest(handler: Handler) -> Told {
    use Handler as H;
    match handler {
        H::Info => told("service", "Who you are here, and the token for unsafe calls", "Info"),
        H::Regions => told("service", "Portals of other regions", "Regions"),
        H::OpenApi => told("service", "This document", "Object"),
        H::LoginToken => told("service", "A code, for a token", "Object"),
        H::LoginDevice => told("service", "Begin a sign-in on a device without a browser", "Object"),
        H::V1Logout => told("service", "End the sign-in", "Object"),
        H::PromServe => told("metrics", "Prometheus' own API of one cluster, reading only", "Object"),
        H::PromSources => told("metrics", "Where the cluster's metrics can be asked", "Object"),
        H::PromSuggest => told("metrics", "Names and labels that complete what is typed", "Object"),
        H::PromExplain => told("metrics", "What an expression does, part by part", "Object"),
        H::ClusterAlerts => told("metrics", "What fires in one cluster", "Object"),
        H::Statistic => told("metrics", "One statistic of one cluster (contract/portal.md §14)", ""),
        H::FleetQuery => Told {
            kind: "application/x-ndjson",
            ..told("metrics", "One expression on many clusters, answers as they come", "")
        },
        H::V1Queries => told("metrics", "Expressions that you keep or that others share", "List"),
        H::V1QuerySave => Told { status: 201, ..told("metrics", "Keep an expression", "Object") },
        H::V1QueryRemove => gone("metrics", "Remove an expression"),
        H::V1Grants => Told { query: LIST, ..told("grants", "Grants, newest first", "List") },
        H::V1Grant => told("grants", "One grant with its streams", "Object"),
        H::V1GrantNew => Told { status: 201, ..told("grants", "Take access to a cluster", "Object") },
        H::V1GrantRevoke => told("grants", "End a grant", "Object"),
        H::V1GrantExtend => told("grants", "Move a grant's end", "Object"),
        H::V1GrantToken => told("grants", "A token of minutes under a grant", "Object"),
        H::V1SshCertificate => {
            told("grants", "A certificate of one's own SSH key, for minutes, under an SSH grant", "Object")
        }
        H::V1SshDoor => told("service", "Where the SSH server is, and its host keys", "Object"),
        H::V1SshMachines => told("objects", "Machines that can be signed in to, and the way to each", "List"),
        H::V1Terminals => told("objects", "Terminals of people in it that one may look on at", "List"),
        H::V1HostKeys => {
            told("objects", "Host keys of its machines that are known, and that were refused", "List")
        }
        H::V1HostKeyTrust => told("objects", "Trust the host key that a machine showed last", "Object"),
        H::V1GrantsRevoke => told("grants", "End many grants", "Object"),
        H::V1Elevations => Told { query: LIST, ..told("elevations", "Elevations, newest first", "List") },
        H::V1Elevation => told("elevations", "One elevation", "Object"),
        H::V1ElevationNew => Told { status: 201, ..told("elevations", "Ask for more rights", "Object") },
        H::V1ElevationApprove => told("elevations", "Approve", "Object"),
        H::V1ElevationRefuse => told("elevations", "Refuse", "Object"),
        H::V1ElevationEnd => told("elevations", "End an elevation", "Object"),
        H::V1ElevationReview => told("elevations", "Review a break-glass", "Object"),
        other => of_administration(other),
    }
}

fn of_administration(handler: Handler) -> Told {
    use Handler as H;
    match handler {
        H::V1Robots => told("robots", "Robots", "List"),
        H::V1RobotNew => Told { status: 201, ..told("robots", "Make a robot", "Object") },
        H::V1RobotRotate => told("robots", "A new token, the old one for a while beside it", "Object"),
        H::V1RobotRevoke => told("robots", "End a robot and all it was given", "Object"),
        H::V1Recordings => Told {
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
            ..told(
                "recordings",
                "Recorded sessions, newest first: one's own, for auditors everybody's",
                "List",
            )
        },
        H::V1Recording => told("recordings", "What is known of a recorded session", "Object"),
        H::V1RecordingCast => Told {
            query: &[("download", "1: as a file")],
            kind: "application/x-asciicast",
            ..told("recordings", "The recorded session as asciicast v3; audited before the first byte", "")
        },
        H::V1Audit => Told { query: LIST, ..told("audit", "Entries, newest first", "List") },
        H::V1AuditExport => {
            Told { kind: "application/x-ndjson", ..told("audit", "Entries as lines, with their proof", "") }
        }
        H::V1AuditReport => told("audit", "Who had access to a cluster and what they did", "Object"),
        H::V1AuditProof => told("audit", "Up to where the chain is proven", "Object"),
        H::V1Imports => told("imports", "Imported clusters", "List"),
        H::V1Import => Told { status: 201, ..told("imports", "Put a cluster under the portal", "Object") },
        H::V1ImportRemove => told("imports", "Take an imported cluster away", "Object"),
        _ => told("service", "", ""),
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
