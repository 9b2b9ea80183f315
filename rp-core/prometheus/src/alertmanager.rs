//! The alerts of a cluster's Alertmanager, for periodic callers: one port-forward, closed after the response
//! (`contract/monitor.md` §9.7). Nothing is cached, because there may be thousands of clusters.

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use rp_kube::{KubeClient, api_status, port_forward};

use crate::cluster::{ALERTMANAGER_PORT, PLATFORM};
use crate::connection_pool::{BoxedStream, Connection};
use crate::error::PromError;
use crate::exchange::{connection_error, kube_error, request};
use crate::source::Instance;
use crate::upstream_address::UpstreamAddress;

/// Replicas that are tried, in this order.
const REPLICAS: u8 = 3;
const PATH: &str = "/api/v2/alerts";

/// The JSON of `/api/v2/alerts`, at most `most` bytes, from the first replica that answers; `None`: none of its pods is
/// there. It has no deadline of its own: drop it to give up.
///
/// # Errors
/// [`PromError`] of the first replica that failed, when none answers; [`PromError::Cluster`] when the API server cannot
/// be reached.
pub async fn alerts(client: &KubeClient, most: usize) -> Result<Option<Bytes>, PromError> {
    let mut first = None;
    for replica in 0..REPLICAS {
        match ask(client, replica, most).await {
            Ok(None) => {}
            Err(error) if error.is_of_source() => {
                first.get_or_insert(error);
            }
            settled => return settled,
        }
    }
    first.map_or(Ok(None), Err)
}

async fn ask(client: &KubeClient, replica: u8, most: usize) -> Result<Option<Bytes>, PromError> {
    let place = Instance::Alertmanager(replica);
    let pod = format!("alertmanager-main-{replica}");
    let forward = match port_forward(client, PLATFORM, &pod, ALERTMANAGER_PORT).await {
        Ok(forward) => forward,
        Err(error) if api_status(&error) == Some(404) => return Ok(None),
        Err(error) => return Err(kube_error(place, &pod, &error)),
    };
    let wire = |error: hyper::Error| connection_error(place, &error);
    let mut connection = Connection::open(BoxedStream(Box::new(forward))).await.map_err(wire)?;
    let way = UpstreamAddress::Pod { namespace: PLATFORM.to_owned(), pod, port: ALERTMANAGER_PORT };
    let answer = connection.send(request(&Method::GET, &way, PATH, None)?).await.map_err(wire)?;
    if answer.status() != StatusCode::OK {
        let what = format!("unexpected status code {}", answer.status().as_u16());
        return Err(PromError::NotPrometheus { place: place.id(), what });
    }
    let body = Limited::new(answer.into_body(), most).collect().await;
    let body = body.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            PromError::TooLarge(most as u64)
        } else {
            PromError::Broken(error)
        }
    })?;
    Ok(Some(body.to_bytes()))
}
