"""A run: started, and what it found."""

from __future__ import annotations

import base64
import json
import math
import os
import shlex
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

from ._program import program

Document = dict[str, Any]


class Failed(RuntimeError):
    """keystorm could not carry out what was asked.

    ``code`` is its exit code: 1 for a run that failed, 2 for a command line that makes no sense.
    ``run`` is what there was measured before, if anything was.
    """

    def __init__(self, message: str, code: int, run: Run | None) -> None:
        super().__init__(message)
        self.code = code
        self.run = run


def run(
    line: str | Sequence[str],
    *,
    on: str | None = None,
    password: str | None = None,
    check: bool = True,
    env: Mapping[str, str] | None = None,
    **settings: object,
) -> Run:
    """Carries out a command line and returns what was found.

    ``line`` is what stands after ``keystorm`` on a command line, as text or in words: options and a command,
    without subcommands. ``on`` names a
    launcher (``local``, ``ssh``, ``ray``), with ``settings`` for it: ``clients=4, cpus=8``, and for
    ``ssh`` ``hosts=[…]``. ``password`` is handed over in the environment, which other users of the
    machine cannot see. With ``check`` a run that failed raises :class:`Failed`; without, see
    :attr:`Run.complete`.
    """
    words = shlex.split(line) if isinstance(line, str) else list(line)
    _refuse(words)
    if on is not None:
        words = [f"--on={on_option(on, settings)}", *words]
    elif settings:
        raise TypeError(f"{', '.join(settings)}: settings are for a launcher; name one with on=")
    environment = {**os.environ, **(env or {})}
    if password is not None:
        environment["REDISCLI_AUTH"] = password
    # Launchers of this package are found whether or not its environment is activated.
    beside = str(Path(program()).parent)
    scripts = str(Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join([environment.get("PATH", ""), scripts, beside])
    with tempfile.TemporaryDirectory(prefix="keystorm") as directory:
        file = Path(directory) / "run.json"
        command = [program(), "--json", str(file), "--quiet", *words]
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            check=False,
        )
        found = Run(json.loads(file.read_text())) if file.is_file() else None
    if ended.returncode != 0 and (check or found is None):
        raise Failed(ended.stderr.strip() or f"exit code {ended.returncode}", ended.returncode, found)
    if found is None:
        raise Failed(f"this measured nothing: keystorm {shlex.join(words)}", 0, None)
    return found


# What comes back is a run, in a document of ours.
_TAKEN = {
    "--json": "run() returns the document; keep it with Run.save()",
    "--print-plan": "it prints a plan and measures nothing; call the program itself for it",
    "--help": "it prints a text and measures nothing; call the program itself for it",
    "--version": "it prints a text and measures nothing; call the program itself for it",
}


def _refuse(words: Sequence[str]) -> None:
    """Refuses words after which there is no run to return."""
    if words and words[0] in _SUBCOMMANDS:
        raise ValueError(
            f"{words[0]}: a subcommand, and run() takes the options and the command of a run; for the "
            f"subcommand use subprocess.run([keystorm.program(), {words[0]!r}, …])"
        )
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if name in _TAKEN:
            raise ValueError(f"{name}: {_TAKEN[name]}")


# The first words that make the program something else than a run: its subcommands, and other tools.
_SUBCOMMANDS = frozenset(
    "bisect compare completions connect deliver describe doctor durability footprint help history impact man memtier "
    "memtier_benchmark merge presets profile record replay rpc-perf search show sink suite survey sweep "
    "ycsb ycsb.sh".split()
)


def on_option(on: str, settings: Mapping[str, object]) -> str:
    """``--on`` as it is written: ``ray:clients=4,cpus=8``."""
    if ":" in on:
        if settings:
            raise TypeError(f"on={on!r} and {', '.join(settings)}: give the settings in one place")
        return on
    parts: list[str] = []
    for name, value in settings.items():
        if on == "local" and name == "clients":
            parts.append(str(value))
        elif name == "hosts" and not isinstance(value, str) and isinstance(value, Sequence):
            parts.extend(str(host) for host in value)
        else:
            parts.append(f"{name}={value}")
    return f"{on}:{','.join(parts)}" if parts else on


def load(path: str | os.PathLike[str]) -> Run:
    """A run that ``--json`` has kept in a file."""
    return Run(json.loads(Path(path).read_text()))


class Run:
    """What was found: the document ``keystorm.run/1`` and what a notebook wants of it.

    Where a run is of several tests, figures are of the first; ``run["GET"]`` is the test of that name.
    """

    def __init__(self, document: Document, test: int = 0) -> None:
        if document.get("schema") != "keystorm.run/1":
            raise ValueError(f"this is not a saved run: its schema is {document.get('schema')!r}")
        self.document = document
        self._test = test

    def __len__(self) -> int:
        return len(self.document["tests"])

    def __iter__(self) -> Iterator[Run]:
        return (Run(self.document, test) for test in range(len(self)))

    def __getitem__(self, name: str | int) -> Run:
        for at, test in enumerate(self.document["tests"]):
            if name in (test["name"], at):
                return Run(self.document, at)
        raise KeyError(name)

    def __repr__(self) -> str:
        return f"<keystorm.Run {self.name}: {self.throughput_rps:.0f} requests/s>"

    @property
    def test(self) -> Document:
        """The test as it stands in the document."""
        return self.document["tests"][self._test]

    @property
    def name(self) -> str:
        """The name of the test."""
        return self.test["name"]

    @property
    def complete(self) -> bool:
        """Whether everything was carried out as planned."""
        return bool(self.document["complete"])

    @property
    def requests(self) -> int:
        """Requests that were answered, error replies included."""
        return self.test["requests"]

    @property
    def errors(self) -> int:
        """Error replies."""
        return self.test["errors"]["total"]

    @property
    def throughput_rps(self) -> float:
        """Answered requests per second: ``requests / elapsed_s``."""
        return self.test["throughput_rps"]

    @property
    def elapsed_s(self) -> float:
        """Length of the measured part, in seconds."""
        return self.test["elapsed_s"]

    @property
    def limited_by(self) -> str:
        """What limited the test: ``server``, ``client``, ``schedule``, ``unknown`` and the like."""
        return self.test["verdict"]["limited_by"]

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before believing the figures."""
        return [warning["text"] for warning in self.test["warnings"]]

    @property
    def clients(self) -> list[Document]:
        """A row for each of several clients; empty if there was one."""
        return list(self.test.get("clients", {}).get("rows", []))

    @property
    def start_skew_us(self) -> float | None:
        """How far apart several clients began, in microseconds."""
        return self.test.get("clients", {}).get("start_skew_us")

    def ms(self, latency: str = "response", percentile: float | None = None) -> float | None:
        """A latency in milliseconds: ``response``, ``service`` or ``first_byte``, at a percentile from
        0 to 100, or its mean. ``None`` if nothing was measured."""
        record = self.test["latency_ms"][latency]
        if percentile is None:
            return record["mean"]
        if not 0 <= percentile <= 100:
            raise ValueError(f"{percentile} is not a percentile, which is from 0 to 100")
        count = record["exact"]["count"]
        if count == 0:
            return None
        if percentile == 100:
            return record["max"]
        rank = max(1, math.ceil(percentile / 100 * count - 1e-9))
        seen = 0
        for _, highest_ns, n in buckets(record["histogram"]):
            seen += n
            if seen >= rank:
                return min(max(highest_ns, record["exact"]["min_ns"]), record["exact"]["max_ns"]) / 1e6
        return record["max"]

    def timeline(self) -> dict[str, list[float | None]]:
        """Arrays over time: ``t_s``, ``rps``, ``errors``, and ``p50``, ``p99`` and ``max`` in
        milliseconds, one entry an interval that had a reply. The last interval ends with the run; if that
        leaves less than a fifth of it, its ``rps`` is ``None``."""
        interval_s = self.test["timeline_interval_s"]
        points = self.test["timeline"]
        arrays = {name: [p[name] for p in points] for name in ("t_s", "errors", "p50", "p99", "max")}
        # The last interval ends when the run does. One that is cut shorter than a fifth has no rate.
        lengths = [min(interval_s, self.elapsed_s - p["t_s"]) for p in points]
        rps = [p["requests"] / s if s >= interval_s / 5 else None for p, s in zip(points, lengths)]
        return {**arrays, "rps": rps}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keeps the document in a file, which ``keystorm show`` and ``keystorm merge`` read."""
        Path(path).write_text(json.dumps(self.document, indent=2) + "\n")

    def text(self, layout: str = "text") -> str:
        """The report, in a layout of ``keystorm show --format``."""
        shown = self._made("show", "-", "--format", layout)
        return shown

    def html(self) -> str:
        """A page with charts."""
        return self._made("show", "-", "--html", "-")

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes that page to a file."""
        Path(path).write_text(self.html())

    def _repr_html_(self) -> str:
        # In a frame, so that the page's style is no style of the notebook's.
        page = _escaped(self.html()).replace('"', "&quot;")
        return f'<iframe sandbox="allow-scripts" style="width:100%;height:720px;border:0" srcdoc="{page}"></iframe>'

    def _made(self, *words: str) -> str:
        made = subprocess.run(
            [program(), *words],
            input=json.dumps(self.document),
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            raise Failed(made.stderr.strip(), made.returncode, self)
        return made.stdout


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def buckets(histogram: str) -> Iterator[tuple[int, int, int]]:
    """The filled buckets of a histogram of a document: lowest and highest nanoseconds, and how many.

    The format is HdrHistogram's V2, compressed, in base64.
    """
    data = base64.b64decode(histogram)
    cookie, length = struct.unpack(">II", data[:8])
    if cookie & ~0xF0 != 0x1C849304 & ~0xF0:
        raise ValueError("this is no histogram")
    plain = zlib.decompress(data[8 : 8 + length])
    _, size, _, digits, lowest, _, _ = struct.unpack(">IIIIQQd", plain[:40])
    unit = lowest.bit_length() - 1
    half_bits = math.ceil(math.log2(2 * 10**digits)) - 1
    half = 1 << half_bits
    at, index, end = 40, 0, 40 + size
    while at < end:
        count, at = _zigzag(plain, at)
        if count < 0:
            index -= count
            continue
        if count > 0:
            bucket = (index >> half_bits) - 1
            sub = (index & (half - 1)) + half
            if bucket < 0:
                bucket, sub = 0, sub - half
            low = sub << (bucket + unit)
            yield low, low + (1 << (bucket + unit)) - 1, count
        index += 1


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for read in range(9):
        byte = data[at]
        at += 1
        if read == 8:
            value |= byte << shift
            break
        value |= (byte & 0x7F) << shift
        if byte & 0x80 == 0:
            break
        shift += 7
    return (value >> 1) ^ -(value & 1), at
