use proptest::prelude::*;

use super::*;

fn round(query: &str) -> String {
    parse(query).map_or_else(|error| format!("! {error}"), |node| node.to_string())
}

#[test]
fn reads_and_writes_what_prometheus_does() {
    for (query, printed) in [
        ("up", "up"),
        (
            "  sum( rate(http_requests_total{job=\"a\", code=~'5..'}[5m]) ) by (code)",
            "sum by (code) (rate(http_requests_total{job=\"a\",code=~\"5..\"}[5m]))",
        ),
        ("topk(3,up)", "topk(3, up)"),
        ("a + b * c ^ 2", "a + b * c ^ 2"),
        ("-1 ^ 2", "-1 ^ 2"),
        ("a / on(pod) group_left(node) b", "a / on (pod) group_left (node) b"),
        ("up == bool 1", "up == bool 1"),
        ("max_over_time(deriv(x[1h])[1d:5m] offset 1w)", "max_over_time(deriv(x[1h])[1d:5m] offset 1w)"),
        ("x @ 1609746000 offset -5m", "x @ 1609746000.000 offset -5m"),
        ("x[1h30m] @ end()", "x[1h30m] @ end()"),
        ("{\"metric.with.dots\", \"a label\"=\"v\"}", "{\"metric.with.dots\",\"a label\"=\"v\"}"),
        ("job:up:sum{a=\"\\u00e9\\n\"}", "job:up:sum{a=\"é\\n\"}"),
        ("sum(a) # what\n + 0x1F + 1e-3 + Inf", "sum(a) + 31 + 0.001 + Inf"),
        ("count_values(\"version\", build)", "count_values(\"version\", build)"),
        ("sum without (a,b) (x) or vector(0)", "sum without (a, b) (x) or vector(0)"),
        ("sum", "sum"),
        ("rate(x[5m:])", "rate(x[5m:])"),
        ("a + {\"on\"}", "a + {\"on\"}"),
        ("a > {\"Bool\"}", "a > {\"Bool\"}"),
        ("{\"inf\", \"NaN\"=\"x\"}", "{\"inf\",\"NaN\"=\"x\"}"),
        ("sum by (\"inf\") (x)", "sum by (\"inf\") (x)"),
    ] {
        assert_eq!(round(query), printed);
        assert_eq!(round(printed), printed, "again");
    }
}

#[test]
fn names_the_place_of_a_mistake() {
    for (query, error) in [
        ("", "1:1: parse error: no expression found in input"),
        ("sum(up", "1:7: parse error: unexpected end of input, expected \",\" or \")\""),
        ("up{a=}", "1:6: parse error: unexpected \"}\", expected a string"),
        ("up +\n  * 3", "2:3: parse error: unexpected \"*\""),
        ("{}", "1:1: parse error: vector selector must contain at least one non-empty matcher"),
        ("up \"x", "1:4: parse error: unterminated quoted string"),
        ("é", "1:1: parse error: unexpected character: 'é'"),
        ("sum(a)[5m]", "1:1: parse error: ranges only allowed for vector selectors"),
        ("1 offset 5m", "1:3: parse error: offset modifier must be preceded by a selector or a subquery"),
        ("5q", "1:1: parse error: bad number or duration syntax: \"5q\""),
    ] {
        assert_eq!(parse(query).unwrap_err().to_string(), error, "{query}");
    }
    let deep = "(".repeat(500);
    assert!(parse(&deep).unwrap_err().message.contains("nested"));
}

/// The stack of a thread of the server is what a deep tree would use up, and with it the process.
#[test]
fn what_is_long_is_not_deep() {
    for (first, more) in [("1", "+1"), ("1", "^1"), ("a", " or b"), ("x", "[5m:]"), ("(", "("), ("", "-")] {
        for count in [400, 600, 60_000 / more.len()] {
            let query = format!("{first}{}{}", more.repeat(count), if first.is_empty() { "1" } else { "" });
            let told = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(move || {
                match explain(&query) {
                    Ok(told) => told.formatted.len(),
                    Err(error) => error.message.len(),
                }
            });
            assert!(told.unwrap().join().unwrap() > 0, "{count} times {more}");
        }
    }
    assert!(parse(&format!("1{}", "+1".repeat(400))).is_ok());
    assert!(parse(&format!("1{}", "+1".repeat(600))).unwrap_err().message.contains("at most 500"));
}

#[test]
fn finds_the_place_in_prometheus_words() {
    let message = "invalid parameter \"query\": 2:3: parse error: unexpected \"}\"";
    let place = Position::in_message("up +\n  }", message).unwrap();
    assert_eq!((place.offset, place.line, place.column), (7, 2, 3));
    assert_eq!(Position::in_message("up", "something else"), None);
}

#[test]
fn guesses_units() {
    let unit = |query: &str| unit_of(&parse(query).unwrap());
    assert_eq!(unit("process_resident_memory_bytes"), Some("bytes"));
    assert_eq!(unit("rate(process_cpu_seconds_total[5m])"), Some("cores"));
    assert_eq!(unit("sum(rate(http_requests_total[5m])) by (code)"), Some("/s"));
    assert_eq!(unit("histogram_quantile(0.9, sum by (le) (rate(x_seconds_bucket[5m])))"), Some("seconds"));
    assert_eq!(unit("a_bytes / b_bytes"), Some("ratio"));
    assert_eq!(unit("process_start_time_seconds"), Some("timestamp"));
    assert_eq!(unit("up"), None);
    assert_eq!(unit("count(a_bytes)"), None);
}

#[test]
fn explains() {
    let told = explain("histogram_quantile(0.9, sum by (job) (rate(temperature[30s])))").unwrap();
    assert_eq!(told.metrics, ["temperature"]);
    assert_eq!(told.notes.len(), 3, "{:?}", told.notes);
    assert_eq!(told.tree.kind, "call");
    let sum = &told.tree.children[1];
    assert_eq!(sum.says, "adds up, one result per job");
    assert_eq!(&told.query[sum.start..sum.end], "sum by (job) (rate(temperature[30s]))");
    assert!(explain("up{").is_err());
}

#[test]
fn breaks_long_lines() {
    let long = format!("sum by (a) (rate({}[5m])) / sum(rate(other_total[5m]))", "x".repeat(90));
    let broken = pretty(&parse(&long).unwrap());
    assert!(broken.lines().count() > 3 && broken.lines().all(|line| line.len() <= 110), "{broken}");
    assert_eq!(round(&broken), round(&long));
    let sum = format!("1{}", " + 1".repeat(400));
    let broken = pretty(&parse(&sum).unwrap());
    assert!(broken.len() < 2 * sum.len(), "{} bytes of {}", broken.len(), sum.len());
    assert_eq!(round(&broken), sum);
}

proptest! {
    #[test]
    fn never_panics(text in "\\PC{0,80}") {
        if let Ok(node) = parse(&text) {
            let printed = node.to_string();
            prop_assert_eq!(round(&printed), printed);
            let _ = explain(&text);
        }
    }

    #[test]
    fn never_panics_on_words(words in proptest::collection::vec(
        proptest::sample::select(vec!["up", "sum", "by", "(", ")", "{", "}", "a=\"b\"", "[5m]", "[1h:5m]", "+", "-",
            "offset", "5m", "@", "end()", "on", ",", "1", "\"t\"", "rate", "bool", "=="]), 0..20)) {
        let text = words.join(" ");
        if let Ok(node) = parse(&text) {
            prop_assert_eq!(round(&node.to_string()), node.to_string());
        }
    }
}
