//! Texts. Numbers and booleans become their text.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed as _, Deserializer};

use super::{LenientVisitor, SerdeAdapter};
use crate::reader::{Member, TextValue};

/// Text of at most `MOST` bytes; longer text is cut at a character.
#[derive(Default, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const MOST: usize>(Box<str>);

impl<const MOST: usize> Text<MOST> {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<const MOST: usize> From<&str> for Text<MOST> {
    fn from(text: &str) -> Self {
        let mut end = text.len().min(MOST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(text.get(..end).unwrap_or_default().into())
    }
}

/// Text that is not cut.
#[derive(Default, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WholeText(Box<str>);

impl WholeText {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for WholeText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

struct AsText<T>(std::marker::PhantomData<T>);

impl<T: Default + for<'a> From<&'a str>> LenientVisitor<'_> for AsText<T> {
    type Out = T;

    fn nothing(self) -> T {
        T::default()
    }

    fn text(self, text: &str) -> T {
        text.into()
    }

    fn flag(self, flag: bool) -> T {
        if flag { "true".into() } else { "false".into() }
    }

    fn int(self, int: i64) -> T {
        int.to_string().as_str().into()
    }

    fn float(self, float: f64) -> T {
        float.to_string().as_str().into()
    }
}

fn read<'de, D: Deserializer<'de>, T: Default + for<'a> From<&'a str>>(
    deserializer: D,
) -> Result<T, D::Error> {
    SerdeAdapter(AsText(std::marker::PhantomData)).deserialize(deserializer)
}

macro_rules! text_type {
    ($name:ty $(, $most:ident)?) => {
        impl<$(const $most: usize)?> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl<'de $(, const $most: usize)?> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                read(deserializer)
            }
        }

        impl<$(const $most: usize)?> Member for $name {
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                read(deserializer)
            }
        }

        impl<$(const $most: usize)?> TextValue for $name {
            fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}

text_type!(Text<MOST>, MOST);
text_type!(WholeText);
