//! Writing and deleting resources, for all callers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use rp_base::{SharedClock, SharedRandom, sha256};
use serde_json::{Value, json};

use super::access::{self, Access};
use super::blobs::Blobs;
use super::facts::Facts;
use super::functions::guid;
use super::id::{GROUP, Id, group_of};
use super::operations::{OperationOutcome, Operations};
use super::response::{ArmResponse, failure};
use super::script::{FaultResponse, Script};
use super::tree::Tree;
use super::vaults::Vaults;
use super::{kinds, machines, network, template};

/// Everything that the stand-in knows.
#[derive(Debug)]
pub(super) struct World {
    pub(super) url: String,
    pub(super) tree: Tree,
    pub(super) facts: Mutex<Facts>,
    pub(super) operations: Mutex<Operations>,
    pub(super) access: Mutex<Access>,
    pub(super) script: Mutex<Script>,
    pub(super) blobs: Mutex<Blobs>,
    pub(super) vaults: Mutex<Vaults>,
    /// What machines were given at their first start, base64, by key.
    pub(super) custom_data: Mutex<BTreeMap<String, String>>,
    pub(super) clock: SharedClock,
    pub(super) random: SharedRandom,
    next: AtomicU32,
    /// One writer at a time: what is checked is still so when it is written.
    writing: Mutex<()>,
}

/// The deployments of a group.
pub(super) const DEPLOYMENT: &str = "microsoft.resources/deployments";

impl World {
    /// `kept`: the tree may be of an earlier process.
    pub(super) fn new(url: String, tree: Tree, kept: bool, clock: SharedClock, random: SharedRandom) -> Self {
        // Numbers tell versions apart, also from those of an earlier process.
        let first = if kept { u32::try_from(clock.now().seconds()).unwrap_or_default() } else { 0 };
        let mut blobs = Blobs::default();
        for (key, _) in tree.of_kind(kinds::CONTAINER, |_| true) {
            let mut words = key.split('/').skip(8).step_by(4);
            if let (Some(account), Some(container)) = (words.next(), words.next()) {
                blobs.create(account, container);
            }
        }
        Self {
            url,
            tree,
            facts: Mutex::default(),
            operations: Mutex::default(),
            access: Mutex::default(),
            script: Mutex::default(),
            blobs: Mutex::new(blobs),
            vaults: Mutex::default(),
            custom_data: Mutex::default(),
            clock,
            random,
            next: AtomicU32::new(first),
            writing: Mutex::default(),
        }
    }

    /// The next number; every one once.
    pub(super) fn number(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends what is due.
    pub(super) fn settle(&self) {
        let gone = self.operations.lock().settle(self.clock.now());
        for key in gone {
            self.remove(&key);
        }
    }

    /// Writes a resource and its companions; returns whether it is new.
    pub(super) fn write(&self, id: &Id, body: Value) -> Result<bool, ArmResponse> {
        let _one = self.writing.lock();
        self.write_single(id, body)
    }

    fn write_single(&self, id: &Id, body: Value) -> Result<bool, ArmResponse> {
        access::locked(&self.tree, &Method::PUT, id)?;
        if let Some(group) = id.group().filter(|_| id.kind != GROUP)
            && !self.tree.has_group(group)
        {
            return Err(kinds::no_group(group.rsplit('/').next().unwrap_or_default()));
        }
        let old = self.tree.get(&id.key);
        let mut body = if body.is_object() { body } else { json!({}) };
        if !body["properties"].is_object() {
            body["properties"] = json!({});
        }
        let inner = network::inner(id, &mut body);
        network::prepare(self, id, &mut body, old.as_ref())?;
        machines::prepare(self, id, &mut body, old.as_ref())?;
        kinds::prepare(self, id, &mut body, old.as_ref())?;
        body["properties"]["provisioningState"] = json!("Succeeded");
        body["etag"] = json!(guid(&[id.key.clone(), self.number().to_string()]));
        if !self.tree.put(id, &mut body) {
            return Err(failure(StatusCode::INSUFFICIENT_STORAGE, "SimulatorFull", "There are too many."));
        }
        network::written(self, id, &body, inner.as_ref());
        machines::written(self, id, &body);
        kinds::written(self, id, &body);
        Ok(old.is_none())
    }

    /// Writes a child or companion of a resource that is being written.
    pub(super) fn write_with(&self, id: &str, body: Value) {
        if let Some(id) = Id::parse(id)
            && let Err(refused) = self.write_single(&id, body)
        {
            tracing::warn!(id = id.asked, answer = %refused.content(), "a companion of a resource is refused");
        }
    }

    /// As [`World::write`], with the scripted faults for it.
    pub(super) fn write_in_deployment(&self, id: &Id, body: Value) -> Result<(), ArmResponse> {
        let scripted = self.script.lock().answer(&Method::PUT, &id.asked);
        let scripted = scripted.and_then(|fault| scripted_answer(&fault));
        match scripted {
            Some(answer) if !answer.status.is_success() => Err(answer),
            _ => self.write_single(id, body).map(|_| ()),
        }
    }

    /// Deploys a template. Gives the number of the operation.
    pub(super) fn deploy(&self, id: &Id, body: &Value) -> Result<u64, ArmResponse> {
        let group = group_of(&id.key).map_or(0, str::len);
        let place = id.asked.get(..group).unwrap_or_default();
        let _one = self.writing.lock();
        if !self.tree.has_group(&place.to_ascii_lowercase()) {
            return Err(kinds::no_group(place.rsplit('/').next().unwrap_or_default()));
        }
        if self.operations.lock().state(&id.key).is_some() {
            let message = format!(
                "Unable to edit or replace deployment '{}': previous deployment from it is still active.",
                id.name()
            );
            return Err(failure(StatusCode::CONFLICT, "DeploymentActive", &message));
        }
        access::locked(&self.tree, &Method::PUT, id)?;
        let done = template::deploy(self, place, &body["properties"])?;
        let state = if done.error.is_some() { "Failed" } else { "Succeeded" };
        let mut kept = json!({"properties": {"mode": "Incremental", "provisioningState": state,
            "parameters": shown_parameters(&body["properties"]), "timestamp": self.clock.now(), "outputs": done.outputs}});
        if let Some(error) = &done.error {
            kept["properties"]["error"] = error.clone();
        }
        self.tree.put(id, &mut kept);
        let end = done.error.map_or(OperationOutcome::Done(Value::Null), OperationOutcome::Failed);
        Ok(self.operations.lock().begin(self.clock.now(), end, Some((&id.key, "Running"))))
    }

    /// Whether it may be deleted.
    pub(super) fn deletable(&self, id: &Id) -> Result<(), ArmResponse> {
        access::locked(&self.tree, &Method::DELETE, id)?;
        network::deletable(self, id)
    }

    /// Deletes at once, with what belongs to it.
    pub(super) fn remove(&self, key: &str) {
        let _one = self.writing.lock();
        let body = self.tree.get(key);
        if let (Some(id), Some(body)) = (Id::parse(key), &body) {
            network::deleted(self, &id, body);
            kinds::deleted(self, &id, body);
        }
        if key.matches('/').count() == 4 {
            // Resources of a group are deleted together with what belongs to them elsewhere.
            for one in self.tree.everything(key) {
                let id = one["id"].as_str().and_then(Id::parse);
                if let Some(id) = id {
                    network::deleted(self, &id, &one);
                    kinds::deleted(self, &id, &one);
                }
            }
        }
        self.tree.delete(key);
    }

    /// Two keys of an account, always the same.
    pub(super) fn account_keys(&self, account: &str) -> Value {
        let key = |name: &str| {
            json!({"keyName": name, "permissions": "FULL", "value": base64::Engine::encode(
                &base64::engine::general_purpose::STANDARD, sha256(format!("{name} {account} {}", self.url).as_bytes()).0)})
        };
        json!({"keys": [key("key1"), key("key2")]})
    }

    /// A signature of an account, good for the blobs here.
    pub(super) fn account_sas(&self, account: &str, asked: &Value) -> Value {
        let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
        let (types, permissions) = (text("signedResourceTypes"), text("signedPermission"));
        let until = text("signedExpiry");
        let signature = self.signature(account, &types, &permissions, &until);
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("sv", "2021-12-02"), ("ss", "b"), ("srt", &types), ("sp", &permissions)])
            .extend_pairs([("se", &until), ("spr", &"https".to_owned()), ("sig", &signature)])
            .finish();
        json!({ "accountSasToken": query })
    }

    /// A signature of one blob, good for it here; only for accounts that allow their keys.
    pub(super) fn service_sas(&self, asked: &Value) -> Value {
        let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
        let (permissions, until) = (text("signedPermission"), text("signedExpiry"));
        let signature = self.blob_signature(&text("canonicalizedResource"), &permissions, &until);
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("sv", "2021-12-02"), ("sr", "b"), ("sp", &permissions), ("se", &until)])
            .extend_pairs([("spr", &text("signedProtocol")), ("sig", &signature)])
            .finish();
        json!({ "serviceSasToken": query })
    }

    /// Input of the signature of a blob.
    pub(super) fn blob_signature(&self, resource: &str, permissions: &str, until: &str) -> String {
        let signed = format!("blob signature\n{}\n{resource}\n{permissions}\n{until}", self.url);
        sha256(signed.as_bytes()).to_string()
    }

    /// The key of the identity that signs for itself.
    pub(super) fn delegation_key(&self, account: &str, start: &str, expiry: &str) -> [u8; 32] {
        sha256(format!("delegation\n{}\n{account}\n{start}\n{expiry}", self.url).as_bytes()).0
    }

    /// Input of the signature: outsiders do not know the address and this word.
    pub(super) fn signature(&self, account: &str, types: &str, permissions: &str, until: &str) -> String {
        let signed = format!("signature\n{}\n{account}\n{types}\n{permissions}\n{until}", self.url);
        sha256(signed.as_bytes()).to_string()
    }
}

/// Values of secure parameters are not shown.
fn shown_parameters(properties: &Value) -> Value {
    let secure = |name: &str| {
        let kind = properties["template"]["parameters"][name]["type"].as_str().unwrap_or_default();
        kind.to_ascii_lowercase().starts_with("secure")
    };
    let given = properties["parameters"].as_object().into_iter().flatten();
    given
        .map(|(name, value)| {
            (name.clone(), if secure(name) { json!({"type": "SecureString"}) } else { value.clone() })
        })
        .collect::<serde_json::Map<String, Value>>()
        .into()
}

/// The answer that a fault gives; `None`: it does not end in one.
pub(super) fn scripted_answer(fault: &FaultResponse) -> Option<ArmResponse> {
    let of = |status: u16| StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match fault {
        FaultResponse::Status { status, code, message, retry_after } => {
            let answer = failure(of(*status), code, message);
            Some(match retry_after {
                Some(seconds) => answer.header("retry-after", &seconds.to_string()),
                None => answer,
            })
        }
        FaultResponse::Error(status, body) => Some(ArmResponse::with_body(of(*status), body.clone())),
        FaultResponse::Body(body) => Some(ArmResponse::ok(body.clone())),
        FaultResponse::Hang | FaultResponse::Lost => None,
    }
}
