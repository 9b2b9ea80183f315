//! The operations: which there are, since when, what they take and give (`contract/api.md` §17).

use serde_json::{Map, Value, json};

use super::parameters::{self, GROUP, LOCATION, SUBSCRIPTION, VERSION};
use super::{SwaggerContext, example_file, reference, with};
use crate::version::Version;

/// How the client polls a long-running operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongRunning {
    /// Polled at `Azure-AsyncOperation`; at the end the resource's own URL has the cluster.
    Write,
    /// Polled at `Location`.
    Delete,
}

/// Parts of a path that are parameters, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathScope {
    Provider,
    Subscription,
    Group,
    Cluster,
    Region,
    Version,
    Minor,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) id: &'static str,
    pub(super) method: &'static str,
    pub(super) scope: PathScope,
    /// The end of the path.
    end: &'static str,
    pub(super) summary: &'static str,
    /// The definition of the body that it takes.
    takes: Option<&'static str>,
    /// The definition of the body that it gives.
    gives: Option<&'static str>,
    pageable: bool,
    pub(super) long: Option<LongRunning>,
    offered: fn(&Version) -> bool,
}

const READ: Operation = Operation {
    id: "",
    method: "get",
    scope: PathScope::Provider,
    end: "",
    summary: "",
    takes: None,
    gives: None,
    pageable: false,
    long: None,
    offered: |_| true,
};

const ALL: [Operation; 13] = [
    Operation {
        id: "Operations_List",
        end: "/operations",
        summary: "Lists the operations of the resource provider.",
        gives: Some("OperationList"),
        pageable: true,
        ..READ
    },
    Operation {
        id: "OpenShiftClusters_List",
        scope: PathScope::Subscription,
        end: "/openShiftClusters",
        summary: "Lists the OpenShift clusters of a subscription.",
        gives: Some("OpenShiftClusterList"),
        pageable: true,
        ..READ
    },
    Operation {
        id: "OpenShiftClusters_ListByResourceGroup",
        scope: PathScope::Group,
        end: "/openShiftClusters",
        summary: "Lists the OpenShift clusters of a resource group.",
        gives: Some("OpenShiftClusterList"),
        pageable: true,
        ..READ
    },
    Operation {
        id: "OpenShiftClusters_Get",
        scope: PathScope::Cluster,
        summary: "Gets an OpenShift cluster.",
        gives: Some("OpenShiftCluster"),
        ..READ
    },
    Operation {
        id: "OpenShiftClusters_CreateOrUpdate",
        method: "put",
        scope: PathScope::Cluster,
        summary: "Creates an OpenShift cluster, or replaces what may be changed of one.",
        takes: Some("OpenShiftCluster"),
        gives: Some("OpenShiftCluster"),
        long: Some(LongRunning::Write),
        ..READ
    },
    Operation {
        id: "OpenShiftClusters_Update",
        method: "patch",
        scope: PathScope::Cluster,
        summary: "Changes an OpenShift cluster.",
        takes: Some("OpenShiftClusterUpdate"),
        gives: Some("OpenShiftCluster"),
        long: Some(LongRunning::Write),
        ..READ
    },
    Operation {
        id: "OpenShiftClusters_Delete",
        method: "delete",
        scope: PathScope::Cluster,
        summary: "Deletes an OpenShift cluster.",
        long: Some(LongRunning::Delete),
        ..READ
    },
    Operation {
        id: "OpenShiftClusters_ListCredentials",
        method: "post",
        scope: PathScope::Cluster,
        end: "/listCredentials",
        summary: "Gives the password of an OpenShift cluster's kubeadmin.",
        gives: Some("OpenShiftClusterCredentials"),
        ..READ
    },
    Operation {
        id: "OpenShiftClusters_ListAdminCredentials",
        method: "post",
        scope: PathScope::Cluster,
        end: "/listAdminCredentials",
        summary: "Gives an admin's kubeconfig for an OpenShift cluster.",
        gives: Some("OpenShiftClusterAdminKubeconfig"),
        offered: |version| version.admin_kubeconfig,
        ..READ
    },
    Operation {
        id: "OpenShiftVersions_List",
        scope: PathScope::Region,
        end: "/openShiftVersions",
        summary: "Lists the versions of OpenShift that can be installed in a region.",
        gives: Some("OpenShiftVersionList"),
        pageable: true,
        offered: |version| version.openshift_versions,
        ..READ
    },
    Operation {
        id: "OpenShiftVersions_Get",
        scope: PathScope::Version,
        summary: "Gets a version of OpenShift that can be installed in a region.",
        gives: Some("OpenShiftVersion"),
        offered: |version| version.role_sets,
        ..READ
    },
    Operation {
        id: "PlatformWorkloadIdentityRoleSets_List",
        scope: PathScope::Region,
        end: "/platformWorkloadIdentityRoleSets",
        summary: "Lists, for each minor version of OpenShift, the roles that the identities of its operators need.",
        gives: Some("PlatformWorkloadIdentityRoleSetList"),
        pageable: true,
        offered: |version| version.role_sets,
        ..READ
    },
    Operation {
        id: "PlatformWorkloadIdentityRoleSet_Get",
        scope: PathScope::Minor,
        summary: "Gets the roles that the identities of a minor version's operators need.",
        gives: Some("PlatformWorkloadIdentityRoleSet"),
        offered: |version| version.role_sets,
        ..READ
    },
];

/// The operations of a version.
pub(super) fn of_version(version: &Version) -> impl Iterator<Item = &'static Operation> {
    ALL.iter().filter(move |operation| (operation.offered)(version))
}

/// The paths of a version, with their operations.
pub(super) fn paths(context: SwaggerContext<'_>) -> Map<String, Value> {
    let mut paths = Map::new();
    for operation in of_version(context.version) {
        let path = paths.entry(operation.path()).or_insert_with(|| json!({}));
        path[operation.method] = operation.document(context);
    }
    paths
}

const NAMESPACE: &str = "/providers/Microsoft.RedHatOpenShift";

impl Operation {
    /// As published.
    pub(super) fn path(&self) -> String {
        let subscription = "/subscriptions/{subscriptionId}";
        let group = format!("{subscription}/resourceGroups/{{resourceGroupName}}{NAMESPACE}");
        let region = format!("{subscription}{NAMESPACE}/locations/{{location}}");
        let start = match self.scope {
            PathScope::Provider => NAMESPACE.to_owned(),
            PathScope::Subscription => format!("{subscription}{NAMESPACE}"),
            PathScope::Group => group,
            PathScope::Cluster => format!("{group}/openShiftClusters/{{resourceName}}"),
            PathScope::Region => region,
            PathScope::Version => format!("{region}/openShiftVersions/{{openShiftVersion}}"),
            PathScope::Minor => {
                format!("{region}/platformWorkloadIdentityRoleSets/{{openShiftMinorVersion}}")
            }
        };
        format!("{start}{}", self.end)
    }

    /// What it is listed under.
    fn tag(&self) -> &'static str {
        match self.id.split('_').next() {
            Some("PlatformWorkloadIdentityRoleSet") => "PlatformWorkloadIdentityRoleSets",
            Some(tag) => tag,
            None => self.id,
        }
    }

    fn document(&self, context: SwaggerContext<'_>) -> Value {
        let mut document = json!({
            "operationId": self.id,
            "tags": [self.tag()],
            "summary": self.summary,
            "description": self.summary,
            "parameters": self.parameters(),
            "responses": self.responses(context),
            "x-ms-examples": {self.summary: {"$ref": format!("./{}", example_file(self.id))}},
        });
        if self.pageable {
            document["x-ms-pageable"] = json!({"nextLinkName": "nextLink"});
        }
        if self.long.is_some() {
            document["x-ms-long-running-operation"] = json!(true);
        }
        if let Some(options) = self.options().filter(|_| context.newest()) {
            document["x-ms-long-running-operation-options"] = options;
        }
        document
    }

    fn options(&self) -> Option<Value> {
        Some(match self.long? {
            LongRunning::Write => json!({
                "final-state-via": "azure-async-operation",
                "final-state-schema": "#/definitions/OpenShiftCluster",
            }),
            LongRunning::Delete => json!({"final-state-via": "location"}),
        })
    }

    fn parameters(&self) -> Vec<Value> {
        let shared: &[&str] = match self.scope {
            PathScope::Provider => &[VERSION],
            PathScope::Subscription => &[VERSION, SUBSCRIPTION],
            PathScope::Group | PathScope::Cluster => &[VERSION, SUBSCRIPTION, GROUP],
            PathScope::Region | PathScope::Version | PathScope::Minor => &[VERSION, SUBSCRIPTION, LOCATION],
        };
        let mut all: Vec<Value> = shared.iter().map(|name| parameters::shared(name)).collect();
        all.extend(match self.scope {
            PathScope::Cluster => Some(parameters::cluster()),
            PathScope::Version => Some(parameters::openshift(
                "openShiftVersion",
                r"^(\d+)\.(\d+)\.(\d+)(.*)",
                "The version of OpenShift.",
            )),
            PathScope::Minor => Some(parameters::openshift(
                "openShiftMinorVersion",
                r"^(\d+)\.(\d+)",
                "The minor version of OpenShift.",
            )),
            _ => None,
        });
        all.extend(self.takes.map(parameters::body));
        all
    }

    fn responses(&self, context: SwaggerContext<'_>) -> Map<String, Value> {
        let mut all = Map::new();
        let mut add = |status: &str, answer: Value| all.insert(status.to_owned(), answer);
        let headers = |answer: Value, names: &[&str]| match context.newest() {
            true => with(answer, [("headers", headers(names))]),
            false => answer,
        };
        match (self.long, self.gives) {
            (Some(LongRunning::Delete), _) => {
                let accepted = json!({"description": "The deletion was accepted."});
                add("202", headers(accepted, &["Azure-AsyncOperation", "Location", "Retry-After"]));
                add("204", json!({"description": "There is no such cluster."}));
            }
            (Some(LongRunning::Write), gives) => {
                let gives = gives.map(reference);
                let answer = |says: &str| json!({"description": says, "schema": gives});
                let following = ["Azure-AsyncOperation", "Retry-After"];
                add("200", headers(answer("The change was accepted."), &following));
                add("201", headers(answer("The creation was accepted."), &following));
            }
            (None, gives) => {
                add("200", json!({"description": "Done.", "schema": gives.map(reference)}));
            }
        }
        add("default", json!({"description": "Why the request failed.", "schema": reference("CloudError")}));
        all
    }
}

/// Headers of answers (`contract/frontend.md` §6.3, §6.4).
fn headers(names: &[&str]) -> Value {
    let one = |name: &&str| {
        let said = match *name {
            "Retry-After" => json!({
                "type": "integer", "format": "int32",
                "description": "Seconds to wait before the operation is looked at.",
            }),
            "Location" => json!({"type": "string", "description": "Where the operation's result will be."}),
            _ => json!({"type": "string", "description": "Where the operation's status is."}),
        };
        ((*name).to_owned(), said)
    };
    Value::Object(names.iter().map(one).collect())
}
