use super::*;

/// A transport that accepts everything and returns these chunks, then `end`.
struct Script {
    chunks: Vec<&'static [u8]>,
    end: Option<io::ErrorKind>,
    write: Option<io::ErrorKind>,
}

impl Read for Script {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.chunks.is_empty() {
            return self.end.map_or(Ok(0), |kind| Err(kind.into()));
        }
        let chunk = self.chunks.remove(0);
        into[..chunk.len()].copy_from_slice(chunk);
        Ok(chunk.len())
    }
}

impl Write for Script {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write.map_or(Ok(bytes.len()), |kind| Err(kind.into()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn client(chunks: &[&'static [u8]], end: Option<io::ErrorKind>) -> Client<Script> {
    let script = Script { chunks: chunks.to_vec(), end, write: None };
    let address = Address::Unix("/s".into());
    Client::over(script, address, Duration::from_secs(5))
}

#[test]
fn a_reply_in_pieces_is_one_reply_and_pushes_are_passed_over() {
    let mut client = client(&[b">1\r\n+news\r\n$5\r\nhe", b"llo\r\n:1\r", b"\n"], None);
    assert_eq!(client.ask(&[b"GET", b"k"]).unwrap(), Value::Bulk(b"hello".into()));
    assert_eq!(client.ask(&[b"INCR", b"n"]).unwrap(), Value::Integer(1));
}

#[test]
fn many_commands_have_as_many_replies_in_order() {
    let mut client = client(&[b"+OK\r\n>1\r\n+news\r\n:", b"2\r\n-ERR no\r\n+LATER\r\n"], None);
    let commands = [["SET", "a"], ["INCR", "b"], ["NO", "c"]]
        .map(|words| words.map(|word| word.as_bytes().to_vec()).to_vec());
    let replies = client.ask_all(&commands).unwrap();
    let all = [Value::Simple(b"OK".into()), Value::Integer(2), Value::Error(b"ERR no".into())];
    assert_eq!(replies, all);
    assert_eq!(client.ask(&[b"PING"]).unwrap(), Value::Simple(b"LATER".into()));
}

#[test]
fn every_way_to_fail_has_its_words() {
    type Case = (&'static [u8], Option<io::ErrorKind>, &'static str);
    let cases: [Case; 6] = [
        (b"HTTP/1.1 400 Bad Request\r\n", None, "HTTP/1.1 400 Bad Request"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", None, "SSH server"),
        (b"\x15\x03\x01\x00\x02\x02\x28", None, "requires TLS"),
        (b"$5\r\nhe", None, "/s closed the connection"),
        (b"+O", Some(io::ErrorKind::WouldBlock), "did not answer INFO within 5 s"),
        (b"", Some(io::ErrorKind::ConnectionReset), "closed"),
    ];
    for (bytes, end, expected) in cases {
        let chunks: &[&'static [u8]] = if bytes.is_empty() { &[] } else { &[bytes] };
        let error = client(chunks, end).ask(&[b"INFO"]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} should contain {expected:?}");
    }
}

#[test]
fn the_reason_is_read_even_if_the_command_was_not_taken() {
    let mut client = client(&[b"-ERR max number of clients reached\r\n"], None);
    client.transport.write = Some(io::ErrorKind::BrokenPipe);
    let reply = client.ask(&[b"PING"]).unwrap();
    assert!(matches!(reply, Value::Error(_)));
    let error = client.ask(&[b"PING"]).unwrap_err();
    assert_eq!(error.kind, FailureKind::Closed);
    assert!(error.to_string().contains("closed the connection"), "{error}");
}

#[test]
fn a_want_of_ports_is_ours() {
    for kind in [io::ErrorKind::AddrNotAvailable, io::ErrorKind::AddrInUse] {
        let error = io::Error::from(kind);
        assert!(is_want_of_ports(&error));
        assert_eq!(reason(&error, Duration::from_secs(5)), "no local port is free");
    }
    assert!(!is_want_of_ports(&io::ErrorKind::ConnectionRefused.into()));
}

#[test]
fn a_connection_comes_from_the_source_that_fits() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let sources = ["::1", "127.0.0.3", "127.0.0.4"].map(|ip| ip.parse().unwrap());
    let _client = Client::reach(&address, None, &sources, Patience::default()).unwrap();
    let (_, from) = listener.accept().unwrap();
    assert_eq!(from.ip().to_string(), "127.0.0.3");
}

#[test]
fn nobody_there_is_stated_without_numbers() {
    let gone = Address::Unix("/nonexistent/socket".into());
    let error = Client::connect(&gone, Patience::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not connect to /nonexistent/socket: the socket does not exist"
    );
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let error = Client::connect(&address.into(), Patience::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("could not connect to {address}: connection refused"));
}
