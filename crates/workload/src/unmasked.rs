//! Plans written with their secrets, for a process that carries them out.
//!
//! Saved plans lack passwords, the cells of a dataset and the keys of a file. Another process of the same run
//! needs these, and gets them only over a pipe.

use std::cell::Cell;

thread_local! {
    static UNMASKED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `write` with secrets and data serialised on this thread. The text has passwords in clear: it is for a
/// pipe to keystorm's own process, never for a file, an argument or a log.
pub fn unmasked<T>(write: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            UNMASKED.set(self.0);
        }
    }
    let _ended = Restore(UNMASKED.replace(true));
    write()
}

/// Returns whether plans serialised on this thread are written in full.
pub(crate) fn is_unmasked() -> bool {
    UNMASKED.get()
}

#[cfg(test)]
mod tests {
    use super::unmasked;
    use crate::plan::tests::parts;
    use crate::{
        CommandSpec, Credentials, Dataset, Endpoint, Plan, Secret, SecretBytes, TlsFiles,
        TlsOptions,
    };

    #[test]
    fn a_plan_written_in_full_can_be_run_and_one_that_is_saved_holds_no_password() {
        let mut parts = parts();
        let login = Credentials { user: None, password: Secret::new("hunter1") };
        parts.target.credentials = Some(login);
        let key = Some(SecretBytes::new(*b"hunter4"));
        let files = Some(TlsFiles { key, ..TlsFiles::default() });
        let key_password = Some(Secret::new("hunter5"));
        parts.target.tls = Some(TlsOptions { files, key_password, ..TlsOptions::default() });
        parts.target.endpoint = Endpoint::Spawned {
            program: None,
            args: ["--requirepass", "hunter3"].map(String::from).into(),
            unix: false,
            cpus: vec![],
            counted: false,
        };
        parts.sequence = vec![CommandSpec::parse([&b"acl"[..], b"setuser", b"u", b">hunter2\xff"])];
        let rows = vec![vec![b"\xff".to_vec()], vec![b"2".to_vec()]];
        let data = Dataset::new("f".into(), vec!["a".into()], rows).unwrap();
        parts.data.dataset = Some(data.into());
        let draw: crate::KeyDist = "file:keys.csv".parse().unwrap();
        parts.data.keys.draw = draw.with_trace(vec![7, 3]).unwrap();
        parts.data.keys.range = Some(8);
        let plan = parts.build().unwrap();
        let full = unmasked(|| serde_json::to_string(&plan)).unwrap();
        let sent: Plan = serde_json::from_str(&full).unwrap();
        assert_eq!(sent.lacking(), None);
        assert_eq!(sent.target, plan.target);
        assert_eq!(sent.sequence, plan.sequence);
        assert_eq!(sent.data.keys, plan.data.keys);
        assert_eq!(sent.data.dataset.as_ref().unwrap().cell(2, 0).to_vec(), b"\xff");
        assert!(plan.secrets().contains(&"hunter5".to_owned()));
        let saved = serde_json::to_string(&plan).unwrap();
        assert!(!saved.contains("hunter"), "{saved}");
        assert!(serde_json::from_str::<Plan>(&saved).unwrap().lacking().is_some());
        assert_eq!(serde_json::to_string(&sent).unwrap(), saved);
    }
}
