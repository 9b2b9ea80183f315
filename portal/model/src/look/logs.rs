//! Requests for a container's log, in the form of the API server.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use portal_session::context::Context;
use portal_session::fault::Fault;
use rp_access::ActiveGrant;
use rp_openshift::{ContainerSpec, Pod, Whole};
use web::{LogLevel, LogLine, LogQuery};

use super::text::Cleaner;
use crate::objects::names::{is_dns, is_segment};
use crate::state::PortalState;

/// Lines of a page without scripts, at most and by itself.
const MOST_TAIL: u64 = 10_000;
const TAIL: u64 = 500;
/// Bytes that are read for a page, and of those kept: the last.
const MOST_READ: usize = 32 * 1024 * 1024;
const MOST_KEPT: usize = 2 * 1024 * 1024;
/// Characters of a line of a page.
const LONGEST_LINE: usize = 16 * 1024;
/// How long a page waits for the rest of a log.
const PATIENCE: Duration = Duration::from_secs(8);

/// Path of a pod on the API server.
///
/// # Errors
/// The names are invalid.
pub fn pod_path(namespace: &str, pod: &str) -> Result<String, Fault> {
    if is_dns(namespace, 63) && is_dns(pod, 253) {
        Ok(format!("/api/v1/namespaces/{namespace}/pods/{pod}"))
    } else {
        Err(Fault::bad_input("That is no pod's name"))
    }
}

/// Path of a log; `tail` and `since` as they were asked, nothing unless asked.
///
/// # Errors
/// A field cannot be read.
pub fn log_path(pod: &str, query: &LogQuery) -> Result<String, Fault> {
    let mut url = web::Query::new(&format!("{pod}/log"));
    if !query.container.is_empty() {
        if !is_segment(&query.container) {
            return Err(Fault::bad_input("That is no container's name"));
        }
        url.add("container", &query.container);
    }
    let flag = |field: &str| if on(field) { "true" } else { "" };
    url.add("follow", flag(&query.follow));
    url.add("previous", flag(&query.previous));
    url.add("timestamps", flag(&query.timestamps));
    if !query.tail.is_empty() {
        let tail: u64 = query.tail.parse().map_err(|_| Fault::bad_input("tail is a number of lines"))?;
        url.add("tailLines", &tail.to_string());
    }
    if let Some(seconds) = since(&query.since)? {
        url.add("sinceSeconds", &seconds.to_string());
    }
    Ok(url.done())
}

/// A switch that is on.
pub fn on(field: &str) -> bool {
    matches!(field, "1" | "true" | "on")
}

/// `90`, `90s`, `5m`, `3h`, `2d` in seconds.
fn since(text: &str) -> Result<Option<u64>, Fault> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || Fault::bad_input("since is a time like 90s, 5m, 3h or 2d");
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let seconds: u64 = number.parse::<u32>().map_err(|_| wrong())?.into();
    Ok(Some((seconds * unit).max(1)))
}

/// Last lines of a log for a page.
#[derive(Debug, Default)]
pub struct Tail {
    pub lines: Vec<LogLine>,
    /// Older lines were left out.
    pub cut: bool,
}

/// Reads the last lines. Bounded in time, bytes and lines, whatever the container writes.
///
/// # Errors
/// The log was refused, or the connection broke before its first byte.
pub async fn tail(
    context: &Context,
    state: &PortalState,
    live: &Arc<ActiveGrant>,
    pod: &str,
    query: &LogQuery,
) -> Result<Tail, Fault> {
    let wanted = query.tail.parse().unwrap_or(TAIL).clamp(1, MOST_TAIL);
    let asked = LogQuery { follow: String::new(), tail: wanted.to_string(), ..query.clone() };
    let response = super::ask(context, state, live, &log_path(pod, &asked)?, "*/*").await?;
    let (mut body, mut kept, mut read, mut cut) = (response.into_body(), Vec::new(), 0, false);
    let mut cleaner = Cleaner::new(true);
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            let Some(data) = frame.data_ref() else { continue };
            read += data.len();
            kept.extend(cleaner.clean(data));
            if kept.len() > 2 * MOST_KEPT {
                kept.drain(..kept.len() - MOST_KEPT);
                cut = true;
            }
            if read > MOST_READ {
                return false;
            }
        }
        true
    };
    let whole = tokio::time::timeout(PATIENCE, reading).await.unwrap_or(false);
    let text = String::from_utf8_lossy(&kept);
    let mut lines: Vec<String> = text.lines().map(|line| line.chars().take(LONGEST_LINE).collect()).collect();
    if cut && !lines.is_empty() {
        // The first is the rest of a line.
        lines.remove(0);
    }
    cut |= !whole || u64::try_from(lines.len()).unwrap_or(u64::MAX) >= wanted;
    Ok(Tail { lines: matching(&lines, query), cut })
}

/// The lines with the text and the level that were asked for.
fn matching(lines: &[String], query: &LogQuery) -> Vec<LogLine> {
    let needle = query.q.trim().to_lowercase();
    let least = LogLevel::from_name(&query.level);
    let all = lines.iter().zip(web::levels(lines.iter().map(String::as_str)));
    all.filter(|(_, level)| least.is_none_or(|least| level.is_some_and(|level| level >= least)))
        .filter(|(line, _)| needle.is_empty() || line.to_lowercase().contains(&needle))
        .map(|(line, level)| LogLine { level, spans: web::ansi(line) })
        .collect()
}

/// Containers of a pod: name and a word on it, those that run before the others at the end.
pub fn containers(pod: &Pod<Whole>) -> Vec<(String, String)> {
    let named = |spec: &ContainerSpec<Whole>, word: &str| (spec.name.as_str().to_owned(), word.to_owned());
    let main = pod.containers().map(|(spec, status)| {
        let restarts = status.map(|status| status.restart_count.or_zero());
        let word = match restarts.and_then(|restarts| u64::try_from(restarts).ok()) {
            None | Some(0) => String::new(),
            Some(n) => web::text::plural(n, "restart", "restarts"),
        };
        named(spec, &word)
    });
    let init = pod.spec.init_containers.iter().map(|spec| named(spec, "init"));
    let debug = pod.spec.ephemeral_containers.iter().map(|spec| named(spec, "debug"));
    let mut all: Vec<(String, String)> =
        main.chain(init).chain(debug).filter(|(name, _)| is_segment(name)).take(200).collect();
    let default = pod.metadata.annotations.get("kubectl.kubernetes.io/default-container");
    if let Some(at) = all.iter().position(|(name, _)| Some(name.as_str()) == default) {
        all[..=at].rotate_right(1);
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn asks_in_the_words_of_the_api_server() {
        let pod = pod_path("a", "b-0").unwrap();
        let query = LogQuery {
            container: "etcd".into(),
            follow: "1".into(),
            previous: "true".into(),
            tail: "5".into(),
            since: "2h".into(),
            timestamps: "on".into(),
            q: "x".into(),
            level: "warn".into(),
        };
        assert_eq!(
            log_path(&pod, &query).unwrap(),
            "/api/v1/namespaces/a/pods/b-0/log?container=etcd&follow=true&previous=true&timestamps=true&tailLines=5&sinceSeconds=7200"
        );
        assert_eq!(log_path(&pod, &LogQuery::default()).unwrap(), "/api/v1/namespaces/a/pods/b-0/log");
        for (since, tail, container) in
            [("x", "", ""), ("1y", "", ""), ("", "-1", ""), ("", "", "a/b"), ("99999999999d", "", "")]
        {
            let query = LogQuery {
                since: since.into(),
                tail: tail.into(),
                container: container.into(),
                ..LogQuery::default()
            };
            assert!(log_path(&pod, &query).is_err(), "{query:?}");
        }
        for (namespace, pod) in [("..", "b"), ("a", "b/exec"), ("a", "b?x"), ("", "b"), ("A", "b")] {
            assert!(pod_path(namespace, pod).is_err());
        }
    }

    #[test]
    fn lines_of_a_level_keep_what_belongs_to_them() {
        let lines =
            ["starts", "E0312 1 a.go:1] panic", "goroutine 1", "I0312 1 a.go:2] up"].map(str::to_owned);
        let found = |level: &str, q: &str| {
            let query = LogQuery { level: level.into(), q: q.into(), ..LogQuery::default() };
            matching(&lines, &query).len()
        };
        assert_eq!((found("", ""), found("info", ""), found("warn", ""), found("error", "")), (4, 3, 2, 2));
        assert_eq!((found("error", "GOROUTINE"), found("error", "up"), found("odd", "")), (1, 0, 4));
    }

    #[test]
    fn the_default_container_is_first() {
        let pod = json!({
            "metadata": { "annotations": { "kubectl.kubernetes.io/default-container": "b" } },
            "spec": { "containers": [{ "name": "a" }, { "name": "b" }], "initContainers": [{ "name": "i" }, {}] },
            "status": { "containerStatuses": [{ "name": "a", "restartCount": 3 }] },
        });
        let read = |pod| containers(&serde_json::from_value(pod).unwrap());
        let names: Vec<(String, String)> = read(pod);
        assert_eq!(names[0].0, "b");
        assert_eq!(names[1], ("a".to_owned(), "3 restarts".to_owned()));
        assert_eq!(names[2], ("i".to_owned(), "init".to_owned()));
        assert!(read(json!({ "spec": 7 })).is_empty());
    }
}
