//! The bare loop: what this machine's kernel asks of any client, and nothing on top.
//!
//! It talks to the kernel by the same interfaces and with the same flags as the engines, and has
//! no plan, no clock, no histogram, no decoder and no way to fail but to end: it sends fixed bytes
//! and counts bytes until the replies, whose length is an argument, are in. What keystorm needs
//! beyond this is the price of measuring. `make compare` runs the two turn about.
//!
//! It does not use `Engine`, so that what the engines cost above the kernel shows as well.
#![cfg_attr(not(target_os = "linux"), allow(unused))]
#![allow(missing_docs)]

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod tls;
#[cfg(target_os = "linux")]
mod uring;

use std::error::Error;
use std::process::ExitCode;

const USAGE: &str = "\
usage: bare ENGINE ADDRESS REQUESTS CONNECTIONS PIPELINE REPLY_BYTES RANGE [--tls] WORD...

ENGINE: uring, epoll, or auto as keystorm chooses. ADDRESS: IP:PORT, or the path of a unix socket.
REPLY_BYTES: the length of each reply. RANGE: `__rand_int__` in a WORD becomes twelve digits below
it; 0 leaves it as it is. A WORD --bytes=N is N bytes. With --tls, whatever the engine, OpenSSL
over epoll. Behind the WORD --lines the others are lines, as memcached reads them.
Prints requests per second, connecting not in it.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "--version") {
        println!("bare loop");
        return ExitCode::SUCCESS;
    }
    match run(&args) {
        Ok(rate) => {
            println!("bare: {rate:.2} requests per second");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bare: {error}\n\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn run(args: &[String]) -> Result<f64, Box<dyn Error>> {
    let (transport, mut load) = load::Load::parse(args)?;
    let sockets = load.connect()?;
    let start = std::time::Instant::now();
    match transport {
        load::Transport::Uring => uring::run(&mut load, sockets)?,
        load::Transport::Epoll => epoll::run(&mut load, sockets)?,
        load::Transport::Tls => tls::run(&mut load, sockets)?,
    }
    Ok(load.requests as f64 / start.elapsed().as_secs_f64())
}

#[cfg(not(target_os = "linux"))]
fn run(_args: &[String]) -> Result<f64, Box<dyn Error>> {
    Err("it is made of features of Linux".into())
}
