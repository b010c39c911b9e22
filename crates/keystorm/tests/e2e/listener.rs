//! Servers that are none: they accept and say what they are told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::program::{Keystorm, Ran};

/// Something that listens on a port of 127.0.0.1 until the tests end.
pub(crate) struct Listener(u16);

impl Listener {
    /// Answers each command (its words) with these bytes.
    pub(crate) fn that_answers(
        answer: impl Fn(&[String]) -> &'static str + Clone + Send + 'static,
    ) -> Self {
        Self::that(move |stream| {
            let answer = answer.clone();
            thread::spawn(move || {
                let mut input = BufReader::new(stream.try_clone().unwrap());
                let mut output = stream;
                while let Some(words) = read_command(&mut input) {
                    if output.write_all(answer(&words).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        })
    }

    /// Looks like a server until load comes, and answers that with these bytes.
    pub(crate) fn that_answers_load(answer: &'static str) -> Self {
        Self::that_answers(move |words| match words[0].to_uppercase().as_str() {
            "CONFIG" => "*0\r\n",
            "INFO" => "$15\r\nredis_version:7\r\n",
            _ => answer,
        })
    }

    /// Looks like a server, and cuts each connection off in the middle of its reply to the
    /// request of that number.
    pub(crate) fn that_cuts_every(requests: u32) -> Self {
        Self::that_serves(move |number, output| match number {
            n if n < requests => output.write_all(b"$5\r\nhello\r\n").is_ok(),
            _ => {
                let _ = output.write_all(b"$5\r\nhel");
                false
            }
        })
    }

    /// Looks like a server whose replies come byte by byte.
    pub(crate) fn that_dribbles() -> Self {
        Self::that_serves(|_, output| {
            let _ = output.set_nodelay(true);
            b"*2\r\n$5\r\nhello\r\n:12\r\n".iter().all(|byte| {
                thread::sleep(Duration::from_micros(200));
                output.write_all(&[*byte]).is_ok()
            })
        })
    }

    /// Answers what is asked before load, and leaves each request of the load (by its number on
    /// its connection) to this, which says whether to go on.
    fn that_serves(serve: impl Fn(u32, &mut TcpStream) -> bool + Clone + Send + 'static) -> Self {
        Self::that(move |stream| {
            let serve = serve.clone();
            thread::spawn(move || {
                let mut input = BufReader::new(stream.try_clone().unwrap());
                let mut output = stream;
                let mut number = 0;
                while let Some(words) = read_command(&mut input) {
                    let go_on = match words[0].to_uppercase().as_str() {
                        "CONFIG" => output.write_all(b"*0\r\n").is_ok(),
                        "INFO" => output.write_all(b"$15\r\nredis_version:7\r\n").is_ok(),
                        _ => {
                            number += 1;
                            serve(number, &mut output)
                        }
                    };
                    if !go_on {
                        return;
                    }
                }
            });
        })
    }

    /// Says this to everybody, whatever is asked.
    pub(crate) fn that_says(text: &'static str) -> Self {
        Self::that(move |mut stream| {
            thread::spawn(move || {
                let mut chunk = [0; 4096];
                while let Ok(1..) = stream.read(&mut chunk) {
                    if stream.write_all(text.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        })
    }

    fn that(mut serve: impl FnMut(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || listener.incoming().flatten().for_each(&mut serve));
        Self(port)
    }

    /// Runs keystorm against it.
    pub(crate) fn run(&self, line: &str) -> Ran {
        Keystorm::new(&format!("-p {} {line}", self.0)).run()
    }
}

/// The words of the next command, sent as an array of bulk strings.
fn read_command(input: &mut impl BufRead) -> Option<Vec<String>> {
    let count = read_head(input, '*')?;
    (0..count)
        .map(|_| {
            let mut word = vec![0; read_head(input, '$')? + 2];
            input.read_exact(&mut word).ok()?;
            Some(String::from_utf8_lossy(&word[..word.len() - 2]).into_owned())
        })
        .collect()
}

fn read_head(input: &mut impl BufRead, kind: char) -> Option<usize> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    line.trim_end().strip_prefix(kind)?.parse().ok()
}
