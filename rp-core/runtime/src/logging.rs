//! Logging: one line per event on standard error or in a file, JSON or text, with a filter that changes while we run.

mod writer;

use std::fs::File;
use std::sync::OnceLock;
use std::{fmt, io};

use rp_config::{Log, LogFormat};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt as lines, reload};

use writer::LogWriter;

/// Longest filter.
const MOST: usize = 4096;

/// Logging that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(transparent)]
    Filter(#[from] InvalidFilter),
    #[error("logging was started before")]
    Twice(#[source] TryInitError),
    #[error("cannot start the thread that writes the log")]
    Thread(#[source] io::Error),
}

/// The text is no filter.
#[derive(Debug, thiserror::Error)]
#[error("not a log filter (a level, or such as info,rp_net=debug): {0}")]
pub struct InvalidFilter(String);

/// Shows and changes the filter. A cheap clone.
#[derive(Clone)]
pub struct LogControl(reload::Handle<EnvFilter, Registry>);

impl fmt::Debug for LogControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LogControl").field(&self.filter()).finish()
    }
}

impl LogControl {
    /// The filter as it is.
    pub fn filter(&self) -> String {
        self.0.with_current(ToString::to_string).unwrap_or_default()
    }

    /// Puts another filter in place, for all that is logged from now on.
    ///
    /// # Errors
    /// The text is no filter; the old one stays.
    pub fn set(&self, text: &str) -> Result<(), InvalidFilter> {
        let filter = parse(text)?;
        self.0.reload(filter).map_err(|error| InvalidFilter(error.to_string()))
    }
}

fn parse(text: &str) -> Result<EnvFilter, InvalidFilter> {
    let text = text.trim();
    if text.is_empty() || text.len() > MOST {
        return Err(InvalidFilter("empty or too long".to_owned()));
    }
    EnvFilter::try_new(text).map_err(|error| InvalidFilter(error.to_string()))
}

/// The filter as a layer, and its control.
pub(crate) fn filter(text: &str) -> Result<(reload::Layer<EnvFilter, Registry>, LogControl), InvalidFilter> {
    let (layer, handle) = reload::Layer::new(parse(text)?);
    Ok((layer, LogControl(handle)))
}

/// Where lines go. Standard output is for answers.
#[derive(Debug)]
pub enum LogOutput {
    StandardError,
    File(File),
}

/// The writer of this process.
static WRITER: OnceLock<LogWriter> = OnceLock::new();

/// Writes the lines that were gathered: the last act of a process that logs.
pub fn flush_log() {
    if let Some(writer) = WRITER.get() {
        writer.flush();
    }
}

/// Starts logging for the whole process. Lines of the proxy's access logs may wait 100 ms for others: call [`flush_log`]
/// before the process ends.
///
/// # Errors
/// The filter is none, logging was started before, or there is no thread for it.
pub fn start_logging(settings: &Log, output: LogOutput) -> Result<LogControl, LogError> {
    let (filter, control) = filter(&settings.level)?;
    // Colours are for people at a terminal: in a file they cost a third of every line.
    let colours = matches!(output, LogOutput::StandardError) && io::IsTerminal::is_terminal(&io::stderr());
    let writer = LogWriter::open(output).map_err(LogError::Thread)?;
    let _ = WRITER.set(writer.clone());
    let lines: Box<dyn Layer<_> + Send + Sync> = match settings.format {
        LogFormat::Json => {
            Box::new(lines::layer().json().flatten_event(true).with_span_list(false).with_writer(writer))
        }
        LogFormat::Text => Box::new(lines::layer().with_ansi(colours).with_writer(writer)),
    };
    tracing_subscriber::registry().with(filter).with(lines).try_init().map_err(LogError::Twice)?;
    Ok(control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_changes_and_a_wrong_one_does_not() {
        let (layer, control) = filter("info").unwrap();
        let _guard = tracing_subscriber::registry().with(layer).set_default();
        assert!(!tracing::enabled!(tracing::Level::DEBUG));
        control.set("warn,rp_runtime=debug").unwrap();
        assert!(tracing::enabled!(tracing::Level::DEBUG));
        assert!(control.set("rp_runtime=loud").is_err());
        assert!(control.set("").is_err());
        assert!(control.filter().contains("rp_runtime=debug"));
    }
}
