//! Names for completion: loaded once from Prometheus, searched here, so that half a million of them cost the
//! page nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::BodyExt as _;
use memchr::memmem;
use parking_lot::{Mutex, RwLock};
use prometheus_http_query::response::MetricMetadata;
use rp_documents::ResourceId;
use rp_net::Target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::call::{Call, Limits};
use crate::error::{ErrorView, PromError};
use crate::form;
use crate::reach::Prometheus;
use crate::source::SourceChoice;
use crate::unquote::Strings;

/// What is completed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CompletionKind {
    Metrics,
    /// Labels, of one metric or of all.
    Labels {
        metric: Option<String>,
    },
    /// Values of a label, of one metric or of all.
    Values {
        label: String,
        metric: Option<String>,
    },
}

/// A request for suggestions.
#[derive(Debug, Clone)]
pub struct CompletionRequest {
    pub what: CompletionKind,
    /// Words that all must occur in a name.
    pub text: String,
    pub limit: usize,
    pub source: SourceChoice,
}

/// One suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Suggestion {
    pub value: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// Suggestions, best first.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Suggestions {
    pub items: Vec<Suggestion>,
    pub more: bool,
    /// Names that match.
    pub total: usize,
    /// Whether all names were loaded.
    pub complete: bool,
}

/// A response is given at the latest after this time, with the names loaded so far.
const FIRST_ANSWER: Duration = Duration::from_millis(80);
/// Names are loaded again after this time.
const FRESH: Duration = Duration::from_secs(300);
const FRESH_SMALL: Duration = Duration::from_secs(60);
/// A load that failed is repeated after this time.
const RETRY_FAILED: Duration = Duration::from_secs(5);
/// Between two tries to learn types.
const LEARN_AGAIN: Duration = Duration::from_secs(5);
/// Names of one list, and bytes of it.
const MOST_NAMES: usize = 2_000_000;
const MOST_LIST: usize = 64 << 20;
/// Bytes of metric metadata: type and help.
const MOST_METADATA: usize = 8 << 20;
const MOST_LIMIT: usize = 500;
/// Unused names are dropped after this time.
const FORGET: Duration = Duration::from_secs(900);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    cluster: ResourceId,
    source: SourceChoice,
    what: CompletionKind,
}

#[derive(Debug)]
struct List {
    names: RwLock<Names>,
    complete: AtomicBool,
    failed: Mutex<Option<ErrorView>>,
    changed: Notify,
    began: Instant,
    used: Mutex<Instant>,
}

impl List {
    fn new() -> Self {
        Self {
            names: RwLock::default(),
            complete: AtomicBool::new(false),
            failed: Mutex::default(),
            changed: Notify::new(),
            began: Instant::now(),
            used: Mutex::new(Instant::now()),
        }
    }

    fn age_limit(&self, what: &CompletionKind) -> Duration {
        if self.failed.lock().is_some() {
            RETRY_FAILED
        } else if *what == CompletionKind::Metrics {
            FRESH
        } else {
            FRESH_SMALL
        }
    }
}

type Metadata = HashMap<String, (String, String)>;

/// The lists of all clusters, bounded in memory.
#[derive(Debug)]
pub(crate) struct NameCache {
    most: usize,
    lists: Mutex<HashMap<Key, Arc<List>>>,
    metadata: Mutex<HashMap<ResourceId, (Arc<Metadata>, Instant)>>,
    /// When metadata was last requested.
    asked: Mutex<HashMap<ResourceId, Instant>>,
}

impl NameCache {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, lists: Mutex::default(), metadata: Mutex::default(), asked: Mutex::default() }
    }

    pub(crate) fn sweep(&self) {
        let mut lists = self.lists.lock();
        lists.retain(|_, list| list.used.lock().elapsed() < FORGET);
        self.metadata.lock().retain(|cluster, _| lists.keys().any(|key| key.cluster == *cluster));
        self.asked.lock().retain(|_, at| at.elapsed() < FORGET);
    }

    /// Drops the least recently used lists until the rest fits.
    fn bound(&self, keep: &Key) {
        let mut lists = self.lists.lock();
        loop {
            let held: usize = lists.values().map(|list| list.names.read().bytes()).sum();
            let oldest = lists
                .iter()
                .filter(|(key, _)| *key != keep)
                .min_by_key(|(_, list)| *list.used.lock())
                .map(|(key, _)| key.clone());
            let Some(oldest) = oldest.filter(|_| held > self.most || lists.len() > 4096) else { return };
            lists.remove(&oldest);
        }
    }
}

impl Prometheus {
    /// Names that match a request. Starts loading them when needed, and returns those loaded so far.
    ///
    /// # Errors
    /// They could not be loaded; the error is cached for some seconds, then loading is tried again.
    pub async fn suggest(
        self: &Arc<Self>,
        target: &Arc<Target>,
        wish: &CompletionRequest,
    ) -> Result<Suggestions, ErrorView> {
        let list = self.list(target, wish);
        *list.used.lock() = Instant::now();
        let deadline = Instant::now() + FIRST_ANSWER;
        let limit = wish.limit.clamp(1, MOST_LIMIT);
        loop {
            let changed = list.changed.notified();
            let complete = list.complete.load(Ordering::Acquire);
            if let Some(shown) = list.failed.lock().clone() {
                return Err(shown);
            }
            if complete || Instant::now() >= deadline {
                let found = list.names.read().search(&wish.text, limit);
                let shown = self.shown(&target.id, &wish.what, found, complete);
                self.learn(target, wish, &shown);
                return Ok(shown);
            }
            // A timeout is no error: the names loaded so far are returned.
            let _ = tokio::time::timeout_at(deadline, changed).await;
        }
    }

    /// Starts to load the metric names when a page that completes them is opened.
    pub fn warm(self: &Arc<Self>, target: &Arc<Target>, source: SourceChoice) {
        let wish = CompletionRequest { what: CompletionKind::Metrics, text: String::new(), limit: 1, source };
        self.list(target, &wish);
    }

    /// Requests missing metadata again from time to time: a Prometheus that has just started knows few types.
    fn learn(self: &Arc<Self>, target: &Arc<Target>, wish: &CompletionRequest, shown: &Suggestions) {
        let missing = shown.complete && shown.items.iter().any(|item| item.kind.is_none());
        if wish.what != CompletionKind::Metrics || !missing {
            return;
        }
        let mut asked = self.names.asked.lock();
        if asked.get(&target.id).is_some_and(|at| at.elapsed() < LEARN_AGAIN) {
            return;
        }
        asked.insert(target.id.clone(), Instant::now());
        drop(asked);
        let (this, target, source) = (Arc::clone(self), Arc::clone(target), wish.source);
        tokio::spawn(async move { this.load_metadata(&target, source).await });
    }

    fn shown(
        &self,
        id: &ResourceId,
        what: &CompletionKind,
        found: (Vec<String>, usize),
        complete: bool,
    ) -> Suggestions {
        let (names, total) = found;
        let known = match what {
            CompletionKind::Metrics => self.names.metadata.lock().get(id).map(|(known, _)| Arc::clone(known)),
            _ => None,
        };
        let item = |value: String| {
            let known = known.as_ref().and_then(|known| family_metadata(known, &value));
            let (kind, help) = known.map(|(kind, help)| (kind.clone(), help.clone())).unzip();
            Suggestion { value, kind, help: help.filter(|help| !help.is_empty()) }
        };
        let items: Vec<Suggestion> = names.into_iter().map(item).collect();
        Suggestions { more: total > items.len() || !complete, items, total, complete }
    }

    fn list(self: &Arc<Self>, target: &Arc<Target>, wish: &CompletionRequest) -> Arc<List> {
        let key = Key { cluster: target.id.clone(), source: wish.source, what: wish.what.clone() };
        let mut lists = self.names.lists.lock();
        if let Some(list) = lists.get(&key)
            && list.began.elapsed() < list.age_limit(&wish.what)
        {
            return Arc::clone(list);
        }
        let old = lists.get(&key).filter(|old| old.failed.lock().is_none()).cloned();
        let list = Arc::new(List::new());
        // The old list is used until the new one is complete.
        if old.is_none() {
            lists.insert(key.clone(), Arc::clone(&list));
        } else if let Some(old) = &old {
            let again = Arc::new(List::new());
            *again.names.write() = std::mem::take(&mut *old.names.write());
            again.complete.store(old.complete.load(Ordering::Acquire), Ordering::Release);
            lists.insert(key.clone(), Arc::clone(&again));
            drop(lists);
            self.load(target, key, list, Some(Arc::clone(&again)));
            return again;
        }
        drop(lists);
        self.load(target, key, Arc::clone(&list), None);
        list
    }

    fn load(self: &Arc<Self>, target: &Arc<Target>, key: Key, list: Arc<List>, into: Option<Arc<List>>) {
        let (this, target) = (Arc::clone(self), Arc::clone(target));
        tokio::spawn(async move {
            let loaded = this.load_names(&target, &key, &list).await;
            let (shown, failed) = match loaded {
                Ok(()) => (true, None),
                Err(error) => (false, Some(error.shown())),
            };
            match into {
                Some(into) if shown => *into.names.write() = std::mem::take(&mut *list.names.write()),
                // The old names are still used.
                Some(_) => {}
                None => {
                    *list.failed.lock() = failed;
                    list.complete.store(shown, Ordering::Release);
                    list.changed.notify_waiters();
                }
            }
            this.names.bound(&key);
        });
    }

    async fn load_names(&self, target: &Arc<Target>, key: &Key, list: &List) -> Result<(), PromError> {
        let limits = Limits {
            time: Duration::from_secs(60),
            series: MOST_NAMES,
            drawn: MOST_NAMES,
            bytes: MOST_LIST as u64,
        };
        let call = self.names_call(key, limits);
        let answer = self.ask(target, &call).await?;
        let mut strings = Strings::default();
        let mut body = answer.body;
        let read = async {
            while let Some(frame) = body.frame().await {
                let Ok(piece) = frame?.into_data() else { continue };
                let mut names = list.names.write();
                strings.feed(&piece, |name| names.push(name));
                drop(names);
                list.changed.notify_waiters();
            }
            Ok::<_, PromError>(())
        };
        timeout(limits.time, read).await.map_err(|_| PromError::Slow(limits.time))??;
        list.names.write().finish();
        Ok(())
    }

    fn names_call(&self, key: &Key, limits: Limits) -> Call {
        let matching = |metric: &Option<String>| {
            metric.as_ref().map(|metric| ("match[]", format!("{{__name__={}}}", rp_promql::quoted(metric))))
        };
        let (path, matched) = match &key.what {
            CompletionKind::Metrics => ("label/__name__/values".to_owned(), None),
            CompletionKind::Labels { metric } => ("labels".to_owned(), matching(metric)),
            CompletionKind::Values { label, metric } => {
                (format!("label/{}/values", escaped(label)), matching(metric))
            }
        };
        // Only names seen within the last day.
        let start = ("start", format!("{:.0}", self.now() - 86_400.0));
        let params = std::iter::once(start).chain(matched);
        Call::internal(&path, params.map(|(name, value)| (name.to_owned(), value)), key.source, limits)
    }

    /// Types and help texts; completion works without them.
    async fn load_metadata(&self, target: &Arc<Target>, source: SourceChoice) {
        #[derive(Deserialize)]
        struct MetadataBody {
            data: HashMap<String, Vec<MetricMetadata>>,
        }
        let limits =
            Limits { time: Duration::from_secs(30), series: 1, drawn: 1, bytes: MOST_METADATA as u64 };
        let limit = [("limit".to_owned(), "20000".to_owned())];
        let call = Call::internal("metadata", limit, source, limits);
        let Ok(answer) = self.ask(target, &call).await else { return };
        let Ok((bytes, _)) = crate::table::read(answer, MOST_METADATA).await else { return };
        let Ok(answer) = serde_json::from_slice::<MetadataBody>(&bytes) else { return };
        let entries = answer.data.into_iter().filter_map(|(name, entries)| {
            let entry = entries.into_iter().next()?;
            Some((name, (entry.metric_type().to_string(), rp_base::text::clean(entry.help(), 300))))
        });
        let known: Arc<Metadata> = Arc::new(entries.collect());
        self.names.metadata.lock().insert(target.id.clone(), (known, Instant::now()));
    }
}

/// Metadata is stored per metric family: `x_bucket` belongs to `x`.
fn family_metadata<'a>(known: &'a Metadata, name: &str) -> Option<&'a (String, String)> {
    known.get(name).or_else(|| {
        let family = ["_bucket", "_sum", "_count"].into_iter().find_map(|end| name.strip_suffix(end))?;
        known.get(family)
    })
}

/// A label as a path segment: Prometheus' `U__` escaping for names beyond letters, digits and `_`.
fn escaped(label: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if label.chars().all(plain) && !label.starts_with(|c: char| c.is_ascii_digit()) {
        return label.to_owned();
    }
    let mut out = String::from("U__");
    for c in label.chars() {
        match c {
            '_' => out.push_str("__"),
            c if c.is_ascii_alphanumeric() => out.push(c),
            c => out.push_str(&format!("_{:x}_", u32::from(c))),
        }
    }
    form::segment(&out)
}

/// Names in one piece of memory, each ended by a line feed.
#[derive(Debug, Default)]
pub(crate) struct Names {
    text: String,
    /// Where each begins.
    starts: Vec<u32>,
    /// Those with capital letters: search is without regard to case.
    capital: Vec<u32>,
}

impl Names {
    pub(crate) fn push(&mut self, name: &str) {
        let fits = self.text.len() + name.len() < MOST_LIST && self.starts.len() < MOST_NAMES;
        if !fits || name.contains('\n') || name.is_empty() {
            return;
        }
        let (Ok(start), Ok(number)) = (u32::try_from(self.text.len()), u32::try_from(self.starts.len()))
        else {
            return;
        };
        if name.bytes().any(|b| b.is_ascii_uppercase()) {
            self.capital.push(number);
        }
        self.starts.push(start);
        self.text.push_str(name);
        self.text.push('\n');
    }

    fn finish(&mut self) {
        self.text.shrink_to_fit();
        self.starts.shrink_to_fit();
    }

    fn bytes(&self) -> usize {
        self.text.capacity() + 4 * (self.starts.capacity() + self.capital.capacity())
    }

    fn name(&self, number: usize) -> &str {
        let start = self.starts.get(number).map_or(0, |start| *start as usize);
        let end = self.starts.get(number + 1).map_or(self.text.len(), |end| *end as usize);
        self.text.get(start..end).unwrap_or_default().trim_end_matches('\n')
    }

    /// The best `limit` names and how many match: those that begin with the text, then those with a word that
    /// does, then the rest; in each the order of the list.
    pub(crate) fn search(&self, text: &str, limit: usize) -> (Vec<String>, usize) {
        let text: String = text.chars().take(200).collect::<String>().to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some(longest) = words.iter().max_by_key(|word| word.len()) else {
            let first = (0..self.starts.len().min(limit)).map(|number| self.name(number).to_owned());
            return (first.collect(), self.starts.len());
        };
        let mut ranks: [Vec<usize>; 3] = Default::default();
        let mut total = 0;
        let mut take = |number: usize, name: &str| {
            let Some(rank) = rank(name, &words) else { return };
            total += 1;
            if ranks[rank].len() < limit {
                ranks[rank].push(number);
            }
        };
        for number in &self.capital {
            let name = self.name(*number as usize);
            take(*number as usize, &name.to_lowercase());
        }
        let finder = memmem::Finder::new(longest);
        let mut from = 0;
        while let Some(found) = finder.find(self.text.as_bytes().get(from..).unwrap_or_default()) {
            let at = from + found;
            let number = self.starts.partition_point(|start| *start as usize <= at).saturating_sub(1);
            let name = self.name(number);
            // Names with capitals were already examined above.
            if self.capital.binary_search(&u32::try_from(number).unwrap_or(u32::MAX)).is_err() {
                take(number, name);
            }
            from = self.starts.get(number + 1).map_or(self.text.len(), |start| *start as usize);
        }
        let best = ranks.iter().flatten().take(limit).map(|number| self.name(*number).to_owned());
        (best.collect(), total)
    }
}

/// 0: begins with the first word; 1: a part of it does; 2: anywhere; `None`: a word is missing.
fn rank(name: &str, words: &[&str]) -> Option<usize> {
    if !words.iter().all(|word| name.contains(word)) {
        return None;
    }
    let first = words.first()?;
    if name.starts_with(first) {
        return Some(0);
    }
    let part = name.match_indices(first).any(|(at, _)| name[..at].ends_with(|c: char| !c.is_alphanumeric()));
    Some(if part { 1 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Names {
        let mut names = Names::default();
        all.iter().for_each(|name| names.push(name));
        names
    }

    #[test]
    fn best_first_whatever_the_case() {
        let names =
            names(&["ALERTS", "cpu_usage", "node_cpu_seconds_total", "node_xcpu", "up", "weird.name é"]);
        let found = |text: &str| names.search(text, 10).0;
        assert_eq!(found("cpu"), ["cpu_usage", "node_cpu_seconds_total", "node_xcpu"]);
        assert_eq!(found("alert"), ["ALERTS"]);
        assert_eq!(found("ALERT"), ["ALERTS"]);
        assert_eq!(found("cpu node"), ["node_cpu_seconds_total", "node_xcpu"]);
        assert_eq!(found("é"), ["weird.name é"]);
        assert_eq!(found("nothing"), Vec::<String>::new());
        assert_eq!(names.search("", 2), (vec!["ALERTS".to_owned(), "cpu_usage".to_owned()], 6));
        assert_eq!(names.search("cpu", 1), (vec!["cpu_usage".to_owned()], 3));
    }

    #[test]
    fn label_names_of_any_characters_make_one_segment() {
        assert_eq!(escaped("job"), "job");
        assert_eq!(escaped("http.status_code"), "U__http_2e_status__code");
        assert_eq!(escaped("a/../é"), "U__a_2f__2e__2e__2f__e9_");
    }
}
