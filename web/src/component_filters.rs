//! Filters of the shared components: `slot|slot(frame.now)`, `look|last_look(frame.now)` and the like. Templates reach
//! them through `crate::filters`.
#![expect(unreachable_pub, reason = "the attribute of filters writes public methods")]

use askama::filters::Safe;
use askama::{Template, Values};

use crate::components::{Condition, EmptyState, LastLook, Meter, Skeleton, Slot};
use crate::filters;
use crate::when::{TimeFormat, When};

/// What is shown above or instead of a slot's content; nothing when it is ready.
#[askama::filter_fn]
pub(crate) fn slot<T: AsRef<Slot>>(slot: T, _: &dyn Values, now: &i64) -> askama::Result<Safe<String>> {
    Ok(Safe(SlotView { slot: slot.as_ref(), now: *now }.render()?))
}

/// Nothing here.
#[askama::filter_fn]
pub(crate) fn blank<T: AsRef<EmptyState>>(blank: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(BlankView { blank: blank.as_ref() }.render()?))
}

/// Rows that are awaited.
#[askama::filter_fn]
pub(crate) fn bones<T: AsRef<Skeleton>>(bones: T, _: &dyn Values, now: &i64) -> askama::Result<Safe<String>> {
    Ok(Safe(BonesView { bones: bones.as_ref(), now: *now }.render()?))
}

/// The last look, in a line with its faults under it. Only the page of states uses it.
#[askama::filter_fn]
pub(crate) fn last_look<T: AsRef<LastLook>>(
    look: T,
    _: &dyn Values,
    now: &i64,
) -> askama::Result<Safe<String>> {
    Ok(Safe(LookView { look: look.as_ref(), now: *now }.render()?))
}

/// A table of conditions.
#[askama::filter_fn]
pub(crate) fn conditions<T: AsRef<[Condition]>>(
    rows: T,
    _: &dyn Values,
    now: &i64,
) -> askama::Result<Safe<String>> {
    Ok(Safe(ConditionsView { rows: rows.as_ref(), now: *now }.render()?))
}

/// A share and its number.
#[askama::filter_fn]
pub(crate) fn meter<T: AsRef<Meter>>(meter: T, _: &dyn Values) -> askama::Result<Safe<String>> {
    Ok(Safe(MeterView { meter: meter.as_ref() }.render()?))
}

fn ago(at: i64, now: i64) -> Safe<When> {
    When::new(at, now, TimeFormat::Past)
}

#[derive(Template)]
#[template(path = "parts/states/slot.html")]
struct SlotView<'a> {
    slot: &'a Slot,
    now: i64,
}

impl SlotView<'_> {
    fn ago(&self, at: &i64) -> Safe<When> {
        ago(*at, self.now)
    }
}

#[derive(Template)]
#[template(path = "parts/states/blank.html")]
struct BlankView<'a> {
    blank: &'a EmptyState,
}

#[derive(Template)]
#[template(path = "parts/states/bones.html")]
struct BonesView<'a> {
    bones: &'a Skeleton,
    now: i64,
}

#[derive(Template)]
#[template(path = "parts/states/last_look.html")]
struct LookView<'a> {
    look: &'a LastLook,
    now: i64,
}

impl LookView<'_> {
    fn ago(&self, at: &i64) -> Safe<When> {
        ago(*at, self.now)
    }
}

#[derive(Template)]
#[template(path = "parts/states/conditions.html")]
struct ConditionsView<'a> {
    rows: &'a [Condition],
    now: i64,
}

impl ConditionsView<'_> {
    fn ago(&self, at: &i64) -> Safe<When> {
        ago(*at, self.now)
    }
}

#[derive(Template)]
#[template(path = "parts/states/meter.html")]
struct MeterView<'a> {
    meter: &'a Meter,
}
