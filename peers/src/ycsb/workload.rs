//! Meaning of the properties of `CoreWorkload`: records, fields, proportions, choosers of keys.

use workload::derived::{DrawnNumber, KeyText};
use workload::{KeyDist, KeySpace, Sizes};

use super::arguments::Phase;
use super::lengths;
use super::properties::Properties;

/// End of the records if their number is 0, as in YCSB.
const RECORDS_MOST: u64 = (1 << 31) - 1;
/// Weights of operations sum to this.
const WEIGHTS: f64 = 1e9;

/// A workload, checked.
#[derive(Debug)]
pub(super) struct CoreWorkload {
    pub(super) table: String,
    pub(super) key: KeyText,
    pub(super) fields: u32,
    pub(super) field_prefix: String,
    pub(super) lengths: Sizes,
    /// The one length of all values that tell whose they are.
    pub(super) checked: Option<u32>,
    pub(super) reads: Reads,
    pub(super) writes_all: bool,
    pub(super) scan_length: DrawnNumber,
    /// Expiry of a record, in memcached's form.
    pub(super) expires: u32,
    /// The records that a load writes.
    pub(super) loaded: KeySpace,
    /// The records that a run works on.
    pub(super) keys: KeySpace,
    /// Each kind of operation that is drawn, and its weight.
    pub(super) operations: Vec<(Kind, u32)>,
    /// Defaults that replace values that make no sense, in YCSB's words.
    pub(super) remarks: Vec<String>,
}

/// Fields that a read asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Everything.
    All,
    /// All fields by their names.
    ByName,
    /// A single field, drawn.
    One,
}

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

/// Kinds in their order: the property that is the share of each, its default, and the name of the operation in reports.
const KINDS: [(Kind, &str, f64, &str); 5] = [
    (Kind::Read, "readproportion", 0.95, "READ"),
    (Kind::Update, "updateproportion", 0.05, "UPDATE"),
    (Kind::Insert, "insertproportion", 0.0, "INSERT"),
    (Kind::Scan, "scanproportion", 0.0, "SCAN"),
    (Kind::ReadModifyWrite, "readmodifywriteproportion", 0.0, "READ-MODIFY-WRITE"),
];

impl Kind {
    /// Name of the operation in reports.
    pub(super) fn name(self) -> &'static str {
        KINDS[self as usize].3
    }
}

impl CoreWorkload {
    /// Reads the workload of a phase from properties.
    pub(super) fn from_properties(properties: &Properties, phase: Phase) -> Result<Self, String> {
        check_class(properties)?;
        let records = records(properties)?;
        let start = properties.number("insertstart", 0u64)?;
        let count = properties.number("insertcount", records.saturating_sub(start))?;
        // Without insertcount a load writes recordcount records, wherever it begins.
        let whole = phase == Phase::Load && properties.get("insertcount").is_none();
        if !whole && start.saturating_add(count) > records {
            return Err("Invalid combination of insertstart, insertcount and recordcount.\n\
                        recordcount must be bigger than insertstart + insertcount."
                .to_owned());
        }
        let loaded = Self::load_count(properties)?;
        let in_order = || distribution(&format!("sequential,{start},{loaded}"));
        if count == 0 && !whole {
            return Err("insertcount: there are no records".to_owned());
        }
        let fields = properties.number("fieldcount", 10u32)?;
        if !(1..=100_000).contains(&fields) {
            return Err(format!("fieldcount={fields}: must be from 1 to 100000"));
        }
        let lengths = lengths::sizes(properties)?;
        let is_checked = properties.flag("dataintegrity", false);
        let checked = is_checked.then(|| lengths::constant(properties)).transpose()?;
        let mut remarks = Vec::new();
        let operations = match phase {
            Phase::Load => vec![(Kind::Insert, 1)],
            Phase::Run => operations(properties)?,
        };
        let scans = operations.iter().any(|(kind, _)| *kind == Kind::Scan);
        // A load chooses no keys.
        let drawn = match phase {
            Phase::Load => in_order()?,
            Phase::Run => chooser(properties, start, count, &mut remarks)?,
        };
        Ok(Self {
            table: properties.text("table", "usertable").to_owned(),
            key: key_text(properties)?,
            fields,
            field_prefix: properties.text("fieldnameprefix", "field").to_owned(),
            lengths,
            checked,
            reads: reads(properties),
            writes_all: properties.flag("writeallfields", false),
            scan_length: scan_length(properties, scans)?,
            // In 2038: so large a number is a time and not a span.
            expires: properties.number("memcached.objectExpirationTime", i32::MAX as u32)?,
            loaded: KeySpace::new(Some(start.saturating_add(loaded)), in_order()?),
            keys: KeySpace::new(Some(records), drawn),
            operations,
            remarks,
        })
    }

    /// Number of records that a load writes.
    pub(super) fn load_count(properties: &Properties) -> Result<u64, String> {
        properties.number("insertcount", records(properties)?)
    }
}

/// Number of records that there are.
fn records(properties: &Properties) -> Result<u64, String> {
    let records = properties.number("recordcount", 0)?;
    Ok(if records == 0 { RECORDS_MOST } else { records })
}

fn check_class(properties: &Properties) -> Result<(), String> {
    let class = properties.get("workload").ok_or(
        "Missing property: workload; a workload file sets it, such as -P workloads/workloada",
    )?;
    if class != "core" && class.rsplit('.').next() != Some("CoreWorkload") {
        return Err(format!("workload={class}: expected site.ycsb.workloads.CoreWorkload"));
    }
    Ok(())
}

/// Returns how the number of a record becomes its key.
fn key_text(properties: &Properties) -> Result<KeyText, String> {
    let padding = properties.at_least_0("zeropadding", 1)?;
    let width = u8::try_from(padding.max(1))
        .map_err(|_| format!("zeropadding={padding}: the maximum is 255 digits"))?;
    let hashed = properties.text("insertorder", "hashed") == "hashed";
    Ok(KeyText { hashed, letters: false, width })
}

/// Returns which fields a read asks for.
fn reads(properties: &Properties) -> Reads {
    let by_name = properties.flag("readallfieldsbyname", false);
    match (properties.flag("readallfields", true), by_name) {
        (true, false) => Reads::All,
        (true, true) => Reads::ByName,
        (false, _) => Reads::One,
    }
}

fn distribution(text: &str) -> Result<KeyDist, String> {
    format!("ycsb:{text}").parse()
}

/// Number of records that a scan asks for, where there are `scans`; it is not checked where there are none.
fn scan_length(properties: &Properties, scans: bool) -> Result<DrawnNumber, String> {
    let (least, most) =
        (properties.number("minscanlength", 1u32)?, properties.number("maxscanlength", 1000u32)?);
    if scans && (least > most || most == 0) {
        return Err(format!("minscanlength={least} is above maxscanlength={most}"));
    }
    let skew = match properties.text("scanlengthdistribution", "uniform") {
        "uniform" => workload::derived::Skew::None,
        "zipfian" => workload::derived::Skew::Ycsb,
        other => {
            return Err(format!("scanlengthdistribution={other}: expected uniform or zipfian"));
        }
    };
    Ok(DrawnNumber { least: least.min(most), most, skew, stream: 2, letters: 0 })
}

/// A share; a value that is no share counts as 0, with a remark that names it.
fn fraction(
    properties: &Properties,
    name: &str,
    or: f64,
    called: &str,
    remarks: &mut Vec<String>,
) -> Result<f64, String> {
    let value: f64 = properties.number(name, or)?;
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    remarks.push(format!("{called} fraction out of range. Setting to 0.0"));
    Ok(0.0)
}

/// Returns which records a run works on.
fn chooser(
    properties: &Properties,
    start: u64,
    count: u64,
    remarks: &mut Vec<String>,
) -> Result<KeyDist, String> {
    let window = format!("{start},{count}");
    let inserts: f64 = properties.number("insertproportion", 0.0)?;
    match properties.text("requestdistribution", "uniform") {
        "uniform" => distribution(&format!("uniform,{window}")),
        "sequential" => distribution(&format!("sequential,{window}")),
        "zipfian" => zipfian(properties, &window),
        "latest" if inserts > 0.0 => distribution("latest"),
        "latest" => distribution("latest,0"),
        "exponential" => {
            let percentile: f64 = properties.number("exponential.percentile", 95.0)?;
            let part: f64 = properties.number("exponential.frac", 0.857_142_857_1)?;
            let grows = u8::from(inserts > 0.0);
            distribution(&format!("exponential,{percentile},{part},{grows}"))
        }
        "hotspot" => {
            let data = fraction(properties, "hotspotdatafraction", 0.2, "Hotset", remarks)?;
            let operations =
                fraction(properties, "hotspotopnfraction", 0.8, "Hot operation", remarks)?;
            let hot = (count as f64 * data) as u64;
            if hot == 0 || hot == count {
                return Err(format!(
                    "hotspotdatafraction={data}: {hot} of {count} records would be hot; some \
                     must be, but not all"
                ));
            }
            distribution(&format!("hotspot,{window},{data},{operations}"))
        }
        other => Err(format!(
            "requestdistribution={other}: expected uniform, zipfian, latest, sequential, \
             exponential or hotspot"
        )),
    }
}

fn zipfian(properties: &Properties, window: &str) -> Result<KeyDist, String> {
    let theta: Option<f64> = properties.given("keystorm.zipfian.theta", 0.99)?;
    if properties.flag("keystorm.zipfian.exact", false) {
        if !window.starts_with("0,") {
            return Err(
                "keystorm.zipfian.exact=true: cannot be combined with insertstart".to_owned()
            );
        }
        return format!("zipf-scattered:{}", theta.unwrap_or(0.99)).parse();
    }
    let operations: u64 = properties.given("operationcount", 0)?.ok_or(
        "operationcount: required by requestdistribution=zipfian, for the number of records that a \
         run may insert",
    )?;
    let inserts: f64 = properties.number("insertproportion", 0.0)?;
    let extra = (operations as f64 * inserts * 2.0) as u64;
    match theta {
        None => distribution(&format!("zipfian,{window},{extra}")),
        Some(theta) => distribution(&format!("zipfian,{window},{extra},{theta}")),
    }
}

/// Kinds of operations with weights that sum to [`WEIGHTS`], nearly.
fn operations(properties: &Properties) -> Result<Vec<(Kind, u32)>, String> {
    let mut given = Vec::new();
    for (kind, name, or, _) in KINDS {
        let part: f64 = properties.number(name, or)?;
        if part.is_nan() || part > 1e9 {
            return Err(format!("{name}={part}: must be a number up to 1000000000"));
        }
        // Below 0 there are none, as in YCSB.
        given.push((kind, part.max(0.0)));
    }
    let sum: f64 = given.iter().map(|(_, part)| part).sum();
    if sum <= 0.0 {
        return Err("readproportion and the other proportions are all 0: there is nothing to run"
            .to_owned());
    }
    let drawn = given.into_iter().filter(|(_, part)| *part > 0.0);
    Ok(drawn.map(|(kind, part)| (kind, ((part / sum * WEIGHTS).round() as u32).max(1))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(lines: &str) -> Result<CoreWorkload, String> {
        let lines = format!("workload=site.ycsb.workloads.CoreWorkload\n{lines}");
        CoreWorkload::from_properties(&Properties::read(lines.as_bytes()), Phase::Run)
    }

    #[test]
    fn choosers_are_those_that_properties_name() {
        let draw = |lines: &str| workload(lines).unwrap().keys.draw.to_string();
        assert_eq!(draw("recordcount=1000"), "ycsb:uniform,0,1000");
        let line = "recordcount=1000\noperationcount=1000\ninsertproportion=0.05\n\
                    requestdistribution=zipfian\n";
        assert_eq!(draw(line), "ycsb:zipfian,0,1000,100");
        assert_eq!(
            draw(&format!("{line}keystorm.zipfian.theta=0.7")),
            "ycsb:zipfian,0,1000,100,0.7"
        );
        assert_eq!(draw(&format!("{line}keystorm.zipfian.exact=true")), "zipf-scattered:0.99");
        let window = "recordcount=1000\ninsertstart=500\ninsertcount=250\n";
        assert_eq!(
            draw(&format!("{window}requestdistribution=sequential")),
            "ycsb:sequential,500,250"
        );
        let hot = format!("{window}requestdistribution=hotspot");
        assert_eq!(draw(&hot), "ycsb:hotspot,500,250,0.2,0.8");
    }

    #[test]
    fn a_load_without_insertcount_writes_as_many_records_as_there_are_to_be() {
        let loaded = |lines: &str| {
            let lines =
                format!("workload=site.ycsb.workloads.CoreWorkload\nrecordcount=20\n{lines}");
            let properties = Properties::read(lines.as_bytes());
            let loaded = CoreWorkload::from_properties(&properties, Phase::Load)
                .map(|w| w.loaded.draw.to_string());
            loaded.map(|loaded| (loaded, CoreWorkload::load_count(&properties).unwrap()))
        };
        assert_eq!(loaded("insertstart=5").unwrap(), ("ycsb:sequential,5,20".to_owned(), 20));
        assert_eq!(loaded("insertstart=100").unwrap(), ("ycsb:sequential,100,20".to_owned(), 20));
        assert_eq!(loaded("insertstart=5\ninsertcount=9").unwrap().1, 9);
        assert!(loaded("insertstart=5\ninsertcount=16").unwrap_err().contains("must be bigger"));
    }

    #[test]
    fn values_out_of_range_are_what_ycsb_takes_them_for() {
        let hot =
            workload("recordcount=20\nrequestdistribution=hotspot\nhotspotopnfraction=7").unwrap();
        assert_eq!(hot.keys.draw.to_string(), "ycsb:hotspot,0,20,0.2,0");
        assert_eq!(hot.remarks, ["Hot operation fraction out of range. Setting to 0.0"]);
        assert_eq!(workload("recordcount=9\nzeropadding=-3").unwrap().key.width, 1);
        let updates = workload("recordcount=9\nreadproportion=-1").unwrap();
        assert_eq!(updates.operations, [(Kind::Update, 1_000_000_000)]);
        assert!(workload("recordcount=9\nminscanlength=9\nmaxscanlength=2").is_ok());
    }

    #[test]
    fn keys_are_hashed_by_that_very_word_alone() {
        assert!(workload("recordcount=9").unwrap().key.hashed);
        for order in ["ordered", "Hashed", "x"] {
            assert!(
                !workload(&format!("recordcount=9\ninsertorder={order}")).unwrap().key.hashed,
                "{order}"
            );
        }
    }

    #[test]
    fn proportions_are_weights() {
        let a = workload("recordcount=9\nreadproportion=3\nupdateproportion=1").unwrap();
        assert_eq!(a.operations, [(Kind::Read, 750_000_000), (Kind::Update, 250_000_000)]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_is_sent() {
        for (lines, why) in [
            ("recordcount=1000\ninsertstart=900\ninsertcount=200", "must be bigger than"),
            ("recordcount=10 ", "without spaces"),
            ("recordcount=9\nrequestdistribution=zipfian", "operationcount"),
            ("recordcount=9\nrequestdistribution=Zipfian", "expected uniform"),
            ("recordcount=9\nreadproportion=0\nupdateproportion=0", "nothing to run"),
            ("recordcount=9\nrequestdistribution=hotspot\nhotspotdatafraction=0", "would be hot"),
            ("recordcount=9\nminscanlength=9\nmaxscanlength=2\nscanproportion=1", "above"),
            ("recordcount=9\nworkload=site.ycsb.workloads.RestWorkload", "CoreWorkload"),
            ("recordcount=9\ndataintegrity=true\nfieldlengthdistribution=uniform", "constant"),
        ] {
            let error = workload(lines).unwrap_err();
            assert!(error.contains(why), "{lines}: {error}");
        }
    }
}
