//! RESP, versions 2 and 3.
//! <https://redis.io/docs/latest/develop/reference/protocol-spec/>

mod decode;
mod encode;
mod line;
mod request;
mod stranger;
mod value;

use workload::CommandSpec;
use workload::redis_commands::{counts_found, empty_is_miss};

pub use decode::RespDecoder;
pub use encode::encode_command;
pub use request::{Request, RequestDecoder, RequestFault, RequestFrame};
pub use stranger::speaker;
pub use value::Value;

use crate::{Protocol, Template};

/// RESP as a [`Protocol`]. Versions differ in what a server may send, and the decoder accepts both, so one
/// type serves both; a command (`HELLO 3`) asks for version 3.
#[derive(Debug, Clone, Copy)]
pub struct Resp;

impl Protocol for Resp {
    type Decoder = RespDecoder;
    const CLUSTERS: bool = true;

    const SHOWS: bool = true;

    fn compile(command: &CommandSpec, digits: Option<usize>) -> Template {
        encode::compile(command, digits)
    }

    fn empty_is_miss(command: &CommandSpec) -> bool {
        empty_is_miss(&command.name())
    }

    fn counts_found(command: &CommandSpec) -> bool {
        counts_found(&command.name())
    }

    fn keys_asked(command: &CommandSpec) -> u32 {
        command.several_asked().map_or(0, |(_, asked)| u32::try_from(asked).unwrap_or(u32::MAX))
    }

    /// Returns whether the server refuses the connection, because `maxclients` is reached or protected mode
    /// is on.
    fn is_refusal(error: &[u8]) -> bool {
        error.starts_with(b"ERR max number of clients") || error.starts_with(b"DENIED ")
    }
}

/// Name of the protocol in errors.
const NAME: &str = "RESP";
