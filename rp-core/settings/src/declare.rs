//! Declarations: a section, and the words that a setting may be.

/// Values that are written as words. [`words!`](crate::words) declares them.
pub trait Word: Copy + Default + 'static {
    /// As they are written.
    const WORDS: &'static [&'static str];
    /// In the same order.
    const VALUES: &'static [Self];

    /// As it is written.
    fn word(self) -> &'static str;
}

/// Declares the keys of a section, or of a part of a section, once.
///
/// ```
/// use std::time::Duration;
///
/// use rp_settings::{count, duration, section, switch};
///
/// section! {
///     /// How long people stay signed in.
///     "session" pub struct Session {
///         /// A session that is unused for so long is over.
///         idle: Duration = duration("1h"),
///         /// Sessions of one person.
///         most: usize = count("10", 1..=100),
///         /// Whether they are told before.
///         warn: bool = switch(true),
///     }
/// }
///
/// assert_eq!(Session::default().idle, Duration::from_secs(3600));
/// assert_eq!(Session::GROUP.keys[1].path, "session.most");
/// ```
///
/// The documentation of a field is the text of the reference, the name of the field that of the key. What stands after the
/// `=` is a [`Setting`](crate::Setting) of the field's type: its shape, default, bounds, and with `also` its name in the
/// contract. It gives the struct, `Name::read`, which takes every value from a [`Reader`](crate::Reader), `Name::GROUP` for
/// the catalogue, and the defaults as `Name::default()`.
#[macro_export]
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $section:literal $vis:vis struct $name:ident {
            $( $(#[doc = $help:literal])+ $field:ident : $type:ty = $setting:expr ),* $(,)?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone)]
        $vis struct $name {
            $( $(#[doc = $help])+ pub $field: $type, )*
        }

        impl $name {
            /// Its keys for the catalogue of settings.
            pub const GROUP: $crate::Group = $crate::Group {
                section: $section,
                about: &[$($about),+],
                keys: &[$( {
                    const SETTING: $crate::Setting<$type> = $setting;
                    SETTING.key(concat!($section, ".", stringify!($field)), &[$($help),+])
                } ),*],
            };

            /// Takes the values; mistakes stay with the reader.
            pub fn read(reader: &mut $crate::Reader) -> Self {
                Self {
                    $( $field: {
                        const SETTING: $crate::Setting<$type> = $setting;
                        static KEY: $crate::Key =
                            SETTING.key(concat!($section, ".", stringify!($field)), &[$($help),+]);
                        SETTING.read(reader, &KEY)
                    }, )*
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::read(&mut $crate::Reader::of_defaults())
            }
        }
    };
}

/// Declares an enum whose values are written as words; the first one is its default.
///
/// ```
/// use rp_settings::{Word as _, words};
///
/// words! {
///     /// What happens when the store is away.
///     pub enum Outage {
///         /// Nothing new.
///         Refuse = "refuse",
///         /// On to a local file.
///         Spool = "spool",
///     }
/// }
///
/// assert_eq!(Outage::Spool.word(), "spool");
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$value_meta:meta])* $value:ident = $word:literal ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name {
            $( $(#[$value_meta])* $value, )+
        }

        impl $crate::Word for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const VALUES: &'static [Self] = &[$(Self::$value),+];

            fn word(self) -> &'static str {
                match self {
                    $( Self::$value => $word, )+
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                <Self as $crate::Word>::VALUES[0]
            }
        }
    };
}
