//! CPU profiles: the stacks at which timer signals find the process, as pprof's protobuf or a flame graph.

use std::time::Duration;

use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pprof::protos::Message as _;
use pprof::{ProfilerGuard, ProfilerGuardBuilder};
use serde::Deserialize;
use tokio::sync::Semaphore;

/// Samples a second; not a divisor of usual periods.
const FREQUENCY: i32 = 99;
/// Longest profile.
const MOST_SECONDS: u64 = 60;
/// The profiler is global to the process: one at a time.
static PROFILER: Semaphore = Semaphore::const_new(1);

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
enum ProfileError {
    #[error(transparent)]
    Profiler(#[from] pprof::Error),
    #[error(transparent)]
    Encoding(Box<dyn std::error::Error + Send + Sync>),
    #[error("no sample: the process used no CPU time")]
    NoSample,
}

/// `?seconds=30&format=flamegraph`.
#[derive(Debug, Deserialize)]
pub(crate) struct CpuProfileQuery {
    seconds: Option<u64>,
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Proto,
    Flamegraph,
}

/// Profiles for the requested time; ends at once when the caller disconnects.
pub(crate) async fn cpu(Query(asked): Query<CpuProfileQuery>) -> Response {
    let Ok(_permit) = PROFILER.try_acquire() else {
        return (StatusCode::CONFLICT, "another profile is being taken; try again later\n").into_response();
    };
    let seconds = asked.seconds.unwrap_or(10).clamp(1, MOST_SECONDS);
    let format = asked.format.unwrap_or(Format::Proto);
    let blocked = ["libc", "libgcc", "pthread", "vdso"];
    let guard = match ProfilerGuardBuilder::default().frequency(FREQUENCY).blocklist(&blocked).build() {
        Ok(guard) => guard,
        Err(error) => return failed(&error.to_string()),
    };
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    // Names of functions are looked up now, which takes a while.
    match tokio::task::spawn_blocking(move || report(&guard, format)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => failed(&error.to_string()),
        Err(error) => failed(&error.to_string()),
    }
}

fn report(guard: &ProfilerGuard<'_>, format: Format) -> Result<Response, ProfileError> {
    let report = guard.report().build()?;
    let mut bytes = Vec::new();
    let kind = match format {
        Format::Proto => {
            let profile = report.pprof()?;
            profile.encode(&mut bytes).map_err(|error| ProfileError::Encoding(Box::new(error)))?;
            "application/octet-stream"
        }
        Format::Flamegraph => {
            if report.data.is_empty() {
                return Err(ProfileError::NoSample);
            }
            report.flamegraph(&mut bytes)?;
            "image/svg+xml"
        }
    };
    Ok(([("content-type", kind)], bytes).into_response())
}

fn failed(what: &str) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("no profile: {what}\n")).into_response()
}
