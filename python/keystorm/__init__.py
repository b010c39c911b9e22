"""How fast is your Redis, really? Runs keystorm and reads what it found.

    >>> import keystorm
    >>> run = keystorm.run("-h 10.0.0.5 -t get -c 4000 --duration 60", on="ray", clients=4)
    >>> run.throughput_rps, run.ms("response", 99), run.start_skew_us, run.complete

The program is part of this package; nothing else is needed, Ray only for ``on="ray"``, and pandas
and pyarrow only for tables of theirs: ``keystorm.to_pandas(keystorm.tests(run))``.
"""

from ._program import program
from ._run import Failed, Run, load, run
from ._tables import histogram, history, tests, timeline, to_arrow, to_pandas

__all__ = [
    "Failed",
    "Run",
    "histogram",
    "history",
    "load",
    "program",
    "run",
    "tests",
    "timeline",
    "to_arrow",
    "to_pandas",
]
