//! The person's browser.

use std::process::{Command, Stdio};

use url::Url;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether there is one that can be shown.
pub(crate) fn can_open() -> bool {
    cfg!(any(target_os = "macos", windows))
        || ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| variable(name).is_some())
}

/// Opens an address; whether something was started that may show it.
pub(crate) fn open(url: &Url) -> bool {
    let usual = match std::env::consts::OS {
        "macos" => "open",
        // `start` is of the shell, which reads & in an address as the end of a command.
        "windows" => "rundll32 url.dll,FileProtocolHandler",
        _ => "xdg-open",
    };
    let browser = variable("BROWSER").unwrap_or_else(|| usual.to_owned());
    // Several stand with colons between them, the first that starts is taken.
    browser.split(':').filter(|part| !part.trim().is_empty()).any(|one| start(one, url))
}

fn start(browser: &str, url: &Url) -> bool {
    let mut words = browser.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    let mut placed = false;
    for word in words {
        placed |= word.contains("%s");
        command.arg(word.replace("%s", url.as_str()));
    }
    if !placed {
        command.arg(url.as_str());
    }
    // Its output is discarded, and it may run longer than this process.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
