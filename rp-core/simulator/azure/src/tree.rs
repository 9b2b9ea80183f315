//! The resources: what was put and deleted, over what is there by itself, and who refers to whom.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::{Value, json};

use super::Contents;
use super::change_journal::{ChangeJournal, Line};
use super::id::{GROUP, Id, ResourcePath, group_of, subscription_of};

/// The most resources that may be put.
const MOST: usize = 500_000;
/// How deep a body is searched for references.
const DEPTH: usize = 16;

#[derive(Debug)]
pub(super) struct Tree {
    contents: Arc<dyn Contents>,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By id in lower case; `None`: deleted.
    put: BTreeMap<String, Option<Entry>>,
    kinds: HashMap<String, BTreeSet<String>>,
    /// Target → (resource, item of it) that names it.
    refs: BTreeMap<String, BTreeSet<(String, String)>>,
    tenants: HashMap<String, String>,
    /// `None`: it ends with the process.
    keep: Option<ChangeJournal>,
}

#[derive(Debug)]
struct Entry {
    kind: String,
    body: Value,
    /// Targets and items of its references.
    refs: Vec<(String, String)>,
}

impl Tree {
    /// With what the file keeps, where there is one.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(super) fn open(contents: Arc<dyn Contents>, file: Option<&Path>) -> io::Result<Self> {
        let mut state = State::default();
        if let Some(file) = file {
            for line in ChangeJournal::read(file)? {
                state.replay(line);
            }
            state.keep = Some(ChangeJournal::write(file, &state.lines())?);
        }
        Ok(Self { contents, state: RwLock::new(state) })
    }

    /// A body, by the id in lower case.
    pub(super) fn get(&self, key: &str) -> Option<Value> {
        match self.state.read().put.get(key) {
            Some(entry) => entry.as_ref().map(|entry| entry.body.clone()),
            None => self.contents.get(&ResourcePath::parse(key)?),
        }
    }

    /// Of an id as it stands in another resource's body.
    pub(super) fn find(&self, id: &str) -> Option<Value> {
        self.get(&id.to_ascii_lowercase())
    }

    /// Keeps a body with id, name and type; false: there is no room.
    pub(super) fn put(&self, id: &Id, body: &mut Value) -> bool {
        body["id"] = json!(id.asked);
        body["name"] = json!(id.name());
        body["type"] = json!(id.shown_kind());
        let mut state = self.state.write();
        if state.put.len() >= MOST && !state.put.contains_key(&id.key) {
            return false;
        }
        if !state.note(|| Line::Put(body.clone())) {
            return false;
        }
        state.insert(id, body.clone());
        true
    }

    /// Changes a body in place, without a change of its references.
    pub(super) fn change(&self, key: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.state.write();
        if let Some(Some(entry)) = state.put.get_mut(key) {
            change(&mut entry.body);
            let body = entry.body.clone();
            state.note(|| Line::Put(body));
        }
    }

    /// Deletes it and everything below it; false when there was nothing.
    pub(super) fn delete(&self, key: &str) -> bool {
        let there = self.get(key).is_some() || self.has_group(key);
        let own = ResourcePath::parse(key).is_some_and(|path| self.contents.get(&path).is_some());
        let group = own || self.contents_group(key);
        let mut state = self.state.write();
        state.note(|| Line::Gone { key: key.to_owned(), away: group });
        state.remove(key, group);
        there
    }

    /// Resources of a type below a scope, ordered by id. A subscription has those of its groups; a group and a resource
    /// their own.
    pub(super) fn list(&self, scope: &str, kind: &str) -> Vec<Value> {
        let mut all = BTreeMap::new();
        self.visit(scope, kind, |key, body| {
            all.insert(key.to_owned(), body.clone());
        });
        all.into_values().collect()
    }

    /// Shows each resource that [`Tree::list`] gives, in any order and without a copy: key and body. The tree is locked
    /// meanwhile.
    pub(super) fn visit(&self, scope: &str, kind: &str, mut see: impl FnMut(&str, &Value)) {
        let group = group_of(scope).and_then(|group| group.rsplit('/').next());
        let plain = scope.matches('/').count() <= 4;
        let own = if plain { self.contents.list(subscription_of(scope), group, kind) } else { Vec::new() };
        let state = self.state.read();
        for body in own {
            let key = body["id"].as_str().unwrap_or_default().to_ascii_lowercase();
            if !state.put.contains_key(&key) {
                see(&key, &body);
            }
        }
        state.of_kind_below(kind, &format!("{scope}/"), see);
    }

    /// Extensions of a type that were put on a resource or on what it is in: key and body.
    pub(super) fn extensions(&self, kind: &str, key: &str) -> Vec<(String, Value)> {
        let state = self.state.read();
        let mut all = Vec::new();
        let inside = key.match_indices('/').skip(1).map(|(at, _)| &key[..at]);
        for scope in inside.chain([key]) {
            let below = format!("{scope}/providers/{kind}/");
            state.of_kind_below(kind, &below, |key, body| all.push((key.to_owned(), body.clone())));
        }
        all
    }

    /// Every resource that was put below a scope, without groups, deployments and what is below another resource.
    pub(super) fn everything(&self, scope: &str) -> Vec<Value> {
        let state = self.state.read();
        let below = format!("{scope}/");
        let shown = |entry: &&Entry| {
            entry.kind.matches('/').count() == 1
                && entry.kind != GROUP
                && entry.kind != "microsoft.resources/deployments"
                && !entry.kind.starts_with("microsoft.authorization/")
        };
        let all = state.under(&below).filter_map(|(_, entry)| entry.as_ref());
        all.filter(shown).map(|entry| entry.body.clone()).collect()
    }

    /// Keys of what was put below a scope, ordered.
    pub(super) fn keys(&self, scope: &str) -> Vec<String> {
        let state = self.state.read();
        let below = format!("{scope}/");
        let all = state.under(&below);
        all.filter(|(_, entry)| entry.is_some()).map(|(key, _)| key.clone()).collect()
    }

    /// Keys and bodies of a type, wherever they are, of which the key fits.
    pub(super) fn of_kind(&self, kind: &str, fits: impl Fn(&str) -> bool) -> Vec<(String, Value)> {
        let state = self.state.read();
        let mut all = Vec::new();
        state.of_kind_below(kind, "", |key, body| {
            if fits(key) {
                all.push((key.to_owned(), body.clone()));
            }
        });
        all
    }

    /// Who names that id or something below it: resource, item of it as it is written.
    pub(super) fn referrers(&self, key: &str) -> Vec<(String, String)> {
        let state = self.state.read();
        let below = format!("{key}/");
        let inside = state.refs.range::<String, _>((Bound::Excluded(below.clone()), Bound::Unbounded));
        let inside = inside.take_while(|(target, _)| target.starts_with(&below)).flat_map(|(_, all)| all);
        let own = state.refs.get(key).into_iter().flatten();
        own.chain(inside).filter(|(source, _)| !source.starts_with(&below)).cloned().collect()
    }

    /// Who names exactly that id.
    pub(super) fn named_by(&self, key: &str) -> Vec<(String, String)> {
        self.state.read().refs.get(key).into_iter().flatten().cloned().collect()
    }

    /// Whether a group is there, by its key.
    pub(super) fn has_group(&self, key: &str) -> bool {
        match self.state.read().put.get(key) {
            Some(entry) => entry.is_some(),
            None => self.contents_group(key),
        }
    }

    fn contents_group(&self, key: &str) -> bool {
        let name = key.rsplit('/').next().unwrap_or_default();
        key.matches('/').count() == 4 && self.contents.has_group(subscription_of(key), name)
    }

    pub(super) fn tenant(&self, subscription: &str) -> Option<String> {
        let told = self.state.read().tenants.get(subscription).cloned();
        told.or_else(|| self.contents.tenant(subscription))
    }

    pub(super) fn subscribe(&self, subscription: &str, tenant: &str) {
        let (subscription, tenant) = (subscription.to_ascii_lowercase(), tenant.to_ascii_lowercase());
        self.state.write().tenants.insert(subscription, tenant);
    }

    pub(super) fn subscriptions(&self, tenant: Option<&str>) -> Vec<(String, String)> {
        let state = self.state.read();
        let mut all: Vec<(String, String)> = state
            .tenants
            .iter()
            .filter(|(_, of)| tenant.is_none_or(|tenant| tenant == of.as_str()))
            .map(|(subscription, tenant)| (subscription.clone(), tenant.clone()))
            .collect();
        all.sort();
        all
    }
}

impl State {
    fn insert(&mut self, id: &Id, body: Value) {
        let mut refs = Vec::new();
        references(&body, &id.key, &id.asked, DEPTH, &mut refs);
        self.forget(&id.key);
        for (target, item) in &refs {
            self.refs.entry(target.clone()).or_default().insert((id.key.clone(), item.clone()));
        }
        self.kinds.entry(id.kind.clone()).or_default().insert(id.key.clone());
        let entry = Entry { kind: id.kind.clone(), body, refs };
        self.put.insert(id.key.clone(), Some(entry));
    }

    fn remove(&mut self, key: &str, away: bool) {
        let below = format!("{key}/");
        let mut gone: Vec<String> = self.under(&below).map(|(key, _)| key.clone()).collect();
        gone.push(key.to_owned());
        for one in gone {
            self.forget(&one);
            self.put.remove(&one);
        }
        if away {
            // Generated resources stay deleted only while the tree remembers it.
            self.put.insert(key.to_owned(), None);
        }
    }

    fn replay(&mut self, line: Line) {
        match line {
            Line::Put(body) => {
                if let Some(id) = body["id"].as_str().and_then(Id::parse) {
                    self.insert(&id, body);
                }
            }
            Line::Gone { key, away } => self.remove(&key, away),
        }
    }

    /// Of what is there now.
    fn lines(&self) -> Vec<Line> {
        let line = |(key, entry): (&String, &Option<Entry>)| match entry {
            Some(entry) => Line::Put(entry.body.clone()),
            None => Line::Gone { key: key.clone(), away: true },
        };
        self.put.iter().map(line).collect()
    }

    /// Keeps a change before it is made; false: it cannot be kept.
    fn note(&mut self, line: impl FnOnce() -> Line) -> bool {
        let Some(mut keep) = self.keep.take() else { return true };
        if keep.is_long() {
            keep.renew(&self.lines());
        }
        let kept = keep.add(&line());
        self.keep = Some(keep);
        kept
    }

    /// Shows each resource of a type that was put and whose key begins with `below`, in order.
    fn of_kind_below(&self, kind: &str, below: &str, mut see: impl FnMut(&str, &Value)) {
        let from = (Bound::Excluded(below.to_owned()), Bound::Unbounded);
        let keys = self.kinds.get(kind).into_iter().flat_map(|keys| keys.range::<String, _>(from.clone()));
        for key in keys.take_while(|key| key.starts_with(below)) {
            if let Some(Some(entry)) = self.put.get(key) {
                see(key, &entry.body);
            }
        }
    }

    fn under(&self, below: &str) -> impl Iterator<Item = (&String, &Option<Entry>)> {
        let range = self.put.range::<String, _>((Bound::Excluded(below.to_owned()), Bound::Unbounded));
        let below = below.to_owned();
        range.take_while(move |(key, _)| key.starts_with(&below))
    }

    fn forget(&mut self, key: &str) {
        let Some(Some(old)) = self.put.get(key) else { return };
        let (kind, refs) = (old.kind.clone(), old.refs.clone());
        for (target, item) in refs {
            if let Some(all) = self.refs.get_mut(&target) {
                all.remove(&(key.to_owned(), item));
                if all.is_empty() {
                    self.refs.remove(&target);
                }
            }
        }
        if let Some(all) = self.kinds.get_mut(&kind) {
            all.remove(key);
        }
    }
}

/// The ids that a body names, each with the id of the innermost own item that names it.
fn references(value: &Value, own: &str, item: &str, depth: usize, found: &mut Vec<(String, String)>) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Array(all) => all.iter().for_each(|one| references(one, own, item, depth - 1, found)),
        Value::Object(members) => {
            let id = members.get("id").and_then(Value::as_str).unwrap_or_default();
            let key = id.to_ascii_lowercase();
            let item = if key.starts_with(own) { id } else { item };
            for link in [id, members.get("privateLinkServiceId").and_then(Value::as_str).unwrap_or_default()]
            {
                let key = link.to_ascii_lowercase();
                if key.starts_with("/subscriptions/") && !key.starts_with(own) {
                    found.push((key, item.to_owned()));
                }
            }
            members.values().for_each(|one| references(one, own, item, depth - 1, found));
        }
        _ => {}
    }
}
