//! Every sample of every page, whole and in parts, keeps the rules that all pages have.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on says so")]

mod html;

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use html::{Tag, read};
use web::{
    AccessDialog, AccessPage, AlertsPage, AuditPage, ClustersPage, ConfirmPage, ElevationsPage, GrantPage,
    PageFragment, RobotsPage, View,
};
use web_samples::{PageVisitor, Sample, visit_pages};

/// One sample in one part.
struct Rendered {
    name: String,
    part: PageFragment,
    html: String,
    tags: Vec<Tag>,
}

/// Renders every part of every sample.
struct Parts(Vec<Rendered>);

impl PageVisitor for Parts {
    fn page<T: Sample>(&mut self, page: &str) -> askama::Result<()> {
        for (state, sample) in T::samples() {
            for part in [PageFragment::Page, PageFragment::Main, PageFragment::List, PageFragment::Dialog] {
                let name = format!("{page}-{state} {part:?}");
                let html = sample.render(part)?;
                let (tags, _) = read(&html).unwrap_or_else(|e| panic!("{name}: {e}"));
                self.0.push(Rendered { name, part, html, tags });
            }
        }
        Ok(())
    }
}

/// Rendered once for all tests.
fn everything() -> &'static [Rendered] {
    static ALL: LazyLock<Vec<Rendered>> = LazyLock::new(render);
    &ALL
}

fn render() -> Vec<Rendered> {
    let mut all = Parts(Vec::new());
    visit_pages(&mut all).expect("renders");
    all.0
}

#[test]
fn nothing_that_the_policy_forbids() {
    for Rendered { name, tags, .. } in everything() {
        for tag in tags {
            for (key, value) in &tag.attributes {
                let run = key.starts_with("on")
                    || key.starts_with("hx-on")
                    || key == "style"
                    || value.starts_with("js:");
                assert!(!run, "{name}: {key} on <{}>", tag.name);
                let link = matches!(key.as_str(), "href" | "src" | "action");
                assert!(
                    !(link && value.trim_start().to_lowercase().starts_with("javascript:")),
                    "{name}: {value}"
                );
            }
            assert!(tag.name != "script" || tag.get("src").is_some(), "{name}: script without src");
            assert!(tag.name != "style", "{name}: style element");
        }
    }
}

#[test]
fn text_from_outside_stays_text() {
    for Rendered { name, html, .. } in everything() {
        let lower = html.to_lowercase();
        for raw in ["<script>", "<img", "onerror=alert(2)>", "</textarea></textarea>"] {
            assert!(!lower.contains(raw), "{name}: {raw}");
        }
        let steering = html.chars().find(|c| web::text::steers(*c));
        assert_eq!(steering, None, "{name}");
    }
}

#[test]
fn hostile_names_can_still_be_read() {
    let all = everything();
    let page = all.iter().find(|r| r.name == "clusters-hostile Page").expect("there");
    assert!(page.html.contains("&lt;script&gt;alert(1)"), "escaped, not lost");
    assert!(page.html.contains("<span class=\"ctl\">U+202E</span>"), "shown, not lost");
    assert!(page.html.contains("[U+202E]"), "shown in attributes");
    assert!(page.html.contains("KiB in all)"), "cut, with its size");
}

#[test]
fn icons_and_assets_exist() {
    let sprite = web::assets::get(&web::assets::url("icons.svg")).expect("sprite");
    let sprite = std::str::from_utf8(sprite.bytes).expect("text");
    for Rendered { name, tags, .. } in everything() {
        for tag in tags {
            let address = match tag.name.as_str() {
                "use" | "link" => tag.get("href"),
                "script" => tag.get("src"),
                _ => None,
            };
            let Some(address) = address else { continue };
            let (file, id) = address.split_once('#').unwrap_or((address, ""));
            assert!(web::assets::get(file).is_some_and(|a| a.immutable), "{name}: {address}");
            assert!(id.is_empty() || sprite.contains(&format!("id=\"{id}\"")), "{name}: no icon {id}");
            assert!(tag.name != "use" || !id.is_empty(), "{name}: an icon without name");
        }
    }
}

#[test]
fn large_scripts_are_loaded_by_their_pages_only_and_hold_nothing_up() {
    let mut seen = 0;
    for Rendered { name, tags, .. } in everything() {
        for script in tags.iter().filter(|tag| tag.name == "script") {
            let source = script.get("src").unwrap_or_default();
            let pages: &[&str] = match source.rsplit('/').next() {
                Some("explore.js") => &["explore-", "fleet-"],
                Some("charts.js") => &["statistics-"],
                Some("log.js") => &["log-"],
                _ => continue,
            };
            assert!(pages.iter().any(|page| name.starts_with(page)), "{name}: {source}");
            assert!(script.get("defer").is_some(), "{name}: {source} holds the first paint up");
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen}");
}

#[test]
fn forms_that_change_something_carry_the_token() {
    let mut seen = 0;
    for Rendered { name, tags, .. } in everything() {
        for form in tags.iter().filter(|t| t.name == "form" && t.get("method") == Some("post")) {
            let token = tags.iter().find(|t| t.form == form.form && t.get("name") == Some(web::CSRF_FIELD));
            assert!(
                token.is_some_and(|t| t.get("type") == Some("hidden")),
                "{name}: {:?}",
                form.get("action")
            );
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} forms");
}

#[test]
fn names_and_references_hold() {
    for Rendered { name, part, tags, .. } in everything() {
        let mut ids = HashSet::new();
        for id in tags.iter().filter_map(|t| t.get("id")) {
            assert!(ids.insert(id), "{name}: id {id} twice");
        }
        for tag in tags {
            let named =
                ["aria-label", "aria-labelledby"].iter().any(|a| tag.get(a).is_some_and(|v| !v.is_empty()));
            let icon_only = tag.get("class").is_some_and(|c| c.split(' ').any(|c| c == "tool"));
            assert!(!icon_only || named, "{name}: an icon button without a name: {tag:?}");
            if *part != PageFragment::Page {
                continue;
            }
            for reference in ["aria-labelledby", "aria-describedby", "for", "list", "popovertarget", "form"] {
                for id in tag.get(reference).unwrap_or_default().split_whitespace() {
                    assert!(ids.contains(id), "{name}: {reference} names {id}, which is not there");
                }
            }
            let field =
                matches!(tag.name.as_str(), "input" | "textarea") && tag.get("type") != Some("hidden");
            let labelled = named
                || tag.around.iter().any(|a| a == "label")
                || tag.get("id").is_some_and(|id| tags.iter().any(|t| t.get("for") == Some(id)));
            assert!(!field || labelled, "{name}: a field without a label: {tag:?}");
        }
    }
}

#[test]
fn every_page_has_one_heading_and_a_title() {
    for Rendered { name, part, html, tags } in everything() {
        if *part == PageFragment::Page {
            assert_eq!(tags.iter().filter(|t| t.name == "h1").count(), 1, "{name}");
            assert_eq!(tags.iter().filter(|t| t.name == "main").count(), 1, "{name}");
            assert!(html.contains(" · aro</title>"), "{name}");
            assert!(html.starts_with("<!doctype html>"), "{name}");
        }
    }
}

#[test]
fn parts_are_the_inside_of_the_page() {
    for (state, page) in ClustersPage::samples() {
        let whole = page.render(PageFragment::Page).expect("renders");
        let list = page.render(PageFragment::List).expect("renders");
        let main = page.render(PageFragment::Main).expect("renders");
        assert!(whole.contains(list.trim()), "{state}: list");
        let (_, inside) = main.split_once("</title>").expect("title first");
        assert!(whole.contains(inside.trim()), "{state}: main");
        assert!(!list.contains("<html") && !main.contains("<html"), "{state}");
    }
    for (state, page) in AlertsPage::samples() {
        let whole = page.render(PageFragment::Page).expect("renders");
        let list = page.render(PageFragment::List).expect("renders");
        assert!(!list.trim().is_empty() && whole.contains(list.trim()), "{state}: list");
    }
    for (state, page) in AccessDialog::samples() {
        let whole = page.render(PageFragment::Page).expect("renders");
        let dialog = page.render(PageFragment::Dialog).expect("renders");
        assert!(whole.contains(dialog.trim()) && dialog.trim().starts_with("<dialog"), "{state}");
    }
}

/// The list or dialog of every sample is there, and stands in its page as it is.
fn parts_stand_in_the_page<T: Sample>(part: PageFragment) {
    for (state, page) in T::samples() {
        let whole = page.render(PageFragment::Page).expect("renders");
        let inside = page.render(part).expect("renders");
        assert!(!inside.trim().is_empty(), "{state}: {part:?} is empty");
        assert!(whole.contains(inside.trim()) && !inside.contains("<html"), "{state}: {part:?}");
    }
}

#[test]
fn what_is_fetched_anew_stands_in_the_page() {
    parts_stand_in_the_page::<AccessPage>(PageFragment::List);
    parts_stand_in_the_page::<GrantPage>(PageFragment::List);
    parts_stand_in_the_page::<ElevationsPage>(PageFragment::List);
    parts_stand_in_the_page::<RobotsPage>(PageFragment::List);
    parts_stand_in_the_page::<AuditPage>(PageFragment::List);
    parts_stand_in_the_page::<ConfirmPage>(PageFragment::Dialog);
    parts_stand_in_the_page::<web::ObjectsPage>(PageFragment::List);
    parts_stand_in_the_page::<web::ResourcesPage>(PageFragment::List);
}

#[test]
fn a_pasted_kubeconfig_is_never_sent_back() {
    for Rendered { name, html, .. } in everything() {
        assert!(!html.contains("never shown\n") && !html.contains(">never shown<"), "{name}");
    }
}

/// Whatever has samples is in the gallery, whose pages are those of this file.
#[test]
fn no_page_is_left_out() {
    let with_samples = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let named = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gallery.rs"));
    let named = named.expect("the gallery's source");
    for page in with_samples.iter().flat_map(|text| text.split("impl Sample for ").skip(1)) {
        let page = page.split_whitespace().next().expect("a type");
        let added = [format!("page::<{page}>("), format!("page::<web::{page}>(")];
        assert!(added.iter().any(|added| named.contains(added)), "{page} is not in the gallery");
    }
}

/// The texts of a folder's files, and of those of its folders.
fn sources(folder: &Path) -> Vec<String> {
    let paths = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let texts = paths.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![std::fs::read_to_string(&path).expect("a source")],
    });
    texts.collect()
}

#[test]
fn gallery_has_all_of_them() {
    let names: Vec<String> = web_samples::gallery().expect("renders").into_iter().map(|i| i.name).collect();
    assert!(names.len() > 90, "{}", names.len());
    let pages = [
        "clusters",
        "cluster",
        "access-dialog-kubeconfig",
        "access",
        "grant",
        "ask",
        "elevate",
        "elevations",
        "robots",
        "audit",
        "report",
        "imported",
        "solo",
    ];
    for page in pages.iter().filter(|p| **p != "solo") {
        for state in ["hostile", "error", "expired", "no-rights"] {
            assert!(names.contains(&format!("{page}-{state}")), "{page}-{state}");
        }
    }
    for status in [400, 401, 403, 404, 405, 413, 422, 429, 500, 502, 503, 504] {
        assert!(names.contains(&format!("solo-{status}")), "{status}");
    }
}

#[test]
fn what_follows_a_cluster_is_an_element_of_its_page() {
    fn check_live_element<T: Sample + web::LiveElement>() {
        for (state, page) in T::samples() {
            let whole = page.render(PageFragment::Page).expect("renders");
            let element = page.element().expect("renders");
            let start = format!("<div id=\"{}\"", page.live_id());
            let failed = whole.contains("data-testid=\"failure\"");
            assert!(failed || element.trim().starts_with(&start), "{state}: {element}");
            assert!(whole.contains(element.trim()), "{state}: {element}");
        }
    }
    check_live_element::<web::PodsPage>();
    check_live_element::<web::PodPage>();
    check_live_element::<web::WorkloadsPage>();
    check_live_element::<web::WorkloadPage>();
    check_live_element::<web::EventsPage>();
}
