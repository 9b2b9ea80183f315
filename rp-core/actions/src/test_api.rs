//! An API server that answers what a test lays down, and remembers what it was asked to change.

use std::collections::{BTreeMap, VecDeque};

use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{CallError, ClusterApi};

#[derive(Debug, Default)]
pub(crate) struct TestApi {
    /// Answers to GET by path; the last one stays.
    objects: Mutex<BTreeMap<String, VecDeque<Value>>>,
    /// By `METHOD path`.
    refusals: BTreeMap<String, (u16, String)>,
    changes: Mutex<Vec<(String, Value)>>,
}

impl TestApi {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(self, path: &str, object: Value) -> Self {
        self.objects.lock().insert(path.to_owned(), VecDeque::from([object]));
        self
    }

    /// What a later GET of the path answers.
    pub(crate) fn then(self, path: &str, object: Value) -> Self {
        self.objects.lock().entry(path.to_owned()).or_default().push_back(object);
        self
    }

    pub(crate) fn refuses(mut self, request: &str, status: u16, message: &str) -> Self {
        self.refusals.insert(request.to_owned(), (status, message.to_owned()));
        self
    }

    /// `METHOD path` of every change, in order.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.changes.lock().iter().map(|(request, _)| request.clone()).collect()
    }

    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.changes.lock().iter().map(|(_, body)| body.clone()).collect()
    }

    fn read(&self, path: &str) -> Option<Value> {
        let mut objects = self.objects.lock();
        let answers = objects.get_mut(path)?;
        if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
    }
}

impl ClusterApi for TestApi {
    type Error = ();

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, CallError<()>> {
        let refused = |status, message: &str| CallError {
            status: Some(status),
            message: message.to_owned(),
            error: (),
        };
        if method == Method::GET {
            return self.read(path).ok_or_else(|| refused(404, "not found"));
        }
        let request = format!("{method} {path}");
        self.changes.lock().push((request.clone(), body.cloned().unwrap_or_default()));
        match self.refusals.get(&request) {
            Some((status, message)) => Err(refused(*status, message)),
            None => Ok(json!({})),
        }
    }
}
