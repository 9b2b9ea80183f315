//! Tests of the monitor with fake subnets. Over the network: `tests/stories/azure.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rp_azure::{SecurityRule, Subnets as _};
use rp_base::ManualClock;
use rp_base::{Clock as _, Timestamp};
use rp_documents::ResourceId;
use rp_net::Source;

use super::*;
use crate::check::SubnetSource as _;
use crate::view::WorkerProfile;

const NETWORK: &str =
    "/subscriptions/s/resourceGroups/Net/providers/Microsoft.Network/virtualNetworks/v/subnets";

/// Responds by the subnet's name.
struct FakeSubnets {
    answers: fn(&str) -> Result<Subnet, AzureError>,
    asked: AtomicUsize,
}

#[async_trait]
impl rp_azure::Subnets for FakeSubnets {
    async fn subnet(&self, tenant: &str, id: &str) -> Result<Subnet, AzureError> {
        assert_eq!(tenant, "tenant");
        self.asked.fetch_add(1, Ordering::Relaxed);
        (self.answers)(id.rsplit('/').next().unwrap_or_default())
    }
}

fn error(kind: ErrorKind) -> AzureError {
    AzureError {
        operation: "get subnet",
        kind,
        status: None,
        code: String::new(),
        message: String::new(),
        request_id: String::new(),
        retry_after: None,
        more: None,
    }
}

fn subnet(prefix: &str, rules: &[(&str, &str, &str)]) -> Subnet {
    let rule = |(name, from, to): &(&str, &str, &str)| SecurityRule {
        name: (*name).to_owned(),
        access: "Deny".to_owned(),
        direction: "Inbound".to_owned(),
        priority: 300,
        sources: vec![(*from).to_owned(), "10.9.0.0/16".to_owned()],
        destinations: vec![(*to).to_owned()],
        ..SecurityRule::default()
    };
    Subnet {
        id: String::new(),
        prefixes: if prefix.is_empty() { Vec::new() } else { vec![prefix.to_owned()] },
        security_group: Some(SecurityGroup {
            id: "/subscriptions/s/resourceGroups/Sec/providers/Microsoft.Network/networkSecurityGroups/nsg"
                .to_owned(),
            rules: rules.iter().map(rule).collect(),
        }),
    }
}

fn view() -> ClusterView {
    let id = ResourceId::from_parts("aaaaaaaa-0000-0000-0000-000000000001", "group", "name").unwrap();
    let mut view = ClusterView::bare("doc".to_owned(), id, Source::Aro);
    view.preconfigured_nsg = "Enabled".to_owned();
    view.master_subnet = format!("{NETWORK}/master");
    let worker = |name: &str, count| WorkerProfile {
        name: name.to_owned(),
        subnet_id: format!("{NETWORK}/{name}"),
        count,
    };
    view.workers = vec![worker("worker", 3), worker("WORKER", 2), worker("empty", 0)];
    view.tenant = Some("tenant".into());
    view
}

fn clock() -> ManualClock {
    ManualClock::at(Timestamp::from_seconds(1_800_000_000))
}

async fn run(
    view: &ClusterView,
    due: bool,
    answers: fn(&str) -> Result<Subnet, AzureError>,
) -> SideMonitorOutput {
    let made = Arc::new(FakeSubnets { answers, asked: AtomicUsize::new(0) });
    let monitor = NsgMonitor::new(Arc::new(SubnetPrefixes::new(made, Arc::new(clock()))));
    let round = Round { hourly: false, nsg_due: due, number: 1 };
    assert!(monitor.due(view, round));
    monitor.run(view, &ClusterDims::from_view(view), round, &CancellationToken::new()).await
}

/// Name and dimensions of every sample of the rules but the duration, which is always there.
fn told(done: &SideMonitorOutput) -> Vec<(&'static str, Vec<String>)> {
    let rules = done
        .samples
        .iter()
        .find(|(part, _)| *part == SeriesGroup::NsgRules)
        .map(|(_, samples)| samples)
        .unwrap();
    let (last, rest) = rules.split_last().unwrap();
    assert_eq!(last.metric.name, "monitor.nsg.duration");
    rest.iter().map(|one| (one.metric.name, one.dims.iter().map(ToString::to_string).collect())).collect()
}

#[tokio::test]
async fn tells_each_invalid_rule_once() {
    let view = view();
    let done = run(&view, true, |name| match name {
        "master" => Ok(subnet(
            "10.0.0.0/24",
            &[("bad", "10.0.1.0/24", "10.0.0.0/24"), ("good", "10.0.1.1", "10.0.1.2")],
        )),
        "worker" => Ok(subnet("10.0.1.0/24", &[("bad", "10.0.1.0/24", "10.0.0.0/24")])),
        other => panic!("{other} is not asked for"),
    });
    let done = done.await;
    let expected = ["Sec", "nsg", "bad", "10.0.1.0/24,10.9.0.0/16", "10.0.0.0/24", "Inbound", "300", "yes"];
    let expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(told(&done), [("monitor.preconfigurednsg.invaliddenyrule", expected)]);
    assert!(done.errors.is_empty());
    assert!(done.samples.iter().all(|(_, samples)| samples.iter().all(Sample::is_sound)));
}

#[tokio::test]
async fn without_its_ticker_it_only_says_that_it_is_on() {
    let done = run(&view(), false, |_| panic!("nothing is asked for")).await;
    assert_eq!(done.samples.len(), 1);
    assert_eq!(done.samples[0].1[0].metric.name, "monitor.preconfigurednsg.enabled");
}

#[tokio::test]
async fn what_cannot_be_read_is_told_by_kind_and_the_rest_goes_on() {
    let view = view();
    let done = run(&view, true, |name| match name {
        "master" => Err(error(ErrorKind::Forbidden)),
        _ => Ok(subnet("10.0.1.0/24", &[("bad", "10.0.1.0/24", "*")])),
    });
    let names: Vec<_> = told(&done.await).into_iter().map(|(name, dims)| (name, dims[0].clone())).collect();
    assert_eq!(
        names,
        [
            ("monitor.preconfigurednsg.subnetaccessforbidden", "master".to_owned()),
            ("monitor.preconfigurednsg.invaliddenyrule", "Sec".to_owned())
        ]
    );
    let done = run(&view, true, |_| Err(error(ErrorKind::Timeout))).await;
    let expected = ("monitor.preconfigurednsg.subnetaccesserror", vec!["timeout".to_owned()]);
    assert_eq!(told(&done), [expected.clone(), expected]);
    assert_eq!(done.errors.last().unwrap().1, "no valid subnet ranges found");
}

#[tokio::test]
async fn nothing_in_an_answer_is_needed() {
    let done = run(&view(), true, |_| Ok(Subnet::default())).await;
    assert!(told(&done).is_empty());
    assert_eq!(done.errors, [("nsg", "no valid subnet ranges found".to_owned())]);
}

#[tokio::test]
async fn no_tenant_and_no_token_are_failures_to_begin() {
    let mut view = view();
    let done = run(&view, true, |_| Err(AzureError { operation: "token", ..error(ErrorKind::Cloud) })).await;
    assert_eq!(told(&done), [("monitor.preconfigurednsg.failedmonitorcreation", Vec::new())]);
    view.tenant = None;
    let done = run(&view, true, |_| panic!("nobody is asked")).await;
    assert_eq!(told(&done), [("monitor.preconfigurednsg.failedmonitorcreation", Vec::new())]);
}

#[tokio::test]
async fn when_it_is_switched_off_nothing_is_shown_any_more() {
    let made = Arc::new(FakeSubnets { answers: |_| Ok(Subnet::default()), asked: AtomicUsize::new(0) });
    let monitor = NsgMonitor::new(Arc::new(SubnetPrefixes::new(made, Arc::new(clock()))));
    let (mut view, round) = (view(), Round { hourly: false, nsg_due: false, number: 1 });
    let (dims, cancel) = (ClusterDims::from_view(&view), CancellationToken::new());
    monitor.run(&view, &dims, round, &cancel).await;
    view.preconfigured_nsg = "Disabled".to_owned();
    assert!(monitor.due(&view, round));
    let done = monitor.run(&view, &dims, round, &cancel).await;
    assert!(done.samples.len() == 2 && done.samples.iter().all(|(_, samples)| samples.is_empty()));
    assert!(!monitor.due(&view, round));
}

#[tokio::test]
async fn prefixes_are_asked_for_every_ten_minutes() {
    let made = Arc::new(FakeSubnets {
        answers: |name| {
            if name == "gone" { Err(error(ErrorKind::NotFound)) } else { Ok(subnet("10.0.0.0/24", &[])) }
        },
        asked: AtomicUsize::new(0),
    });
    let clock = clock();
    let prefixes = SubnetPrefixes::new(Arc::clone(&made) as _, Arc::new(clock.clone()));
    let ids = [format!("{NETWORK}/master"), format!("{NETWORK}/gone")];
    let mut asked = Vec::new();
    for step in [0, 1, 61, 601] {
        clock.advance(Duration::from_secs(step));
        let all = prefixes.prefixes(&view(), &ids).await;
        assert_eq!(all[&ids[0]], Ok(vec!["10.0.0.0/24".to_owned()]));
        assert!(all[&ids[1]].is_err());
        asked.push(made.asked.load(Ordering::Relaxed));
    }
    assert_eq!(asked, [2, 2, 3, 5]);
    assert!(made.subnet("tenant", "x/y").await.is_ok() && clock.now() > Timestamp::from_seconds(0));
}
