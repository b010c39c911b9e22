//! Charts as data: series of points over two axes.

use super::Unit;

/// A chart.
///
/// A sweep is a line for each value of one option over the values of another. What limited a point
/// is shown when somebody points at it.
///
/// ```
/// use report::document::{Axis, Chart, DataPoint, Series, Unit};
///
/// let mut chart = Chart::lines(
///     "Requests per second by connections",
///     Axis::log("connections", Unit::Count),
///     Axis::linear("requests per second", Unit::PerSecond),
/// );
/// for (depth, rates) in [(1, [21e3, 98e3]), (16, [190e3, 640e3])] {
///     let points = [1.0, 10.0].into_iter().zip(rates);
///     let points = points.map(|(c, rate)| DataPoint::at(c, rate).noted("limited by the server"));
///     chart.series.push(Series::new(format!("pipeline of {depth}"), points));
/// }
/// assert_eq!(chart.points_shown(), 4);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// Title, beginning like a sentence: `Response time over time`.
    pub title: String,
    /// Subject (test, server and version), for a picture outside of its page, which shows it elsewhere. Empty
    /// for none.
    pub of: String,
    /// Hint for reading the chart, below it; empty for none.
    pub note: String,
    /// Kind of marks that show the points.
    pub kind: ChartKind,
    /// The horizontal axis; for bars, the axis of their categories.
    pub x: Axis,
    /// The vertical axis; for bars, the axis of their lengths.
    pub y: Axis,
    /// Data. The first eight series have different colours.
    pub series: Vec<Series>,
    /// Lines across the chart with a meaning, such as a target or a knee.
    pub guides: Vec<Guide>,
    /// Shaded spans of the x axis, such as outages.
    pub bands: Vec<Band>,
    /// Fixed range of the x axis, for charts over one span of time below each other. `None` for the range of
    /// the points.
    pub extent: Option<(f64, f64)>,
}

/// Kind of marks that show points.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ChartKind {
    /// Lines through points in order of x.
    #[default]
    Lines,
    /// Cells of this width on the x axis, each as high as its point's interval and the darker the greater its
    /// weight.
    HeatMap(f64),
    /// Horizontal bars, one for each category and series; a point's x is the number of its category, from 0.
    /// On a logarithmic axis, which has no zero, dots; a category may have several.
    Bars(Vec<String>),
}

/// An axis.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    /// Name of the quantity; the unit is added to it.
    pub label: String,
    /// Mapping of values to distances.
    pub scale: Scale,
    /// Unit of values.
    pub unit: Unit,
}

/// Mapping of values to distances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences, from zero if all values are positive.
    #[default]
    Linear,
    /// Equal ratios; values must be above zero.
    Log,
    /// Quantiles (0 to 1) by their distance from 1: 0, 0.9, 0.99, 0.999 and so on are equally spaced. For
    /// percentile spectra.
    Nines,
}

impl Scale {
    /// Returns the position of a value, in equal distances; `None` if the scale cannot show it.
    pub fn place(self, value: f64) -> Option<f64> {
        match self {
            Self::Linear => value.is_finite().then_some(value),
            Self::Log => (value.is_finite() && value > 0.0).then(|| value.log10()),
            Self::Nines => (0.0..1.0).contains(&value).then(|| -(1.0 - value).log10()),
        }
    }
}

impl Axis {
    /// An axis of equal differences.
    pub fn linear(label: impl Into<String>, unit: Unit) -> Self {
        Self { label: label.into(), scale: Scale::Linear, unit }
    }

    /// An axis of equal ratios.
    pub fn log(label: impl Into<String>, unit: Unit) -> Self {
        Self { label: label.into(), scale: Scale::Log, unit }
    }

    /// An axis of quantiles, 0 to 1, shown as percentiles.
    pub fn nines() -> Self {
        Self { label: "percentile".into(), scale: Scale::Nines, unit: Unit::Plain }
    }
}

/// Points that belong together.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// The points, in order of x.
    pub points: Vec<DataPoint>,
    /// Set for a dashed line, which is planned or for comparison.
    pub dashed: bool,
}

impl Series {
    /// A series of these points.
    pub fn new<P: Into<DataPoint>>(
        name: impl Into<String>,
        points: impl IntoIterator<Item = P>,
    ) -> Self {
        let points = points.into_iter().map(Into::into).collect();
        Self { name: name.into(), points, dashed: false }
    }

    /// Draws the series in dashes.
    pub fn dashed(self) -> Self {
        Self { dashed: true, ..self }
    }
}

/// A point.
#[derive(Debug, Clone, Default)]
pub struct DataPoint {
    /// Position, in the unit of the x axis.
    pub x: f64,
    /// Value, in the unit of the y axis.
    pub y: f64,
    /// Interval of the true value, drawn as a whisker: a confidence interval or a range of repeats.
    pub interval: Option<(f64, f64)>,
    /// Number of replies behind a point of a heat map.
    pub weight: f64,
    /// Set for an uncertain point: its bar is drawn as an outline.
    pub hollow: bool,
    /// Number of its colour, if it differs from its series': for better, worse and undecided.
    pub colour: Option<usize>,
    /// Further text of its tooltip, such as its limit; empty for none.
    pub note: String,
}

impl DataPoint {
    /// A plain point.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Adds the interval of its y.
    pub fn within(self, low: f64, high: f64) -> Self {
        Self { interval: Some((low, high)), ..self }
    }

    /// Sets the colour to that of the series with this number.
    pub fn coloured(self, series: usize) -> Self {
        Self { colour: Some(series), ..self }
    }

    /// Draws it as an outline.
    pub fn hollow(self) -> Self {
        Self { hollow: true, ..self }
    }

    /// Adds a note to its tooltip.
    pub fn noted(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

impl From<(f64, f64)> for DataPoint {
    fn from((x, y): (f64, f64)) -> Self {
        Self::at(x, y)
    }
}

/// A line across the chart.
#[derive(Debug, Clone)]
pub enum Guide {
    /// A line at this x, such as a knee.
    X(f64, String),
    /// A line at this y, such as a promised latency; for bars, at this length.
    Y(f64, String),
}

/// A span of the x axis that is shaded over the whole height.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Beginning, in the unit of the x axis.
    pub from: f64,
    /// End of the span, in the same unit.
    pub to: f64,
    /// Name in the legend; bands with the same name share an entry.
    pub name: String,
    /// Tooltip.
    pub note: String,
}

impl Chart {
    /// Adds a point to the series with this name, which is created if necessary.
    pub fn add(&mut self, series: &str, point: DataPoint) {
        match self.series.iter_mut().find(|known| known.name == series) {
            Some(series) => series.points.push(point),
            None => self.series.push(Series::new(series, [point])),
        }
    }

    /// Adds a series of these points.
    pub fn with<P: Into<DataPoint>>(
        mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = P>,
    ) -> Self {
        self.series.push(Series::new(name, points));
        self
    }

    /// Sets the hint below the chart.
    pub fn noted(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// A chart of lines, without any yet.
    pub fn lines(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, ..Self::default() }
    }

    /// Creates an empty chart of cells of `width` on the x axis.
    pub fn heat_map(title: impl Into<String>, x: Axis, y: Axis, width: f64) -> Self {
        Self { kind: ChartKind::HeatMap(width), ..Self::lines(title, x, y) }
    }

    /// A chart of horizontal bars, without any yet: one group for each category. Points say by
    /// their [`interval`](DataPoint::interval) how sure they are.
    ///
    /// ```
    /// use report::document::{Axis, Chart, DataPoint, Guide, Series, Unit};
    ///
    /// let ratio = Axis::linear("candidate / base", Unit::Ratio);
    /// let mut chart = Chart::bars("Throughput", ["SET", "GET"], ratio);
    /// let set = DataPoint::at(0.0, 1.04).within(1.01, 1.07).noted("significant");
    /// let get = DataPoint::at(1.0, 0.99).within(0.97, 1.02);
    /// chart.series.push(Series::new("candidate", [set, get]));
    /// chart.guides.push(Guide::Y(1.0, "no difference".into()));
    /// assert_eq!(chart.points_shown(), 2);
    /// ```
    pub fn bars(
        title: impl Into<String>,
        categories: impl IntoIterator<Item = impl Into<String>>,
        y: Axis,
    ) -> Self {
        let kind = ChartKind::Bars(categories.into_iter().map(Into::into).collect());
        Self { kind, ..Self::lines(title, Axis::default(), y) }
    }

    /// Makes a chart of the latency at each rate: the curve of a search, with the target and the rate that
    /// keeps it. Points are rates per second and latencies in nanoseconds.
    pub fn rate_curve(
        title: impl Into<String>,
        series: Vec<Series>,
        slo: Option<(f64, String)>,
        knee: Option<(f64, String)>,
    ) -> Self {
        let rate = Axis::linear("rate", Unit::PerSecond);
        let slo = slo.map(|(ns, name)| Guide::Y(ns, name));
        let knee = knee.map(|(per_s, name)| Guide::X(per_s, name));
        Self {
            series,
            guides: slo.into_iter().chain(knee).collect(),
            ..Self::lines(title, rate, Axis::log("latency", Unit::Nanoseconds))
        }
    }

    /// The points that the scales can show.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &DataPoint> {
        self.series.iter().flat_map(|series| &series.points).filter(|p| self.shows(p))
    }

    /// Returns the number of points that the scales can show.
    pub fn points_shown(&self) -> usize {
        self.shown().count()
    }

    /// Returns the number of points of each series that are shown.
    pub fn points_by_series(&self) -> Vec<usize> {
        let series = self.series.iter().map(|series| series.points.iter());
        series.map(|points| points.filter(|point| self.shows(point)).count()).collect()
    }

    /// Returns whether the scales can show a point.
    pub fn shows(&self, point: &DataPoint) -> bool {
        match &self.kind {
            ChartKind::Bars(categories) => {
                let known = point.x >= 0.0 && point.x < categories.len() as f64;
                known && self.y.scale.place(point.y).is_some()
            }
            _ => self.x.scale.place(point.x).and(self.y.scale.place(point.y)).is_some(),
        }
    }
}
