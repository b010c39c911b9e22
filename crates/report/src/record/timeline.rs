//! A timeline in a saved run: one entry an interval, by the second at which it begins.

use std::borrow::Cow;

use measure::{Point, Timeline};
use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::latency::{Histogram, msec, nanoseconds};

/// One interval. Latencies are response times in milliseconds, `null` where nothing arrived.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PointRecord {
    /// When the interval begins, in seconds from the start of the measured part.
    t_s: f64,
    requests: u64,
    errors: u64,
    /// Operations that ended, where these have figures of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operations: Option<u64>,
    /// What was answered within the deadline, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    in_time: Option<u64>,
    p50: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
    /// How late the latest send was, in milliseconds, and the part of it that was our own; absent
    /// in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late_max: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own_late_max: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<Histogram>,
}

/// Shortest interval that is read: a thousand a second are more than anything writes.
const INTERVAL_NS_MIN: u64 = 1_000_000;

pub(super) fn record(timeline: &Timeline) -> Vec<PointRecord> {
    timeline.points.iter().map(|point| of(point, timeline.interval_ns)).collect()
}

fn of(point: &Point, interval_ns: u64) -> PointRecord {
    // The mean is that of the histogram.
    let Point { index, requests, errors, mean_ns: _, p50_ns, p99_ns, max_ns, .. } = point;
    let Point { late_max_ns, own_late_max_ns, response, operations, in_time, .. } = point;
    PointRecord {
        t_s: f64::from(*index) * (interval_ns as f64 / 1e9),
        requests: *requests,
        errors: *errors,
        operations: *operations,
        in_time: *in_time,
        p50: p50_ns.map(msec),
        p99: p99_ns.map(msec),
        max: max_ns.map(msec),
        late_max: late_max_ns.map(msec),
        own_late_max: own_late_max_ns.map(msec),
        response: response.as_ref().map(Histogram::from_encoded),
    }
}

/// How a timeline is read: of intervals so long, with these points.
pub(super) type LoadTimeline = fn(u64, &[PointRecord]) -> Result<Timeline, RecordError>;

/// Reads a timeline back.
pub(super) fn load(interval_ns: u64, points: &[PointRecord]) -> Result<Timeline, RecordError> {
    read(interval_ns, points, PointRecord::point)
}

/// The same without decoding a histogram, which takes longer than all else: whoever needs one decodes
/// it, and finds out then whether it is one.
pub(super) fn load_encoded(
    interval_ns: u64,
    points: &[PointRecord],
) -> Result<Timeline, RecordError> {
    read(interval_ns, points, PointRecord::encoded_point)
}

/// How a timeline with points begins in a document as it is written.
const BEGIN: &[u8] = b"\"timeline\": [\n";

/// The text of a document without the points of its timelines, as far as it is laid out as it was written: most of a
/// long run is one, and finding its end takes less than reading it.
pub(super) fn cut(text: &[u8]) -> Cow<'_, [u8]> {
    let begin = memmem::Finder::new(BEGIN);
    let (mut kept, mut rest) = (Vec::new(), text);
    while let Some(at) = begin.find(rest) {
        let line = memchr::memrchr(b'\n', &rest[..at]).map_or(0, |end| end + 1);
        // What is within stands further right, and no string has a line end in it.
        let end = [b"\n", &rest[line..at], b"]"].concat();
        let (before, points) = rest.split_at(at + BEGIN.len() - 1);
        kept.extend_from_slice(before);
        rest = &points[memmem::find(points, &end).unwrap_or(0)..];
    }
    if kept.is_empty() {
        return text.into();
    }
    kept.extend_from_slice(rest);
    kept.into()
}

fn read(
    interval_ns: u64,
    points: &[PointRecord],
    point: impl Fn(&PointRecord, u64) -> Result<Point, RecordError>,
) -> Result<Timeline, RecordError> {
    if interval_ns < INTERVAL_NS_MIN && !points.is_empty() {
        return Err(RecordError::wrong("an interval of the timeline is shorter than 1 ms"));
    }
    if points.len() > Timeline::POINTS_MAX {
        return Err(RecordError::wrong(format!(
            "the timeline has more than {} points",
            Timeline::POINTS_MAX
        )));
    }
    let mut loaded: Vec<Point> = Vec::with_capacity(points.len());
    for record in points {
        let point = point(record, interval_ns)?;
        if loaded.last().is_some_and(|last| last.index >= point.index) {
            return Err(RecordError::wrong("the points of the timeline are out of order"));
        }
        loaded.push(point);
    }
    Ok(Timeline::from_points(interval_ns, loaded))
}

impl PointRecord {
    fn index(&self, interval_ns: u64) -> Result<u32, RecordError> {
        let index = (self.t_s * 1e9 / interval_ns as f64).round();
        if !(0.0..=f64::from(u32::MAX)).contains(&index) {
            return Err(RecordError::wrong(format!("t_s {}: not a valid time", self.t_s)));
        }
        Ok(index as u32)
    }

    fn encoded_point(&self, interval_ns: u64) -> Result<Point, RecordError> {
        let response = self.response.as_ref().map(Histogram::encoded).transpose()?;
        let counted = response.as_ref().filter(|response| response.count > 0);
        Ok(Point {
            index: self.index(interval_ns)?,
            requests: self.requests,
            errors: self.errors,
            operations: self.operations,
            in_time: self.in_time,
            mean_ns: counted.map(|response| response.sum_ns as f64 / response.count as f64),
            p50_ns: self.p50.map(nanoseconds),
            p99_ns: self.p99.map(nanoseconds),
            max_ns: self.max.map(nanoseconds),
            late_max_ns: self.late_max.map(nanoseconds),
            own_late_max_ns: self.own_late_max.map(nanoseconds),
            response,
        })
    }

    fn point(&self, interval_ns: u64) -> Result<Point, RecordError> {
        let index = self.index(interval_ns)?;
        let nothing = measure::Latency::new(1);
        let point = |latency| Point {
            late_max_ns: self.late_max.map(nanoseconds),
            own_late_max_ns: self.own_late_max.map(nanoseconds),
            operations: self.operations,
            in_time: self.in_time,
            ..Point::figures(index, self.requests, self.errors, latency)
        };
        Ok(match &self.response {
            None => point(&nothing),
            Some(response) => {
                let encoded = response.encoded()?;
                // Kept as it was written, so that it is written again to the byte.
                Point { response: Some(encoded.clone()), ..point(&encoded.decode()?) }
            }
        })
    }
}
