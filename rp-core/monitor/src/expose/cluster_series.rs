//! The series of one cluster, stored as line suffixes.

use std::collections::HashSet;
use std::sync::Arc;

use rp_metrics::text;

use super::SeriesGroup;
use super::families::Families;
use crate::emit::ClusterDims;
use crate::sample::{Sample, Series, budget};

/// All series of one cluster.
#[derive(Debug)]
pub(super) struct ClusterSeries {
    /// `resource_id="…",…`, escaped.
    pub(super) labels: Arc<str>,
    parts: [Option<Arc<GroupSeries>>; SeriesGroup::COUNT],
}

/// Series of one group, by family.
#[derive(Debug)]
pub(super) struct GroupSeries {
    segments: Box<[Segment]>,
    /// Lines from the end of the cluster's labels on: `,type="x"} 1`, or `} 1`.
    text: Box<str>,
}

/// The lines of one family, which end at `end` and begin where the segment before ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    family: u16,
    pub(super) count: u16,
    end: u32,
    pub(super) sum: f64,
}

impl ClusterSeries {
    /// A copy with one group replaced.
    pub(super) fn with(
        before: Option<&Self>,
        of: &ClusterDims,
        part: SeriesGroup,
        fresh: GroupSeries,
    ) -> Self {
        let labels = || {
            let mut out = String::with_capacity(256);
            of.labels().iter().for_each(|(name, value)| text::pair(&mut out, name, value));
            Arc::from(out)
        };
        let mut new = match before {
            Some(before) => Self { labels: Arc::clone(&before.labels), parts: before.parts.clone() },
            None => Self { labels: labels(), parts: [const { None }; SeriesGroup::COUNT] },
        };
        new.parts[part as usize] = (!fresh.segments.is_empty()).then(|| Arc::new(fresh));
        new
    }

    pub(super) fn group(&self, part: SeriesGroup) -> Option<Arc<GroupSeries>> {
        self.parts[part as usize].clone()
    }

    /// Number of series.
    pub(super) fn count(&self) -> usize {
        let segments = self.parts.iter().flatten().flat_map(|part| part.segments.iter());
        segments.map(|segment| usize::from(segment.count)).sum()
    }

    /// The segments of a family with the ends of their lines.
    pub(super) fn lines(&self, family: u16) -> impl Iterator<Item = (Segment, &str)> {
        self.parts.iter().flatten().filter_map(move |part| part.lines(family))
    }

    /// All segments of the cluster by family.
    pub(super) fn segments(&self) -> impl Iterator<Item = (u16, Segment)> {
        let segments = self.parts.iter().flatten().flat_map(|part| part.segments.iter());
        segments.map(|segment| (segment.family, *segment))
    }
}

impl GroupSeries {
    /// The series of these samples within the budget, and how many were left out. Families for which `keeps` is true
    /// are taken from `old` when the samples have none of them.
    pub(super) fn new(
        families: &Families,
        samples: &[Sample],
        old: Option<&Self>,
        keeps: impl Fn(u16) -> bool,
    ) -> (Self, usize) {
        let (series, cut) = budget(samples);
        let mut series: Vec<(u16, Series<'_>)> =
            series.into_iter().filter_map(|one| Some((families.find(one.exposed.name)?, one))).collect();
        series.sort_by_key(|(family, _)| *family);
        let kept = old.into_iter().flat_map(|old| {
            old.segments
                .iter()
                .filter(|segment| keeps(segment.family))
                .map(move |segment| (segment.family, old))
        });
        let mut kept = kept.filter(|(family, _)| !series.iter().any(|(fresh, _)| fresh == family)).peekable();
        let (mut segments, mut out) =
            (Vec::with_capacity(series.len()), String::with_capacity(series.len() * 64));
        for group in series.chunk_by(|(a, _), (b, _)| a == b) {
            let family = group[0].0;
            while let Some((kept, old)) = kept.next_if(|(kept, _)| *kept < family) {
                copy(old, kept, &mut segments, &mut out);
            }
            write(family, group, &mut segments, &mut out);
        }
        kept.for_each(|(family, old)| copy(old, family, &mut segments, &mut out));
        (Self { segments: segments.into(), text: out.into() }, cut)
    }

    fn lines(&self, family: u16) -> Option<(Segment, &str)> {
        let at = self.segments.binary_search_by_key(&family, |segment| segment.family).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.segments[before].end as usize);
        let segment = self.segments[at];
        Some((segment, self.text.get(start..segment.end as usize)?))
    }
}

fn write(family: u16, group: &[(u16, Series<'_>)], segments: &mut Vec<Segment>, out: &mut String) {
    let (mut sum, mut count) = (0.0, 0_u16);
    // Shortened texts may give two samples the same labels: Prometheus refuses duplicate series.
    let mut told = HashSet::with_capacity(group.len());
    for (_, series) in group.iter().filter(|(_, series)| told.insert(&series.labels)) {
        for (name, value) in &series.labels {
            // The cluster's labels precede them.
            out.push(',');
            text::bare_pair(out, name, value);
        }
        out.push_str("} ");
        out.push_str(&text::number(series.value));
        out.push('\n');
        sum += series.value;
        count = count.saturating_add(1);
    }
    push(segments, family, count, sum, out.len());
}

fn copy(old: &GroupSeries, family: u16, segments: &mut Vec<Segment>, out: &mut String) {
    if let Some((segment, lines)) = old.lines(family) {
        out.push_str(lines);
        push(segments, family, segment.count, segment.sum, out.len());
    }
}

fn push(segments: &mut Vec<Segment>, family: u16, count: u16, sum: f64, end: usize) {
    // At most 300 lines of a few hundred bytes: far below the range of the type.
    if let Ok(end) = u32::try_from(end) {
        segments.push(Segment { family, count, end, sum });
    }
}
