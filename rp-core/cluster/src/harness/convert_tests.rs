//! The tables of `contract/backend.md` §9.2.

use std::time::Duration;

use rp_api::CloudError;
use rp_azure::{AzureError, ErrorDetails, ErrorKind};

use super::engine_tests::fine;
use crate::convert::{failure, is_authorization, sanitized};
use crate::errors::StepError;
use crate::failure::Failure;
use crate::progress::ProgressError;
use crate::step::Step;
use crate::{action, authorization_retrying};

const GROUP: &str = "/subscriptions/00000000-0000-0000-0000-00000000abcd/resourceGroups/aro-test";
const ONCE: Step = action!("once", fine);
const RETRIED: Step = authorization_retrying!("retried", fine);

fn azure(code: &str, message: &str, url: &str) -> StepError {
    let mut error = AzureError::new("put subnet", ErrorKind::Forbidden, message);
    error.code = code.to_owned();
    error.more = Some(Box::new(ErrorDetails { url: url.to_owned(), ..ErrorDetails::default() }));
    error.into()
}

fn told(step: &Step, error: StepError) -> String {
    match failure(Some(step), error, GROUP) {
        Failure::Customer { told, detail } => {
            assert!(!detail.is_empty());
            told.to_string()
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn conditions_have_their_sentences() {
    let end = " Please retry, and if the issue persists, raise an Azure support ticket";
    for (name, sentence) in [
        ("attachNSGs", "Failed to attach the ARO NSG to the cluster subnets."),
        ("apiServersReady", "Kube API has not initialised successfully and is unavailable."),
        ("minimumWorkerNodesReady", "Minimum number of worker nodes have not been successfully created."),
        ("operatorConsoleExists", "Console Cluster Operator has failed to initialize successfully."),
        ("operatorConsoleReady", "Console Cluster Operator has not started successfully."),
        ("clusterVersionReady", "Cluster Version is not reporting status as ready."),
        ("ingressControllerReady", "Ingress Cluster Operator has not started successfully."),
        ("aroDeploymentReady", "ARO Cluster Operator has failed to initialize successfully."),
        ("ensureAROOperatorRunningDesiredVersion", "ARO Cluster Operator is not running desired version."),
        ("hiveClusterDeploymentReady", "Timed out waiting for the condition to be ready."),
        ("hiveClusterInstallationComplete", "Timed out waiting for the condition to complete."),
        ("installationComplete", "Timed out waiting for the condition to complete."),
    ] {
        let error = StepError::Unmet { name, limit: Duration::from_mins(1), seen: "x".to_owned() };
        assert_eq!(told(&ONCE, error), format!("500: DeploymentFailed: : {sentence}{end}"));
    }
    let error = StepError::Unmet { name: "other", limit: Duration::from_mins(1), seen: "x".to_owned() };
    assert!(told(&ONCE, error).contains("condition step failed: other: timed out after 60 s: x"));
}

#[test]
fn credentials_are_the_customers_to_mend() {
    let profile = "400: InvalidServicePrincipalCredentials: properties.servicePrincipalProfile: ";
    let unknown = "The provided service principal application (client) ID was not found in the directory (tenant). Please ensure that the provided application (client) id and client secret value are correct.";
    let refused = "Authorization using provided credentials failed. Please ensure that the provided application (client) id and client secret value are correct.";
    let expired =
        "The provided client secret is expired. Please create a new one for your service principal.";
    let vnet = "/subscriptions/s/resourceGroups/customer/providers/x";
    for (code, message, sentence) in [
        ("AADSTS700016", "AADSTS700016: not found", unknown),
        ("AADSTS7000222", "AADSTS7000222: expired", expired),
        ("AADSTS7000215", "AADSTS7000215: invalid", refused),
        ("AuthorizationFailed", "no", refused),
        ("LinkedAuthorizationFailed", "no", refused),
    ] {
        assert_eq!(told(&RETRIED, azure(code, message, vnet)), format!("{profile}{sentence}"), "{code}");
    }
    // The same of a step that is not retried says what it met, without ids and addresses.
    let id = "11111111-1111-1111-1111-111111111111";
    let message = format!("The client '{id}' has no rights over '{vnet}', see https://aka.ms/x.");
    let found = told(&ONCE, azure("AuthorizationFailed", &message, vnet));
    assert!(
        found.starts_with("400: InvalidServicePrincipalCredentials: encountered error: put subnet"),
        "{found}"
    );
    assert!(found.contains("The client '(id)' has no rights over '(resource)', see (address)."), "{found}");
}

#[test]
fn what_concerns_the_managed_group_is_ours() {
    let inside = format!("{}/providers/Microsoft.Network/x/y", GROUP.to_uppercase());
    assert_eq!(
        told(&RETRIED, azure("AuthorizationFailed", "no", &inside)),
        "500: InternalServerError: : Internal server error."
    );
    let found = told(&ONCE, azure("AuthorizationFailed", "no", &inside));
    assert!(found.starts_with("500: InternalServerError: encountered error: put subnet"), "{found}");
    // A group whose name goes on is another group.
    let other = format!("{GROUP}-2/providers/x");
    assert!(told(&ONCE, azure("AuthorizationFailed", "no", &other)).starts_with("400:"));
    // Nothing was asked: the text says whom it is about.
    let text = format!("cannot write over scope '{GROUP}/providers/x'");
    assert!(
        told(&RETRIED, azure("AuthorizationFailed", &text, "")).starts_with("500: InternalServerError: :")
    );
}

#[test]
fn a_lock_is_told_wherever_it_is() {
    let words = "The scope '/subscriptions/s/x' cannot perform write operation because following scope(s) are locked.";
    for place in ["/subscriptions/s/resourceGroups/customer/providers/x", GROUP] {
        let found = told(&ONCE, azure("ScopeLocked", words, place));
        assert_eq!(found, format!("409: ScopeLocked: encountered error: {words}"));
    }
}

#[test]
fn a_deployment_that_hides_a_refusal_is_one() {
    let mut error = CloudError::bad("DeploymentFailed", "", "Deployment failed.");
    assert!(!is_authorization(&error.clone().into()));
    assert_eq!(told(&RETRIED, error.clone().into()), "400: DeploymentFailed: : Deployment failed.");
    let mut detail = error.body.clone();
    detail.code = "Forbidden";
    detail.message = r#"{"error": {"code": "AuthorizationFailed", "message": "no"}}"#.to_owned();
    error.body.details.push(detail);
    assert!(is_authorization(&error.clone().into()));
    assert!(told(&RETRIED, error.into()).contains("Authorization using provided credentials failed."));
}

#[test]
fn directories_own_refusals_and_everything_else() {
    let graph = azure("Authorization_IdentityNotFound", "gone", "");
    assert_eq!(
        told(&ONCE, graph),
        "400: InvalidServicePrincipalCredentials: encountered error: Authorization_IdentityNotFound: gone"
    );
    assert!(told(&ONCE, azure("Conflict", "busy", "/x")).starts_with("Internal("));
    assert!(matches!(failure(None, StepError::Lost, ""), Failure::Lost));
    assert!(matches!(failure(None, StepError::Stopping, ""), Failure::HandedOver));
    let store = StepError::Progress(ProgressError::Store("away".to_owned()));
    assert!(matches!(failure(None, store, ""), Failure::Later(text) if text == "away"));
}

#[test]
fn what_customers_read_has_no_ids_of_ours() {
    assert_eq!(
        sanitized("a (11111111-1111-1111-1111-111111111111), b https://x.y/z?sig=1 c /subscriptions/1/x."),
        "a ((id)), b (address) c (resource)."
    );
    let id = "11111111-1111-1111-1111-111111111111";
    assert_eq!(sanitized(&format!("ID: {id}Trace: a={id},b={id}é")), "ID: (id)Trace: a=(id),b=(id)é");
    assert_eq!(
        sanitized("dial 10.0.0.4:6443: from fd00::1, in 4.17.27"),
        "dial (address): from (address), in 4.17.27"
    );
    assert_eq!(sanitized(&"x".repeat(2000)).len(), 500);
}
