//! What templates can say after `|`.
#![expect(unreachable_pub, reason = "the attribute of filters writes public methods")]

use std::fmt::Display;

use askama::filters::Safe;
use askama::{Template, Values};

pub(crate) use crate::component_filters::{blank, bones, conditions, last_look, meter, slot};
use crate::parts::{Badge, Failure, Notice};
use crate::{assets, parts, text};

/// An icon of the sprite.
#[askama::filter_fn]
pub(crate) fn icon<T: AsRef<str>>(name: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(parts::icon(name.as_ref()))
}

/// Text from outside, isolated, and cut when it is long.
#[askama::filter_fn]
pub(crate) fn shown<T: AsRef<str>>(value: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(text::cut(value.as_ref()).0.to_string()))
}

/// Text from outside, isolated, whole.
#[askama::filter_fn]
pub(crate) fn whole<T: AsRef<str>>(value: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(text::whole(value.as_ref()).0.to_string()))
}

/// Text from outside, or a dash.
#[askama::filter_fn]
pub(crate) fn dash<T: AsRef<str>>(value: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(text::or_dash(value.as_ref()).0.to_string()))
}

/// A whole number with its thousands set apart.
#[askama::filter_fn]
pub(crate) fn num<T: Display>(value: T, _: &dyn Values) -> askama::Result<String> {
    let digits = value.to_string();
    Ok(digits.parse::<u64>().map_or(digits, |n: u64| text::number(n)))
}

/// The address of an asset.
#[askama::filter_fn]
pub(crate) fn asset<T: AsRef<str>>(name: T, _: &dyn Values) -> askama::Result<String> {
    Ok(assets::url(name.as_ref()))
}

/// A path segment or a query value.
#[askama::filter_fn]
pub(crate) fn enc<T: AsRef<str>>(value: T, _: &dyn Values) -> askama::Result<String> {
    Ok(text::encode(value.as_ref()))
}

/// Text from outside, cut when it is long, or a dash.
#[askama::filter_fn]
pub(crate) fn dash_cut<T: AsRef<str>>(value: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let value = value.as_ref();
    Ok(Safe(if value.is_empty() {
        text::or_dash(value).0.to_string()
    } else {
        text::cut(value).0.to_string()
    }))
}

/// A badge.
#[askama::filter_fn]
pub(crate) fn badge<T: AsRef<Badge>>(badge: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let view = BadgeView { badge: badge.as_ref() };
    Ok(Safe(view.render()?))
}

/// A notice.
#[askama::filter_fn]
pub(crate) fn notice<T: AsRef<Notice>>(notice: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let view = NoticeView { notice: notice.as_ref() };
    Ok(Safe(view.render()?))
}

/// A failure in place of what it hinders.
#[askama::filter_fn]
pub(crate) fn failing<T: AsRef<Failure>>(failure: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    let view = FailureView { failure: failure.as_ref() };
    Ok(Safe(view.render()?))
}

/// A button that copies the value.
#[askama::filter_fn]
pub(crate) fn copy<T: AsRef<str>>(value: T, _: &dyn Values, label: &str) -> askama::Result<Safe<String>> {
    let view = CopyView { value: value.as_ref(), label, key: "" };
    Ok(Safe(view.render()?))
}

/// A button that copies the value, with a key.
#[askama::filter_fn]
pub(crate) fn copy_key<T: AsRef<str>>(
    value: T,
    _: &dyn Values,
    label: &str,
    key: &str,
) -> askama::Result<Safe<String>> {
    let view = CopyView { value: value.as_ref(), label, key };
    Ok(Safe(view.render()?))
}

// `filters` must be in scope of every template.
use crate::filters;

#[derive(Template)]
#[template(path = "parts/badge.html")]
struct BadgeView<'a> {
    badge: &'a Badge,
}

#[derive(Template)]
#[template(path = "parts/notice.html")]
struct NoticeView<'a> {
    notice: &'a Notice,
}

#[derive(Template)]
#[template(path = "failure.html")]
struct FailureView<'a> {
    failure: &'a Failure,
}

#[derive(Template)]
#[template(path = "parts/copy.html")]
struct CopyView<'a> {
    value: &'a str,
    label: &'a str,
    key: &'a str,
}
