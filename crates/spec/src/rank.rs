//! `--shard`: which shard of a plan this process carries out, as typed or from the launcher's environment.

use std::fmt;
use std::str::FromStr;

use workload::Shard;

use crate::text::as_text;
use crate::values::written;

/// Variables in which launchers give the rank of a process and how many there are, the innermost first: mpirun within a
/// Slurm job sets both. From their documents: Open MPI, MPICH and Intel MPI (PMI), Slurm (srun), Kubernetes (Indexed
/// Job), Nomad. Ranks count from 0.
const LAUNCHERS: [(&str, &str); 5] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    // These two do not say how many there are.
    ("JOB_COMPLETION_INDEX", ""),
    ("NOMAD_ALLOC_INDEX", ""),
];

/// `--shard`: `I/N`, `env`, or `env/N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardArg(
    /// Shard that was typed.
    pub Shard,
);

impl FromStr for ShardArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, |name| std::env::var(name).ok()).map(Self)
    }
}

written! {
    ShardArg Self(Shard { index, of }) => format!("{index}/{of}");
}

fn parse(text: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Shard, String> {
    if text == "env" || text.starts_with("env/") {
        let count = text.strip_prefix("env/");
        return of_environment(count, environment);
    }
    let shares = text
        .split_once('/')
        .and_then(|(index, of)| Some(Shard { index: index.parse().ok()?, of: of.parse().ok()? }));
    shares.filter(|s| s.of > 0 && (1..=s.of).contains(&s.index)).ok_or_else(|| {
        "expected I/N, such as 2/4 for the second of four shares, or env for the launcher's rank"
            .to_owned()
    })
}

fn of_environment(
    count: Option<&str>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Shard, String> {
    let found = LAUNCHERS.iter().find_map(|(rank, size)| Some((rank, size, environment(rank)?)));
    let Some((rank, size, text)) = found else {
        let names = LAUNCHERS.map(|(rank, _)| rank).join(", ");
        return Err(format!("no launcher set a rank: none of {names} is set"));
    };
    let index: u32 = text.parse().map_err(|_| format!("{rank} is {text:?}, not a number"))?;
    let Some(of) = count.map(str::to_owned).or_else(|| environment(size)) else {
        return Err(format!(
            "{rank} comes without the number of processes; add it, such as env/4 \
            for four"
        ));
    };
    let of = of.parse().ok().filter(|of| *of > 0);
    let of = of.ok_or_else(|| "env/N needs the number of processes, such as env/4".to_owned())?;
    if index >= of {
        return Err(format!(
            "{rank} is {index}, but the ranks of {of} processes go from 0 to {}",
            of - 1
        ));
    }
    Ok(Shard { index: index + 1, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_what_the_innermost_launcher_says() {
        let describe = |text: &str, set: &[(&str, &str)]| {
            parse(text, |name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).into()))
                .map(|shard| (shard.index, shard.of))
        };
        assert_eq!(describe("2/4", &[]), Ok((2, 4)));
        let slurm = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")];
        assert_eq!(describe("env", &slurm), Ok((1, 8)));
        let mpi = [("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(describe("env", &[&slurm[..], &mpi].concat()), Ok((4, 4)));
        assert_eq!(describe("env", &[("PMI_RANK", "1"), ("PMI_SIZE", "2")]), Ok((2, 2)));
        let job = [("JOB_COMPLETION_INDEX", "2")];
        assert_eq!(describe("env/3", &job), Ok((3, 3)));
        for (text, set, says) in [
            ("env", &job[..], "env/4"),
            (
                "env/2",
                &job,
                "JOB_COMPLETION_INDEX is 2, but the ranks of 2 processes go from 0 to 1",
            ),
            ("env/x", &job, "env/N"),
            ("env/0", &job, "env/N"),
            ("env", &[], "none of OMPI_COMM_WORLD_RANK"),
            ("env", &[("PMI_RANK", "x")], "\"x\""),
            ("0/4", &[], "I/N"),
            ("5/4", &[], "I/N"),
        ] {
            let error = describe(text, set).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
