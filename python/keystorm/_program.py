"""Where the program is, and the command ``keystorm``, which is it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def program() -> str:
    """The path of the program: that of this package, or ``keystorm`` on the PATH in a checkout."""
    own = Path(__file__).parent / "bin" / "keystorm"
    if own.is_file():
        return str(own)
    found = shutil.which("keystorm")
    if found is None:
        raise FileNotFoundError(
            "this package has no program for this machine, and there is none on the PATH; "
            "install the wheel for its architecture"
        )
    return found


def main() -> None:
    """Becomes the program."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
