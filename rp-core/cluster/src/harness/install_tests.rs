//! The steps of an installation against the stand-in for Azure.

use std::io;

use rp_api::CloudError;
use rp_install::runner::RunError;
use rp_install::state::StateError;
use rp_simulator_azure::{Fault, FaultResponse};
use serde_json::json;

use super::Cloud;
use super::step_tests::in_azure;
use super::{World, assets};
use crate::context::Context;
use crate::environment::Environment;
use crate::errors::StepError;
use crate::failure::Failure;
use crate::installer::Installation;
use crate::manager::Operation;
use crate::step::ConditionStatus;
use crate::{convert, graph, install, kubeconfigs};

/// A cluster whose turn of the installer it is.
async fn ready() -> (World, Context, Cloud) {
    let (world, context, cloud) = in_azure().await;
    for (pointer, value) in [
        ("/properties/apiserverProfile/intIp", "10.0.0.254"),
        ("/properties/ingressProfiles/0/ip", "203.0.113.9"),
        ("/properties/networkProfile/privateEndpointIp", "10.8.0.4"),
    ] {
        context.set(pointer, value).await.unwrap();
    }
    (world, context, cloud)
}

fn ignition(cloud: &Cloud, context: &Context) -> Option<String> {
    let account = context.document().state_account();
    let blob = cloud.control.blob(&account, graph::IGNITION.0, graph::IGNITION.1)?;
    Some(String::from_utf8_lossy(&blob).into_owned())
}

fn told(error: StepError, context: &Context) -> CloudError {
    match convert::failure(None, error, context.document().group_id()) {
        Failure::Customer { told, .. } => told,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_installer_runs_once_and_its_state_is_kept_sealed() {
    let (world, context, cloud) = ready().await;
    for _ in 0..2 {
        install::run_installer(&context).await.unwrap();
        assert_eq!(*world.runner.runs.lock(), 1);
        assert!(world.runner.keeps_nothing());
        assert!(ignition(&cloud, &context).unwrap().contains("password-of-run-1"));
    }
    let blob = cloud.control.blob(&context.document().state_account(), "aro", "graph").unwrap();
    assert!(!String::from_utf8_lossy(&blob).contains("password-of-run-1"));
    kubeconfigs::generate_kubeconfigs(&context).await.unwrap();
    let state = graph::read(&context).await.unwrap().unwrap();
    assert_eq!(state.kubeadmin_password().unwrap().expose(), "password-of-run-1");
    // Another installation's state is never put in its place.
    let error = graph::save(&context, &assets::state("of-another")).await.unwrap_err();
    assert_eq!(error.to_string(), "the graph of another installation is there");
    graph::save(&context, &state).await.unwrap();
}

#[tokio::test]
async fn a_config_without_a_graph_is_replaced_with_that_of_the_graph() {
    let (world, context, cloud) = ready().await;
    graph::put_ignition(&context, &rp_base::Secret::new(b"of a dead worker".to_vec())).await.unwrap();
    install::run_installer(&context).await.unwrap();
    assert!(ignition(&cloud, &context).unwrap().contains("password-of-run-1"));
    install::clean_after_failure(&context).await;
    assert_eq!(ignition(&cloud, &context), None);
    assert!(graph::read(&context).await.unwrap().is_some(), "the graph stays for the cluster's life");
    assert!(world.runner.keeps_nothing());
}

#[tokio::test]
async fn what_an_installer_fails_with_is_told_by_the_table() {
    let (world, context, cloud) = ready().await;
    let failed = |output: &str| RunError::Failed {
        command: "create manifests",
        status: "exit status: 1".to_owned(),
        output: output.to_owned(),
    };
    for (error, code, words) in [
        (
            failed("AADSTS7000215: Invalid client secret"),
            "InvalidServicePrincipalCredentials",
            "AADSTS7000215",
        ),
        (failed(r#""code":"RequestDisallowedByPolicy""#), "DeploymentFailed", "RequestDisallowedByPolicy"),
        (failed("level=fatal"), "InternalServerError", "Delete the cluster and create it again"),
        (
            RunError::Deadline { command: "create manifests", seconds: 1, output: String::new() },
            "InternalServerError",
            "Delete the cluster and create it again",
        ),
        (
            RunError::State(StateError::NoObject { line: 1, column: 2 }),
            "InternalServerError",
            "Delete the cluster and create it again",
        ),
    ] {
        *world.runner.fails.lock() = Some(error);
        let told = told(install::run_installer(&context).await.unwrap_err(), &context);
        assert_eq!(told.body.code, code);
        assert!(told.to_string().contains(words), "{told}");
        assert_eq!(ignition(&cloud, &context), None);
    }
    // Another worker is in it, or the disk is full: neither is the cluster's end or the customer's doing.
    *world.runner.fails.lock() = Some(RunError::Busy);
    let error = install::run_installer(&context).await.unwrap_err();
    assert!(matches!(convert::failure(None, error, ""), Failure::Later(_)));
    let source = io::Error::other("no space");
    *world.runner.fails.lock() = Some(RunError::Folder { act: "write", source });
    let error = install::run_installer(&context).await.unwrap_err();
    assert!(matches!(convert::failure(None, error, ""), Failure::Internal(_)));
}

#[tokio::test]
async fn a_version_that_is_not_offered_and_a_region_without_an_installer_are_told() {
    let (_, context, _cloud) = ready().await;
    context.set("/properties/clusterProfile/version", "4.99.0").await.unwrap();
    let error = install::run_installer(&context).await.unwrap_err().to_string();
    let expected = "400: InvalidParameter: properties.clusterProfile.version: The requested OpenShift version '4.99.0' is not supported.";
    assert_eq!(error, expected);

    let none = |env: &mut Environment| env.installation = Installation::None { setting: "rp.install_binary" };
    let world = World::alone().with(none);
    let context = world.context(Operation::Create);
    let error = install::run_installer(&context).await.unwrap_err();
    let StepError::Explained { told, detail } = error else { panic!("{error:?}") };
    assert_eq!(detail, "there is no installer: rp.install_binary is not set");
    assert!(!told.to_string().contains("rp.install"), "{told}");
}

#[tokio::test]
async fn a_bootstrap_that_cannot_be_read_or_is_not_complete_is_waited_for() {
    let (world, context, _cloud) = ready().await;
    let look = || install::bootstrap_complete(&context);
    assert!(matches!(look().await.unwrap(), ConditionStatus::NotYet(seen) if seen.contains("no kubeconfig")));
    kubeconfigs::write(&context, &assets::state("word")).await.unwrap();
    assert!(matches!(look().await.unwrap(), ConditionStatus::NotYet(seen) if seen.contains("not complete")));
    let path = "/api/v1/namespaces/kube-system/configmaps/bootstrap";
    world.api.put(path, json!({"metadata": {"name": "bootstrap"}, "data": {"status": "begun"}}));
    assert!(matches!(look().await.unwrap(), ConditionStatus::NotYet(_)));
    world.api.is_up();
    world.api.fail(Some(503));
    assert!(matches!(look().await.unwrap(), ConditionStatus::NotYet(_)));
    assert_eq!(look().await.unwrap(), ConditionStatus::Yes);
}

#[tokio::test]
async fn throttled_signatures_are_told_as_such() {
    let (_, context, cloud) = ready().await;
    cloud.control.fail(Fault {
        method: None,
        path: "/ListAccountSas".to_owned(),
        times: Some(1),
        answer: FaultResponse::status(429, "TooManyRequests"),
    });
    let told = told(graph::read(&context).await.unwrap_err(), &context);
    assert_eq!((told.status, told.body.code), (429, "ThrottlingLimitExceeded"));
    assert!(told.body.details[0].message.contains("Azure Storage limits"));
}
