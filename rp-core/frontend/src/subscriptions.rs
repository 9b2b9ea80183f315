//! Subscriptions: what ARM says of them, and what each state allows (`contract/frontend.md` §5).

use http::StatusCode;
use rp_api::CloudError;
use rp_api::decode::unreadable;
use rp_database::{Expect, StoreError, Typed};
use rp_documents::subscription::SubscriptionProperties;
use rp_documents::{SubscriptionDocument, SubscriptionState};
use serde_json::{Map, Value};

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::response::{HttpResponse, json_response};

const TRIES: u32 = 5;

/// The subscription, when its state is one of those.
///
/// # Errors
/// 400 `InvalidSubscriptionState`, or the store's.
pub(crate) async fn allow(
    parts: &FrontendParts,
    id: &str,
    states: &[SubscriptionState],
) -> Result<SubscriptionDocument, Fault> {
    let found = Typed::<SubscriptionDocument>::new(parts.store.clone()).get(id).await?;
    let Some(found) = found else {
        let message = format!("Request is not allowed in unregistered subscription '{id}'.");
        return Err(CloudError::bad("InvalidSubscriptionState", "", message).into());
    };
    let state = found.value.subscription.state;
    if states.contains(&state) {
        return Ok(found.value);
    }
    Err(not_in(state).into())
}

fn not_in(state: SubscriptionState) -> CloudError {
    let message = format!("Request is not allowed in subscription in state '{}'.", state.name());
    CloudError::bad("InvalidSubscriptionState", "", message)
}

/// Stores what ARM reports about a subscription.
pub(crate) async fn put(parts: &FrontendParts, call: &Call, id: &str) -> Result<HttpResponse, Fault> {
    let said = read(&call.body)?;
    let subscriptions = Typed::<SubscriptionDocument>::new(parts.store.clone());
    let mut tried = 0;
    loop {
        let found = subscriptions.get(id).await?;
        let old = found.as_ref().map(|found| found.value.subscription.state);
        let state = said.subscription.state;
        if old == Some(SubscriptionState::Deleted) && state != SubscriptionState::Deleted {
            return Err(not_in(SubscriptionState::Deleted).into());
        }
        let mut document = said.clone();
        let before = found.as_ref().and_then(|found| found.value.subscription.properties.as_ref());
        tenant(&mut document, before)?;
        id.clone_into(&mut document.id);
        document.unknown = found.as_ref().map(|found| found.value.unknown.clone()).unwrap_or_default();
        if state == SubscriptionState::Deleted {
            document.unknown.insert("deleting".to_owned(), Value::Bool(true));
        }
        let answer = document.subscription.clone();
        let written = match &found {
            Some(found) => subscriptions.put(document, Expect::Version(found.version)).await,
            None => subscriptions.create(document).await,
        };
        tried += 1;
        match written {
            Err(StoreError::Stale { .. } | StoreError::Exists { .. } | StoreError::Gone { .. })
                if tried < TRIES => {}
            settled => {
                settled?;
                let status = if found.is_some() { StatusCode::OK } else { StatusCode::CREATED };
                return Ok(json_response(status, &answer));
            }
        }
    }
}

/// Work in the subscription needs its tenant (`contract/frontend.md` "Do better" 38). One that ends keeps the
/// tenant that was known: its clusters are deleted there.
fn tenant(
    said: &mut SubscriptionDocument,
    before: Option<&SubscriptionProperties>,
) -> Result<(), CloudError> {
    let known = said.subscription.properties.as_ref().is_some_and(|said| !said.tenant_id.is_empty());
    let works =
        !matches!(said.subscription.state, SubscriptionState::Deleted | SubscriptionState::Unregistered);
    match before.filter(|before| !before.tenant_id.is_empty()) {
        _ if known => {}
        Some(before) => {
            let properties = said.subscription.properties.get_or_insert_with(Default::default);
            properties.tenant_id.clone_from(&before.tenant_id);
        }
        None if works => {
            return Err(CloudError::invalid("properties.tenantId", "The tenant ID must be provided."));
        }
        None => {}
    }
    Ok(())
}

/// The body, with its state checked and the owner's address left out.
fn read(body: &[u8]) -> Result<SubscriptionDocument, CloudError> {
    let mut said: Value = serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()))?;
    if !said.is_object() {
        return Err(unreadable("invalid type: expected an object"));
    }
    let state = said["state"].as_str().unwrap_or_default();
    if SubscriptionState::named(state).is_none() {
        return Err(CloudError::invalid("state", format!("The provided state '{state}' is invalid.")));
    }
    if let Some(Value::Object(owner)) = said.pointer_mut("/properties/accountOwner") {
        owner.remove("email");
    }
    let subscription = serde_json::from_value(said).map_err(|error| unreadable(&error.to_string()))?;
    Ok(SubscriptionDocument { id: String::new(), subscription, unknown: Map::new() })
}
