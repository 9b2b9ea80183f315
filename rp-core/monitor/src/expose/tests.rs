use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::emit::Emitters;
use crate::names::{ALL, cluster, own};
use crate::sample::{MOST_SERIES, Text};

fn dims(number: usize) -> ClusterDims {
    let name = format!("cluster-{number:05}");
    let id = ResourceId::from_parts("aaaaaaaa-0000-0000-0000-000000000001", "group", &name);
    ClusterDims::new(&id.unwrap(), "westeurope")
}

fn exposition(detail: MetricsDetail) -> (Exposition, Registry) {
    let registry = Registry::new();
    (Exposition::new(&registry, detail), registry)
}

fn show(exposition: &Exposition, number: usize, samples: &[Sample]) {
    exposition.replace(&dims(number), SeriesGroup::Cluster, samples, &[]);
}

fn labels(number: usize) -> String {
    let dims = dims(number);
    let id = dims.id();
    format!(
        "resource_id=\"{}\",subscription_id=\"aaaaaaaa-0000-0000-0000-000000000001\",resource_group=\"group\",resource_name=\"{}\"",
        id.original(),
        id.name()
    )
}

/// Lines of the exposition with this prefix.
fn lines(registry: &Registry, start: &str) -> Vec<String> {
    registry.render().lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect()
}

fn operator(name: &str) -> Sample {
    Sample::one(
        &cluster::OPERATOR_CONDITIONS,
        [Text::Owned(name.to_owned()), "Degraded".into(), "True".into()],
    )
}

#[test]
fn a_look_replaces_what_the_one_before_told() {
    let (exposition, registry) = exposition(MetricsDetail::All);
    show(&exposition, 1, &[operator("dns"), Sample::int(&cluster::NODE_COUNT, 3, ["master".into()])]);
    let condition = |name: &str| {
        format!(
            "aro_cluster_clusteroperator_conditions{{{},name=\"{name}\",type=\"Degraded\",status=\"True\"}} 1",
            labels(1)
        )
    };
    assert_eq!(lines(&registry, "aro_cluster_clusteroperator_conditions"), [condition("dns")]);
    assert_eq!(
        lines(&registry, "aro_cluster_nodes"),
        [format!("aro_cluster_nodes{{{},role=\"master\"}} 3", labels(1))]
    );
    show(&exposition, 1, &[operator("etcd"), operator("a\"b\\")]);
    let now = lines(&registry, "aro_cluster_clusteroperator_conditions");
    assert_eq!(now, [condition("etcd"), condition("a\\\"b\\\\")]);
    assert!(lines(&registry, "aro_cluster_nodes").is_empty());
    assert_eq!(lines(&registry, "aro_monitor_held_series"), ["aro_monitor_held_series 2"]);
    exposition.forget(dims(1).id());
    assert!(lines(&registry, "aro_cluster_").is_empty());
    assert_eq!(lines(&registry, "aro_monitor_held_series"), ["aro_monitor_held_series 0"]);
    assert!(registry.mistakes().is_empty(), "{:?}", registry.mistakes());
}

#[test]
fn parts_hourly_series_and_those_nobody_knows_better_stay() {
    let (exposition, registry) = exposition(MetricsDetail::All);
    let provisioning = Sample::one(&cluster::PROVISIONING, ["Succeeded".into(), "".into()]);
    show(&exposition, 1, &[provisioning, operator("dns"), Sample::int(&cluster::OPERATOR_COUNT, 33, [])]);
    exposition.replace(&dims(1), SeriesGroup::Nsg, &[Sample::one(&cluster::NSG_ENABLED, [])], &[]);
    // The collector of conditions failed: its series stay, the counts do not.
    exposition.replace(&dims(1), SeriesGroup::Cluster, &[], &[&cluster::OPERATOR_CONDITIONS]);
    assert_eq!(lines(&registry, "aro_cluster_provisioning_info").len(), 1);
    assert_eq!(lines(&registry, "aro_cluster_clusteroperator_conditions").len(), 1);
    assert_eq!(lines(&registry, "aro_cluster_nsg_preconfigured").len(), 1);
    assert!(lines(&registry, "aro_cluster_operators").is_empty());
    exposition.replace(&dims(1), SeriesGroup::Cluster, &[], &[]);
    assert!(lines(&registry, "aro_cluster_clusteroperator_conditions").is_empty());
    assert_eq!(lines(&registry, "aro_cluster_provisioning_info").len(), 1);
}

#[test]
fn a_cluster_keeps_within_its_budget() {
    let (exposition, registry) = exposition(MetricsDetail::All);
    let mut samples: Vec<_> = (0..400)
        .map(|n| {
            Sample::one(
                &cluster::NODE_KUBELET,
                [Text::Owned(format!("node-{n}")), "worker".into(), "v1".into()],
            )
        })
        .collect();
    samples.push(operator("dns"));
    show(&exposition, 1, &samples);
    let shown = lines(&registry, "aro_cluster_");
    assert_eq!(shown.len(), MOST_SERIES);
    assert!(shown.iter().any(|line| line.contains("name=\"dns\"")));
    assert_eq!(
        lines(&registry, "aro_monitor_cut_series_total"),
        [format!("aro_monitor_cut_series_total{{part=\"cluster\"}} {}", 401 - MOST_SERIES)]
    );
}

#[test]
fn detail_leaves_out_what_is_healthy_and_sums_stay() {
    let healthy = [
        Sample::one(&cluster::HEALTHZ, ["200".into()]),
        Sample::int(&cluster::NODE_COUNT, 3, ["master".into()]),
    ];
    let ill = [Sample::one(&cluster::HEALTHZ, ["0".into()]), operator("dns")];
    for (detail, count) in [(MetricsDetail::All, 4), (MetricsDetail::Unhealthy, 2), (MetricsDetail::Fleet, 0)]
    {
        let (exposition, registry) = exposition(detail);
        show(&exposition, 1, &healthy);
        show(&exposition, 2, &ill);
        assert_eq!(lines(&registry, "aro_cluster_").len(), count, "{detail:?}");
        for line in [
            "aro_fleet_clusters{metric=\"aro_cluster_apiserver_healthz\"} 2",
            "aro_fleet_clusters{metric=\"aro_cluster_clusteroperator_conditions\"} 1",
            "aro_fleet_value{metric=\"aro_cluster_nodes\"} 3",
            "aro_fleet_series{metric=\"aro_cluster_nodes\"} 1",
        ] {
            assert_eq!(lines(&registry, line), [line]);
        }
    }
}

#[test]
fn events_count_and_never_name_a_cluster() {
    let (emitters, recorder) = Emitters::for_tests();
    for number in 0..3 {
        let error = Sample::one(&own::COLLECTOR_ERROR, ["emitSummary".into()]);
        emitters.cluster(
            &dims(number),
            &[error, Sample::float(&own::COLLECTOR_DURATION, 0.3, ["emitSummary".into()])],
        );
    }
    let text = recorder.exposition();
    for line in [
        "aro_monitor_collector_errors_total{monitor=\"cluster\",collector=\"emitSummary\"} 3\n",
        "aro_monitor_collector_duration_seconds_bucket{monitor=\"cluster\",collector=\"emitSummary\",le=\"0.1\"} 0\n",
        "aro_monitor_collector_duration_seconds_bucket{monitor=\"cluster\",collector=\"emitSummary\",le=\"0.5\"} 3\n",
    ] {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
    assert!(!text.contains("resource_id="));
}

#[test]
fn label_sets_of_events_are_bounded() {
    let (exposition, registry) = exposition(MetricsDetail::All);
    for number in 0..MOST_EVENTS + 7 {
        exposition.record(&Sample::one(&own::COLLECTOR_ERROR, [Text::Owned(format!("c{number}"))]));
    }
    let all = lines(&registry, "aro_monitor_collector_errors_total");
    assert_eq!(all.len(), MOST_EVENTS + 1);
    assert_eq!(all[0], "aro_monitor_collector_errors_total{monitor=\"_overflow\",collector=\"_overflow\"} 7");
}

#[test]
fn pieces_are_bounded_and_make_up_the_whole() {
    let (exposition, registry) = exposition(MetricsDetail::All);
    for number in 0..500 {
        let samples: Vec<_> = (0..20).map(|n| operator(&format!("operator-{n}"))).collect();
        show(&exposition, number, &samples);
    }
    let pieces: Vec<String> = registry.chunks().collect();
    assert!(pieces.len() > 20 && pieces.iter().all(|piece| piece.len() < 80 * 1024 && piece.ends_with('\n')));
    let text = pieces.concat();
    assert_eq!(
        text.lines().filter(|line| line.starts_with("aro_cluster_clusteroperator_conditions{")).count(),
        10_000
    );
    // All lines of a name stand together, and its head before them.
    let mut seen = BTreeSet::new();
    let mut last = "";
    for name in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert!(seen.insert(name) && name != last, "{name} has two heads");
        last = name;
    }
}

#[test]
fn the_list_names_every_exposed_metric_once() {
    let (_, registry) = exposition(MetricsDetail::All);
    let names: Vec<String> = registry.list().into_iter().map(|metric| metric.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for metric in ALL.iter().filter_map(|metric| metric.exposed) {
        assert!(names.iter().any(|name| name == metric.name), "{}", metric.name);
    }
}

/// A sample of any metric with any texts.
fn any_sample() -> impl Strategy<Value = Sample> {
    (0..ALL.len(), proptest::collection::vec(".{0,200}", 12), any::<f64>(), any::<i64>()).prop_map(
        |(metric, texts, float, whole)| {
            let metric = ALL[metric];
            let dims: Vec<Text> = texts.into_iter().map(Text::Owned).take(metric.dims.len()).collect();
            let mut sample = Sample::int(metric, whole, dims);
            sample.exact = (float.to_bits() & 1 == 0).then_some(float);
            sample
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_samples_give_lines_that_can_be_read(
        rounds in proptest::collection::vec(proptest::collection::vec(any_sample(), 0..40), 1..4),
    ) {
        let (emitters, recorder) = Emitters::for_tests();
        for (number, samples) in rounds.iter().enumerate() {
            emitters.cluster(&dims(number % 2), samples);
        }
        let text = recorder.exposition();
        let mut series = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (labels, value) = line.rsplit_once(' ').unwrap();
            prop_assert!(value == "NaN" || value.ends_with("Inf") || value.parse::<f64>().is_ok(), "{}", line);
            prop_assert!(series.insert(labels.to_owned(), value.to_owned()).is_none(), "twice: {}", labels);
            let well = labels.split_once('{').is_none_or(|(_, rest)| rest.ends_with("\"}"));
            prop_assert!(well, "{}", line);
        }
        for number in 0..2 {
            emitters.forget(dims(number).id());
        }
        let rest = recorder.exposition();
        prop_assert!(!rest.contains("resource_id="), "{}", rest);
    }
}
