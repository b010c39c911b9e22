//! Several clients in keystorm's own report: the skew of their starts, and a row for each.

use std::io::{self, Write};

use crate::{CLIENT_COLUMNS, Summary, escape};

pub(super) fn write_clients(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(clients) = &summary.run.clients else { return Ok(()) };
    writeln!(out, "  {}", clients.beginning())?;
    let shown = clients.standing_out();
    let line = |[name, cells @ ..]: [&str; 6], out: &mut dyn Write| {
        let cells = cells.map(|cell| format!("{cell:>11}")).join(" ");
        writeln!(out, "  {:<18} {cells}", super::fitted(&escape(name), 18))
    };
    line(CLIENT_COLUMNS, out)?;
    for row in &shown {
        line(row.cells().each_ref().map(String::as_str), out)?;
        if let Some(why) = &row.lost {
            writeln!(out, "    lost {}", escape(why))?;
        }
    }
    match clients.rows.len() - shown.len() {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more, see the --json file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientRow, Clients, fixture};

    fn written(count: u32) -> String {
        let mut run = fixture::complete();
        let rows = (1..=count).map(|number| {
            let mut row = ClientRow::new(number, "load\u{1b}", &run);
            row.throughput_rps = f64::from(number);
            row.lost = (number == count).then(|| "after 1.2 s: killed".to_owned());
            row
        });
        let rows = rows.collect();
        let skew = Clients { start_skew_us: 9.0, start_skew_bound_us: 20.0, ..Clients::default() };
        run.clients = Some(Clients { rows, ..skew });
        let mut out = Vec::new();
        write_clients(&Summary::from_run(&run), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_client_has_a_row_and_of_many_those_that_stand_out() {
        let few = written(3);
        assert!(few.starts_with("  3 clients started within 0.03 ms\n"), "{few}");
        assert_eq!(few.lines().count(), 6, "{few}");
        assert!(
            few.ends_with("    lost after 1.2 s: killed\n") && !few.contains('\u{1b}'),
            "{few}"
        );
        assert!(few.lines().all(|line| line.chars().count() <= 80), "{few}");
        let many = written(64);
        assert!(many.contains("\n  64 load") && many.contains("\n  15 load"), "{many}");
        assert!(many.ends_with("  and 48 more, see the --json file\n"), "{many}");
    }
}
