//! A cluster's document is read and written through the types of `rp-documents`: no code looks a member up by its name.

use std::process::Command;

use anyhow::{Result, ensure};
use regex::Regex;
use rp_documents::ClusterDocument;
use rp_documents::cluster::{
    ApiServerProfile, ClusterProfile, CorrelationData, FeatureProfile, HiveProfile, IngressProfile, Install,
    LoadBalancerProfile, ManagedServiceIdentity, MasterProfile, NetworkProfile, OpenShiftCluster,
    PlatformWorkloadIdentity, PlatformWorkloadIdentityProfile, Position, Properties, RegistryProfile,
    ServicePrincipalProfile, SystemData, UserAssignedIdentity, WorkerProfile,
};
use tests_kit::workspace;

/// The crates that read or write clusters.
const CRATES: [&str; 4] = ["frontend", "backend", "cluster", "monitor"];

/// Files that may look a member up by its name.
const LISTED: [&str; 4] = [
    // Versions of the API are trees of names: here a cluster becomes JSON, and JSON a cluster.
    "rp-core/frontend/src/clusters/version_json.rs",
    // Bills have members of the same name.
    "rp-core/frontend/src/admin/billing.rs",
    // Azure's virtual machines have a member of the same name.
    "rp-core/cluster/src/maintenance/resize/masters.rs",
    "rp-core/frontend/src/admin/vms.rs",
];

/// What works on objects of clusters and of Azure, whose members have names of a cluster's document.
const OBJECT_READERS: [&str; 8] = [
    "rp-core/cluster/",
    "rp-core/frontend/src/admin/audit_detail.rs",
    "rp-core/frontend/src/admin/csrs.rs",
    "rp-core/frontend/src/admin/network.rs",
    "rp-core/frontend/src/admin/nodes.rs",
    "rp-core/frontend/src/admin/object_writes.rs",
    "rp-core/frontend/src/admin/run_job.rs",
    "rp-core/frontend/src/admin/run_job/",
];

/// Every object of a cluster's document.
const OBJECTS: [&[&str]; 22] = [
    ClusterDocument::NAMES,
    CorrelationData::NAMES,
    Position::NAMES,
    OpenShiftCluster::NAMES,
    SystemData::NAMES,
    Properties::NAMES,
    ApiServerProfile::NAMES,
    ClusterProfile::NAMES,
    FeatureProfile::NAMES,
    HiveProfile::NAMES,
    IngressProfile::NAMES,
    Install::NAMES,
    LoadBalancerProfile::NAMES,
    ManagedServiceIdentity::NAMES,
    MasterProfile::NAMES,
    NetworkProfile::NAMES,
    PlatformWorkloadIdentity::NAMES,
    PlatformWorkloadIdentityProfile::NAMES,
    RegistryProfile::NAMES,
    ServicePrincipalProfile::NAMES,
    UserAssignedIdentity::NAMES,
    WorkerProfile::NAMES,
];

/// Members that objects of Kubernetes, of Azure and of other collections have too.
const COMMON: [&str; 7] = ["count", "id", "key", "name", "properties", "type", "version"];
/// The same in [`OBJECT_READERS`], which read far more of such objects.
const COMMON_IN_AZURE: [&str; 11] = [
    "createdBy",
    "ip",
    "kind",
    "location",
    "namespace",
    "phase",
    "principalId",
    "provisioningState",
    "resourceId",
    "tags",
    "zones",
];

#[test]
fn members_of_a_cluster_are_read_and_written_through_its_types() -> Result<()> {
    let folders = CRATES.map(|name| format!("rp-core/{name}/src"));
    let output =
        Command::new("git").arg("ls-files").arg("-z").args(folders).current_dir(workspace()).output()?;
    let files = String::from_utf8(output.stdout)?;
    let lookups = Lookups::new()?;
    let (mut scanned, mut found) = (0, Vec::new());
    for file in files.split('\0').filter(|file| is_code(file) && !LISTED.contains(file)) {
        // A file may be gone from the folder and still in the index.
        let Ok(text) = std::fs::read_to_string(workspace().join(file)) else { continue };
        scanned += 1;
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let in_azure = OBJECT_READERS.iter().any(|reader| file.starts_with(reader));
        for (number, line) in code.lines().enumerate() {
            let hit = lookups.names(line).into_iter().find(|name| is_member(name, in_azure));
            found.extend(hit.map(|member| format!("{file}:{}: {member}", number + 1)));
        }
    }
    ensure!(scanned > 150, "only {scanned} files were found");
    let found = found.join("\n");
    ensure!(found.is_empty(), "read and write these members through rp_documents::cluster:\n{found}");
    Ok(())
}

fn is_code(file: &str) -> bool {
    let is_test = file.contains("/tests/") || file.contains("/harness") || file.ends_with("tests.rs");
    file.ends_with(".rs") && !is_test
}

fn is_member(name: &str, in_azure: bool) -> bool {
    let is_common = COMMON.contains(&name) || in_azure && COMMON_IN_AZURE.contains(&name);
    !is_common && OBJECTS.iter().any(|names| names.contains(&name))
}

/// Finds the names that a line looks up: `x["name"]`, `.get("name")`, and the segments of JSON pointers.
struct Lookups {
    index: Regex,
    get: Regex,
    pointer: Regex,
}

impl Lookups {
    fn new() -> Result<Self> {
        Ok(Self {
            index: Regex::new(r#"\["(\w+)"\]"#)?,
            get: Regex::new(r#"\.get(?:_mut)?\("(\w+)"\)"#)?,
            pointer: Regex::new(r#""(/[^"]*)""#)?,
        })
    }

    fn names<'a>(&self, line: &'a str) -> Vec<&'a str> {
        // A list has no value before it.
        let is_index = |at: usize| {
            let before = line.get(..at).and_then(|text| text.chars().next_back());
            before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '?'))
        };
        let indexes = self.index.captures_iter(line);
        let indexes = indexes.filter(|found| found.get(0).is_some_and(|whole| is_index(whole.start())));
        let names = indexes.chain(self.get.captures_iter(line)).filter_map(|found| found.get(1));
        let pointers = self.pointer.captures_iter(line).filter_map(|found| found.get(1));
        let segments = pointers.flat_map(|pointer| pointer.as_str().split('/'));
        names.map(|name| name.as_str()).chain(segments).collect()
    }
}

#[test]
fn lookups_are_found() -> Result<()> {
    let lookups = Lookups::new()?;
    assert_eq!(lookups.names(r#"let a = &body["x"]["y"][0];"#), ["x", "y"]);
    assert_eq!(lookups.names(r#"of.get("x").and_then(|x| x.get_mut("y"))"#), ["x", "y"]);
    assert_eq!(lookups.names(r#"value.pointer("/x/y")"#), ["", "x", "y"]);
    assert!(lookups.names(r#"for name in ["x", "y"] { say(["z"]) }"#).is_empty());
    Ok(())
}
