//! Scripted responses for tests and demonstrations, and the log of requests.

use std::collections::VecDeque;

use hyper::Method;
use rp_base::Timestamp;
use serde_json::{Value, json};

/// The most requests that are remembered.
const MOST: usize = 50_000;

/// A scripted fault.
#[derive(Debug, Clone)]
pub struct Fault {
    /// `None`: any.
    pub method: Option<Method>,
    /// Substring of the path, case-insensitive. Also applies to what a deployment writes.
    pub path: String,
    /// How often; `None`: until it is removed.
    pub times: Option<u32>,
    pub answer: FaultResponse,
}

/// The response that replaces the real one.
#[derive(Debug, Clone)]
pub enum FaultResponse {
    Status {
        status: u16,
        code: String,
        message: String,
        /// Seconds.
        retry_after: Option<u32>,
    },
    /// A whole body of that status.
    Error(u16, Value),
    /// Nothing, ever.
    Hang,
    /// The request is carried out, but the response is lost.
    Lost,
    /// This, with 200.
    Body(Value),
}

impl FaultResponse {
    /// An error of ARM.
    pub fn status(status: u16, code: &str) -> Self {
        Self::Status { status, code: code.to_owned(), message: format!("scripted {code}"), retry_after: None }
    }

    /// 429 with `Retry-After`.
    pub fn throttled(seconds: u32) -> Self {
        let (code, message) = ("TooManyRequests".to_owned(), "scripted".to_owned());
        Self::Status { status: 429, code, message, retry_after: Some(seconds) }
    }

    /// A policy of the customer that denies it.
    pub fn policy(definition: &str, assignment: &str) -> Self {
        let info = json!({"policyDefinitionDisplayName": definition, "policyAssignmentDisplayName": assignment,
            "policyDefinitionName": definition, "policyAssignmentName": assignment, "policyDefinitionEffect": "deny"});
        let message =
            format!("Resource was disallowed by policy. Policy identifiers: '{assignment}', '{definition}'.");
        Self::Error(
            403,
            json!({"error": {"code": "RequestDisallowedByPolicy", "message": message,
                "additionalInfo": [{"type": "PolicyViolation", "info": info}]}}),
        )
    }

    /// The quota is used up.
    pub fn quota() -> Self {
        let message = "Operation could not be completed as it results in exceeding approved Total Regional Cores quota. Current Limit: 10, Current Usage: 10, Additional Required: 8, (Minimum) New Limit Required: 18.";
        Self::Error(409, json!({"error": {"code": "OperationNotAllowed", "message": message}}))
    }
}

/// One request and what it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRequest {
    /// Counts from 1 in the order of their ends.
    pub number: u64,
    /// When it came, by the stand-in's clock.
    pub came: Timestamp,
    pub method: Method,
    pub path: String,
    /// Of a question to AppLens, the question.
    pub query: String,
    /// 0: it got no answer.
    pub status: u16,
    /// The header `user-agent`, by which a test distinguishes processes.
    pub agent: String,
}

#[derive(Debug, Default)]
pub(super) struct Script {
    faults: Vec<Fault>,
    log: VecDeque<LoggedRequest>,
    numbers: u64,
}

impl Script {
    pub(super) fn add(&mut self, fault: Fault) {
        self.faults.push(Fault { path: fault.path.to_ascii_lowercase(), ..fault });
    }

    pub(super) fn clear(&mut self) {
        self.faults.clear();
    }

    pub(super) fn answer(&mut self, method: &Method, path: &str) -> Option<FaultResponse> {
        let path = path.to_ascii_lowercase();
        let fits = |fault: &Fault| {
            fault.method.as_ref().is_none_or(|of| of == method)
                && path.contains(&fault.path)
                && fault.times != Some(0)
        };
        let fault = self.faults.iter_mut().find(|fault| fits(fault))?;
        fault.times = fault.times.map(|times| times.saturating_sub(1));
        Some(fault.answer.clone())
    }

    pub(super) fn record(&mut self, mut request: LoggedRequest) {
        self.numbers += 1;
        request.number = self.numbers;
        if self.log.len() >= MOST {
            self.log.pop_front();
        }
        self.log.push_back(request);
    }

    /// How many there were so far, also of those that are forgotten.
    pub(super) const fn numbers(&self) -> u64 {
        self.numbers
    }

    pub(super) fn forget(&mut self) {
        self.log.clear();
    }

    pub(super) fn log(&self) -> Vec<LoggedRequest> {
        self.log.iter().cloned().collect()
    }
}
