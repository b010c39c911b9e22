//! Several clients that carried out one plan.

use crate::document::{Block, Table, Tone};
use crate::{CLIENT_COLUMNS, Clients};

/// Notes of lost clients, and a row for each client, or for the remarkable ones.
pub fn clients(clients: &Clients) -> Vec<Block> {
    let mut blocks: Vec<Block> = (0..clients.rows.len())
        .filter_map(|at: usize| {
            let why = clients.rows[at].lost.as_ref()?;
            Some(Block::Note(Tone::Bad, format!("{}: lost {why}", clients.called(at))))
        })
        .collect();
    let shown = clients.standing_out();
    let mut table = Table::new(CLIENT_COLUMNS);
    table.caption = clients.beginning();
    let more = clients.rows.len() - shown.len();
    if more > 0 {
        table.caption += &format!("; {more} more are in the --json file");
    }
    for row in shown {
        table.row(row.cells());
    }
    blocks.push(Block::Table(table));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::term;
    use crate::{ClientRow, fixture};

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
        run.clients.as_ref().map(|of| term::text(&clients(of), 80, false)).unwrap()
    }

    #[test]
    fn every_client_has_a_row_and_of_many_those_that_stand_out() {
        let few = written(3);
        let lost = "client 3 of 3 (load\\x1b): lost after 1.2 s: killed\n";
        assert!(few.starts_with(&format!("{lost}3 clients started within 0.03 ms\n")), "{few}");
        assert_eq!(few.lines().count(), 6, "{few}");
        assert!(!few.contains('\u{1b}'), "{few}");
        assert!(few.lines().all(|line| line.chars().count() <= 80), "{few}");
        let many = written(64);
        assert!(many.contains("\n64 load") && many.contains("\n15 load"), "{many}");
        assert!(many.contains("; 48 more are in the --json file\n"), "{many}");
    }
}
