//! Objects of stored documents: members by name, and those that this version of the software does not know.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::member::Member;
use super::shape::Zero;

/// An object all of whose members may be absent.
pub trait Object: Zero<View = Self> + Default {}

/// What an object holds by a name: a [`Member`], or a value without which the object cannot be read.
pub(super) trait Field: Sized {
    /// # Errors
    /// The object cannot be read without it.
    fn missing<E: Error>(name: &'static str) -> Result<Self, E>;

    fn is_absent(&self) -> bool;
}

impl<T, W> Field for Member<T, W> {
    fn missing<E>(_name: &'static str) -> Result<Self, E> {
        Ok(Self::default())
    }

    fn is_absent(&self) -> bool {
        Member::is_absent(self)
    }
}

/// Required values: an object without one cannot be read.
macro_rules! required {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::cluster::object::Field for $type {
            fn missing<E: serde::de::Error>(name: &'static str) -> Result<Self, E> {
                Err(E::missing_field(name))
            }

            fn is_absent(&self) -> bool {
                false
            }
        }
    )*};
}

required!(String, crate::ResourceId);

/// A name of a member, borrowed where the decoder can.
pub(super) struct Name<'de>(pub(super) Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        from.deserialize_str(Names)
    }
}

/// Declares an object of a stored document: `"name" => member: Type`, in the order of the names.
///
/// Documents are written with their members in that order, unknown ones between them, as every writer before this type
/// did.
macro_rules! object {
    (
        $(#[$about:meta])*
        pub struct $object:ident {
            $($(#[$note:meta])* $name:literal => $member:ident: $type:ty,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $object {
            $($(#[$note])* pub $member: $type,)*
            /// Members that this version of the software does not know.
            pub unknown: $crate::Unknown,
        }

        impl $object {
            /// The names of the members that are known, in the order in which they are written.
            pub const NAMES: &'static [&'static str] = &[$($name),*];
        }

        impl<'de> serde::Deserialize<'de> for $object {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Members;

                impl<'de> serde::de::Visitor<'de> for Members {
                    type Value = $object;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$object, A::Error> {
                        use $crate::cluster::object::{Field, Name};
                        $(let mut $member: Option<$type> = None;)*
                        let mut unknown = $crate::Unknown::new();
                        while let Some(Name(name)) = map.next_key()? {
                            match &*name {
                                $($name => $member = Some(map.next_value()?),)*
                                _ => drop(unknown.insert(name.into_owned(), map.next_value()?)),
                            }
                        }
                        Ok($object {
                            $($member: $member.map_or_else(|| <$type as Field>::missing($name), Ok)?,)*
                            unknown,
                        })
                    }
                }
                from.deserialize_map(Members)
            }
        }

        impl serde::Serialize for $object {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use $crate::cluster::object::Field;
                use serde::ser::SerializeMap as _;
                let mut map = to.serialize_map(None)?;
                let mut unknown = self.unknown.iter().peekable();
                $(if !Field::is_absent(&self.$member) {
                    while let Some((name, value)) = unknown.next_if(|(name, _)| name.as_str() < $name) {
                        map.serialize_entry(name, value)?;
                    }
                    map.serialize_entry($name, &self.$member)?;
                })*
                for (name, value) in unknown {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }

        impl $crate::cluster::shape::FromJson for $object {
            fn map<'de, A: serde::de::MapAccess<'de>>(map: A) -> Result<Result<Self, serde_json::Value>, A::Error> {
                serde::Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Ok)
            }
        }
    };
}

/// Declares objects all of whose members may be absent.
macro_rules! optional_objects {
    ($($object:ident),* $(,)?) => {$(
        impl $crate::cluster::shape::Zero for $object {
            type View = Self;

            fn view(&self) -> &Self {
                self
            }

            fn zero() -> &'static Self {
                static NOTHING: std::sync::LazyLock<$object> = std::sync::LazyLock::new($object::default);
                &NOTHING
            }
        }

        impl $crate::cluster::object::Object for $object {}
    )*};
}

pub(super) use {object, optional_objects, required};
