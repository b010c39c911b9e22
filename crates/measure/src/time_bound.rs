//! Latencies between two clocks, whose offset is known only within a bound.

use crate::{Latency, Measurement, Point};

impl Latency {
    /// Returns the latencies with each below `least_ns` raised to it.
    pub fn at_least(&self, least_ns: u64) -> Self {
        let mut raised = Self::new(self.histogram().sigfig());
        self.recorded().for_each(|(ns, count)| raised.record_n(ns.max(least_ns), count));
        raised
    }
}

impl Measurement {
    /// Raises latencies below this bound to it: in total, over time, and of woken receivers.
    pub fn raise_latencies(&mut self, least_ns: u64) {
        for command in &mut self.total.commands {
            command.service = command.service.at_least(least_ns);
            let response = &mut command.scheduled_response;
            *response = response.as_ref().map(|response| response.at_least(least_ns));
        }
        if let Some(waits) = self.deliveries.as_mut().and_then(|of| of.waits.as_mut()) {
            waits.wake_up = waits.wake_up.at_least(least_ns);
        }
        for point in &mut self.timeline.points {
            let decoded = point.response.as_ref().and_then(|response| response.decode().ok());
            let Some(response) = decoded else { continue };
            let raised = response.at_least(least_ns);
            *point = Point {
                late_max_ns: point.late_max_ns,
                own_late_max_ns: point.own_late_max_ns,
                operations: point.operations,
                in_time: point.in_time,
                misses: point.misses,
                ..Point::with(point.index, point.requests, point.errors, &raised)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_bound_counts_as_the_bound() {
        let mut latency = Latency::new(3);
        [(10, 5), (1_000, 3), (70_000, 2)].iter().for_each(|(ns, n)| latency.record_n(*ns, *n));
        let raised = latency.at_least(2_000);
        assert_eq!(
            (raised.count(), raised.min_ns(), raised.max_ns()),
            (10, Some(2_000), Some(70_000))
        );
        assert_eq!((raised.quantile_ns(0.5), raised.quantile_ns(0.9)), (Some(2_000), Some(70_000)));
        assert_eq!(raised.mean_ns(), Some(f64::from(8 * 2_000 + 2 * 70_000) / 10.0));
        assert_eq!(latency.at_least(0).quantile_ns(0.8), latency.quantile_ns(0.8));
        assert_eq!(Latency::new(3).at_least(5).count(), 0);
    }
}
