#!/usr/bin/env python3
"""Makes faults that are plain, beside noise that is not the server's, and checks that keystorm tells the two apart.

    python3 scripts/noise-examples.py KEYSTORM                on this machine as it is
    python3 scripts/noise-examples.py KEYSTORM --busy 2       beside two busy loops
    python3 scripts/noise-examples.py KEYSTORM --only slo,history

Each example starts redis-servers, gives one of them a fault (errors, fsync, slow scripts, a pause), runs a command line,
and prints its sentence, its exit code, and whether both are right: what is plain is said on every machine, and what only
noise can have made is said on none. Exit code 1 if any is wrong. --quick halves what is run. All of it takes eight minutes.
"""

import argparse
import contextlib
import json
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

EVAL = (
    "local t = redis.call('TIME') local from = t[1] * 1000000 + t[2] "
    "repeat t = redis.call('TIME') until t[1] * 1000000 + t[2] - from >= 150000"
)


class Server:
    """A redis-server of its own, with what it is asked beside the load."""

    def __init__(self, *arguments):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory()
        line = ["redis-server", "--port", str(self.port), "--save", "", "--dir", self.folder.name]
        line += ["--enable-debug-command", "yes", *arguments]
        self.process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
        for _ in range(500):
            with contextlib.suppress(OSError):
                self.ask("PING")
                return
            time.sleep(0.02)
        sys.exit(f"{' '.join(line)}: does not answer")

    def ask(self, *words):
        """Sends a command, and waits until something of its reply has come."""
        parts = [b"*%d\r\n" % len(words)]
        parts += [b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words]
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(b"".join(parts))
            return connection.recv(1 << 16)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    @property
    def word(self):
        return f"127.0.0.1:{self.port}"


class Cron:
    """Commands that a server is sent again and again."""

    def __init__(self, server, every_s, *commands):
        self.ended = threading.Event()

        def work():
            while not self.ended.wait(every_s):
                for words in commands:
                    with contextlib.suppress(OSError):
                        server.ask(*words)

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def stop(self):
        self.ended.set()
        self.thread.join()


class Examples:
    def __init__(self, options, folder, stack):
        self.keystorm, self.stack, self.folder = options.keystorm, stack, Path(folder)
        self.seconds = 2 if options.quick else 4
        self.wrong = 0

    def server(self, *arguments):
        server = Server(*arguments)
        self.stack.callback(server.stop)
        return server

    def cron(self, *arguments):
        cron = Cron(*arguments)
        self.stack.callback(cron.stop)
        return cron

    def run(self, line):
        """Output and exit code of a command line."""
        ran = subprocess.run(
            [self.keystorm, *shlex.split(line)], capture_output=True, text=True, check=False, cwd=self.folder
        )
        return ran.stdout + ran.stderr, ran.returncode

    def check(self, line, codes, says="", never=None):
        """Runs a line, which must exit with one of these codes, print this, and not print that."""
        began = time.time()
        output, code = self.run(line)
        # Lines of a terminal are folded.
        folded = re.sub(r"\n +", " ", output)
        found = re.search(says, folded)
        bad = never and re.search(never, folded)
        is_right = code in codes and found and not bad
        self.wrong += not is_right
        print(f"$ keystorm {line}")
        at = found.start() if found and says else folded.strip().rfind("\n") + 1
        sentence = folded[at : at + 300].split("\n", 1)[0]
        print(f"  {sentence}")
        expected = " or ".join(map(str, codes))
        print(f"  exit code {code}, expected {expected}: {'right' if is_right else 'WRONG'}, {time.time() - began:.0f} s")
        if not is_right:
            why = f"says {bad.group(0)!r}" if bad else f"should say {says!r}"
            print("  " + why + "\n    " + "\n    ".join(output.strip().split("\n")[:40]))
        sys.stdout.flush()

    def errors(self):
        """A server that answers only errors fails a comparison whatever else runs."""
        good, broken = self.server(), self.server("--maxmemory", "1")
        line = f"compare {good.word} {broken.word} --fail-on-regression 5 --duration 0.5 --repeat 2 -t set"
        self.check(line, [3], "Gate failed: .* failed", "Gate passed|better")

    def rehearsal(self):
        """Requests that the new server refuses are told, and no block of recorded traffic hides them."""
        good, broken = self.server(), self.server("--maxmemory", "1")
        record = self.folder / "load.txt"
        commands = ["GET", "SET"] * 1000
        lines = []
        for number, name in enumerate(commands):
            value = ' "value"' if name == "SET" else ""
            lines.append(f'{1700000000 + number / 1000:.6f} [0 127.0.0.1:{5000 + number % 8}] "{name}" "k{number % 50}"{value}')
        record.write_text("\n".join(lines) + "\n")
        line = f"compare {good.word} {broken.word} --replay {record} --repeat 2 --fail-on-regression 5"
        self.check(line, [3], "Gate failed: .*failed", "No block of runs counts")

    def slo(self):
        """A target that slow commands of the server miss is missed, with their names."""
        server = self.server("--slowlog-log-slower-than", "10000")
        server.ask("DEBUG", "POPULATE", "300000", "key", "50")
        self.cron(server, 0.6, ["EVAL", EVAL, "0"], ["KEYS", "nothing*"])
        duration = 2 * self.seconds
        line = f"-p {server.port} --rps 1000 --duration {duration} --slo 'p50<500ms,p99<10ms' get k"
        self.check(line, [3], "slow commands.*EVAL|EVAL .*made", "not judged")

    def verdict(self):
        """The headline names what made most requests wait."""
        server = self.server("--slowlog-log-slower-than", "10000")
        server.ask("DEBUG", "POPULATE", "300000", "key", "50")
        self.cron(server, 0.6, ["EVAL", EVAL, "0"], ["KEYS", "nothing*"])
        line = f"-p {server.port} --rps 1000 --duration {2 * self.seconds} get k"
        self.check(line, [0], "(EVAL|KEYS) \\d+ times, .*(EVAL|KEYS) \\d+ times.*made", "raise --rps|stop other processes")
        # Where every connection waits for its reply, shares are of the time.
        line = f"-p {server.port} -c 8 --duration {2 * self.seconds} get k"
        self.check(line, [0], "EVAL \\d+ times, .* of the time of all requests")

    def pause(self):
        """A pause that no log of the server holds is told with its length, and by the server's own count of calls."""
        server = self.server()
        self.cron(server, 1.5, ["CLIENT", "PAUSE", "400", "ALL"])
        line = f"-p {server.port} --rps 1000 --duration {2 * self.seconds} get k"
        says = r"not seen in server or client.*CLIENT PAUSE was called (twice|\d times) meanwhile[^$]*unexplained: [2-5]\d\d ms"
        self.check(line, [0], says)

    def fsync(self):
        """A difference that is plain is told however wide its interval is, and equals differ in no gate."""
        [plain, same] = [self.server(), self.server()]
        slow = self.server("--appendonly", "yes", "--appendfsync", "always")
        line = "--fail-on-regression 5 --duration 0.5 --budget 40s -c 4 -t set"
        self.check(f"compare {plain.word} {slow.word} {line}", [3], "Gate failed", "unsteady|too wide")
        self.check(f"compare {plain.word} {same.word} {line}", [0, 4], "Gate (passed|undecided)", "unsteady|too wide")

    def sleep(self):
        """A hundredfold is told."""
        plain, slow = self.server(), self.server()
        self.cron(slow, 0.05, ["DEBUG", "SLEEP", "0.05"])
        line = "--fail-on-regression 5 --duration 0.5 --budget 40s --rps 500 get k"
        self.check(f"compare {plain.word} {slow.word} {line}", [3], "Gate failed", "unsteady|too wide")

    def saved(self):
        """Equal servers that were measured in another minute, beside more noise, are not called slower."""
        server = self.server()
        measure = f"-p {server.port} -t get,set --duration 0.5 --repeat 4 -q --json"
        self.run(f"{measure} a.json")
        specs = "suite --spawn=redis-server --match 'bitmap-bitcount|connection-ping' --time 0.3 --repeat 3 -q"
        self.run(f"{specs} --json before.json")
        with busy(2):
            self.run(f"{measure} b.json")
            self.check("compare a.json b.json --fail-on-regression 5", [0, 4], "Gate (passed|undecided)")
            self.check(f"{specs} --against before.json --fail-on-regression 5", [0, 4], "spec", "[1-9]\\d* slower|[1-9]\\d* faster")

    def cpu(self):
        """Server CPU per request is a figure that gates name: of servers whose work differs it fails, of equals not."""
        plain, same, tracing = self.server(), self.server(), self.server("--appendonly", "yes", "--appendfsync", "no")
        line = "--fail-on-regression 5 --metric server-cpu --duration 0.5 --budget 40s -c 8 -P 4 -t set -d 4000"
        self.check(f"compare {plain.word} {tracing.word} {line}", [3], "Gate failed: .*server CPU per request")
        self.check(f"compare {plain.word} {same.word} {line}", [0, 4], "Gate (passed|undecided)")

    def live(self):
        """The page names slow commands while the run goes on, as the report does afterwards."""
        server = self.server("--slowlog-log-slower-than", "10000")
        server.ask("DEBUG", "POPULATE", "300000", "key", "50")
        self.cron(server, 0.6, ["EVAL", EVAL, "0"], ["KEYS", "nothing*"])
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        found = []

        def watch():
            time.sleep(1)
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/events", timeout=8) as events:
                for line in events:
                    found.append(line.decode())
                    if "EVAL" in found[-1] and "made" in found[-1]:
                        return

        watcher = threading.Thread(target=watch)
        watcher.start()
        line = f"-p {server.port} --rps 1000 --duration 8 --live={port} get k"
        self.check(line, [0], "(EVAL|KEYS) \\d+ times, .*made")
        watcher.join()
        named = re.search(r"(EVAL|KEYS) (once|twice|\d+ times), [^<]*made [^<;]*", "".join(found))
        self.wrong += not named
        print(f"  the page meanwhile: {named.group(0)[:200] if named else 'WRONG, it named no command'}")

    def record(self):
        """What recording costs is told by a client beside it, or as not measured."""
        server = self.server()
        self.cron(server, 0.1, ["EVAL", EVAL.replace("150000", "1000"), "0"])
        self.check(f"record -p {server.port} --duration 1 -o load.ksr", [0], "[Cc]ost of recording(,| was not measured)", "/s before")

    def history(self):
        """Nights on a busy machine count; one that is a hundred times worse fails."""
        server = self.server()
        night = f"-p {server.port} --rps 500 --duration 2 --keep nights get k"
        for _ in range(8):
            self.run(night)
        check = "compare --baseline nights --fail-on-regression 20"
        self.run(night)
        files = sorted((self.folder / "nights").glob("*.json"))
        self.check(f"{check} {shlex.quote(str(files[-1]))}", [0, 4], "", "(?i)surely worse")
        cron = self.cron(server, 0.05, ["DEBUG", "SLEEP", "1.8"])
        self.run(night)
        cron.stop()
        bad = max((self.folder / "nights").glob("*.json"), key=lambda file: file.stat().st_mtime)
        self.check(f"{check} {shlex.quote(str(bad))}", [3], "", "as before")
        # Requests that fail are no noise.
        writes = f"-p {server.port} --rps 500 --duration 0.5 --on-error count --keep writes set k v"
        for _ in range(5):
            self.run(writes)
        server.ask("CONFIG", "SET", "maxmemory", "1")
        self.run(writes)
        self.check("compare --baseline writes", [3], "Gate failed: .* of the requests .* failed")

    def search(self):
        """A search ends with what is sure."""
        server = self.server()
        line = f"search -p {server.port} --slo 'p99<20ms' --most 20000 --budget 20s --no-curve get k"
        says = " keeps? p99|no rate|undecided whether"
        self.check(line, [0, 4], says, "void: the hypervisor gave|not even|do not keep")


@contextlib.contextmanager
def busy(count):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in loops:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("keystorm", type=lambda text: str(Path(text).resolve()))
    names = [name for name, of in vars(Examples).items() if callable(of) and (of.__doc__ or "").endswith(".") and name not in ("run", "check")]
    parser.add_argument("--only", default=",".join(names), help="examples, separated by commas")
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside them")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    wrong = []
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack, busy(options.busy):
            examples = Examples(options, folder, stack)
            example = getattr(examples, name)
            print(f"\n{name}: {example.__doc__}")
            example()
            wrong += [name] * examples.wrong
    print(f"\n{len(wrong)} wrong" + (": " + ", ".join(wrong) if wrong else ""))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
