//! Heap profiles: what was allocated and not freed, sampled once in 512 KiB by the allocator, with stacks, as
//! pprof's gzipped protobuf. Sampling is off, and then costs nothing, until a profile is requested. Addresses are
//! resolved where the profile is read: `go tool pprof -top BINARY FILE`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Query;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jemalloc_pprof::{JemallocProfCtl, PROF_CTL};
use rp_base::chain;
use serde::Deserialize;
use tokio::sync::OwnedMutexGuard;

/// Longest time of sampling for one request.
const MOST_SECONDS: u64 = 60;

/// The allocator of our binaries. Heap profiles need it, and its configuration in `.cargo/config.toml`:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: rp_runtime::Allocator = rp_runtime::Allocator;
/// ```
pub use tikv_jemallocator::Jemalloc as Allocator;

/// `?seconds=30`.
#[derive(Debug, Deserialize)]
pub(crate) struct HeapProfileQuery {
    seconds: Option<u64>,
}

/// Turns sampling off again when the profile ends, also when the caller disconnects.
struct SamplingGuard(OwnedMutexGuard<JemallocProfCtl>);

impl Drop for SamplingGuard {
    fn drop(&mut self) {
        if let Err(error) = self.0.deactivate() {
            tracing::warn!(error = %chain(&error), "heap sampling does not end");
        }
    }
}

/// While sampling is on, what was allocated since it began; else what is allocated from now on and still is
/// after the seconds asked for (10).
pub(crate) async fn profile(Query(asked): Query<HeapProfileQuery>) -> Response {
    let mut control = match control() {
        Ok(control) => control,
        Err(refused) => return refused.into_response(),
    };
    if control.activated() {
        return dumped(tokio::task::spawn_blocking(move || control.dump_pprof()).await);
    }
    if let Err(error) = control.activate() {
        return failed(&chain(&error));
    }
    let mut sampling = SamplingGuard(control);
    let seconds = asked.seconds.unwrap_or(10).clamp(1, MOST_SECONDS);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    dumped(tokio::task::spawn_blocking(move || sampling.0.dump_pprof()).await)
}

/// Turns sampling `on`, for leaks that take hours, or `off`, which discards the samples.
pub(crate) fn switch(word: &str) -> Response {
    let mut control = match control() {
        Ok(control) => control,
        Err(refused) => return refused.into_response(),
    };
    let done = match word.trim() {
        "on" if control.activated() => Ok(()),
        "on" => control.activate(),
        "off" => control.deactivate(),
        _ => return (StatusCode::BAD_REQUEST, "send on or off\n").into_response(),
    };
    match done {
        Ok(()) => {
            tracing::info!(sampling = word.trim(), "heap sampling changed");
            StatusCode::NO_CONTENT.into_response()
        }
        Err(error) => failed(&chain(&error)),
    }
}

/// The process has one heap profiler: one caller at a time.
fn control() -> Result<OwnedMutexGuard<JemallocProfCtl>, (StatusCode, &'static str)> {
    let none =
        "no heap profile: the allocator was built or started without prof:true; /debug/memory has sizes\n";
    let one = PROF_CTL.as_ref().ok_or((StatusCode::NOT_IMPLEMENTED, none))?;
    let busy = "another heap profile is being taken; try again later\n";
    Arc::clone(one).try_lock_owned().map_err(|_| (StatusCode::CONFLICT, busy))
}

fn dumped<E: std::fmt::Display, J: std::fmt::Display>(outcome: Result<Result<Vec<u8>, E>, J>) -> Response {
    let file = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"heap.pb.gz\""),
    ];
    match outcome {
        Ok(Ok(profile)) => (file, profile).into_response(),
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

fn failed(what: &dyn std::fmt::Display) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("no profile: {what}\n")).into_response()
}
