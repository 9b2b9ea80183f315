//! How much of an object is kept.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny};

use crate::lenient::WholeText;

/// A reader of objects: the parameter of every object type.
///
/// [`Whole`] keeps every member. The monitor, which looks at ten thousand clusters each minute, keeps those that its
/// collectors read, and cuts texts.
pub trait Reader: fmt::Debug + Default + Clone + Copy + PartialEq + Send + Sync + 'static {
    /// Names of the labels and annotations that are kept, in order; `None`: all.
    const LABELS: Option<&'static [&'static str]>;

    /// A text of at most `MOST` bytes, for readers that cut texts.
    type Text<const MOST: usize>: TextValue;

    /// A member that not every reader keeps: `T`, or [`Skipped`].
    type More<T: Member>: Member;
}

/// A member of an object that reads itself from a value of any type.
pub trait Member: fmt::Debug + Default + Clone + Send + Sync + 'static {
    /// Reads a value; one of the wrong type gives the default.
    ///
    /// # Errors
    /// The JSON is not valid.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// A text member.
pub trait TextValue: Member + DeserializeOwned + Ord {
    fn as_str(&self) -> &str;

    fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

/// Keeps every member, and every text whole: the body's size is the bound.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Whole;

impl Reader for Whole {
    const LABELS: Option<&'static [&'static str]> = None;
    type Text<const MOST: usize> = WholeText;
    type More<T: Member> = T;
}

/// A member that is not kept.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Skipped;

impl Member for Skipped {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}
