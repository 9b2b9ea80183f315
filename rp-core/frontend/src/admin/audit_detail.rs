//! What the audit log holds of an action beside its query: the object and the command in its body, or the question.

use http::Method;
use serde_json::Value;

use super::action::Action;
use super::exec::ExecBody;
use super::investigate::InvestigateBody;
use super::path::Admin;
use super::run_job::JobManifest;
use crate::call::Call;
use crate::path::Route;

/// The object of an action, and what runs; nothing of it is checked yet.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct AuditDetail {
    /// `Kind`, or `Kind apiVersion`.
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
}

/// What the body of a call says about its object.
pub(crate) fn audit_detail(route: &Route, call: &Call) -> AuditDetail {
    match route {
        Route::Admin(Admin::Action { action: Action::Exec, .. }) => {
            let body = ExecBody::parse(call).unwrap_or_default();
            AuditDetail {
                kind: "Pod".to_owned(),
                namespace: body.namespace,
                name: format!("{}/{}", body.pod_name, body.container),
                command: vec!["sh".to_owned(), "-c".to_owned(), body.command],
            }
        }
        Route::Admin(Admin::Action { action: Action::RunJob, .. }) => match JobManifest::parse(&call.body) {
            Ok(job) => AuditDetail {
                kind: "Job batch/v1".to_owned(),
                command: job.command(),
                namespace: job.namespace,
                name: job.name,
            },
            Err(_) => AuditDetail::default(),
        },
        Route::Admin(Admin::Action { action: Action::Investigate, .. }) => AuditDetail {
            kind: "Question".to_owned(),
            command: InvestigateBody::parse(&call.body).map(|body| vec![body.question]).unwrap_or_default(),
            ..AuditDetail::default()
        },
        Route::Admin(Admin::Objects(_)) if call.method == Method::POST => {
            let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
            let text = |at: &str| body.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
            AuditDetail {
                kind: format!("{} {}", text("/kind"), text("/apiVersion")),
                namespace: text("/metadata/namespace"),
                name: text("/metadata/name"),
                command: Vec::new(),
            }
        }
        _ => AuditDetail::default(),
    }
}
