//! The six workloads that come with YCSB, under the names of their files.

/// Content of the file of that name.
pub(super) fn named(name: &str) -> Option<&'static str> {
    let found = WORKLOADS.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

macro_rules! workload {
    ($name:literal, $says:literal) => {
        (
            $name,
            concat!(
                "recordcount=1000\noperationcount=1000\n",
                "workload=site.ycsb.workloads.CoreWorkload\nreadallfields=true\n",
                $says
            ),
        )
    };
}

const WORKLOADS: [(&str, &str); 6] = [
    workload!(
        "workloada",
        "readproportion=0.5\nupdateproportion=0.5\nscanproportion=0\ninsertproportion=0\n\
         requestdistribution=zipfian\n"
    ),
    workload!(
        "workloadb",
        "readproportion=0.95\nupdateproportion=0.05\nscanproportion=0\ninsertproportion=0\n\
         requestdistribution=zipfian\n"
    ),
    workload!(
        "workloadc",
        "readproportion=1\nupdateproportion=0\nscanproportion=0\ninsertproportion=0\n\
         requestdistribution=zipfian\n"
    ),
    workload!(
        "workloadd",
        "readproportion=0.95\nupdateproportion=0\nscanproportion=0\ninsertproportion=0.05\n\
         requestdistribution=latest\n"
    ),
    workload!(
        "workloade",
        "readproportion=0\nupdateproportion=0\nscanproportion=0.95\ninsertproportion=0.05\n\
         requestdistribution=zipfian\nmaxscanlength=100\nscanlengthdistribution=uniform\n"
    ),
    workload!(
        "workloadf",
        "readproportion=0.5\nupdateproportion=0\nscanproportion=0\ninsertproportion=0\n\
         readmodifywriteproportion=0.5\nrequestdistribution=zipfian\n"
    ),
];
