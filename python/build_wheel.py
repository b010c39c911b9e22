"""Builds the wheel: the package with the program inside, for one architecture and any Python 3.

    python3 python/build_wheel.py PROGRAM DIRECTORY [--version 1.2.3 --tag manylinux_2_17_aarch64]

Of a program that does not run here, the version and the platform have to be told.

A wheel is a zip with a list of what is in it
(https://packaging.python.org/en/latest/specifications/binary-distribution-format/). No tool is needed for
that, and none can be told that a package holds a program and no extension.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
METADATA = """\
Metadata-Version: 2.1
Name: keystorm
Version: {version}
Summary: Load generator and benchmark for Redis, Valkey and memcached
License: Apache-2.0 OR MIT
Requires-Python: >=3.10
Provides-Extra: ray
Requires-Dist: ray>=2.40; extra == "ray"
Provides-Extra: pandas
Requires-Dist: pandas>=2; extra == "pandas"
Requires-Dist: pyarrow>=14; extra == "pandas"
"""
ENTRY_POINTS = """\
[console_scripts]
keystorm = keystorm._program:main
keystorm-on-ray = keystorm.on_ray:main

[pytest11]
keystorm = keystorm.pytest_plugin
"""


def tag(program: Path) -> str:
    """The platform that the program is for: the libc that it needs at least."""
    machine = platform.machine()
    if sys.platform == "darwin":
        return f"macosx_11_0_{machine}"
    needed = subprocess.run(["objdump", "-T", program], capture_output=True, text=True, check=False)
    versions = {
        tuple(int(n) for n in word.split("_", 1)[1].strip("()").split(".")[:2])
        for word in needed.stdout.replace("(", " ").replace(")", " ").split()
        if word.startswith("GLIBC_2.")
    }
    # Without objdump: what it was built against is what is here.
    here = tuple(int(n) for n in (platform.libc_ver()[1] or "2.17").split(".")[:2])
    major, minor = max(versions, default=here)
    return f"manylinux_{major}_{minor}_{machine}"


def version(program: Path) -> str:
    """What the program calls itself."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.split()[1]


def main() -> None:
    """Builds it and says where it is."""
    parser = argparse.ArgumentParser(description="Builds the wheel.")
    parser.add_argument("program", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--version", help="what the program calls itself")
    parser.add_argument("--tag", help="the platform that it is for")
    given = parser.parse_args()
    program, directory = given.program, given.directory
    number = given.version or version(program)
    name = f"keystorm-{number}"
    wheel_tag = f"py3-none-{given.tag or tag(program)}"
    files = {
        f"keystorm/{path.relative_to(HERE / 'keystorm').as_posix()}": (path.read_bytes(), 0o644)
        for path in sorted((HERE / "keystorm").rglob("*"))
        if path.is_file() and path.suffix in (".py", ".typed")
    }
    files["keystorm/bin/keystorm"] = (program.read_bytes(), 0o755)
    info = f"{name}.dist-info"
    files[f"{info}/METADATA"] = (METADATA.format(version=number).encode(), 0o644)
    kind = f"Wheel-Version: 1.0\nGenerator: keystorm\nRoot-Is-Purelib: false\nTag: {wheel_tag}\n"
    files[f"{info}/WHEEL"] = (kind.encode(), 0o644)
    files[f"{info}/entry_points.txt"] = (ENTRY_POINTS.encode(), 0o644)
    record = "".join(
        f"{path},sha256={_digest(data)},{len(data)}\n" for path, (data, _) in files.items()
    )
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    directory.mkdir(parents=True, exist_ok=True)
    wheel = directory / f"{name}-{wheel_tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, (data, mode) in files.items():
            # The same bytes whenever it is built.
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    print(wheel)


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
