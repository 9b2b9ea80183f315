//! One panel of a page: its head, its state and its content. Every page of a cluster is made of
//! these, so loading, empty, old, forbidden and failed look the same everywhere (`contract/rules.md` §4.1),
//! and a panel of the first answer is the same text as one that the live stream sends.

use askama::Template;

use crate::cluster::Verdict;
use crate::components::{Condition, EmptyState, Meter, Slot};
use crate::filters;
use crate::frame::Frame;
use crate::objects::OrderPart;
use crate::parts::{Badge, Link, Notice, Step, Tone};

use crate::table::Table;

/// A panel. Its element has the id `panel-ID`.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Its name within the page.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// One muted fact beside the heading.
    pub fact: String,
    /// At the end of the head.
    pub links: Vec<Link>,
    /// Its state.
    pub slot: Slot,
    /// What is in it, from top to bottom.
    pub blocks: Vec<Block>,
    /// Fetched when the page is there: where from. Only while it loads.
    pub later: String,
    /// Only a place holder: it is invisible until it has content.
    pub hidden: bool,
}

/// A part of a panel.
#[derive(Clone, Debug)]
pub enum Block {
    /// The answer first.
    Verdict(Verdict, Vec<Lane>),
    /// Things with a badge and a sentence each.
    Items(Vec<Item>),
    /// The same by time of day.
    Events(Vec<Item>),
    /// Rows and columns.
    Table(Table),
    /// Labels and values.
    Pairs(Vec<Pair>),
    /// Steps of something long.
    Steps(Vec<Step>),
    /// Names and values.
    Tags(Vec<(String, String)>),
    /// One thing to know.
    Notice(Notice),
    /// Conditions of an object.
    Conditions(Vec<Condition>),
    /// Nothing here, and what that means.
    Blank(EmptyState),
    /// The last line of the panel.
    Foot(String, Option<Link>),
    /// How far something is: thousandths, the same in words, colour.
    Progress(u32, String, Tone),
    /// Steps that are over, under their sum.
    Folded(String, Vec<Step>),
    /// A long text under its name.
    Fold(String, String),
    /// What was said, oldest first.
    Lines(Vec<Line>),
    /// The form that orders maintenance, or why there is none.
    Order(OrderPart),
}

/// One sentence of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Seconds since 1970 UTC.
    pub at: i64,
    /// Its colour.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
}

/// An instant and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisplayTime {
    /// "3 h ago".
    Ago(i64),
    /// "for 47 min".
    For(i64),
    /// "in 24 min".
    In(i64),
    /// "2026-11-21 03:12:00 UTC".
    Exact(i64),
}

/// A thing of a list.
#[derive(Clone, Debug, Default)]
pub struct Item {
    /// Its colour.
    pub tone: Tone,
    /// Symbol id.
    pub icon: &'static str,
    /// Its name and its page; an empty address is no link.
    pub name: Link,
    /// What it is, e.g. "operator".
    pub kind: String,
    /// How it is.
    pub badges: Vec<Badge>,
    /// The cluster's words, unedited.
    pub quote: String,
    /// Our words: what it means, and what to do.
    pub advice: String,
    /// Since when, or until when.
    pub at: Option<DisplayTime>,
    /// At the end of the line, e.g. "×38".
    pub aside: String,
    /// Where to go on.
    pub acts: Vec<Link>,
}

/// A label and its value.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The label.
    pub label: String,
    /// The value.
    pub value: Value,
}

/// A value of a [`Pair`].
#[derive(Clone, Debug)]
pub enum Value {
    /// Words; empty: a dash.
    Text(String),
    /// Something to paste; empty: a dash.
    Code(String),
    /// Long text, over the whole width.
    Long(String),
    /// A page of ours, or an `https` address.
    Link(Link),
    /// Pages of ours.
    Links(Vec<Link>),
    /// A state.
    Badge(Badge),
    /// An instant in the past; none: a dash.
    Time(Option<i64>),
    /// An instant to come; none: a dash.
    End(Option<i64>),
    /// A share.
    Share(Meter),
    /// Not known, and why.
    Unknown(String),
}

impl Pair {
    /// A pair.
    pub fn new(label: impl Into<String>, value: Value) -> Self {
        Self { label: label.into(), value }
    }

    /// Words.
    pub fn text(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self::new(label, Value::Text(value.into()))
    }

    /// Something to paste.
    pub fn code(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self::new(label, Value::Code(value.into()))
    }
}

/// One line of a timeline of the last hours, in which a cause is drawn left of its effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Of what.
    pub name: &'static str,
    /// From, to, colour; seconds since 1970 UTC.
    pub marks: Vec<(i64, i64, Tone)>,
}

/// Length of the lanes.
pub const LANES: i64 = 3 * 3600;
const WIDTH: i64 = 180;

impl Lane {
    /// Begin and width of each mark, of 180, and its colour.
    fn bars(&self, now: &i64) -> Vec<(i64, i64, Tone)> {
        let begin = now.saturating_sub(LANES);
        let place = |at: i64| (at.clamp(begin, *now) - begin) * WIDTH / LANES;
        let bar = |(from, to, tone): &(i64, i64, Tone)| {
            let (x, end) = (place(*from), place(*to));
            (x.min(WIDTH - 2), (end - x).max(2), *tone)
        };
        let mut bars: Vec<_> = self.marks.iter().filter(|(_, to, _)| *to >= begin).map(bar).collect();
        // What is worse lies on top.
        bars.sort_by_key(|(.., tone)| match tone {
            Tone::Bad => 2,
            Tone::Warn => 1,
            _ => 0,
        });
        bars
    }
}

impl Panel {
    /// A panel that is known.
    pub fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self { id, title: title.into(), ..Self::default() }
    }

    /// The place of one that is not to be seen yet.
    #[must_use]
    pub fn hidden(id: &'static str) -> Self {
        Self { id, hidden: true, ..Self::default() }
    }

    /// The id of its element.
    #[must_use]
    pub fn element(&self) -> String {
        format!("panel-{}", self.id)
    }

    /// With one more part.
    #[must_use]
    pub fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// With the first of `all` items; `more`: how others are seen, where these are not all.
    #[must_use]
    pub(crate) fn items_of(self, items: Vec<Item>, all: u64, more: &str) -> Self {
        let shown = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let panel = self.with(Block::Items(items));
        if all > shown {
            let words = format!("{shown} of {}. {more}", crate::text::number(all));
            return panel.with(Block::Foot(words, None));
        }
        panel
    }

    /// With words beside the heading.
    #[must_use]
    pub fn fact(mut self, fact: impl Into<String>) -> Self {
        self.fact = fact.into();
        self
    }

    /// With a link at the end of the head.
    #[must_use]
    pub fn link(mut self, text: impl Into<String>, href: impl Into<String>) -> Self {
        self.links.push(Link::new(text, href));
        self
    }

    /// In that state.
    #[must_use]
    pub fn slot(mut self, slot: Slot) -> Self {
        self.slot = slot;
        self
    }

    /// Nothing in it, which is well.
    #[must_use]
    pub fn well(self, lead: impl Into<String>, text: impl Into<String>) -> Self {
        self.with(Block::Blank(EmptyState::well(lead).text(text)))
    }

    /// Nothing in it.
    #[must_use]
    pub fn nothing(self, icon: &'static str, lead: impl Into<String>, text: impl Into<String>) -> Self {
        self.with(Block::Blank(EmptyState::nothing(icon, lead).text(text)))
    }

    /// What is in it is not there yet.
    fn loading(&self) -> bool {
        matches!(self.slot, Slot::Loading(_))
    }

    /// The element.
    ///
    /// # Errors
    /// Only when formatting fails, which a `String` never does.
    pub fn html(&self, frame: &Frame) -> askama::Result<String> {
        PanelView { frame, panel: self }.render()
    }
}

impl Link {
    /// It leads out of the portal.
    pub(crate) fn out(&self) -> bool {
        self.href.starts_with("https://")
    }
}

#[derive(Template)]
#[template(path = "parts/panel.html")]
struct PanelView<'a> {
    frame: &'a Frame,
    panel: &'a Panel,
}

impl PanelView<'_> {
    /// Where the lanes begin.
    fn begin(&self) -> i64 {
        self.frame.now.saturating_sub(LANES)
    }

    /// The lanes in words.
    fn told(&self, lanes: &[Lane]) -> String {
        let told = |lane: &Lane| {
            let first = lane.marks.iter().map(|(from, ..)| *from).min()?;
            Some(format!(
                "{} since {} ago",
                lane.name,
                crate::when::span(self.frame.now.saturating_sub(first))
            ))
        };
        let words: Vec<String> = lanes.iter().filter_map(told).collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_within_their_lane() {
        let now = 1_000_000;
        let lane = Lane {
            name: "Nodes",
            marks: vec![
                (0, 10, Tone::Bad),
                (now - LANES, now, Tone::Warn),
                (now, now, Tone::Bad),
                (i64::MIN, i64::MAX, Tone::Ok),
                (now + 50, now + 60, Tone::Ok),
            ],
        };
        let bars = lane.bars(&now);
        assert_eq!(bars.first(), Some(&(0, WIDTH, Tone::Ok)), "what is over is not there");
        assert_eq!(bars.last().map(|bar| bar.2), Some(Tone::Bad), "the worst lies on top");
        assert_eq!(bars.len(), 4);
        assert!(bars.iter().all(|(x, width, _)| *x >= 0 && *width >= 2 && x + width <= WIDTH), "{bars:?}");
    }
}
