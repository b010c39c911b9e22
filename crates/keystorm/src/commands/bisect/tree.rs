//! The commits of a repository and their builds: a separate work tree of git in which each commit is built, and a
//! folder that keeps the servers.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use lab::bisect::Commit;

/// Paths at which Valkey and Redis build their servers.
const SERVERS: [&str; 2] = ["src/valkey-server", "src/redis-server"];
/// Lines of a failed build that are shown.
const LINES_SHOWN: usize = 5;

/// The repository, and where its commits are built.
pub(super) struct Tree {
    repository: PathBuf,
    work_tree: PathBuf,
    builds: PathBuf,
    build: Vec<String>,
    server: Option<PathBuf>,
}

impl Tree {
    /// Opens the work tree in the folder `state`; makes both if necessary.
    ///
    /// # Errors
    /// Returns an error if there is no repository, or a folder cannot be made.
    pub(super) fn open(
        repository: &Path,
        state: &Path,
        build: &[String],
        server: Option<&Path>,
    ) -> Result<Self> {
        fs::create_dir_all(state)
            .with_context(|| format!("--state {}: cannot be made", state.display()))?;
        let state = fs::canonicalize(state)?;
        let tree = Self {
            repository: repository.to_owned(),
            work_tree: state.join("tree"),
            builds: state.join("builds"),
            build: build.to_vec(),
            server: server.map(Path::to_owned),
        };
        fs::create_dir_all(&tree.builds)?;
        git(repository, ["rev-parse", "--git-dir"])
            .with_context(|| format!("--repository {}", repository.display()))?;
        if !tree.work_tree.join(".git").exists() {
            git(repository, ["worktree", "prune"])?;
            let path = tree.work_tree.as_os_str();
            git(
                repository,
                [
                    "worktree".as_ref(),
                    "add".as_ref(),
                    "--detach".as_ref(),
                    "--force".as_ref(),
                    path,
                ],
            )?;
        }
        Ok(tree)
    }

    /// The commits from `good` to `bad`, both included, the oldest first.
    ///
    /// # Errors
    /// Returns an error if one of them is not a commit, or `good` is not an ancestor of `bad`.
    pub(super) fn commits(&self, good: &str, bad: &str) -> Result<Vec<Commit>> {
        let find = |option: &str, name: &str| {
            let words =
                ["rev-parse", "--verify", "--end-of-options", &format!("{name}^{{commit}}")]
                    .map(str::to_owned);
            let found = git(&self.repository, words)
                .map_err(|_| anyhow!("{option} {name}: no such commit"))?;
            Ok::<String, anyhow::Error>(found.trim().to_owned())
        };
        let (good, bad) = (find("--good", good)?, find("--bad", bad)?);
        let ancestor = git(&self.repository, ["merge-base", "--is-ancestor", &good, &bad]);
        if ancestor.is_err() || good == bad {
            bail!("--good must be an ancestor of --bad");
        }
        let describe = |range: &[&str]| {
            let words =
                ["log", "--format=%H %s", "--first-parent", "--reverse"].iter().chain(range);
            let text = git(&self.repository, words)?;
            let commits = text.lines().map(|line| {
                let (hash, subject) = line.split_once(' ').unwrap_or((line, ""));
                Commit { hash: hash.to_owned(), subject: subject.to_owned() }
            });
            Ok::<Vec<Commit>, anyhow::Error>(commits.collect())
        };
        let mut commits = describe(&["--max-count=1", &good])?;
        commits.extend(describe(&[&format!("{good}..{bad}")])?);
        Ok(commits)
    }

    /// The server of a commit, built now or by an earlier search; the inner error is the reason why it cannot
    /// be built.
    ///
    /// # Errors
    /// Returns an error if anything other than the build failed.
    pub(super) fn server_of(&self, commit: &Commit) -> Result<Result<PathBuf, String>> {
        let dir = self.builds.join(&commit.hash);
        if let Some(built) = fs::read_dir(&dir).ok().and_then(|mut files| files.next()) {
            return Ok(Ok(built?.path()));
        }
        git(&self.work_tree, ["checkout", "--quiet", "--detach", "--force", &commit.hash])?;
        if let Err(first) = self.make()? {
            // Files that earlier builds left may be the cause: once more without them.
            git(&self.work_tree, ["clean", "-fdxq"])?;
            if self.make()?.is_err() {
                return Ok(Err(first));
            }
        }
        let found = match &self.server {
            Some(server) => Some(server.clone()),
            None => {
                SERVERS.iter().map(PathBuf::from).find(|path| self.work_tree.join(path).is_file())
            }
        };
        let built = found.map(|path| self.work_tree.join(path)).filter(|path| path.is_file());
        let Some(built) = built else {
            return Ok(Err("the build left no server; name it with --server".to_owned()));
        };
        let name = built.file_name().unwrap_or(OsStr::new("server"));
        // The folder gets its name when it is complete, so that a search that resumes finds no half of a server.
        let new = self.builds.join(".new");
        fs::remove_dir_all(&new).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        fs::create_dir(&new)?;
        fs::copy(&built, new.join(name))?;
        fs::rename(&new, &dir)?;
        Ok(Ok(dir.join(name)))
    }

    /// Builds the commit that is checked out; the inner error has the last lines of a failed build.
    fn make(&self) -> Result<Result<(), String>> {
        let Some((program, args)) = self.build.split_first() else {
            bail!("there is no build command")
        };
        let built = Command::new(program)
            .args(args)
            .current_dir(&self.work_tree)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("{program}: cannot be run"))?;
        if built.status.success() {
            return Ok(Ok(()));
        }
        let text = String::from_utf8_lossy(&[built.stdout, built.stderr].concat()).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n  ");
        Ok(Err(format!("the build failed ({}):\n  {last}", built.status)))
    }
}

/// Runs git in a folder and returns its output.
fn git(dir: &Path, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<String> {
    let ran = Command::new("git").arg("-C").arg(dir).args(words).stdin(Stdio::null()).output();
    let ran = ran.context("git: cannot be run")?;
    if ran.status.success() {
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    } else {
        bail!("git: {}", String::from_utf8_lossy(&ran.stderr).trim())
    }
}
