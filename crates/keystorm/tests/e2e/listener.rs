//! Fake servers: they accept and send scripted bytes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::program::{Keystorm, RunOutput, elapse};

/// Something that listens on a port of 127.0.0.1 until the tests end, and counts what it is asked.
pub(crate) struct Listener {
    port: u16,
    asked: Arc<Mutex<BTreeMap<String, u64>>>,
}

/// What a server does when it is asked what it does not know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stranger {
    /// It closes the connection.
    Closes,
    /// It says nothing, then and later.
    IsSilent,
    /// It answers with an error; and `PING` it knows.
    Refuses,
}

impl Listener {
    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

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

    /// The same, each time after so long.
    pub(crate) fn that_answers_load_after(delay: Duration, answer: &'static str) -> Self {
        Self::that_serves(move |_, output| {
            elapse(delay);
            output.write_all(answer.as_bytes()).is_ok()
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

    /// Answers `GET` and `SET` and nothing else.
    pub(crate) fn that_knows_load_only(stranger: Stranger) -> Self {
        Self::that_knows(stranger, move |input| {
            let words = read_command(input)?;
            let name = words[0].to_uppercase();
            let answer = match (name.as_str(), stranger) {
                ("GET", _) => Ok("$-1\r\n"),
                ("SET", _) => Ok("+OK\r\n"),
                ("PING", Stranger::Refuses) => Ok("+PONG\r\n"),
                _ => Err("-ERR unknown command\r\n"),
            };
            Some((name, answer))
        })
    }

    /// The same in the words of memcached.
    pub(crate) fn that_knows_load_of_memcached_only(stranger: Stranger) -> Self {
        Self::that_knows(stranger, |input| {
            let mut line = String::new();
            input.read_line(&mut line).ok()?;
            let mut words = line.split_whitespace();
            let name = words.next()?.to_owned();
            if name == "set" {
                let mut value = vec![0; words.nth(3)?.parse::<usize>().ok()? + 2];
                input.read_exact(&mut value).ok()?;
            }
            let answer = match name.as_str() {
                "get" => Ok("END\r\n"),
                "set" => Ok("STORED\r\n"),
                _ => Err("ERROR\r\n"),
            };
            Some((name, answer))
        })
    }

    /// A memcached without memory for a key the first two times that it is set. It counts the sets of each key.
    pub(crate) fn that_evicts_slowly() -> Self {
        Self::that_counts(|mut stream, asked| {
            let mut input = BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while input.read_line(&mut line).is_ok_and(|len| len > 0) {
                let words: Vec<&str> = line.split_whitespace().collect();
                let answer = match words[..] {
                    ["set", key, _, _, len] => {
                        let mut value = vec![0; len.parse::<usize>().unwrap() + 2];
                        input.read_exact(&mut value).unwrap();
                        let mut asked = asked.lock().unwrap();
                        let times = asked.entry(key.to_owned()).or_default();
                        *times += 1;
                        let is_stored = *times > 2;
                        if is_stored {
                            "STORED\r\n"
                        } else {
                            "SERVER_ERROR out of memory storing object\r\n"
                        }
                    }
                    ["get", ..] => "END\r\n",
                    _ => "ERROR\r\n",
                };
                stream.write_all(answer.as_bytes()).unwrap();
                line.clear();
            }
        })
    }

    /// Reads what it is asked, by name, and answers it; an `Err` is the answer to what it does not know.
    fn that_knows(
        stranger: Stranger,
        read: impl Fn(&mut BufReader<TcpStream>) -> Option<(String, Result<&'static str, &'static str>)>
        + Copy
        + Send
        + 'static,
    ) -> Self {
        Self::that_counts(move |mut stream, asked| {
            let mut input = BufReader::new(stream.try_clone().unwrap());
            let mut is_silent = false;
            while let Some((name, answer)) = read(&mut input) {
                *asked.lock().unwrap().entry(name).or_default() += 1;
                let answer = match (answer, stranger) {
                    (Ok(answer), _) | (Err(answer), Stranger::Refuses) => answer,
                    (Err(_), Stranger::Closes) => return,
                    (Err(_), Stranger::IsSilent) => {
                        is_silent = true;
                        ""
                    }
                };
                if !is_silent && stream.write_all(answer.as_bytes()).is_err() {
                    return;
                }
            }
        })
    }

    /// Serves each connection on a thread of its own, which counts what it is asked.
    fn that_counts(
        serve: impl Fn(TcpStream, &Mutex<BTreeMap<String, u64>>) + Copy + Send + 'static,
    ) -> Self {
        let asked = Arc::new(Mutex::new(BTreeMap::new()));
        let shared = Arc::clone(&asked);
        let listener = Self::that(move |stream| {
            let asked = Arc::clone(&shared);
            thread::spawn(move || serve(stream, &asked));
        });
        Self { asked, ..listener }
    }

    /// Everything that it was asked, and how often.
    pub(crate) fn all_asked(&self) -> BTreeMap<String, u64> {
        self.asked.lock().unwrap().clone()
    }

    /// How often it was asked this.
    pub(crate) fn asked(&self, name: &str) -> u64 {
        self.all_asked().get(name).copied().unwrap_or_default()
    }

    /// A memcached that answers each line that begins with `get` with these bytes, and knows nothing else.
    pub(crate) fn that_answers_get(answer: &'static str) -> Self {
        Self::that_answers_lines(move |line| match line.split(' ').next() {
            Some("get") => answer,
            Some("version") => "VERSION 1.6.18\r\n",
            Some("stats") => "END\r\n",
            _ => "ERROR\r\n",
        })
    }

    /// Answers each line with these bytes.
    pub(crate) fn that_answers_lines(
        answer: impl Fn(&str) -> &'static str + Clone + Send + 'static,
    ) -> Self {
        Self::that(move |stream| {
            let answer = answer.clone();
            thread::spawn(move || {
                let input = BufReader::new(stream.try_clone().unwrap());
                let mut output = stream;
                for line in input.lines().map_while(Result::ok) {
                    if output.write_all(answer(&line).as_bytes()).is_err() {
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
        Self { port, asked: Arc::default() }
    }

    /// Runs keystorm against it.
    pub(crate) fn run(&self, line: &str) -> RunOutput {
        Keystorm::new(&format!("-p {} {line}", self.port)).run()
    }

    /// Runs this line of a tool's, whose `-p` is the port.
    pub(crate) fn by_name(&self, line: &str) -> RunOutput {
        Keystorm::new(&format!("{line} -p {}", self.port)).run()
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
