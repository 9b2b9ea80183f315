//! The plans as they are reviewed: `tests/plans/NAME.txt`. `UPDATE_PLANS=1 cargo test -p rp-cluster plans` writes them.

use std::fmt::Write as _;
use std::path::Path;

use crate::manager::Operation;
use crate::plan::{self, Phase, PlanInputs};
use crate::step::{Step, StepKind};

/// A public cluster with a service principal in a region that has everything.
fn public() -> PlanInputs {
    PlanInputs {
        workload_identity: false,
        preconfigured_nsg: false,
        gateway_enabled: true,
        gateway: true,
        signed_certificates: true,
        balanced: true,
        disk_encryption_set: false,
        registry: true,
        deny_assignment: true,
        pull_secret: true,
        task: plan::task_named(""),
        first_architecture: false,
        legacy_machine_config: true,
        whole_installer: false,
        operator_updates: true,
    }
}

/// A version of OpenShift in which the operator is not updated.
fn before_updates() -> PlanInputs {
    PlanInputs { operator_updates: false, ..public() }
}

fn workload() -> PlanInputs {
    PlanInputs {
        workload_identity: true,
        disk_encryption_set: true,
        pull_secret: false,
        legacy_machine_config: false,
        ..public()
    }
}

/// Private, with routes, security groups and a domain of the customer's own; the region has no gateway.
fn private() -> PlanInputs {
    PlanInputs {
        preconfigured_nsg: true,
        gateway_enabled: false,
        gateway: false,
        signed_certificates: false,
        balanced: false,
        registry: false,
        deny_assignment: false,
        ..public()
    }
}

fn task(mut inputs: PlanInputs, task: &str) -> PlanInputs {
    inputs.task = plan::task_named(task);
    inputs
}

fn all() -> Vec<(&'static str, Vec<Step>)> {
    use Operation::{AdminUpdate, Create, Delete, Update};
    let of =
        |name, operation, phase, inputs: PlanInputs| (name, plan::for_operation(operation, phase, &inputs));
    let only = Phase::Only;
    vec![
        of("create-bootstrap", Create, Phase::Bootstrap, public()),
        of("create-bootstrap-workload-identity", Create, Phase::Bootstrap, workload()),
        of("create-bootstrap-private", Create, Phase::Bootstrap, private()),
        of("create-remove-bootstrap", Create, Phase::RemoveBootstrap, public()),
        of("create-remove-bootstrap-workload-identity", Create, Phase::RemoveBootstrap, workload()),
        of("create-remove-bootstrap-private", Create, Phase::RemoveBootstrap, private()),
        of("update", Update, only, public()),
        of("update-workload-identity", Update, only, workload()),
        of("update-private", Update, only, private()),
        of("admin-update-everything", AdminUpdate, only, task(public(), "Everything")),
        of("admin-update-everything-workload-identity", AdminUpdate, only, task(workload(), "")),
        of("admin-update-everything-private", AdminUpdate, only, task(private(), "Everything")),
        of("admin-update-certificates", AdminUpdate, only, task(public(), "CertificatesRenewal")),
        of("admin-update-load-balancer", AdminUpdate, only, task(public(), "MigrateLoadBalancer")),
        of("admin-update-operator", AdminUpdate, only, task(public(), "OperatorUpdate")),
        of("admin-update-operator-old", AdminUpdate, only, task(before_updates(), "OperatorUpdate")),
        of("admin-update-cluster-object", AdminUpdate, only, task(public(), "SyncClusterObject")),
        of("delete", Delete, only, public()),
        of("delete-workload-identity", Delete, only, workload()),
        of("delete-private", Delete, only, private()),
    ]
}

fn shown(plan: &[Step]) -> String {
    let mut out = String::new();
    for step in plan {
        let fail = match step.kind {
            StepKind::Condition { fail: false, .. } => ", goes on without",
            _ => "",
        };
        let _ = writeln!(out, "{} ({} min{fail})", step.stored_name(), step.limit.as_secs() / 60);
    }
    out
}

#[test]
fn plans_are_as_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let update = std::env::var_os("UPDATE_PLANS").is_some();
    let mut wrong = Vec::new();
    for (name, plan) in all() {
        let (path, text) = (folder.join(format!("{name}.txt")), shown(&plan));
        if update {
            std::fs::write(&path, &text).unwrap();
        }
        let reviewed = std::fs::read_to_string(&path).unwrap_or_default();
        if reviewed != text {
            wrong.push(format!("{}:\n{text}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "not as reviewed:\n{}", wrong.join("\n"));
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, all().len(), "a file of {} is of no plan", folder.display());
}

#[test]
fn a_task_that_we_do_not_know_adds_no_steps() {
    let steps =
        |name: &str| shown(&plan::for_operation(Operation::AdminUpdate, Phase::Only, &task(public(), name)));
    assert_eq!(steps("Later"), steps("None"));
    assert_eq!(steps(""), steps("Everything"));
}

#[test]
fn a_position_is_of_one_step_and_every_step_has_a_deadline() {
    for (name, plan) in all() {
        let positions = crate::engine::positions(&plan);
        let different: std::collections::BTreeSet<&String> = positions.iter().collect();
        assert_eq!(different.len(), plan.len(), "{name}");
        assert!(plan.iter().all(|step| !step.limit.is_zero() && step.limit.as_secs() <= 2 * 3600), "{name}");
    }
}
