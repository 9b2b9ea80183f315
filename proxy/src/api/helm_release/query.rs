//! The query of a list or a watch, limited to releases by a field selector that the API server applies.

use std::borrow::Cow;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::TYPE;

/// Parameters that a list or a watch may have. None of them widens what a field selector leaves.
const PARAMETERS: [&str; 12] = [
    "labelSelector",
    "fieldSelector",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "watch",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "includeObject",
    "pretty",
];
const FIELD_SELECTOR: &str = "fieldSelector";

/// The query with a field selector that leaves releases only.
///
/// # Errors
/// It has a parameter that is not known, or a field selector that cannot be combined with ours.
pub(super) fn limited(query: Option<&str>) -> Result<String, &'static str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut selector: Option<String> = None;
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        // Servers differ in what they make of it.
        if pair.contains(';') {
            return Err("a parameter of its query has a semicolon");
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = decoded(key)?;
        if !PARAMETERS.contains(&&*key) {
            return Err("its query has a parameter that is not known for lists of releases");
        }
        if key != FIELD_SELECTOR {
            kept.push(pair);
        } else if selector.replace(decoded(value)?.into_owned()).is_some() {
            return Err("its query has several field selectors");
        }
    }
    let combined = combined(selector.as_deref().unwrap_or_default())?;
    let ours = format!("{FIELD_SELECTOR}={}", utf8_percent_encode(&combined, NON_ALPHANUMERIC));
    kept.push(&ours);
    Ok(kept.join("&"))
}

/// The client's field selector and ours: all terms of a field selector must hold.
fn combined(selector: &str) -> Result<String, &'static str> {
    // An escape could take the comma that joins the two.
    if selector.contains('\\') {
        return Err("its field selector has an escape");
    }
    let mut terms = Vec::new();
    for term in selector.split(',').map(str::trim).filter(|term| !term.is_empty()) {
        let end = term.find(['=', '!']).ok_or("a term of its field selector is none")?;
        let (field, rest) = term.split_at(end);
        let equals = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='));
        let differs = rest.strip_prefix("!=");
        match (field.trim(), equals, differs) {
            // Ours follows.
            ("type", Some(TYPE), None) => {}
            ("type", _, _) => return Err("its field selector asks for another type than helm.sh/release.v1"),
            ("metadata.name" | "metadata.namespace", Some(_), None)
            | ("metadata.name" | "metadata.namespace", None, Some(_)) => terms.push(term.to_owned()),
            _ => return Err("its field selector has a field that Secrets are not selected by"),
        }
    }
    terms.push(format!("type={TYPE}"));
    Ok(terms.join(","))
}

fn decoded(text: &str) -> Result<Cow<'_, str>, &'static str> {
    let bad = |_| "its query is not UTF-8";
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        return Ok(Cow::Owned(percent_decode_str(&spaced).decode_utf8().map_err(bad)?.into_owned()));
    }
    percent_decode_str(text).decode_utf8().map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "fieldSelector=type%3Dhelm%2Esh%2Frelease%2Ev1";

    #[test]
    fn a_list_has_our_field_selector_whatever_else_it_has() {
        assert_eq!(limited(None).unwrap(), OURS);
        assert_eq!(limited(Some("")).unwrap(), OURS);
        let labels = "labelSelector=name%3Dweb%2Cowner%3Dhelm";
        assert_eq!(limited(Some(labels)).unwrap(), format!("{labels}&{OURS}"));
        assert_eq!(limited(Some("watch=1&limit=500")).unwrap(), format!("watch=1&limit=500&{OURS}"));
        for same in ["fieldSelector=type%3Dhelm.sh/release.v1", "field%53elector=type==helm.sh%2Frelease.v1"]
        {
            assert_eq!(limited(Some(same)).unwrap(), OURS, "{same}");
        }
        let named = limited(Some("fieldSelector=metadata.name=x&limit=1")).unwrap();
        assert_eq!(named, "limit=1&fieldSelector=metadata%2Ename%3Dx%2Ctype%3Dhelm%2Esh%2Frelease%2Ev1");
        let other = limited(Some("fieldSelector=metadata.namespace!=b,")).unwrap();
        assert!(other.ends_with("metadata%2Enamespace%21%3Db%2Ctype%3Dhelm%2Esh%2Frelease%2Ev1"), "{other}");
    }

    #[test]
    fn what_cannot_be_combined_is_refused() {
        for query in [
            "fieldSelector=type%3DOpaque",
            "fieldSelector=type!=helm.sh/release.v1",
            "fieldSelector=type=helm.sh/release.v1x",
            "fieldSelector=type=helm.sh/release.v1,type=Opaque",
            "fieldSelector=metadata.name=x%5C",
            "fieldSelector=metadata.name=x%5C%2C",
            "fieldSelector=metadata.name",
            "fieldSelector=spec.nodeName=x",
            "fieldSelector=metadata.name=a&fieldSelector=metadata.name=b",
            "fieldSelector=metadata.name=a&field%53elector=type%3DOpaque",
            "labelSelector=a;fieldSelector=type%3DOpaque",
            "labelSelector=%ff&fieldSelector=%ff",
            "FieldSelector=type%3DOpaque",
            "unknown=1",
        ] {
            assert!(limited(Some(query)).is_err(), "{query}: {:?}", limited(Some(query)));
        }
    }
}
