#!/usr/bin/env python3
"""Plants known differences between two servers, and counts what `keystorm compare` says of them.

    python3 scripts/planted.py KEYSTORM                      power: a row for each planted effect
    python3 scripts/planted.py KEYSTORM --self               false alarms: a server with itself, by figure
    python3 scripts/planted.py KEYSTORM --sittings           how much one load differs between sittings, by figure
    python3 scripts/planted.py KEYSTORM --busy 2             the same beside two busy loops

The servers are this script: one thread that spends a known CPU time on each command, so that a server of twice the
time is half as fast on any machine. --self compares two of them, or with --server PROGRAM that program with itself.
--tries and --seconds say how often, and how long a run takes; one try takes 4 runs for each of --blocks, and up to
--budget where the runs do not say. --sittings saves --blocks runs of one load at each of --tries times, --pause apart,
and prints by how much the times differ beyond what the runs of one differ: the standard deviation that
crates/report/src/compare/sittings.rs allows for.

The tables are Markdown. --markdown FILE puts the table into a document as well, in place of what stands between
`<!-- planted: NAME -->` and `<!-- end of planted -->`, where NAME is power, self or sittings, and -busy with --busy.
A comparison that ends in any other way than an answer is told on standard error, counted as no answer, and the
next one goes on. Nothing here fails: the numbers are for a person to read.
"""

import argparse
import atexit
import collections
import json
import math
import os
import select
import socket
import statistics
import subprocess
import sys
import time

# CPU time for each command, in microseconds: some ten times what the loop below costs by itself.
WORK_US = 150
# Name, factor of the CPU time of the second server, and the share of its requests that it answers with an error.
EFFECTS = [
    ("none", 1.0, 0.0),
    ("2 % slower", 1.02, 0.0),
    ("5 % slower", 1.05, 0.0),
    ("20 % slower", 1.2, 0.0),
    ("2 times as slow", 2.0, 0.0),
    ("100 times as slow", 100.0, 0.0),
    ("1 % errors", 1.0, 0.01),
    ("20 % errors", 1.0, 0.2),
]
ANSWERS = ["worse", "better", "alike", "undecided", "requests failed", "no answer"]
# Figures of a saved run that sittings are measured of.
FIGURES = ["throughput_rps", "server_cpu_us_per_request", "p50", "p90", "p95", "p99", "p99.9"]


def commands(buffer):
    """How many whole commands a buffer has, the name of each, and what is left."""
    names, at = [], 0
    while True:
        end = buffer.find(b"\r\n", at)
        if end < 0 or buffer[at : at + 1] != b"*":
            return names, buffer[at:]
        parts, place, words = int(buffer[at + 1 : end]), end + 2, []
        for _ in range(parts):
            end = buffer.find(b"\r\n", place)
            if end < 0:
                return names, buffer[at:]
            size = int(buffer[place + 1 : end])
            if len(buffer) < end + 4 + size:
                return names, buffer[at:]
            words.append(buffer[end + 2 : end + 2 + size])
            place = end + 4 + size
        names.append(words)
        at = place


def serve(work_us, error_share):
    """A server that spends so much CPU time on each GET, and answers such a share of them with an error."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    buffers, served, owed = {}, 0, 0.0
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    sockets = {listener.fileno(): listener}
    while True:
        for fd, _ in poll.poll():
            if fd == listener.fileno():
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sockets[client.fileno()], buffers[client.fileno()] = client, b""
                poll.register(client, select.POLLIN)
                continue
            # What reading costs is part of the first command's time.
            began = time.thread_time_ns()
            try:
                data = sockets[fd].recv(65536)
            except OSError:
                data = b""
            if not data:
                poll.unregister(fd)
                sockets.pop(fd).close()
                continue
            asked, buffers[fd] = commands(buffers[fd] + data)
            replies = []
            for words in asked:
                name = words[0].upper()
                if name == b"GET":
                    served, owed = served + 1, owed + error_share
                    began += work_us * 1000
                    while time.thread_time_ns() < began:
                        pass
                    replies.append(b"-ERR planted\r\n" if owed >= 1.0 else b"$1\r\nx\r\n")
                    owed -= owed >= 1.0
                elif name == b"INFO":
                    times = os.times()
                    text = (
                        f"# Server\r\nredis_version:7.0.0\r\nprocess_id:{os.getpid()}\r\n"
                        f"# CPU\r\nused_cpu_sys:{times.system:.6f}\r\nused_cpu_user:{times.user:.6f}\r\n"
                    ).encode()
                    replies.append(b"$%d\r\n%s\r\n" % (len(text), text))
                elif name == b"CONFIG":
                    replies.append(b"*0\r\n")
                elif name == b"PING":
                    replies.append(b"+PONG\r\n")
                else:
                    replies.append(b"-ERR unknown command\r\n")
            try:
                sockets[fd].sendall(b"".join(replies))
            except OSError:
                pass


class Planted:
    """A process of that server."""

    def __init__(self, factor, errors):
        line = [sys.executable, __file__, "serve", str(WORK_US * factor), str(errors)]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.word = "127.0.0.1:" + self.process.stdout.readline().strip()

    def stop(self):
        self.process.kill()
        self.process.wait()


def compared(options, first, second, gate):
    """What a comparison says of the second server, and its exit code."""
    line = [options.keystorm, "compare", first, second, "--name-a", "first", "--name-b", "second"]
    line += ["--duration", str(options.seconds), "--warmup", str(options.seconds / 5), "-c", "8"]
    line += ["--format", "json", "--budget", options.budget, "--repeat", str(options.blocks)]
    line += gate + options.more + ["get", "x"]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    if ran.returncode in (0, 3, 4):
        test = json.loads(ran.stdout)["tests"][0]["servers"][1]
        why = test["not_told_because"]
        if not why or "failed, and at most" in why:
            return test, ran.returncode
    else:
        why = f"exit code {ran.returncode}: {ran.stderr.strip()}"
    print(f"{' '.join(line)}: {why}", file=sys.stderr, flush=True)
    return None, ran.returncode


def answer_of(test):
    """Which of the answers a comparison gave."""
    if test is None:
        return "no answer"
    return "requests failed" if test["not_told_because"] else test["answer"]


class MarkdownTable:
    """A table that is printed row by row, and put into a document."""

    def __init__(self, options, name, what, columns):
        self.options, self.name = options, name + ("-busy" if options.busy else "")
        beside = f"beside {options.busy} busy loops" if options.busy else "on an idle machine"
        self.lines = []
        self.line(f"{what}, {beside}, {time.strftime('%B %Y')}:\n")
        self.row(columns)
        self.line("|---|" + "---|" * (len(columns) - 1))

    def row(self, cells):
        self.line("| " + " | ".join(map(str, cells)) + " |")

    def line(self, text):
        print(text, flush=True)
        self.lines.append(text)

    def write(self):
        if not self.options.markdown:
            return
        with open(self.options.markdown, encoding="utf-8") as file:
            text = file.read()
        begins, ends = f"<!-- planted: {self.name} -->\n", "<!-- end of planted -->"
        at = text.find(begins)
        if at < 0 or text.find(ends, at) < 0:
            sys.exit(f"{self.options.markdown}: has no place for this table: {begins.strip()} and {ends}")
        at += len(begins)
        text = text[:at] + "\n" + "\n".join(self.lines) + "\n\n" + text[text.find(ends, at) :]
        with open(self.options.markdown, "w", encoding="utf-8") as file:
            file.write(text)


def power(options):
    what = f"Planted effects, {options.tries} tries each, gate of {options.limit:g} % on {options.metric}"
    table = MarkdownTable(options, "power", what, ["planted", *ANSWERS, "passes", "fails", "is open", "seconds"])
    wanted = options.effects.split(",") if options.effects else [name for name, _, _ in EFFECTS]
    for name, factor, errors in EFFECTS:
        if name not in wanted:
            continue
        answers, codes, began = collections.Counter(), collections.Counter(), time.time()
        for _ in range(options.tries):
            servers = [Planted(1.0, 0.0), Planted(factor, errors)]
            gate = ["--fail-on-regression", str(options.limit), "--metric", options.metric]
            test, code = compared(options, servers[0].word, servers[1].word, gate)
            for server in servers:
                server.stop()
            answers[answer_of(test)] += 1
            codes[code] += 1
        each = [answers[answer] for answer in ANSWERS] + [codes[code] for code in (0, 3, 4)]
        seconds = (time.time() - began) / options.tries
        table.row([name, *each, f"{seconds:.0f}"])
    table.write()


def itself(options):
    found, seen, headlines = collections.Counter(), collections.Counter(), collections.Counter()
    for _ in range(options.tries):
        servers = [] if options.server else [Planted(1.0, 0.0), Planted(1.0, 0.0)]
        words = [server.word for server in servers] or [options.server] * 2
        test, _ = compared(options, words[0], words[1], [])
        for server in servers:
            server.stop()
        headlines[answer_of(test)] += 1
        for name, figure in (test["figures"] if test else {}).items():
            seen[name] += 1
            found[name] += figure["significant"]
    table = MarkdownTable(options, "self", f"A server with itself, {options.tries} times", ["figure", "said to differ", "of"])
    for name, count in seen.items():
        table.row([name, found[name], count])
    wrong = headlines["better"] + headlines["worse"]
    table.row(["headline", wrong, sum(headlines.values())])
    table.write()
    print("\nHeadlines: " + ", ".join(f"{count} {answer}" for answer, count in headlines.items()))


def figures_of(test):
    """The figures of a test of a saved run, by name."""
    return {name: test.get(name) or test["latency_ms"]["response"].get(name) for name in FIGURES}


def sittings(options):
    server = None if options.server else Planted(1.0, 0.0)
    word = server.word if server else options.server
    host, port = word.rsplit(":", 1)
    # Of each figure, the logarithms of a sitting's runs.
    seen = {name: [] for name in FIGURES}
    for at in range(options.tries):
        time.sleep(options.pause if at else 0)
        line = [options.keystorm, "-h", host, "-p", port, "--duration", str(options.seconds), "-c", "8"]
        line += ["--repeat", str(options.blocks), "--format", "json", *options.more, "get", "x"]
        ran = subprocess.run(line, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            print(f"{' '.join(line)}: exit code {ran.returncode}: {ran.stderr.strip()}", file=sys.stderr)
            continue
        tests = [figures_of(test) for test in json.loads(ran.stdout)["tests"]]
        for name in FIGURES:
            seen[name].append([math.log(test[name]) for test in tests if test[name]])
    if server:
        server.stop()
    what = f"{options.blocks} runs of {options.seconds:g} s, at {options.tries} times {options.pause:g} s apart"
    table = MarkdownTable(options, "sittings", what, ["figure", "sittings", "a run (%)", "a sitting on top (%)", "most (%)"])
    for name, of in seen.items():
        of = [values for values in of if len(values) > 1]
        if len(of) < 2:
            continue
        means = [statistics.fmean(values) for values in of]
        within = statistics.fmean(statistics.variance(values) for values in of)
        runs = statistics.fmean(len(values) for values in of)
        on_top = max(0.0, statistics.variance(means) - within / runs)
        per_cent = [100 * math.sqrt(within), 100 * math.sqrt(on_top), 100 * math.expm1(max(means) - min(means))]
        table.row([name, len(of), *(f"{value:.1f}" for value in per_cent)])
    table.write()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("keystorm")
    parser.add_argument("--self", action="store_true", dest="is_self")
    parser.add_argument("--sittings", action="store_true", dest="is_sittings")
    parser.add_argument("--pause", type=float, default=60, help="seconds between sittings")
    parser.add_argument("--server", help="program that --self compares with itself; HOST:PORT of --sittings")
    parser.add_argument("--markdown", metavar="FILE", help="document that the table is put into")
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a run")
    parser.add_argument("--blocks", type=int, default=5, help="before it is judged for the first time")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside it")
    parser.add_argument("--limit", type=float, default=5, help="of the gate, in per cent")
    parser.add_argument("--metric", default="throughput,p99", help="of the gate")
    parser.add_argument("--effects", help="those of the table to plant, separated by commas")
    parser.add_argument("--more", type=lambda text: text.split(), default=[], help="further options")
    options = parser.parse_args()
    loop = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(loop) for _ in range(options.busy)]
    try:
        modes = {options.is_self: itself, options.is_sittings: sittings}
        modes.get(True, power)(options)
    finally:
        for process in loops:
            process.kill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(float(sys.argv[2]), float(sys.argv[3]))
    main()
