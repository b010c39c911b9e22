//! A Sentinel that watches a primary and its replica.

use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::program::{PATIENCE, within};
use crate::server::{Server, free_port, guarded, start};

/// A running Sentinel. Killed when dropped.
pub(crate) struct Sentinel {
    child: Child,
    port: u16,
    _directory: TempDir,
}

impl Sentinel {
    /// One that knows this primary by the name `mine`, and its replica, which it promotes when the primary has not
    /// answered for so many milliseconds.
    pub(crate) fn new(primary: &Server, replica: &Server, down_after_ms: u32) -> Self {
        let (directory, port) = (tempfile::tempdir().unwrap(), free_port());
        let config = directory.path().join("sentinel.conf");
        let lines = format!(
            "port {port}\nsentinel monitor mine 127.0.0.1 {} 1\n\
             sentinel down-after-milliseconds mine {down_after_ms}\nsentinel failover-timeout mine 3000\n",
            primary.port()
        );
        std::fs::write(&config, lines).unwrap();
        let mut command = guarded("redis-server");
        command.arg(&config).arg("--sentinel").stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let sentinel = Self { child: start(command).unwrap(), port, _directory: directory };
        let knows = || sentinel.asked("replicas").contains(&replica.port().to_string());
        assert!(within(PATIENCE, knows), "the sentinel finds the replica");
        sentinel
    }

    /// What `-u` takes; the first of the two that it names is not there.
    pub(crate) fn uri(&self) -> String {
        format!("redis-sentinel://127.0.0.1:1,127.0.0.1:{}/mine", self.port)
    }

    /// What it says of `mine`.
    fn asked(&self, what: &str) -> String {
        let port = self.port.to_string();
        let words = ["-h", "127.0.0.1", "-p", &port, "sentinel", what, "mine"];
        let asked = Command::new("redis-cli").args(words).output().unwrap();
        String::from_utf8_lossy(&asked.stdout).into_owned()
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
