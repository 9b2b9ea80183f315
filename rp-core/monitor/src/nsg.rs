//! The NSG monitor (`contract/monitor.md` §10): do the network security groups that a cluster's owner brought
//! along deny what the cluster needs?

mod prefixes;
pub mod rules;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use rp_azure::{AzureError, ErrorKind, SecurityGroup, Subnet};
use rp_base::chain;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::check::{SideMonitor, SideMonitorOutput};
use crate::emit::ClusterDims;
use crate::expose::SeriesGroup;
use crate::names::{Metric, cluster, own};
use crate::sample::{Sample, Text};
use crate::view::ClusterView;
use crate::worker::Round;
pub use prefixes::SubnetPrefixes;
use rules::{Finding, Ranges};

/// Concurrent reads of subnets.
const PARALLEL: usize = 4;
/// Maximum number of subnets and rules of one cluster that are checked.
const MOST_SUBNETS: usize = 100;
const MOST_RULES: usize = 5000;
/// The collector name for errors.
const COLLECTOR: &str = "nsg";

/// Checks network security groups.
#[derive(Debug)]
pub struct NsgMonitor {
    subnets: Arc<SubnetPrefixes>,
    /// Clusters with exposed series, by key.
    shown: Mutex<HashSet<Box<str>>>,
}

impl NsgMonitor {
    /// Over Azure's subnets; what is read here serves the proxy's collector too.
    pub fn new(subnets: Arc<SubnetPrefixes>) -> Self {
        Self { subnets, shown: Mutex::default() }
    }

    fn enabled(cluster: &ClusterView) -> bool {
        cluster.preconfigured_nsg == "Enabled"
    }

    async fn look(&self, view: &ClusterView, cancel: &CancellationToken) -> NsgOutput {
        let mut told = NsgOutput::default();
        let Some(tenant) = view.tenant.clone() else {
            told.no_credential("the subscription's tenant is not known");
            return told;
        };
        let asked = Subnets::for_cluster(view);
        let get = |id: String| {
            let (subnets, tenant) = (Arc::clone(&self.subnets), Arc::clone(&tenant));
            async move {
                let got = subnets.read(&tenant, &id).await;
                (id, got)
            }
        };
        let mut answers = stream::iter(asked.all()).map(get).buffer_unordered(PARALLEL);
        let mut found = BTreeMap::new();
        loop {
            let next = tokio::select! {
                () = cancel.cancelled() => None,
                next = answers.next() => next,
            };
            match next {
                Some((id, Ok(subnet))) => {
                    found.insert(id, subnet);
                }
                // Without a token the other subnets would fail in the same way.
                Some((_, Err(error))) if is_credential(&error) => {
                    told.no_credential(&chain(&error).to_string());
                    break;
                }
                Some((id, Err(error))) => told.failed(&id, &error),
                None => break,
            }
        }
        drop(answers);
        told.rules(&asked, &found);
        told
    }
}

#[async_trait]
impl SideMonitor for NsgMonitor {
    fn name(&self) -> &'static str {
        "nsg"
    }

    fn failed(&self) -> &'static Metric {
        &own::NSG_FAILED
    }

    /// Also once more after the groups are no longer the owner's, to remove their series.
    fn due(&self, cluster: &ClusterView, _: Round) -> bool {
        Self::enabled(cluster) || self.shown.lock().contains(cluster.id.key())
    }

    async fn run(
        &self,
        cluster: &ClusterView,
        _: &ClusterDims,
        round: Round,
        cancel: &CancellationToken,
    ) -> SideMonitorOutput {
        if !Self::enabled(cluster) {
            self.shown.lock().remove(cluster.id.key());
            let nothing = [SeriesGroup::Nsg, SeriesGroup::NsgRules].map(|part| (part, Vec::new()));
            return SideMonitorOutput { samples: nothing.into(), errors: Vec::new() };
        }
        self.shown.lock().insert(cluster.id.key().into());
        let mut done = SideMonitorOutput::default();
        done.samples.push((SeriesGroup::Nsg, vec![Sample::one(&cluster::NSG_ENABLED, [])]));
        if round.nsg_due {
            let start = Instant::now();
            let mut told = self.look(cluster, cancel).await;
            told.samples.push(Sample::float(&own::NSG_DURATION, start.elapsed().as_secs_f64(), []));
            done.samples.push((SeriesGroup::NsgRules, told.samples));
            done.errors = told.errors;
        }
        done
    }
}

/// The subnets of a cluster, each once, in lower case.
struct Subnets {
    master: String,
    workers: Vec<String>,
}

impl Subnets {
    fn for_cluster(view: &ClusterView) -> Self {
        let mut workers: Vec<String> = Vec::new();
        for worker in view.workers.iter().filter(|worker| worker.count != 0 && !worker.subnet_id.is_empty()) {
            let id = worker.subnet_id.to_ascii_lowercase();
            if !workers.contains(&id) && workers.len() < MOST_SUBNETS {
                workers.push(id);
            }
        }
        Self { master: view.master_subnet.to_ascii_lowercase(), workers }
    }

    fn all(&self) -> Vec<String> {
        let others = self.workers.iter().filter(|worker| **worker != self.master);
        std::iter::once(&self.master).chain(others).filter(|id| !id.is_empty()).cloned().collect()
    }
}

#[derive(Default)]
struct NsgOutput {
    samples: Vec<Sample>,
    errors: Vec<(&'static str, String)>,
}

fn is_credential(error: &AzureError) -> bool {
    error.operation == "token" || error.kind == ErrorKind::Credential
}

/// The segment of a resource id that follows the segment `word`.
fn id_segment(id: &str, word: &str) -> Text {
    let mut parts = id.split('/');
    let found = parts.find(|part| part.eq_ignore_ascii_case(word)).and_then(|_| parts.next());
    Cow::Owned(found.unwrap_or_default().to_owned())
}

impl NsgOutput {
    fn no_credential(&mut self, why: &str) {
        self.samples.push(Sample::one(&cluster::NSG_FAILED_CREATION, []));
        self.errors.push((COLLECTOR, format!("no credential: {why}")));
    }

    fn failed(&mut self, id: &str, error: &AzureError) {
        if error.kind == ErrorKind::Forbidden {
            let dims = [
                id_segment(id, "subnets"),
                id_segment(id, "virtualnetworks"),
                id_segment(id, "resourcegroups"),
            ];
            self.samples.push(Sample::one(&cluster::NSG_SUBNET_FORBIDDEN, dims));
        } else {
            self.samples.push(Sample::one(&cluster::NSG_SUBNET_ERROR, [Cow::Borrowed(error.kind.name())]));
        }
        self.errors.push((COLLECTOR, format!("subnet {id}: {}", chain(error))));
    }

    fn rules(&mut self, asked: &Subnets, found: &BTreeMap<String, Subnet>) {
        let prefixes = |id: &String| found.get(id).into_iter().flat_map(|subnet| subnet.prefixes.iter());
        let ranges = Ranges::new(prefixes(&asked.master), asked.workers.iter().flat_map(prefixes));
        if ranges.is_empty() {
            self.errors.push((COLLECTOR, "no valid subnet ranges found".to_owned()));
            return;
        }
        let mut seen = HashSet::new();
        for group in found.values().filter_map(|subnet| subnet.security_group.as_ref()) {
            if seen.insert(group.id.to_ascii_lowercase()) {
                self.group(group, &ranges);
            }
        }
    }

    fn group(&mut self, group: &SecurityGroup, ranges: &Ranges) {
        let all = group.rules.get(..group.rules.len().min(MOST_RULES)).unwrap_or_default();
        for Finding { rule, shadowed } in rules::invalid(all, ranges) {
            let text = |text: &str| Cow::Owned(rp_base::text::clean(text, 2000));
            let dims: [Text; 8] = [
                id_segment(&group.id, "resourcegroups"),
                id_segment(&group.id, "networksecuritygroups"),
                text(&rule.name),
                text(&rule.sources.join(",")),
                text(&rule.destinations.join(",")),
                text(&rule.direction),
                Cow::Owned(rule.priority.to_string()),
                Cow::Borrowed(if shadowed { "no" } else { "yes" }),
            ];
            self.samples.push(Sample::one(&cluster::NSG_INVALID_RULE, dims));
        }
    }
}
