//! Macro that declares the metrics of a crate: one struct, with name and help at each field.

/// Declares a struct of metrics and its `register(&Registry)`.
///
/// The doc comment of a field is its help; the name is the prefix, `_`, and the literal. Histograms name their buckets.
#[macro_export]
macro_rules! metrics {
    ($(#[$meta:meta])* $vis:vis struct $name:ident($prefix:literal) {
        $($(#[doc = $help:literal])+ $field_vis:vis $field:ident : $type:ty = $metric:literal $(, $buckets:expr)? ;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        $vis struct $name { $($(#[doc = $help])+ $field_vis $field: $type),+ }

        impl $name {
            /// Registers every metric; the same registry gives the same instruments again.
            $vis fn register(registry: &$crate::Registry) -> Self {
                Self { $($field: {
                    #[allow(unused_mut, unused_assignments, clippy::allow_attributes, reason = "not every metric has buckets")]
                    let mut buckets: &'static [f64] = &[];
                    $(buckets = $buckets;)?
                    <$type as $crate::Register>::register(registry, $crate::Spec {
                        name: concat!($prefix, "_", $metric),
                        help: concat!($($help, "\n"),+),
                        buckets,
                    })
                }),+ }
            }
        }
    };
}
