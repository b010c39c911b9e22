//! Several commands on one connection before the first of their replies is read.

use std::io::{Read, Write};

use wire::resp::{Value, encode_command};

use crate::Client;
use crate::client_error::ClientError;

impl<T: Read + Write> Client<T> {
    /// Sends commands together and waits for the reply to each, which may be an error reply. The commands
    /// must fit into the buffers of a connection.
    ///
    /// # Errors
    /// Returns the errors of [`Client::ask`].
    pub fn ask_together(&mut self, commands: &[&[Vec<u8>]]) -> Result<Vec<Value>, ClientError> {
        let mut request = Vec::new();
        for command in commands {
            let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
            encode_command(&words, &mut request);
        }
        let mut replies = Vec::with_capacity(commands.len());
        for command in commands {
            let name = command.first().map_or(&[][..], Vec::as_slice).escape_ascii().to_string();
            let mut value = self.exchange(&name, &request, Value::parse)?;
            request.clear();
            while matches!(value, Value::Push(_)) {
                value = self.exchange(&name, &request, Value::parse)?;
            }
            replies.push(value);
        }
        Ok(replies)
    }
}
