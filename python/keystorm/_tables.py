"""Runs as tables: rows of plain values, pandas, Arrow.

pandas and pyarrow are loaded when a table of theirs is asked for: ``pip install keystorm[pandas]``.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable

from ._program import program
from ._run import Failed, Run, buckets

if TYPE_CHECKING:
    import pandas
    import pyarrow

Rows = list[dict[str, Any]]
_CPU = ("client_cpu_us_per_request", "server_cpu_us_per_request")
_PERCENTILES = ("p50", "p90", "p95", "p99", "p99.9")


def tests(runs: Run | Iterable[Run]) -> Rows:
    """A row for each test of one run or of several: what was asked of whom, and the figures."""
    found = [runs] if isinstance(runs, Run) else list(runs)
    return [_test(test) for run in found for test in run]


def _test(run: Run) -> dict[str, Any]:
    test = run.test
    server = run.document["server"]
    host = run.document.get("host") or {}
    response = test["latency_ms"]["response"]
    row: dict[str, Any] = {
        "test": run.name,
        "started_at": test["started_at"],
        "repeat": test.get("repeat", {}).get("number"),
        "server": " ".join(part for part in (server.get("product"), server.get("version")) if part),
        "machine": host.get("hostname"),
        "client": run.document["client"]["version"],
        "complete": test["ending"] == "complete",
        "limited_by": run.limited_by,
        "requests": run.requests,
        "errors": run.errors,
        "elapsed_s": run.elapsed_s,
        "throughput_rps": run.throughput_rps,
        "mean_ms": response["mean"],
        "max_ms": response["max"],
    }
    row.update({f"{name}_ms": response[name] for name in _PERCENTILES})
    # Of each request, or of each message that was received; None where a system does not tell.
    row.update({name: test.get(name) for name in _CPU})
    return row


def timeline(run: Run) -> Rows:
    """A row for each interval of a test that had a reply."""
    arrays = run.timeline()
    return [dict(zip(arrays, values)) for values in zip(*arrays.values())]


def histogram(run: Run, latency: str = "response") -> Rows:
    """A row for each filled bucket of a latency: its bounds in milliseconds, its count, and the share of requests
    up to it."""
    filled = list(buckets(run.test["latency_ms"][latency]["histogram"]))
    total, seen, rows = sum(count for _, _, count in filled), 0, []
    for low, high, count in filled:
        seen += count
        rows.append({"from_ms": low / 1e6, "to_ms": high / 1e6, "count": count, "share": seen / total})
    return rows


def history(directory: str | os.PathLike[str] | None = None, *options: str) -> Rows:
    """A row for each test of each saved run of a folder (``--keep``), with the series that it belongs to and whether
    a step begins there. Without a folder it is that of ``KEYSTORM_HISTORY``. ``options`` are those of ``keystorm
    history``, such as ``--any-machine``."""
    words = [program(), "history", "--format", "json", *options]
    if directory is not None:
        words.append(str(Path(directory)))
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Failed(made.stderr.strip(), made.returncode, None)
    rows: Rows = []
    for series in json.loads(made.stdout)["series"]:
        steps = series["steps"]
        for at, entry in enumerate(series["entries"]):
            figures = entry.pop("figures")
            row = {"series": series["name"], **entry}
            row.update({metric: figure["mean"] for metric, figure in figures.items()})
            begun = {metric for metric, found in steps.items() for step in found if step["at"] == at}
            row.update({f"{metric}_step": metric in begun for metric in figures})
            rows.append(row)
    return rows


def to_pandas(rows: Rows) -> pandas.DataFrame:
    """Rows as a pandas DataFrame; times are timestamps."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("this takes pandas: pip install keystorm[pandas]") from error
    frame = pandas.DataFrame(rows)
    if "started_at" in frame:
        frame["started_at"] = pandas.to_datetime(frame["started_at"], format="ISO8601")
    return frame


def to_arrow(rows: Rows) -> pyarrow.Table:
    """Rows as an Arrow table, which Parquet, DuckDB and Polars take; times are timestamps."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("this takes pyarrow: pip install keystorm[pandas]") from error
    # Arrow takes the columns of the first row, which may lack some.
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    if "started_at" in columns:
        columns["started_at"] = [_time(text) for text in columns["started_at"]]
    return pyarrow.table(columns)


def _time(text: str) -> datetime:
    """A time of a document, to the microsecond."""
    # Up to Python 3.10 there are three or six digits of a second, and no Z.
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}.{fraction[:6]:0<6}+00:00")
