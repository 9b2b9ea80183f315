//! The page that sign-in returns to: only a path of this portal (`contract/portal.md` "Do better" 1).

/// The path and query when they surely stay on this origin; else `/`.
pub fn return_path(wanted: Option<&str>) -> String {
    wanted.and_then(own_path).unwrap_or("/").to_owned()
}

/// The path and query when they surely stay on this origin.
pub fn own_path(wanted: &str) -> Option<&str> {
    is_local(wanted).then_some(wanted)
}

/// One leading slash, no backslash (browsers read it as a slash), nothing that browsers strip (controls,
/// blanks), nothing but ASCII; and not sign-in itself, which would turn in a circle.
fn is_local(path: &str) -> bool {
    let plain = path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let loops = ["/api/login", "/callback", "/api/logout"];
    let start = path.split(['?', '#']).next().unwrap_or_default();
    path.len() <= 2000 && plain && path.starts_with('/') && !path.starts_with("//") && !loops.contains(&start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_deep_links() {
        for good in ["/", "/access", "/?q=a%20b&page=2", "/subscriptions/x/overview?tab=1", "/a//b"] {
            assert_eq!(return_path(Some(good)), good);
        }
    }

    #[test]
    fn never_leaves_this_origin() {
        for bad in [
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "evil.example",
            "",
            "/\t/evil.example",
            "/\n/evil.example",
            "\t//evil.example",
            " //evil.example",
            "/ä",
            "/%0d\r\nset-cookie:a=b",
            "/api/login?redirect_uri=/",
            "/callback?code=x",
            "/a b",
        ] {
            assert_eq!(return_path(Some(bad)), "/", "{bad:?}");
        }
        assert_eq!(return_path(Some(&format!("/{}", "a".repeat(3000)))), "/");
        assert_eq!(return_path(None), "/");
    }
}
