"""The pytest fixture ``keystorm``: a target that a test holds a server to.

    def test_sessions_are_quick(keystorm):
        keystorm.assert_within("-h 127.0.0.1 -t get -r 10k --rps 2k --duration 5", p99_ms=2)

The load is an open loop only with ``--rps``; without it there is no response time that users would see.
"""

from __future__ import annotations

from typing import Any, Mapping

import pytest

from ._run import Run, run as _run


class Bench:
    """What the fixture gives: runs, and assertions on them."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def run(self, line: str, **how: Any) -> Run:
        """:func:`keystorm.run`; the run is remembered in ``runs``."""
        found = _run(line, **how)
        self.runs.append(found)
        return found

    def assert_within(
        self,
        line: str,
        *,
        errors: float | None = None,
        undecided: str = "fail",
        env: Mapping[str, str] | None = None,
        **bounds_ms: float,
    ) -> Run:
        """Carries out a run and fails the test unless each target is kept: ``p50_ms``, ``p99_ms`` and any other
        percentile (``p99_9_ms``), ``mean_ms``, ``max_ms``, and ``errors`` as a share from 0 to 1.

        A run that is too short, or on a machine that is too busy, decides nothing: with ``undecided="skip"`` it skips
        the test, otherwise it fails it and says so.
        """
        target = _target(bounds_ms, errors)
        if undecided not in ("fail", "skip"):
            raise ValueError(f"undecided={undecided!r}: it is 'fail' or 'skip'")
        found = self.run(["--slo", target, *_words(line)], check=False, env=env)
        for test in found:
            outcome = test.test.get("target", {}).get("outcome")
            if outcome == "kept":
                continue
            why = f"{test.name}: {target} {outcome or 'was not judged'}\n{found.text('quiet')}"
            if outcome in ("undecided", "void") and undecided == "skip":
                pytest.skip(why)
            pytest.fail(why, pytrace=False)
        if not found.complete:
            pytest.fail(f"the run is incomplete\n{found.text('quiet')}", pytrace=False)
        return found


def _words(line: str | list[str]) -> list[str]:
    import shlex

    return shlex.split(line) if isinstance(line, str) else list(line)


def _target(bounds_ms: Mapping[str, float], errors: float | None) -> str:
    """The target as ``--slo`` reads it."""
    clauses = []
    for name, bound in bounds_ms.items():
        measure = name.removesuffix("_ms")
        if measure == name:
            raise TypeError(f"{name}: bounds are in milliseconds, such as p99_ms=2")
        whole, _, fraction = measure.partition("_")
        clauses.append(f"{whole}{'.' + fraction if fraction else ''}<{bound * 1000:g}us")
    if errors is not None:
        clauses.append(f"errors<{errors * 100:g}%")
    if not clauses:
        raise TypeError("name a bound, such as p99_ms=2")
    return ",".join(clauses)


@pytest.fixture
def keystorm() -> Bench:
    """Runs of keystorm, and what they are to keep."""
    return Bench()
