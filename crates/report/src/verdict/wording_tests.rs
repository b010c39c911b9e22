use super::*;

#[test]
fn figures_read_as_people_write_them() {
    assert_eq!(grouped(0.0), "0");
    let rates = [0.4, 12.5, 3.0, 0.004, 150.2, 10_000.0].map(rate);
    assert_eq!(rates, ["0.4", "12.5", "3", "0.004", "150", "10,000"]);
    assert_eq!(grouped(999.6), "1,000");
    assert_eq!(grouped(1_234_567.0), "1,234,567");
    assert_eq!(percent(0.0), "0 %");
    assert_eq!(percent(0.004), "less than 1 %");
    assert_eq!(percent(0.994), "99 %");
    let times = [2.0, 0.0125, 0.25, 0.00005, 0.000_000_5, 0.99996, 100.0, 0.0].map(time);
    let text = ["2.00 s", "12.5 ms", "250 ms", "50.0 µs", "0.50 µs", "1.00 s", "100 s", "0 µs"];
    assert_eq!(times, text);
}
