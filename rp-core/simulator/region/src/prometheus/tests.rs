use rp_base::{Clock as _, SystemClock};
use rp_simulator::fleet::Fleet;

use super::*;

fn ask(path: &str, pairs: &[(&str, &str)]) -> Result<Value, Refusal> {
    let now = SystemClock.now();
    let fleet = Fleet::new(7, 60, Vec::new(), now);
    let cluster = fleet.cluster(4).unwrap();
    let params =
        Params(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
    prometheus(&View { cluster: &cluster, now }, path, &params)
}

fn query(text: &str) -> Result<Value, Refusal> {
    ask("/api/v1/query", &[("query", text)])
}

fn rows(text: &str) -> Vec<Value> {
    query(text).unwrap_or_else(|refusal| panic!("{text}: {}", refusal.message))["result"]
        .as_array()
        .unwrap()
        .clone()
}

fn number(text: &str) -> f64 {
    rows(text)[0]["value"][1].as_str().unwrap().parse().unwrap()
}

/// `contract/portal.md` §14.
const STATISTICS: [&str; 12] = [
    r#"sum(rate(apiserver_request_total{job="apiserver",code=~"[45].."}[10m])) by (code, verb)"#,
    r#"rate(process_cpu_seconds_total{job="apiserver"}[5m])"#,
    r#"process_resident_memory_bytes{job="apiserver"}"#,
    r#"sum(rate(rest_client_requests_total{job="kube-controller-manager"}[5m])) by (code)"#,
    r#"rate(process_cpu_seconds_total{job="kube-controller-manager"}[5m])"#,
    r#"process_resident_memory_bytes{job="kube-controller-manager"}"#,
    "sum(rate(coredns_dns_responses_total[5m])) by (rcode)",
    r#"sum(rate(coredns_dns_responses_total{rcode=~"SERVFAIL|NXDOMAIN"}[5m])) by (pod) / sum(rate(coredns_dns_responses_total{rcode=~"NOERROR"}[5m])) by (pod)"#,
    "histogram_quantile(0.99, sum(rate(coredns_health_request_duration_seconds_bucket[5m])) by (le))",
    "histogram_quantile(0.95, sum(rate(coredns_forward_request_duration_seconds_bucket[5m])) by (le))",
    "histogram_quantile(0.95, sum(rate(coredns_dns_request_duration_seconds_bucket[5m])) by (le))",
    "sum(ingress_controller_conditions) by (condition)",
];

#[test]
fn every_statistic_has_series() {
    for text in STATISTICS {
        let found = rows(text);
        assert!(!found.is_empty(), "{text}");
        let finite = |row: &Value| row["value"][1].as_str().unwrap().parse::<f64>().unwrap().is_finite();
        assert!(found.iter().all(finite), "{text}: {found:?}");
    }
}

#[test]
fn arithmetic_is_exact() {
    let sum = number("sum(up)");
    assert!(sum >= 18.0);
    assert!((number("count(up)") - sum).abs() < 1e-9);
    assert!((number("sum(up) / count(up)") - 1.0).abs() < 1e-9);
    assert!((number("sum by (job) (up{job=\"etcd\"})") - 3.0).abs() < 1e-9);
    assert_eq!(rows("up{job=~\"etc.\"} == 1").len(), 3);
    assert_eq!(rows("topk(2, node_load1)").len(), 2);
    assert_eq!(rows("up unless up{job!=\"etcd\"}").len(), 3);
    assert!(rows("absent(nothing)").len() == 1 && rows("nothing").is_empty());
    // In one query: two would be evaluated at two instants.
    let apart = "sum(increase(apiserver_request_total[5m])) / 300 - sum(rate(apiserver_request_total[5m]))";
    assert!(number(apart).abs() < 1e-6);
    assert!(
        number("histogram_quantile(0.5, sum(rate(coredns_dns_request_duration_seconds_bucket[5m])) by (le))")
            > 0.0
    );
    assert_eq!(query("1 + 2 * 3").unwrap()["result"][1], "7");
}

#[test]
fn what_is_not_simulated_says_so() {
    for text in [
        "quantile(0.9, up)",
        "predict_linear(up[1h], 60)",
        "max_over_time(up[1h:5m])",
        "up @ 1",
        "a * on(x) group_left() b",
    ] {
        let refusal = query(text).unwrap_err();
        assert!(refusal.message.contains("is not simulated"), "{text}: {}", refusal.message);
    }
    assert!(query("sum(up").unwrap_err().message.contains("1:7: parse error"));
    assert_eq!(ask("/api/v1/admin/tsdb/snapshot", &[]).unwrap_err().status, StatusCode::NOT_FOUND);
}

#[test]
fn ranges_labels_and_alerts() {
    let over = ask(
        "/api/v1/query_range",
        &[("query", "node_load1"), ("start", "1700000000"), ("end", "1700003600"), ("step", "60")],
    )
    .unwrap();
    assert_eq!(over["result"][0]["values"].as_array().unwrap().len(), 61);
    let many =
        ask("/api/v1/query_range", &[("query", "up"), ("start", "0"), ("end", "1000000"), ("step", "1")])
            .unwrap_err();
    assert!(many.message.contains("11,000 points"));
    let names = ask("/api/v1/label/__name__/values", &[]).unwrap();
    assert!(names.as_array().unwrap().contains(&json!("up")), "{names}");
    let labels = ask("/api/v1/labels", &[("match[]", "node_cpu_seconds_total")]).unwrap();
    assert_eq!(labels, json!(["__name__", "cpu", "instance", "job", "mode"]));
    let groups = ask("/api/v1/rules", &[]).unwrap();
    assert!(groups["groups"][0]["rules"].as_array().unwrap().iter().any(|rule| rule["name"] == "Watchdog"));
    assert!(!rows("ALERTS").is_empty());
}
