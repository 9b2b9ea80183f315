//! The lease of role master (`contract/operator.md` "Do better" 1): while an update runs two processes, one works.

#[cfg(test)]
mod tests;

use std::time::Duration;

use rp_base::{Timestamp, chain};
use rp_operator_api::NAMESPACE;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::api::ApiError;
use crate::controller::Context;
use crate::kinds::{LEASE, ObjectName};

/// The name of the lease.
const NAME: &str = "aro-operator-master";

/// Times of the lease.
#[derive(Debug, Clone, Copy)]
pub struct LeaseTimes {
    /// How long the lease is valid without a renewal.
    pub valid: Duration,
    /// Time between two renewals, and between two attempts to take it.
    pub renew: Duration,
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self { valid: Duration::from_secs(30), renew: Duration::from_secs(10) }
    }
}

/// Takes and keeps the lease for one process.
#[derive(Debug)]
pub struct Election {
    context: Context,
    holder: String,
    times: LeaseTimes,
    /// What was last seen of another holder, and when: validity is measured on this process's own clock, because clocks
    /// of nodes differ.
    other: Option<(String, Instant)>,
}

/// What to do with the lease as it is.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    /// It is not there.
    Create,
    /// It is ours, or nobody's, or its holder has stopped to renew it.
    Take,
    /// Another process holds it.
    Wait,
}

impl Election {
    /// A candidate under the name `holder`, which no other process has.
    pub fn new(context: &Context, holder: String, times: LeaseTimes) -> Self {
        Self { context: context.clone(), holder, times, other: None }
    }

    /// Waits until this process holds the lease. Failures are logged and tried again.
    /// `on_standby` is called whenever another process holds it.
    pub async fn acquire(&mut self, on_standby: impl Fn()) {
        loop {
            match self.attempt().await {
                Ok(true) => return,
                Ok(false) => on_standby(),
                Err(error) if error.is_conflict() => {}
                Err(error) => tracing::warn!(error = %chain(&error), "cannot take the lease"),
            }
            sleep(self.times.renew.mul_f64(0.5 + self.context.random.unit())).await;
        }
    }

    /// Renews the lease until it is lost: another process holds it, or it could not be renewed in time.
    pub async fn keep(&mut self) {
        let mut renewed = Instant::now();
        // Before its end, so that no other process begins while this one still works.
        let most = self.times.valid.mul_f64(0.8);
        loop {
            sleep(self.times.renew).await;
            let left = most.saturating_sub(renewed.elapsed());
            match tokio::time::timeout(left, self.attempt()).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                Ok(Ok(false)) => return,
                Ok(Err(error)) if error.is_conflict() => {}
                Ok(Err(error)) => tracing::warn!(error = %chain(&error), "cannot renew the lease"),
                Err(_) => return,
            }
            if renewed.elapsed() >= most {
                return;
            }
        }
    }

    /// Gives the lease back, so that the next process need not wait.
    pub async fn release(&self) {
        let given = async {
            let name = ObjectName::in_namespace(&LEASE, NAMESPACE, NAME);
            let Some(mut lease) = self.context.api.get(name).await? else { return Ok(()) };
            if text(&lease, "/spec/holderIdentity") != self.holder {
                return Ok(());
            }
            lease["spec"]["holderIdentity"] = json!("");
            lease["spec"]["leaseDurationSeconds"] = json!(1);
            self.context.api.replace(&lease).await.map(|_| ())
        };
        let given: Result<(), ApiError> = given.await;
        if let Err(error) = given {
            tracing::warn!(error = %chain(&error), "cannot give the lease back");
        }
    }

    /// Whether this process holds the lease now.
    async fn attempt(&mut self) -> Result<bool, ApiError> {
        let name = ObjectName::in_namespace(&LEASE, NAMESPACE, NAME);
        let lease = self.context.api.get(name).await?;
        let now = self.context.clock.now();
        match self.decide(lease.as_ref()) {
            Decision::Wait => Ok(false),
            Decision::Create => {
                let lease = json!({
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": { "name": NAME, "namespace": NAMESPACE },
                    "spec": self.spec(None, now),
                });
                self.write(self.context.api.create(&lease).await)
            }
            Decision::Take => {
                let mut lease = lease.unwrap_or_default();
                lease["apiVersion"] = json!("coordination.k8s.io/v1");
                lease["kind"] = json!("Lease");
                lease["spec"] = self.spec(lease.get("spec"), now);
                self.write(self.context.api.replace(&lease).await)
            }
        }
    }

    /// A write that met another process's holds nothing.
    fn write(&self, written: Result<Value, ApiError>) -> Result<bool, ApiError> {
        written.map(|lease| text(&lease, "/spec/holderIdentity") == self.holder)
    }

    fn decide(&mut self, lease: Option<&Value>) -> Decision {
        let Some(lease) = lease else { return Decision::Create };
        let holder = text(lease, "/spec/holderIdentity");
        if holder.is_empty() || holder == self.holder {
            self.other = None;
            return Decision::Take;
        }
        let mark = format!("{holder} {}", text(lease, "/spec/renewTime"));
        let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64);
        let valid = seconds.map_or(self.times.valid, |seconds| Duration::from_secs(seconds.min(3600)));
        match &self.other {
            Some((known, since)) if *known == mark && since.elapsed() >= valid => Decision::Take,
            Some((known, _)) if *known == mark => Decision::Wait,
            _ => {
                self.other = Some((mark, Instant::now()));
                Decision::Wait
            }
        }
    }

    fn spec(&self, old: Option<&Value>, now: Timestamp) -> Value {
        let of_old = |name: &str| old.and_then(|old| old.get(name)).cloned().unwrap_or_default();
        let same = of_old("holderIdentity") == json!(self.holder);
        let transitions = of_old("leaseTransitions").as_i64().unwrap_or(0);
        let (acquired, transitions) = if same {
            (of_old("acquireTime"), transitions)
        } else {
            (json!(micro(now)), transitions.saturating_add(i64::from(old.is_some())))
        };
        json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.times.valid.as_secs().max(1),
            "acquireTime": acquired,
            "renewTime": micro(now),
            "leaseTransitions": transitions,
        })
    }
}

/// `metav1.MicroTime`: six digits after the point.
fn micro(at: Timestamp) -> String {
    let whole = Timestamp::from_seconds(at.seconds()).to_string();
    let millis = at.millis().rem_euclid(1000);
    format!("{}.{millis:03}000Z", whole.trim_end_matches('Z'))
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}
