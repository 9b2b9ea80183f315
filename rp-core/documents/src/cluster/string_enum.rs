//! Enumerations whose values are strings in JSON.

/// Declares an enumeration with its JSON strings. A string that is not declared is kept in the document unchanged.
macro_rules! string_enum {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$note:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$note])* $variant,)*
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The string in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// The value with that string.
            pub fn named(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl $crate::cluster::shape::FromJson for $name {
            fn text(word: &str) -> Option<Self> {
                Self::named(word)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(from)?;
                let unknown = || serde::de::Error::custom(format_args!("{word:?} is no {}", stringify!($name)));
                Self::named(&word).ok_or_else(unknown)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl<W> $crate::cluster::Member<$name, W> {
            /// The stored string, also an unknown one; empty when there is none.
            pub fn word(&self) -> &str {
                let odd = || self.odd().and_then(serde_json::Value::as_str).unwrap_or_default();
                self.get().map_or_else(odd, |value| value.name())
            }
        }
    };
}

pub(super) use string_enum;
