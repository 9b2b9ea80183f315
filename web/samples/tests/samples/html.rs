//! A strict reader of the HTML that templates write: every element is closed in order, every
//! attribute is quoted. It refuses what browsers would repair.

/// One start tag.
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// Names of the elements around it, outermost first.
    pub(crate) around: Vec<String>,
    /// Number of the nearest form around it, counted from 1.
    pub(crate) form: usize,
}

impl Tag {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

const VOID: [&str; 8] = ["meta", "link", "input", "br", "img", "hr", "wbr", "col"];
const BLOCKS: [&str; 19] = [
    "div", "p", "ul", "ol", "dl", "table", "section", "form", "h1", "h2", "h3", "pre", "header", "footer",
    "nav", "details", "fieldset", "main", "dialog",
];

/// All start tags, and the text between them, or what is wrong and where.
pub(crate) fn read(html: &str) -> Result<(Vec<Tag>, String), String> {
    let mut open: Vec<(String, usize)> = Vec::new();
    let (mut tags, mut text, mut forms) = (Vec::new(), String::new(), 0);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let here = &rest[at..];
        let end = close(here).ok_or_else(|| format!("tag without end: {}", excerpt(here)))?;
        let inside = &here[1..end];
        rest = &here[end + 1..];
        if inside.starts_with('!') {
            continue;
        }
        if let Some(name) = inside.strip_prefix('/') {
            match open.pop() {
                Some((last, _)) if last == name => continue,
                other => return Err(format!("</{name}> closes {other:?} before {}", excerpt(rest))),
            }
        }
        let empty = inside.ends_with('/');
        let (name, attributes) = attributes(inside.trim_end_matches('/'))?;
        let around: Vec<String> = open.iter().map(|(n, _)| n.clone()).collect();
        nesting(&name, &around).map_err(|e| format!("{e}: {}", excerpt(here)))?;
        if name == "form" {
            forms += 1;
        }
        let form = if name == "form" { forms } else { open.last().map_or(0, |(_, f)| *f) };
        tags.push(Tag { name: name.clone(), attributes, around, form });
        if !empty && !VOID.contains(&name.as_str()) {
            open.push((name, form));
        }
    }
    text.push_str(rest);
    if open.is_empty() { Ok((tags, text)) } else { Err(format!("not closed: {open:?}")) }
}

fn nesting(name: &str, around: &[String]) -> Result<(), String> {
    let inside = |n: &str| around.iter().any(|a| a == n);
    let nearest_p = around.iter().any(|a| a == "p");
    if nearest_p && BLOCKS.contains(&name) {
        return Err(format!("<{name}> inside <p>"));
    }
    for twice in ["a", "form", "button", "label"] {
        if name == twice && inside(twice) {
            return Err(format!("<{name}> inside <{name}>"));
        }
    }
    if ["a", "button", "input"].contains(&name) && (inside("summary") || inside("button")) {
        return Err(format!("<{name}> inside something to press"));
    }
    Ok(())
}

/// Position of the `>` that ends a tag, outside quotes.
fn close(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (i, c) in tag.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(i),
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            _ => {}
        }
    }
    None
}

fn attributes(inside: &str) -> Result<(String, Vec<(String, String)>), String> {
    let end = inside.find(char::is_whitespace).unwrap_or(inside.len());
    let name = inside[..end].to_owned();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(format!("strange tag <{}>", excerpt(inside)));
    }
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = inside[end..].trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let key = rest[..end].to_owned();
        if found.iter().any(|(k, _)| *k == key) {
            return Err(format!("{key} twice in <{}>", excerpt(inside)));
        }
        rest = &rest[end..];
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix('=') {
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
            let quote = quote.ok_or_else(|| format!("{key} without quotes in <{}>", excerpt(inside)))?;
            let (inner, left) = after[1..].split_once(quote).ok_or("quote without end")?;
            value = inner.to_owned();
            rest = left;
        }
        found.push((key, value));
        rest = rest.trim_start();
    }
    Ok((name, found))
}

fn excerpt(s: &str) -> String {
    s.chars().take(160).collect()
}

#[test]
fn the_reader_refuses_what_browsers_would_repair() {
    for bad in [
        "<div><span></div></span>",
        "<div>",
        "</div>",
        "<a href=x>y</a>",
        "<a href=\"x\" href=\"y\">z</a>",
        "<p><div></div></p>",
        "<form><form></form></form>",
        "<button><a href=\"x\">y</a></button>",
        "<img src=\"x\" onerror=alert(1)>",
        "<div title=\"x",
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
    let (tags, text) = read("<p a=\"1 > 0\">x<br>y</p><svg><use href=\"#a\"/></svg>").unwrap();
    assert_eq!((tags.len(), text.as_str()), (4, "xy"));
}
