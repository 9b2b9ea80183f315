//! The manifest of a job, checked (`contract/frontend.md` §11.4).

use rp_api::CloudError;
use rp_base::Random;
use serde_json::{Map, Value, json};

use super::super::rules;

/// Where jobs run that name no namespace.
const NAMESPACE: &str = "openshift-azure-operator";
/// Characters of a name that are kept before the random part.
const MOST_NAME: usize = 57;
/// Random characters behind the name.
const RANDOM: usize = 5;
/// Members of `metadata` that only the API server writes, or that would tie the job to other objects.
const SERVER_OWNED: [&str; 10] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "generation",
    "finalizers",
    "ownerReferences",
    "selfLink",
];

/// A job that may be created.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::admin) struct JobManifest {
    pub(in crate::admin) namespace: String,
    pub(in crate::admin) name: String,
    /// Its only container.
    pub(in crate::admin) container: String,
    pub(in crate::admin) body: Value,
}

impl JobManifest {
    /// Reads a manifest, without checks but its form.
    ///
    /// # Errors
    /// 400 `InvalidRequestContent`.
    pub(in crate::admin) fn parse(body: &[u8]) -> Result<Self, CloudError> {
        let bad = |message: &str| CloudError::bad("InvalidRequestContent", "", message);
        if body.is_empty() {
            return Err(bad("The request body must not be empty."));
        }
        let body = serde_json::from_slice::<Value>(body).ok().filter(Value::is_object);
        let body = body.ok_or_else(|| bad("Failed to parse request body."))?;
        let text = |at: &str| body.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let namespace = match text("/metadata/namespace") {
            told if told.is_empty() => NAMESPACE.to_owned(),
            told => told,
        };
        let name = text("/metadata/name");
        let container = text("/spec/template/spec/containers/0/name");
        Ok(Self { namespace, name, container, body })
    }

    /// The arguments of its container, as an entry of the audit log shows them: image, command, arguments.
    pub(in crate::admin) fn command(&self) -> Vec<String> {
        let container = &self.body["spec"]["template"]["spec"]["containers"][0];
        let texts = |name: &str| container[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        let image = container["image"].as_str().into_iter();
        image.chain(texts("command")).chain(texts("args")).map(str::to_owned).collect()
    }

    /// Checks the rules, and drops what is not the caller's to say.
    ///
    /// # Errors
    /// 400, or 403 for a namespace that is none of the platform's.
    pub(in crate::admin) fn checked(mut self) -> Result<Self, CloudError> {
        let invalid = |message: String| Err(CloudError::invalid("", message));
        let kind = self.body["kind"].as_str().unwrap_or_default();
        if !matches!(kind, "" | "Job") {
            return invalid(format!("Expected kind 'Job', got '{kind}'."));
        }
        if self.name.is_empty() {
            return invalid("The provided Job manifest must have a non-empty metadata.name.".to_owned());
        }
        if !rules::is_name(&self.name) {
            return invalid(format!("The provided Job metadata.name '{}' is invalid.", self.name));
        }
        rules::platform_namespace(&self.namespace, |name| {
            format!("The provided Job metadata.namespace '{name}' is invalid.")
        })?;
        check_spec(&self.body["spec"])?;
        self.body["apiVersion"] = json!("batch/v1");
        self.body["kind"] = json!("Job");
        self.body["spec"]["backoffLimit"] = json!(0);
        let members = self.body.as_object_mut();
        members.map(|members| members.remove("status"));
        let metadata = self.body["metadata"].as_object_mut().map(std::mem::take).unwrap_or_default();
        let kept = metadata.into_iter().filter(|(name, _)| !SERVER_OWNED.contains(&name.as_str()));
        self.body["metadata"] = Value::Object(kept.collect::<Map<_, _>>());
        Ok(self)
    }

    /// The same under a name of its own, so that two runs do not meet.
    pub(in crate::admin) fn named(mut self, random: &dyn Random) -> Self {
        let kept: String = self.name.chars().take(MOST_NAME).collect();
        let random: String = random.uuid().simple().to_string().chars().take(RANDOM).collect();
        self.name = format!("{}-{random}", kept.trim_end_matches(['-', '.']));
        self.body["metadata"]["name"] = json!(self.name);
        self.body["metadata"]["namespace"] = json!(self.namespace);
        self
    }
}

fn check_spec(spec: &Value) -> Result<(), CloudError> {
    let invalid = |message: String| Err(CloudError::invalid("", message));
    for name in ["parallelism", "completions"] {
        if spec[name].as_i64().is_some_and(|number| number > 1) {
            return invalid(format!("Jobs with spec.{name} > 1 are not implemented."));
        }
    }
    if spec["backoffLimit"].as_i64().is_some_and(|limit| limit != 0) {
        let message = "Jobs with spec.backoffLimit != 0 are not supported; set it to 0 or omit it.";
        return invalid(message.to_owned());
    }
    let template = &spec["template"]["spec"];
    let policy = template["restartPolicy"].as_str().unwrap_or_default();
    if !matches!(policy, "Never" | "OnFailure") {
        return invalid(format!(
            "The Job pod template restartPolicy must be Never or OnFailure, got {policy:?}."
        ));
    }
    let containers = template["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let [container] = containers else {
        let count = containers.len();
        return invalid(format!("The Job pod template must define exactly one container, got {count}."));
    };
    let name = container["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        return invalid("The Job pod template must specify a non-empty container name.".to_owned());
    }
    if !rules::is_name(name) {
        return invalid(format!("The Job pod template container name '{name}' is invalid."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rp_base::SystemRandom;

    use super::*;

    fn job() -> Value {
        json!({"metadata": {"name": "fix", "uid": "u", "labels": {"a": "b"}, "ownerReferences": [{}]},
            "status": {"active": 1}, "spec": {"template": {"spec": {"restartPolicy": "Never",
                "containers": [{"name": "main", "image": "i", "command": ["a"], "args": ["b"]}]}}}})
    }

    fn checked(job: &Value) -> Result<JobManifest, (u16, String)> {
        let parsed = JobManifest::parse(job.to_string().as_bytes()).unwrap();
        parsed.checked().map_err(|error| (error.status, error.body.message))
    }

    #[test]
    fn what_only_the_server_says_is_dropped() {
        let job = checked(&job()).unwrap();
        assert_eq!((job.namespace.as_str(), job.container.as_str()), (NAMESPACE, "main"));
        assert_eq!(job.command(), ["i", "a", "b"]);
        assert_eq!(job.body["metadata"], json!({"name": "fix", "labels": {"a": "b"}}));
        assert!(job.body.get("status").is_none());
        let named = JobManifest { name: format!("{}-x", "a".repeat(56)), ..job }.named(&SystemRandom);
        assert_eq!(named.name.len(), 56 + 6);
        assert!(named.name.starts_with(&format!("{}-", "a".repeat(56))), "{}", named.name);
        assert_eq!(named.body["metadata"]["name"], named.name);
    }

    #[test]
    fn each_rule_has_its_sentence() {
        let with = |at: &str, value: Value| {
            let mut job = job();
            let (parent, name) = at.rsplit_once('/').unwrap();
            job.pointer_mut(parent).unwrap()[name] = value;
            checked(&job).unwrap_err()
        };
        let spec = "/spec/template/spec";
        for (at, value, told) in [
            ("/kind", json!("Pod"), "Expected kind 'Job', got 'Pod'."),
            ("/metadata/name", json!(""), "The provided Job manifest must have a non-empty metadata.name."),
            ("/metadata/name", json!("a/b"), "The provided Job metadata.name 'a/b' is invalid."),
            ("/metadata/namespace", json!("a/b"), "The provided Job metadata.namespace 'a/b' is invalid."),
            ("/spec/parallelism", json!(2), "Jobs with spec.parallelism > 1 are not implemented."),
            ("/spec/completions", json!(2), "Jobs with spec.completions > 1 are not implemented."),
            (
                "/spec/backoffLimit",
                json!(1),
                "Jobs with spec.backoffLimit != 0 are not supported; set it to 0 or omit it.",
            ),
            (
                &format!("{spec}/restartPolicy"),
                json!("Always"),
                "The Job pod template restartPolicy must be Never or OnFailure, got \"Always\".",
            ),
            (
                &format!("{spec}/containers"),
                json!([]),
                "The Job pod template must define exactly one container, got 0.",
            ),
            (
                &format!("{spec}/containers"),
                json!([{}]),
                "The Job pod template must specify a non-empty container name.",
            ),
            (
                &format!("{spec}/containers"),
                json!([{"name": "a b"}]),
                "The Job pod template container name 'a b' is invalid.",
            ),
        ] {
            assert_eq!(with(at, value), (400, told.to_owned()));
        }
        let outside = "Access to the provided namespace 'default' is forbidden.";
        assert_eq!(with("/metadata/namespace", json!("default")), (403, outside.to_owned()));
        let told = JobManifest::parse(b"").unwrap_err();
        assert_eq!(
            (told.body.code, &*told.body.message),
            ("InvalidRequestContent", "The request body must not be empty.")
        );
        assert_eq!(JobManifest::parse(b"[]").unwrap_err().body.message, "Failed to parse request body.");
    }
}
