//! Calendar expressions: when the windows of a schedule begin (`contract/mimo.md` §6.1). All times are UTC.

use std::str::FromStr;

use rp_base::Timestamp;
use time::{Date, Month, OffsetDateTime, Time, Weekday};

/// Moves from one candidate to the next before the search ends with "never".
const MOST_MOVES: usize = 1000;
const FIRST_YEAR: i32 = 2026;
/// The last year that instants of the store can name.
const LAST_YEAR: i32 = 9999;
const QUARTERS: [u32; 4] = [0, 15, 30, 45];

/// Why a text is no calendar expression, in the contract's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    #[error("failed to match '{0}'")]
    Form(String),
    #[error("error parsing weekday: unknown weekday '{0}'")]
    Weekday(String),
    #[error("error parsing {field}: '{text}' is not a number")]
    Number { field: &'static str, text: String },
    #[error("error parsing year: {0} is out of range (before 2026)")]
    YearBefore(i64),
    #[error("error parsing {field}: {number} is out of range")]
    Range { field: &'static str, number: i64 },
    #[error("error parsing minute: '{0}' is not one of 0/15/30/45")]
    Minute(i64),
    #[error("error parsing seconds: per-second granularity is unsupported")]
    Seconds,
}

/// A parsed expression such as `Mon,Tue 2026-*-1,15 4:00`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    weekdays: Allowed<u8>,
    years: Allowed<i32>,
    months: Allowed<u32>,
    days: Allowed<u32>,
    hours: Allowed<u32>,
    minutes: Allowed<u32>,
}

/// The values that a field may have, ascending; `None`: any.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowed<T>(Option<Vec<T>>);

impl<T: Ord + Copy> Allowed<T> {
    fn of(mut values: Vec<T>) -> Self {
        values.sort_unstable();
        values.dedup();
        Self(Some(values))
    }

    fn contains(&self, value: T) -> bool {
        self.0.as_ref().is_none_or(|values| values.contains(&value))
    }
}

impl FromStr for Calendar {
    type Err = CalendarError;

    fn from_str(text: &str) -> Result<Self, CalendarError> {
        let form = || CalendarError::Form(rp_base::text::clean(text, 128));
        let fields = Fields::split(text).ok_or_else(form)?;
        let weekdays = fields.weekday.map_or(Ok(Allowed(None)), weekdays)?;
        let years = numbers("year", fields.year, |year| match i32::try_from(year) {
            Ok(year @ FIRST_YEAR..=LAST_YEAR) => Ok(year),
            Ok(FIRST_YEAR..) => Err(CalendarError::Range { field: "year", number: year }),
            _ => Err(CalendarError::YearBefore(year)),
        })?;
        let months = numbers("month", fields.month, in_range("month", 1, 12))?;
        let days = numbers("day", fields.day, in_range("day", 1, 31))?;
        let hours = numbers("hour", fields.hour, in_range("hour", 0, 23))?;
        let minutes = numbers("minute", fields.minute, |minute| {
            u32::try_from(minute)
                .ok()
                .filter(|minute| QUARTERS.contains(minute))
                .ok_or(CalendarError::Minute(minute))
        })?;
        match fields.second {
            None | Some("0" | "00") => Ok(Self { weekdays, years, months, days, hours, minutes }),
            Some(_) => Err(CalendarError::Seconds),
        }
    }
}

struct Fields<'a> {
    weekday: Option<&'a str>,
    year: &'a str,
    month: &'a str,
    day: &'a str,
    hour: &'a str,
    minute: &'a str,
    second: Option<&'a str>,
}

impl<'a> Fields<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let (head, clock) = text.rsplit_once(' ')?;
        let (weekday, date) = match head.split_once(' ') {
            Some((weekday, date)) => (Some(weekday), date),
            None => (None, head),
        };
        let letters = |c: char| c.is_ascii_alphabetic() || c == ',';
        if weekday.is_some_and(|names| names.is_empty() || !names.chars().all(letters)) {
            return None;
        }
        let mut date = date.split('-');
        let (year, month, day) = (date.next()?, date.next()?, date.next()?);
        let mut clock = clock.split(':');
        let (hour, minute, second) = (clock.next()?, clock.next()?, clock.next());
        let list = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '*'))
        };
        let lists = [year, month, day, hour, minute].into_iter().chain(second).all(list);
        let nothing_else = date.next().is_none() && clock.next().is_none();
        (lists && nothing_else).then_some(Self { weekday, year, month, day, hour, minute, second })
    }
}

fn weekdays(names: &str) -> Result<Allowed<u8>, CalendarError> {
    let number = |name: &str| {
        let number = match name.to_ascii_lowercase().as_str() {
            "mon" | "monday" => 0,
            "tue" | "tuesday" => 1,
            "wed" | "wednesday" => 2,
            "thu" | "thursday" => 3,
            "fri" | "friday" => 4,
            "sat" | "saturday" => 5,
            "sun" | "sunday" => 6,
            _ => return Err(CalendarError::Weekday(rp_base::text::clean(name, 32))),
        };
        Ok(number)
    };
    names.split(',').map(number).collect::<Result<_, _>>().map(Allowed::of)
}

fn numbers<T: Ord + Copy>(
    field: &'static str,
    text: &str,
    check: impl Fn(i64) -> Result<T, CalendarError>,
) -> Result<Allowed<T>, CalendarError> {
    if text == "*" {
        return Ok(Allowed(None));
    }
    let one = |item: &str| {
        let wrong = || CalendarError::Number { field, text: rp_base::text::clean(item, 32) };
        item.parse().map_err(|_| wrong()).and_then(&check)
    };
    text.split(',').map(one).collect::<Result<_, _>>().map(Allowed::of)
}

fn in_range(field: &'static str, least: u32, most: u32) -> impl Fn(i64) -> Result<u32, CalendarError> {
    move |number| {
        u32::try_from(number)
            .ok()
            .filter(|value| (least..=most).contains(value))
            .ok_or(CalendarError::Range { field, number })
    }
}

impl Calendar {
    /// The first time of the expression that is after `after`; `None`: there is none that a bounded search finds.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        // The first whole minute after it.
        let minute = after.millis().div_euclid(60_000).checked_add(1)?.checked_mul(60)?;
        let from = OffsetDateTime::from_unix_timestamp(minute).ok()?;
        let mut day = from.date();
        let mut least = (u32::from(from.hour()), u32::from(from.minute()));
        for _ in 0..MOST_MOVES {
            let candidate = self.day_from(day)?;
            if candidate != day {
                least = (0, 0);
            }
            day = candidate;
            if self.is_day(day)
                && let Some(time) = self.time_from(least)
            {
                return Some(day.with_time(time).assume_utc().into());
            }
            day = day.next_day()?;
            least = (0, 0);
        }
        None
    }

    /// The given day, or the next one whose year and month are allowed and that may be the day itself: one move.
    fn day_from(&self, day: Date) -> Option<Date> {
        if !self.years.contains(day.year()) {
            let year = match &self.years.0 {
                Some(years) => years.iter().copied().find(|year| *year > day.year())?,
                None => day.year(),
            };
            return Date::from_calendar_date(year, Month::January, 1).ok();
        }
        if !self.months.contains(u32::from(u8::from(day.month()))) {
            let (year, month) = match day.month() {
                Month::December => (day.year() + 1, Month::January),
                month => (day.year(), month.next()),
            };
            return Date::from_calendar_date(year, month, 1).ok();
        }
        let last = day.month().length(day.year());
        let found = (day.day()..=last)
            .filter_map(|number| day.replace_day(number).ok())
            .find(|candidate| self.is_day(*candidate));
        // The last day of the month is not allowed: the next move goes to the next month.
        found.or_else(|| day.replace_day(last).ok())
    }

    fn is_day(&self, day: Date) -> bool {
        self.years.contains(day.year())
            && self.months.contains(u32::from(u8::from(day.month())))
            && self.days.contains(u32::from(day.day()))
            && self.weekdays.contains(number_of(day.weekday()))
    }

    /// The first allowed time of a day that is not before `least`.
    fn time_from(&self, least: (u32, u32)) -> Option<Time> {
        let (hour, minute) = (0..24)
            .filter(|hour| self.hours.contains(*hour))
            .flat_map(|hour| (0..60).map(move |minute| (hour, minute)))
            .find(|(hour, minute)| (*hour, *minute) >= least && self.minutes.contains(*minute))?;
        Time::from_hms(u8::try_from(hour).ok()?, u8::try_from(minute).ok()?, 0).ok()
    }
}

const fn number_of(weekday: Weekday) -> u8 {
    weekday.number_days_from_monday()
}

#[cfg(test)]
mod tests;
