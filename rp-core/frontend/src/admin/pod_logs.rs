//! Logs of the platform's pods (`contract/frontend.md` §11.1).

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;

use super::context::ActionContext;
use super::rules;
use super::stream::{Output, Verdict, permit, streamed};
use crate::fault::Fault;
use crate::response::HttpResponse;

/// Longest log, bytes.
const MOST: usize = 50 << 20;
/// Time limit for the whole log.
const WITHIN: Duration = Duration::from_mins(10);

/// The current log of a container, as it comes; an error of the cluster is answered before the first byte.
pub(super) async fn get(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let (namespace, pod, container) = (of.text("namespace"), of.text("podname"), of.text("container"));
    rules::container(namespace, pod, container)?;
    let permit = permit(&of.parts.edge)?;
    let place =
        format!("/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&limitBytes={MOST}");
    let answer = of.reader_api().await?.send(Method::GET, &place, None).await?;
    let mut body = answer.into_body();
    Ok(streamed("text/plain", WITHIN, permit, |out: Output| async move {
        let mut left = MOST;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return Ok(Verdict::Failed) };
            let Ok(mut data) = frame.into_data() else { continue };
            data.truncate(left);
            left -= data.len();
            out.write(data).await?;
            if left == 0 {
                break;
            }
        }
        Ok(Verdict::Good)
    }))
}
