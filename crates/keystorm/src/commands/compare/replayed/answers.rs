//! Sends the same commands to both servers, one after another, and compares their replies.
//!
//! Commands go in the record's order, over one connection for all clients except those with transactions or
//! blocking commands, which keep their own. Consecutive commands of a connection are sent together.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use host::{Client, Transport};
use lab::AnswerTotals;
use report::compare::AnswerComparison;
use traffic::replay::Question;
use wire::resp::Value;
use workload::Plan;

use super::super::test_beds::TestBeds;
use crate::commands::replay::RecordedLoad;

/// Maximum number of commands that are sent together.
const TOGETHER_MAX: usize = 128;
/// Maximum number of bytes of these commands.
const BYTES_MAX: usize = 32 << 10;

/// Sends the commands to both servers, and compares the replies.
///
/// # Errors
/// Returns an error if the record cannot be read, or a server does not answer.
pub(super) fn compare(
    load: &RecordedLoad,
    beds: &mut [TestBeds<'_>; 2],
    plans: &[Plan; 2],
    interrupted: &AtomicBool,
) -> Result<AnswerComparison> {
    for (beds, plan) in beds.iter_mut().zip(plans) {
        beds.restart()?;
        beds.prepare(plan)?;
    }
    let traffic = load.in_order();
    let mut conversation = traffic.conversation().map_err(anyhow::Error::msg)?;
    let mut pair =
        Pair { beds: &*beds, plans, connections: HashMap::new(), answers: AnswerTotals::default() };
    let mut together: Vec<Question> = Vec::new();
    let mut bytes = 0;
    while let Some(question) = conversation.next_question().map_err(anyhow::Error::msg)? {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(pair.answers.into_comparison());
        }
        let fits = together.last().is_none_or(|last| {
            (last.connection, last.db) == (question.connection, question.db)
                && together.len() < TOGETHER_MAX
                && bytes < BYTES_MAX
        });
        if !fits {
            pair.ask(&together)?;
            together.clear();
            bytes = 0;
        }
        bytes += question.words.iter().map(Vec::len).sum::<usize>();
        together.push(question);
    }
    pair.ask(&together)?;
    Ok(pair.answers.into_comparison())
}

/// A connection to each server, and the database selected on both.
struct Connection {
    clients: [Client<Transport>; 2],
    db: u32,
}

/// Both servers, with a pair of connections for each of the record's.
struct Pair<'b, 'r> {
    beds: &'b [TestBeds<'r>; 2],
    plans: &'b [Plan; 2],
    connections: HashMap<u32, Connection>,
    answers: AnswerTotals,
}

impl Pair<'_, '_> {
    fn open(&self) -> Result<Connection> {
        let client = |side: usize| -> Result<Client<Transport>> {
            let bed = self.beds[side].first().context("a side without a server")?;
            bed.server.client(&self.plans[side].target)
        };
        Ok(Connection { clients: [client(0)?, client(1)?], db: self.plans[0].target.db })
    }

    /// Sends these commands, which belong to one connection and database, and compares the replies.
    fn ask(&mut self, together: &[Question]) -> Result<()> {
        let Some(Question { connection, db, .. }) = together.first() else { return Ok(()) };
        if !self.connections.contains_key(connection) {
            let opened = self.open()?;
            self.connections.insert(*connection, opened);
        }
        let Some(Connection { clients, db: current }) = self.connections.get_mut(connection) else {
            return Ok(());
        };
        if current != db {
            let select = [b"SELECT".to_vec(), db.to_string().into_bytes()];
            for client in clients.iter_mut() {
                client.ask(&[&select[0], &select[1]])?;
            }
            *current = *db;
        }
        let commands: Vec<&[Vec<u8>]> =
            together.iter().map(|question| question.words.as_slice()).collect();
        let [a, b] = clients;
        let (of_a, of_b) = (a.ask_all(&commands)?, b.ask_all(&commands)?);
        let pairs: Vec<(Value, Value)> = of_a.into_iter().zip(of_b).collect();
        for (question, (a, b)) in together.iter().zip(&pairs) {
            self.answers.compare(&question.words, a, b);
        }
        Ok(())
    }
}
