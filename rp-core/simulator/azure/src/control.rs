//! Controls a running stand-in.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::id::{GROUP, Id};
use super::{DenyRule, Fault, LoggedRequest, Shared, Size};

/// Controls a running stand-in.
#[derive(Debug, Clone)]
pub struct ArmControl(pub(super) Arc<Shared>);

impl ArmControl {
    /// Adds a subscription.
    pub fn subscribe(&self, subscription: &str, tenant: &str) {
        self.0.world.tree.subscribe(subscription, tenant);
    }

    /// The directory that a subscription belongs to; `None`: it is unknown.
    pub fn tenant(&self, subscription: &str) -> Option<String> {
        self.0.world.tree.tenant(&subscription.to_ascii_lowercase())
    }

    /// Any application (a UUID) with any secret may have tokens from now on.
    pub fn open_directory(&self) {
        self.0.issuer.open();
    }

    /// Scripts a response; faults are tried in the order in which they were added.
    pub fn fail(&self, fault: Fault) {
        self.0.world.script.lock().add(fault);
    }

    /// Forbids something, also in what access checks answer.
    pub fn forbid(&self, forbidden: DenyRule) {
        self.0.world.access.lock().forbid(forbidden);
    }

    /// Deny assignments are meant for that application; others pass them, as the service itself does.
    pub fn guard(&self, client_id: &str) {
        self.0.guarded.lock().insert(client_id.to_ascii_lowercase());
    }

    /// Forgets every scripted answer and everything that is forbidden.
    pub fn heal(&self) {
        self.0.world.script.lock().clear();
        self.0.world.access.lock().clear();
    }

    /// How long operations last from now on, by the stand-in's clock; zero: as short as can be.
    pub fn slow(&self, time: Duration) {
        self.0.world.operations.lock().time = time;
        self.0.world.vaults.lock().time = time;
    }

    /// Seconds that answers to operations tell as `Retry-After`; `None`: nothing.
    pub fn retry_after(&self, seconds: Option<u32>) {
        self.0.world.operations.lock().retry_after = seconds;
    }

    /// The sizes of machines that every region offers.
    pub fn offer(&self, sizes: Vec<Size>) {
        self.0.world.facts.lock().offer(sizes);
    }

    /// A size that a subscription may not have; an empty subscription: none may.
    pub fn restrict(&self, subscription: &str, size: &str) {
        self.0.world.facts.lock().restrict(subscription, size);
    }

    /// What a subscription uses of a quota beside what is here, and its limit: `cores`, a family, `virtualMachines`,
    /// `PremiumDiskCount`, `PublicIPAddresses`.
    pub fn quota(&self, subscription: &str, name: &str, used: i64, limit: i64) {
        self.0.world.facts.lock().set_quota(subscription, name, used, limit);
    }

    /// Sets the state of a feature `Provider/Name`; empty: none is returned.
    pub fn feature(&self, subscription: &str, feature: &str, state: &str) {
        self.0.world.facts.lock().set_feature(subscription, feature, state);
    }

    /// The registration state of a provider.
    pub fn provider(&self, subscription: &str, provider: &str, state: &str) {
        self.0.world.facts.lock().set_provider(subscription, provider, state);
    }

    /// The latest requests, oldest first.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.0.world.script.lock().log()
    }

    /// The number of the latest request; 0: there was none.
    pub fn latest_request(&self) -> u64 {
        self.0.world.script.lock().numbers()
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.0.world.script.lock().forget();
    }

    /// Puts a resource, as a PUT would; its group is made when it is not there. False: it is refused.
    pub fn put(&self, id: &str, body: Value) -> bool {
        let Some(id) = Id::parse(id) else { return false };
        let world = &self.0.world;
        let group = id.group().filter(|group| !world.tree.has_group(group)).map(str::to_owned);
        if let Some(group) = group.filter(|_| id.kind != GROUP).and_then(|group| Id::parse(&group)) {
            let made = world.write(&group, json!({"location": "eastus"}));
            if made.is_err() {
                return false;
            }
        }
        world.write(&id, body).is_ok()
    }

    /// A resource as it is stored; `None`: it does not exist.
    pub fn get(&self, id: &str) -> Option<Value> {
        self.0.world.settle();
        self.0.world.tree.find(id)
    }

    /// Removes a resource or a group at once, even if it is in use: as if its owner had done it.
    pub fn remove(&self, id: &str) {
        self.0.world.remove(&id.to_ascii_lowercase());
    }

    /// Ids of all resources that were put below a scope, ordered.
    pub fn ids(&self, scope: &str) -> Vec<String> {
        self.0.world.settle();
        let all = self.0.world.tree.everything(&scope.to_ascii_lowercase());
        all.iter().filter_map(|body| body["id"].as_str().map(str::to_owned)).collect()
    }

    /// Sets the serial console log of a machine, which replaces the generated one.
    pub fn serial_log(&self, machine: &str, log: Bytes) {
        self.0.consoles.lock().log(machine, log);
    }

    /// Sets the screenshot of a machine, which replaces the generated one.
    pub fn screenshot(&self, machine: &str, picture: Bytes) {
        self.0.consoles.lock().screen(machine, picture);
    }

    /// Sets the AppLens response to `{cluster}/detectors[/{id}]`, which replaces the generated one.
    pub fn diagnosis(&self, question: &str, told: Value) {
        self.0.diagnoses.lock().set_response(question, told);
    }

    /// Keys of everything that was put below a scope, ordered: also parts of resources, deployments and assignments.
    pub fn keys(&self, scope: &str) -> Vec<String> {
        self.0.world.settle();
        self.0.world.tree.keys(&scope.to_ascii_lowercase())
    }

    /// What a machine was given at its first start, base64; `None`: it was not made here, or was given nothing.
    pub fn custom_data(&self, machine: &str) -> Option<String> {
        let key = machine.to_ascii_lowercase();
        let there = self.get(machine).is_some();
        self.0.world.custom_data.lock().get(&key).filter(|_| there).cloned()
    }

    /// A blob; `None`: it does not exist.
    pub fn blob(&self, account: &str, container: &str, name: &str) -> Option<Bytes> {
        let blobs = self.0.world.blobs.lock();
        blobs.get(account, container, name).map(|(_, bytes)| bytes.clone())
    }
}
