"""How well keystorm keeps a schedule on the real clock: `make precision`.

Runs keystorm against `keystorm sink`, so that no server is in the way, and prints for each rate and
engine the rate that was achieved and how late requests were sent (99th percentile, of what was not
for want of a connection). Figures are medians of several runs, one after another. Ends with 1 if a
target was missed. A busy machine misses it: its load is printed, too.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

RATES = [1, 10, 1_000, 10_000, 100_000]
# Share by which the achieved rate may differ, and the lateness in milliseconds at one of the rates.
RATE_OFF_MAX = 0.005
LATE_AT, LATE_MAX_MS = 10_000, 0.1


def measure(keystorm, socket, engine, rate, seconds, extra):
    kept = socket + ".json"
    line = [keystorm, "-s", socket, "--engine", engine, "--rps", str(rate), "-q"]
    line += ["--duration", str(seconds), "--json", kept, *extra, "ping"]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(kept, encoding="utf-8") as file:
        test = json.load(file)["tests"][0]
    late = test["lateness_ms"]["own"]
    busy = sum(w["cpu_ns"] for w in test["client"]["workers"]) / 1e9 / test["elapsed_s"]
    return test["requests"] / seconds, late["p50"], late["p99"], busy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("keystorm")
    parser.add_argument("--tries", type=int, default=5, help="runs of each, of which the median counts")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rates", type=int, nargs="*", default=RATES)
    parser.add_argument("--engines", nargs="*", default=["uring", "epoll"])
    parser.add_argument("--options", default="", help="more options of keystorm, such as '--cpus 1'")
    asked = parser.parse_args()
    load = " ".join(f"{n:.2f}" for n in os.getloadavg())
    print(f"load {load} on {os.cpu_count()} CPUs; {asked.tries} runs of {asked.seconds:g} s each")
    row = "{:>9} {:>7} {:>12} {:>9} {:>11} {:>11} {:>11}  {}"
    print(row.format("rate", "engine", "achieved", "off", "late p50", "late p99", "CPU", ""))
    missed = False
    with tempfile.TemporaryDirectory() as place:
        socket = os.path.join(place, "sink")
        sink = subprocess.Popen(
            [asked.keystorm, "sink", "--unix", socket],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            # It says where it listens.
            sink.stdout.readline()
            for rate in asked.rates:
                for engine in asked.engines:
                    runs = [
                        measure(
                            asked.keystorm, socket, engine, rate, asked.seconds, asked.options.split()
                        )
                        for _ in range(asked.tries)
                    ]
                    achieved, p50, p99, busy = map(statistics.median, zip(*runs))
                    off = achieved / rate - 1
                    faults = []
                    if abs(off) > RATE_OFF_MAX:
                        faults.append(f"rate off by more than {RATE_OFF_MAX:.1%}")
                    if rate == LATE_AT and p99 > LATE_MAX_MS:
                        faults.append(f"p99 above {LATE_MAX_MS * 1e3:.0f} us")
                    missed = missed or bool(faults)
                    print(
                        row.format(
                            rate,
                            engine,
                            f"{achieved:.1f}",
                            f"{off:+.3%}",
                            f"{p50 * 1e3:.1f} us",
                            f"{p99 * 1e3:.1f} us",
                            f"{busy:.1%}",
                            "MISSED: " + ", ".join(faults) if faults else "",
                        ).rstrip(),
                        flush=True,
                    )
        finally:
            sink.terminate()
            sink.wait()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
