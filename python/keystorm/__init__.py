"""How fast is your Redis, really? Runs keystorm and reads what it found.

    >>> import keystorm
    >>> run = keystorm.run("-h 10.0.0.5 -t get -c 4000 --duration 60", on="ray", clients=4)
    >>> run.throughput_rps, run.ms("response", 99), run.start_skew_us, run.complete

The program is part of this package; nothing else is needed, and Ray only for ``on="ray"``.
"""

from ._program import program
from ._run import Failed, Run, load, run

__all__ = ["Failed", "Run", "load", "program", "run"]
