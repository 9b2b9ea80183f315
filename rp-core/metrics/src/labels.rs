//! Label sets of bounded cardinality: values are constants of the program or small numbers, never external text
//! (`contract/metrics.md` §4.3).

use std::borrow::Cow;
use std::hash::Hash;

/// One label's value.
pub trait LabelValue {
    /// The value as it is exposed.
    fn label(&self) -> Cow<'static, str>;
}

impl LabelValue for &'static str {
    fn label(&self) -> Cow<'static, str> {
        Cow::Borrowed(self)
    }
}

impl LabelValue for bool {
    fn label(&self) -> Cow<'static, str> {
        Cow::Borrowed(if *self { "true" } else { "false" })
    }
}

/// For HTTP statuses and ordinals of nodes.
impl LabelValue for u16 {
    fn label(&self) -> Cow<'static, str> {
        Cow::Owned(self.to_string())
    }
}

/// A set of labels of one family. Made by [`labels!`](crate::labels).
pub trait Labels: Clone + Eq + Hash + Send + Sync + 'static {
    /// The labels' names, in the order of the values.
    const NAMES: &'static [&'static str];

    /// The values, in the order of [`Labels::NAMES`].
    fn values(&self) -> Vec<Cow<'static, str>>;
}

/// Declares a label set: `labels! { pub struct Name { method: &'static str, code: u16 } }`.
///
/// Field types implement [`LabelValue`]: `&'static str`, `bool`, `u16` or a [`label_enum!`](crate::label_enum).
#[macro_export]
macro_rules! labels {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($field:ident : $type:ty),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        $vis struct $name { $(pub $field: $type),+ }

        impl $crate::Labels for $name {
            const NAMES: &'static [&'static str] = &[$(stringify!($field)),+];

            fn values(&self) -> ::std::vec::Vec<::std::borrow::Cow<'static, str>> {
                ::std::vec![$($crate::LabelValue::label(&self.$field)),+]
            }
        }
    };
}

/// Declares an enumeration whose variants are label values: `label_enum! { pub enum Side { Us = "us", You = "you" } }`.
#[macro_export]
macro_rules! label_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $name { $($(#[$variant_meta])* $variant),+ }

        impl $name {
            /// The value as it is exposed.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl $crate::LabelValue for $name {
            fn label(&self) -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed(self.as_str())
            }
        }
    };
}
