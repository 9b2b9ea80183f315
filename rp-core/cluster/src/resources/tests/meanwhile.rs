//! What happens in the middle of an operation, and who is told what of it.

use http::Method;
use rp_simulator_azure::{Fault, FaultResponse};
use serde_json::json;

use super::world::{GROUP, World, subnet};
use super::{making, removing, run};
use crate::Failure;

/// What the customer and the operation's log are told of a step's error.
fn ends_with(error: crate::StepError) -> (String, String) {
    match crate::convert::failure(None, error, GROUP) {
        Failure::Customer { told, detail } => (told.to_string(), detail),
        Failure::Internal(detail) => (String::new(), detail),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_lock_in_the_middle_of_a_creation_is_told_and_taken_away_lets_it_go_on() {
    let mut clean = World::new(&[]).await;
    run(&mut clean, &making(), 1).await;
    let master = subnet("master");
    let (network, _) = master.split_once("/subnets/").unwrap();
    for (scope, one) in [(GROUP, "deployBaseResourceTemplate"), (network, "attachNSGs")] {
        let mut world = World::new(&[]).await;
        run(&mut world, &making()[..3], 1).await;
        let lock = format!("{scope}/providers/Microsoft.Authorization/locks/frozen");
        let mut refused = Vec::new();
        for (name, step) in &making()[3..] {
            assert!(world.arm.put(&lock, json!({"properties": {"level": "ReadOnly"}})));
            if let Err(error) = step(&world.context).await {
                let (customer, log) = ends_with(error);
                assert!(log.contains("ScopeLocked"), "{scope} {name}: {log}");
                assert!(customer.contains("ScopeLocked"), "{scope} {name}: {customer}");
                refused.push(*name);
            }
            world.arm.remove(&lock);
            run(&mut world, &[(*name, *step)], 1).await;
        }
        assert!(refused.contains(&one), "{scope}: {refused:?}");
        assert_eq!(world.ids(GROUP), clean.ids(GROUP), "{scope}");
    }
}

#[tokio::test]
async fn a_certificate_of_ours_that_ended_is_not_the_customers_matter_and_its_successor_goes_on() {
    let mut world = World::new(&[]).await;
    let words = "AADSTS700027: The certificate with identifier used to sign the client assertion is expired on application.";
    world.arm.fail(Fault {
        method: Some(Method::POST),
        path: "/oauth2/v2.0/token".to_owned(),
        times: None,
        answer: FaultResponse::Error(401, json!({"error": "invalid_client", "error_description": words})),
    });
    for (name, step) in &making()[1..3] {
        let (customer, log) = ends_with(step(&world.context).await.unwrap_err());
        assert_eq!(customer, "", "{name}: the customer can do nothing about it");
        assert!(log.contains("AADSTS700027"), "{name}: {log}");
    }
    assert!(world.ids(GROUP).is_empty());
    world.arm.heal();
    run(&mut world, &making(), 1).await;
    run(&mut world, &removing(), 1).await;
    assert!(world.ids(GROUP).is_empty());
}
