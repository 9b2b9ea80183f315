//! One job in a namespace of the platform, with its log as it comes (`contract/frontend.md` §11.4).

mod manifest;

use std::pin::pin;
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;
use rp_api::CloudError;
use serde_json::{Value, json};

pub(super) use manifest::JobManifest;

use super::cluster_api::AdminApi;
use super::context::ActionContext;
use super::exec::{MOST, WITHIN};
use super::rules;
use super::stream::{Gone, Output, Verdict, permit, streamed};
use crate::fault::Fault;
use crate::response::HttpResponse;

/// Between two looks at the job's pod.
const POD_PERIOD: Duration = Duration::from_secs(1);
/// Between two looks at the job.
const JOB_PERIOD: Duration = Duration::from_secs(2);
/// Errors in a row after which a job is not asked for any more.
const ERRORS: u32 = 10;
/// For lines of the log that are on their way when the job has ended.
const LAST_LINES: Duration = Duration::from_secs(5);
/// Time limit of the deletion.
const CLEANUP: Duration = Duration::from_secs(30);

/// Runs a job and deletes it.
pub(super) async fn run(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let job = JobManifest::parse(&of.call.body)?.checked()?.named(&*of.parts.random);
    let permit = permit(&of.parts.edge)?;
    let signal = of.signal();
    let api = of.admin_api().await?;
    Ok(streamed("text/plain", WITHIN, permit, |out| async move {
        let _signal = signal;
        let JobManifest { namespace, name, .. } = &job;
        out.line(&format!("Creating job {name} in {namespace}...")).await?;
        // From here on it is deleted in any case, also when the caller goes away.
        let cleanup = Cleanup::new(&api, &job);
        let created = api.call(Method::POST, &jobs(namespace), Some(&job.body)).await;
        let verdict = match created {
            Ok(_) => follow(&out, &api, &job).await?,
            Err(error) => {
                out.line(&format!("Failed to create job: {}", error.body.message)).await?;
                Verdict::Failed
            }
        };
        match cleanup.run().await {
            Ok(()) => out.line("Cleanup complete.").await?,
            Err(error) => out.line(&format!("Cleanup failed: {}", error.body.message)).await?,
        }
        Ok(verdict)
    }))
}

fn jobs(namespace: &str) -> String {
    format!("/apis/batch/v1/namespaces/{namespace}/jobs")
}

/// Deletes the job when it is dropped, in a task of its own.
struct Cleanup(Option<(AdminApi, String)>);

impl Cleanup {
    fn new(api: &AdminApi, job: &JobManifest) -> Self {
        Self(Some((api.clone(), format!("{}/{}", jobs(&job.namespace), job.name))))
    }

    /// Deletes the job and waits for the answer.
    async fn run(mut self) -> Result<(), CloudError> {
        match self.0.take() {
            Some((api, place)) => delete(&api, &place).await,
            None => Ok(()),
        }
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        let Some((api, place)) = self.0.take() else { return };
        tokio::spawn(async move {
            if let Err(error) = delete(&api, &place).await {
                tracing::error!(error = %error, path = place, "a job of an administrator is not deleted");
            }
        });
    }
}

async fn delete(api: &AdminApi, place: &str) -> Result<(), CloudError> {
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"});
    let deleted = tokio::time::timeout(CLEANUP, api.call(Method::DELETE, place, Some(&options))).await;
    match deleted {
        Ok(Ok(_)) => Ok(()),
        // It was never created.
        Ok(Err(error)) if error.status == 404 => Ok(()),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(super::failed(format!("the cluster did not answer within {} s", CLEANUP.as_secs()))),
    }
}

async fn follow(out: &Output, api: &AdminApi, job: &JobManifest) -> Result<Verdict, Gone> {
    out.line("Waiting for pod...").await?;
    let pod = match wait_for_pod(api, job).await {
        Ok(pod) => pod,
        Err(error) => {
            out.line(&format!("Error waiting for pod: {}", error.body.message)).await?;
            return Ok(Verdict::Failed);
        }
    };
    out.line(&format!("Pod {pod} assigned, streaming logs...")).await?;
    let mut log = pin!(copy_log(out, api, job, &pod));
    let mut end = pin!(wait_for_end(api, job));
    // A log that goes on after the end of its job must not hold the answer.
    let ended = tokio::select! {
        copied = &mut log => {
            copied?;
            end.await
        }
        ended = &mut end => {
            if let Ok(copied) = tokio::time::timeout(LAST_LINES, log).await {
                copied?;
            }
            ended
        }
    };
    let (line, verdict) = ended;
    out.line(&line).await?;
    Ok(verdict)
}

/// The name of the job's pod once its containers have run.
async fn wait_for_pod(api: &AdminApi, job: &JobManifest) -> Result<String, CloudError> {
    let place = format!(
        "/api/v1/namespaces/{}/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D{}&limit=10",
        job.namespace, job.name
    );
    let mut errors = 0;
    loop {
        match api.call(Method::GET, &place, None).await {
            Ok(list) => {
                errors = 0;
                let mut pods = list["items"].as_array().into_iter().flatten();
                let ran = pods.find(|pod| {
                    matches!(pod["status"]["phase"].as_str(), Some("Running" | "Succeeded" | "Failed"))
                });
                let name = ran.and_then(|pod| pod["metadata"]["name"].as_str());
                if let Some(name) = name.filter(|name| rules::is_name(name)) {
                    return Ok(name.to_owned());
                }
            }
            Err(error) if errors >= ERRORS => return Err(error),
            Err(_) => errors += 1,
        }
        tokio::time::sleep(POD_PERIOD).await;
    }
}

/// The log of the job's only container, to its end.
async fn copy_log(out: &Output, api: &AdminApi, job: &JobManifest, pod: &str) -> Result<(), Gone> {
    let place = format!(
        "/api/v1/namespaces/{}/pods/{pod}/log?container={}&follow=true&limitBytes={MOST}",
        job.namespace, job.container
    );
    let mut body = match api.send(Method::GET, &place, None).await {
        Ok(answer) => answer.into_body(),
        Err(error) => return out.line(&format!("Log streaming error: {}", error.body.message)).await,
    };
    let mut left = MOST;
    while let Some(frame) = body.frame().await {
        match frame.map(http_body::Frame::into_data) {
            Ok(Ok(mut data)) => {
                data.truncate(left);
                left -= data.len();
                out.write(data).await?;
            }
            Ok(Err(_)) => {}
            Err(error) => {
                return out.line(&format!("Log streaming error: {}", rp_base::chain(&error))).await;
            }
        }
        if left == 0 {
            break;
        }
    }
    Ok(())
}

/// The last line about the job.
async fn wait_for_end(api: &AdminApi, job: &JobManifest) -> (String, Verdict) {
    let place = format!("{}/{}", jobs(&job.namespace), job.name);
    let mut errors = 0;
    let mut last = "unknown".to_owned();
    while errors < ERRORS {
        match api.call(Method::GET, &place, None).await {
            Ok(found) => {
                errors = 0;
                let holds = |kind: &str| {
                    let mut all = found["status"]["conditions"].as_array().into_iter().flatten();
                    all.any(|condition| condition["type"] == kind && condition["status"] == "True")
                };
                if holds("Complete") {
                    return ("Job succeeded.".to_owned(), Verdict::Good);
                }
                if holds("Failed") {
                    return ("Job failed.".to_owned(), Verdict::Failed);
                }
                last = summary(&found["status"]);
            }
            Err(error) => {
                errors += 1;
                last = error.body.message;
            }
        }
        tokio::time::sleep(JOB_PERIOD).await;
    }
    (format!("Job polling exhausted (last status: {last})"), Verdict::Failed)
}

fn summary(status: &Value) -> String {
    let number = |name: &str| status[name].as_i64().unwrap_or_default();
    format!("active {}, succeeded {}, failed {}", number("active"), number("succeeded"), number("failed"))
}
