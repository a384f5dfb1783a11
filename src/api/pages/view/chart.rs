//! Charts as numbers: where lines go and what stands at the axes. Templates draw them as SVG, and as a table for who cannot
//! see them.

use super::grouped;
use serde::Serialize;
use std::fmt::Write as _;

/// Size of the drawing, and of what is left for the axes' words.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 58.0;
const BOTTOM: f64 = 24.0;
const TOP: f64 = 8.0;
const RIGHT: f64 = 14.0;

/// Points of a line that are drawn: more cannot be seen.
const POINTS_MAX: usize = 280;

/// Rows of the table.
const TABLE_MAX: usize = 12;

/// A chart over time.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    id: &'static str,
    title: &'static str,
    lines: Vec<Line>,
    across: Vec<Tick>,
    up: Vec<Tick>,
    /// Seconds, and a value of each line.
    table: Vec<(String, Vec<String>)>,
    width: f64,
    height: f64,
    left: f64,
    bottom: f64,
    right: f64,
}

#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    /// The points, as SVG has them.
    points: String,
    /// The same closed along the axis.
    area: String,
    last: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Tick {
    at: f64,
    label: String,
}

/// A number that is 1, 2 or 5 times a power of ten, such that a few of them reach `max`.
fn step(max: f64) -> f64 {
    let rough = (max / 4.0).max(1e-9);
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough).unwrap_or(10.0 * power)
}

/// The same for seconds.
fn time_step(max: f64) -> f64 {
    const STEPS: [f64; 16] =
        [1., 2., 5., 10., 15., 30., 60., 120., 300., 600., 900., 1800., 3600., 7200., 14_400., 43_200.];
    STEPS.into_iter().find(|step| max / step <= 6.0).unwrap_or_else(|| step(max / 86_400.0) * 86_400.0)
}

fn short_time(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{s:.0} s"),
        s if s < 3_600.0 && s % 60.0 < 1.0 => format!("{:.0} min", s / 60.0),
        s if s < 3_600.0 => format!("{:.0}:{:02.0}", (s / 60.0).floor(), s % 60.0),
        s => format!("{} h", (s / 360.0).round() / 10.0),
    }
}

fn short_number(value: f64) -> String {
    match value {
        v if v >= 1e9 => format!("{} G", (v / 1e8).round() / 10.0),
        v if v >= 1e6 => format!("{} M", (v / 1e5).round() / 10.0),
        v if v >= 1e4 => format!("{} k", (v / 1e2).round() / 10.0),
        v => format!("{}", (v * 100.0).round() / 100.0),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and rates, at least 0; it saturates"
)]
fn exact(value: f64) -> String {
    grouped(value.max(0.0).round() as u64)
}

impl Chart {
    /// A chart of lines over the same times, in seconds; none if there is nothing to draw yet. `whole` says that values are
    /// numbers of things.
    pub(crate) fn new(
        id: &'static str,
        title: &'static str,
        seconds: &[f64],
        lines: &[(&'static str, Vec<f64>)],
        whole: bool,
    ) -> Option<Self> {
        if seconds.len() < 2 {
            return None;
        }
        let end = seconds.iter().copied().fold(1.0, f64::max);
        let top = lines.iter().flat_map(|(_, values)| values).copied().fold(0.0, f64::max);
        let up_by = if whole { step(top.max(4.0)).max(1.0) } else { step(top.max(1e-3)) };
        let top = up_by * (top / up_by).ceil().max(1.0);
        let x = |seconds: f64| LEFT + (WIDTH - LEFT - RIGHT) * seconds / end;
        let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / top);
        let thin = seconds.len().div_ceil(POINTS_MAX);
        let drawn: Vec<usize> = (0..seconds.len()).filter(|at| at % thin == 0 || at + 1 == seconds.len()).collect();
        let line = |(name, values): &(&'static str, Vec<f64>)| {
            let mut points = String::new();
            for at in &drawn {
                let (time, value) = (seconds[*at], values.get(*at).copied().unwrap_or_default());
                let _ = write!(points, "{:.1},{:.1} ", x(time), y(value));
            }
            let floor = y(0.0);
            let (begin, end) = (x(seconds[0]), x(seconds[seconds.len() - 1]));
            let area = format!("{begin:.1},{floor:.1} {points}{end:.1},{floor:.1}");
            Line { name, last: exact(values.last().copied().unwrap_or_default()), points, area }
        };
        let ticks = |by: f64, max: f64, place: &dyn Fn(f64) -> f64, label: fn(f64) -> String| {
            let at = (0_u32..20).map(|n| f64::from(n) * by).take_while(|at| *at <= max * 1.0001);
            at.map(|at| Tick { at: (place(at) * 10.0).round() / 10.0, label: label(at) }).collect()
        };
        let thin = seconds.len().div_ceil(TABLE_MAX);
        let chosen = (0..seconds.len()).filter(|at| (seconds.len() - 1 - at).is_multiple_of(thin));
        let value = |at: usize, values: &[f64]| exact(values.get(at).copied().unwrap_or_default());
        let row = |at: usize| (super::duration(seconds[at]), lines.iter().map(|(_, v)| value(at, v)).collect());
        Some(Self {
            id,
            title,
            across: ticks(time_step(end), end, &x, short_time),
            up: ticks(up_by, top, &y, short_number),
            table: chosen.map(row).collect(),
            lines: lines.iter().map(line).collect(),
            width: WIDTH,
            height: HEIGHT,
            left: LEFT,
            bottom: HEIGHT - BOTTOM,
            right: WIDTH - RIGHT,
        })
    }
}

/// What was added per second between one time and the next.
pub(crate) fn rate(seconds: &[f64], sums: &[f64]) -> Vec<f64> {
    let mut rates = Vec::with_capacity(sums.len());
    let (mut time, mut sum) = (0.0, 0.0);
    for (now, value) in seconds.iter().zip(sums) {
        // A part of a campaign that begins anew counts from where the one before ended.
        let passed: f64 = now - time;
        rates.push(if passed > 0.0 { ((value - sum) / passed).max(0.0) } else { rates.last().copied().unwrap_or(0.0) });
        (time, sum) = (*now, *value);
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!([step(4.0), step(9.0), step(37.0), step(0.5)].map(short_number), ["1", "5", "10", "0.2"]);
        assert_eq!([time_step(5.0), time_step(120.0), time_step(86_400.0)].map(short_time), ["1 s", "30 s", "4 h"]);
        assert_eq!([short_time(90.0), short_time(5_400.0)], ["1:30", "1.5 h"]);
        assert_eq!([short_number(2.5), short_number(12_500.0), short_number(3e6)], ["2.5", "12.5 k", "3 M"]);
    }

    #[test]
    fn every_point_is_inside_the_drawing() {
        let seconds: Vec<f64> = (0..1_000).map(f64::from).collect();
        let values = seconds.iter().map(|s| s * s).collect();
        let chart = Chart::new("c", "Cases", &seconds, &[("cases", values)], true).expect("a chart");
        let points: Vec<(f64, f64)> = chart.lines[0]
            .points
            .split_whitespace()
            .map(|point| {
                let (x, y) = point.split_once(',').expect("two numbers");
                (x.parse().expect("x"), y.parse().expect("y"))
            })
            .collect();
        assert!(points.len() <= POINTS_MAX + 1 && points.len() > 100, "{}", points.len());
        assert!(points.iter().all(|(x, y)| (LEFT..=WIDTH).contains(x) && (0.0..=HEIGHT).contains(y)), "{points:?}");
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 >= b.1), "it only grows: {points:?}");
        assert!(chart.table.len() <= TABLE_MAX + 1);
        assert_eq!(chart.lines[0].last, grouped(998_001));
        assert!(Chart::new("c", "Cases", &[1.0], &[("cases", vec![1.0])], true).is_none());
    }

    #[test]
    fn a_rate_is_what_came_in_between() {
        let rates = rate(&[1.0, 3.0, 3.0, 4.0], &[10.0, 30.0, 30.0, 25.0]);
        assert_eq!(rates.into_iter().map(short_number).collect::<Vec<_>>(), ["10", "10", "10", "0"]);
    }
}
