//! Files of callgrind: cost of each function, and calls between them.
//! <https://valgrind.org/docs/manual/cl-format.html>

use std::collections::{BTreeMap, HashMap};

/// Functions that hand out memory, by the names of libc's, and beginnings that jemalloc, mimalloc and tcmalloc add.
const ALLOCATORS: [&str; 7] =
    ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "mallocx", "rallocx"];
const OWN_NAMES: [&str; 3] = ["je_", "mi_", "tc_"];

/// Parts of the names of functions that read a clock: a kernel answers them without a call, and valgrind by one.
const CLOCKS: [&str; 3] = ["clock_gettime", "gettimeofday", "time_syscall"];

/// Instructions of a function.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Instructions of the function itself.
    pub own: f64,
    /// Instructions including those of called functions; 0 for functions without a name.
    pub inclusive: f64,
    /// Calls of it.
    pub calls: f64,
}

/// Work of one thread of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// All instructions.
    pub instructions: f64,
    /// System calls other than for the time; `None` where they are not counted.
    pub system_calls: Option<f64>,
    /// Calls that hand out memory; `None` where the program does not name the functions that do.
    pub allocations: Option<f64>,
    /// Cost of each function; those without a name are one for each library: `[libc.so.6]`.
    pub functions: BTreeMap<String, Cost>,
}

impl Counts {
    /// Adds the counts of another, each divided by `number`.
    pub(super) fn add(&mut self, other: &Self, number: f64) {
        self.instructions += other.instructions / number;
        for (sum, more) in [
            (&mut self.system_calls, other.system_calls),
            (&mut self.allocations, other.allocations),
        ] {
            if let Some(more) = more {
                *sum.get_or_insert(0.0) += more / number;
            }
        }
        for (name, cost) in &other.functions {
            let sum = self.functions.entry(name.clone()).or_default();
            sum.own += cost.own / number;
            sum.inclusive += cost.inclusive / number;
            sum.calls += cost.calls / number;
        }
    }

    /// Reads a file of callgrind.
    ///
    /// # Errors
    /// The file is none, or has no count of instructions.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader::default();
        text.lines().try_for_each(|line| reader.line(line))?;
        match reader.events.first().map(String::as_str) {
            Some("Ir") => Ok(reader.counts),
            _ => Err("it counts no instructions".to_owned()),
        }
    }
}

/// State between the lines of a file.
#[derive(Default)]
struct Reader {
    counts: Counts,
    events: Vec<String>,
    /// Numbers before the costs of a line: that of the source line, and in some files that of the instruction.
    positions: usize,
    objects: HashMap<String, String>,
    functions: HashMap<String, String>,
    object: String,
    function: String,
    called_object: Option<String>,
    called: String,
    /// Set if the next costs are those of a call.
    is_call: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            return self.costs(line);
        }
        if let Some(events) = line.strip_prefix("events: ") {
            self.events = events.split_whitespace().map(str::to_owned).collect();
        }
        if let Some(positions) = line.strip_prefix("positions: ") {
            self.positions = positions.split_whitespace().count();
        }
        let Some((key, value)) = line.split_once('=') else { return Ok(()) };
        match key {
            "ob" => self.object = name(&mut self.objects, value, |name| name),
            "cob" => self.called_object = Some(name(&mut self.objects, value, |name| name)),
            "fn" => {
                let object = &self.object;
                self.function = name(&mut self.functions, value, |name| known(name, object));
            }
            "cfn" => {
                let object = self.called_object.take().unwrap_or_else(|| self.object.clone());
                self.called = name(&mut self.functions, value, |name| known(name, &object));
            }
            "calls" => self.calls(value)?,
            _ => {}
        }
        Ok(())
    }

    fn calls(&mut self, value: &str) -> Result<(), String> {
        let calls = value.split(' ').next().and_then(|calls| calls.parse::<f64>().ok());
        let calls = calls.ok_or_else(|| format!("calls={value}: no number"))?;
        let is_allocator = |name: &str| {
            let plain = OWN_NAMES.iter().find_map(|own| name.strip_prefix(own));
            ALLOCATORS.contains(&plain.unwrap_or(name))
        };
        if is_allocator(&self.called) && !is_allocator(&self.function) {
            *self.counts.allocations.get_or_insert(0.0) += calls;
        }
        self.counts.functions.entry(self.called.clone()).or_default().calls += calls;
        self.is_call = true;
        Ok(())
    }

    fn costs(&mut self, line: &str) -> Result<(), String> {
        let mut costs = line.split(' ').skip(self.positions.max(1)).map(str::parse::<f64>);
        let instructions =
            costs.next().unwrap_or(Ok(0.0)).map_err(|_| format!("no cost: {line}"))?;
        // A function that calls itself has further names, with a number: `dictFind'2`.
        let (name, number) = self.function.rsplit_once('\'').unwrap_or((&self.function, "–"));
        let is_inner = number.bytes().all(|byte| byte.is_ascii_digit());
        let function = if is_inner { name } else { self.function.as_str() };
        let cost = self.counts.functions.entry(function.to_owned()).or_default();
        if !is_inner && !is_library(function) {
            cost.inclusive += instructions;
        }
        if std::mem::take(&mut self.is_call) {
            return Ok(());
        }
        cost.own += instructions;
        self.counts.instructions += instructions;
        let at = self.events.iter().skip(1).position(|event| event == "sysCount");
        let is_clock = CLOCKS.iter().any(|clock| function.contains(clock));
        if let Some(at) = at.filter(|_| !is_clock) {
            let calls = costs.nth(at).unwrap_or(Ok(0.0)).unwrap_or(0.0);
            *self.counts.system_calls.get_or_insert(0.0) += calls;
        }
        Ok(())
    }
}

/// The name that `(12) name` defines and `(12)` repeats.
fn name(
    names: &mut HashMap<String, String>,
    value: &str,
    shown: impl FnOnce(String) -> String,
) -> String {
    let Some((number, name)) = value.split_once(')') else { return shown(value.to_owned()) };
    match name.trim_start() {
        "" => names.get(number).cloned().unwrap_or_default(),
        name => {
            let name = shown(name.to_owned());
            names.insert(number.to_owned(), name.clone());
            name
        }
    }
}

/// The name of a function; of one without, that of its library.
fn known(function: String, object: &str) -> String {
    if function == "???" || function.starts_with("0x") {
        return format!("[{}]", object.rsplit('/').next().unwrap_or(object));
    }
    function
}

/// Returns whether a name is that of a library, of which functions have no names.
pub(crate) fn is_library(name: &str) -> bool {
    name.starts_with('[')
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# callgrind format
version: 1
creator: callgrind-3.19.0
positions: line
events: Ir sysCount sysTime sysCpuTime

ob=(1) /usr/bin/server
fl=(1) a.c
fn=(1) main
16 20
+1 30 2 5 5
cob=(2) /lib/libc.so.6
cfi=(2) ???
cfn=(2) malloc
calls=3 50
* 300
cfn=(3) walk
calls=1 7
18 77

ob=(2)
fl=(2)
fn=(2)
50 290
cfn=(4) realloc
calls=1 60
50 10
fn=(4)
60 10
fn=(5) 0x0000000000012340
0 4
ob=(1)
fn=(3)
7 5
cfn=(6) walk'2
calls=4 7
+1 72
fn=(6)
7 72
fn=(7) clock_gettime@@GLIBC_2.17
0 0 9

totals: 431 2 5 5
";

    #[test]
    fn costs_are_own_and_inclusive_by_function() {
        let counts = Counts::parse(FILE).unwrap();
        let cost = |name: &str| {
            let cost = counts.functions[name];
            (cost.own, cost.inclusive)
        };
        assert_eq!((counts.instructions, counts.system_calls), (431.0, Some(2.0)));
        assert_eq!(cost("main"), (50.0, 427.0));
        assert_eq!(cost("malloc"), (290.0, 300.0));
        assert_eq!(counts.functions["malloc"].calls, 3.0);
        assert_eq!(cost("walk"), (77.0, 77.0), "a function that calls itself is one");
        assert_eq!(cost("[libc.so.6]"), (4.0, 0.0), "its callers are not known");
        assert_eq!(counts.allocations, Some(3.0), "what an allocator asks of itself is none");
    }

    #[test]
    fn what_is_no_count_of_instructions_is_refused() {
        assert!(Counts::parse("events: Dr\n").is_err());
        assert!(Counts::parse("events: Ir\nfn=(1) a\n1 x\n").unwrap_err().contains("1 x"));
        let plain = Counts::parse("events: Ir\nfn=(1) a\n1 5\n").unwrap();
        assert_eq!((plain.system_calls, plain.allocations), (None, None));
    }
}
