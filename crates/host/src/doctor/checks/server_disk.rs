//! Checks of the server's writes to disk while it is measured.

use super::{asked, for_private, here};
use crate::doctor::finding::{Outcome, Verdict};
use crate::doctor::{Evidence, ServerEvidence};

/// Returns whether the work of an `INFO` field is in progress; `Err` is the reason why that is unknown.
fn goes_on(server: &ServerEvidence, field: &str) -> Result<bool, String> {
    let info = server.info.as_ref().map_err(Clone::clone)?;
    Ok(info.get(field)? == "1")
}

pub(super) fn save(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let save = server.setting("save")?;
    let mend = for_private(server, "CONFIG SET save ''");
    let saving = goes_on(server, "rdb_bgsave_in_progress");
    Ok(if saving == Ok(true) {
        Outcome::bad(
            format!("saving right now, save \"{save}\""),
            "a child writes the data set out, and each page written by the server is copied first",
            format!("wait until INFO has rdb_bgsave_in_progress:0; then {mend}"),
        )
    } else if save.is_empty() {
        saving
            .map_err(|why| format!("off; whether a snapshot is being written is unknown: {why}"))?;
        Outcome::ok("off")
    } else {
        Outcome::warn(
            format!("\"{save}\""),
            "load triggers a snapshot in the middle of a run: a fork that stalls the server, and \
             copied pages after it",
            mend,
        )
    })
}

pub(super) fn appendonly(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let rewriting = goes_on(server, "aof_rewrite_in_progress");
    let (why, mend) = (
        "a child process is rewriting the file right now",
        "wait until INFO has aof_rewrite_in_progress:0",
    );
    if server.setting("appendonly")? != "yes" {
        let rewriting = rewriting.map_err(|reason| {
            format!("no; whether a file is being rewritten is unknown: {reason}")
        });
        return Ok(Outcome::ok("no").bad_if(rewriting?, why, mend));
    }
    if rewriting == Ok(true) {
        return Ok(Outcome::bad("yes", why, mend));
    }
    let fsync = server.setting("appendfsync")?;
    let seen = format!("yes, appendfsync {fsync}");
    let unless = "unless durability is what you measure";
    Ok(if fsync == "always" {
        let why = "every write waits for the disk, so a test measures the disk";
        let mend = format!("CONFIG SET appendfsync everysec, {unless}");
        Outcome::bad(seen, why, for_private(server, &mend))
    } else {
        let why = "every write is also written to a file, and a slow fsync stalls the server";
        let mend = format!("CONFIG SET appendonly no, {unless}");
        Outcome::warn(seen, why, for_private(server, &mend))
    })
}

/// Types of file systems with files on another machine. Those of FUSE begin with `fuse.`.
const NETWORK: &str =
    "nfs nfs4 cifs smb3 smbfs ceph 9p afs lustre gpfs beegfs glusterfs ocfs2 gfs2 virtiofs";

fn is_network(kind: &str) -> bool {
    let fuse = ["sshfs", "glusterfs", "s3fs", "gcsfuse", "rclone", "ceph", "juicefs", "mount-s3"];
    NETWORK.split(' ').any(|one| one == kind)
        || kind.strip_prefix("fuse.").is_some_and(|name| fuse.iter().any(|f| name.contains(f)))
}

pub(super) fn directory(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let path = server.setting("dir")?;
    here(evidence)?;
    let kind = server.data_filesystem.as_ref().map_err(Clone::clone)?;
    let seen = format!("{path} on {kind}");
    if !is_network(kind) {
        return Ok(Outcome::ok(seen));
    }
    let writes = server.setting("appendonly") == Ok("yes")
        || server.setting("save").is_ok_and(|save| !save.is_empty());
    let why = "network storage: fsync waits for another machine";
    let mend =
        for_private(server, "CONFIG SET dir to a local disk, or turn save and appendonly off");
    Ok(if writes {
        Outcome::bad(seen, why, mend)
    } else {
        Outcome::warn(
            seen,
            "network storage; nothing is written there as long as save and \
                             appendonly are off",
            mend,
        )
    })
}
