//! Style sheet, script, icons and marks: built by `build.rs`, embedded, and addressed by the hash of
//! their bytes, so that browsers keep them for ever and a new build is seen at once.

/// One file, ready to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its bytes.
    pub bytes: &'static [u8],
    /// The same by gzip; `None`: that would be longer.
    pub gzip: Option<&'static [u8]>,
    /// The same by Brotli.
    pub brotli: Option<&'static [u8]>,
    /// Value of `Content-Type`.
    pub content_type: &'static str,
    /// Value of `ETag`, with its quotes: a weak one, for it names the bytes however they are packed.
    pub etag: &'static str,
    /// Its address names the hash, so that it may be kept for ever
    /// (`Cache-Control: public, max-age=31536000, immutable`); otherwise it must be asked again.
    pub immutable: bool,
}

struct File {
    name: &'static str,
    url: &'static str,
    hash: &'static str,
    asset: Asset,
}

// const FILES: &[File], by name.
include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Where all of them live.
pub const PREFIX: &str = "/static/";

/// The address of a file by its name, e.g. `app.css`. A name that is not there gives an address that
/// answers 404; a test renders every page and looks every address up.
#[must_use]
pub fn url(name: &str) -> String {
    FILES.iter().find(|f| f.name == name).map_or_else(|| format!("{PREFIX}{name}"), |f| f.url.to_owned())
}

/// The file of a request path: `/static/<hash>/<name>`, or `/static/<name>` and `/favicon.ico`
/// without a hash. An old hash gives the present file, not immutable, so that a page that was
/// rendered before an update still gets its style.
#[must_use]
pub fn get(path: &str) -> Option<Asset> {
    let rest = if path == "/favicon.ico" { "mark.svg" } else { path.strip_prefix(PREFIX)? };
    let (hash, name) = match rest.split_once('/') {
        None => ("", rest),
        Some((hash, name)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => (hash, name),
        Some(_) => return None,
    };
    let file = FILES.iter().find(|f| f.name == name)?;
    Some(Asset { immutable: file.hash == hash, ..file.asset })
}

/// Names of all files.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|f| f.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serves_by_hash_and_by_name() {
        let url = url("app.css");
        let asset = get(&url).unwrap();
        assert!(asset.immutable, "{url}");
        assert_eq!(asset.content_type, "text/css; charset=utf-8");
        assert!(!get("/static/app.css").unwrap().immutable);
        assert!(!get("/static/0000000000000000/app.css").unwrap().immutable);
        assert_eq!(get("/favicon.ico").unwrap().content_type, "image/svg+xml");
        for path in
            ["/static/", "/static/../app.css", "/static/x/y/app.css", "/app.css", "/static/nothing.js"]
        {
            assert_eq!(get(path), None, "{path}");
        }
    }

    #[test]
    fn script_and_style_are_packed_when_built() {
        for name in ["app.css", "app.js", "explore.js", "terminal.js", "icons.svg"] {
            let asset = get(&url(name)).unwrap();
            let (gzip, brotli) = (asset.gzip.unwrap(), asset.brotli.unwrap());
            assert!(gzip.starts_with(&[0x1f, 0x8b]) && gzip.len() < asset.bytes.len() / 2, "{name}");
            assert!(brotli.len() < gzip.len(), "{name}");
        }
    }

    #[test]
    fn script_and_style_stay_small() {
        let size = |name: &str| get(&url(name)).unwrap().bytes.len();
        assert!(size("app.css") < 40_000, "{}", size("app.css"));
        // What goes over the wire is held in a browser: 30 KiB besides htmx, 450 KB for the explorer. These are the
        // files, 52 kB of app.js being htmx.
        assert!(size("app.js") < 110_000, "{}", size("app.js"));
        assert!(size("metrics.css") < 12_000, "{}", size("metrics.css"));
        assert!(size("charts.js") < 110_000, "{}", size("charts.js"));
        assert!(size("explore.js") < 750_000, "{}", size("explore.js"));
        assert!(size("terminal.js") < 450_000, "{}", size("terminal.js"));
        assert!(size("terminal.css") < 12_000, "{}", size("terminal.css"));
    }
}
