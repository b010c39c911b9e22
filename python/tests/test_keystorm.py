"""The package against a real server, and its parts. Run by `make test-python`.

Ray's tests need Ray, which `make setup-test` fetches; where it cannot they are skipped by name.
"""

import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path

import keystorm
from keystorm import on_ray
from keystorm._run import _SUBCOMMANDS, buckets, on_option

HAS_PANDAS = importlib.util.find_spec("pandas") and importlib.util.find_spec("pyarrow")
HAS_PYTEST = importlib.util.find_spec("pytest")
LINE = "-t get -n 3000 -c 4 --spawn"


class Runs(unittest.TestCase):
    """What keystorm.run gives back."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.found = keystorm.run(LINE)

    def test_figures_are_those_of_the_document(self) -> None:
        run = self.found
        self.assertTrue(run.complete)
        self.assertEqual((run.name, run.requests, run.errors), ("GET", 3000, 0))
        self.assertAlmostEqual(run.throughput_rps, run.requests / run.elapsed_s, places=3)
        self.assertEqual((run.clients, run.start_skew_us), ([], None))
        self.assertEqual((len(run), run["GET"].requests, [r.name for r in run]), (1, 3000, ["GET"]))
        with self.assertRaises(KeyError):
            run["SET"]

    def test_percentiles_are_those_that_keystorm_prints(self) -> None:
        told = self.found.test["latency_ms"]["response"]
        for name, percentile in [("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99), ("p99.9", 99.9)]:
            self.assertEqual(self.found.ms("response", percentile), told[name], name)
        self.assertEqual(self.found.ms("response", 100), told["max"])
        self.assertEqual(self.found.ms(), told["mean"])
        self.assertEqual(sum(n for _, _, n in buckets(told["histogram"])), 3000)
        with self.assertRaises(ValueError):
            self.found.ms("response", 101)

    def test_a_timeline_is_arrays_of_one_length(self) -> None:
        run = keystorm.run("-t set --duration 0.8 -c 2 --spawn")
        line = run.timeline()
        self.assertEqual(len({len(array) for array in line.values()}), 1)
        self.assertEqual(sum(p["requests"] for p in run.test["timeline"]), run.requests)
        # Four intervals, the last of which is cut short: no rate drops to zero.
        rates = [rps for rps in line["rps"] if rps is not None]
        self.assertGreater(min(rates), max(rates) / 100)
        self.assertLess(line["t_s"][-1], run.elapsed_s)
        for requests, rps in zip((p["requests"] for p in run.test["timeline"]), rates[:-1]):
            self.assertAlmostEqual(rps * run.test["timeline_interval_s"], requests)

    def test_it_is_saved_shown_and_drawn(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "run.json"
            self.found.save(file)
            self.assertEqual(keystorm.load(file).document, self.found.document)
            page = Path(directory) / "run.html"
            self.found.report(page)
            self.assertIn("<html", page.read_text())
        self.assertIn("3000 requests completed", self.found.text())
        cell = self.found._repr_html_()
        self.assertTrue(cell.startswith("<iframe sandbox=") and "&lt;!DOCTYPE html>" in cell, cell[:200])

    def test_several_clients_have_rows(self) -> None:
        run = keystorm.run("-t set -n 900 -c 6 --spawn", on="local", clients=3)
        self.assertEqual(sum(row["requests"] for row in run.clients), 900)
        self.assertGreaterEqual(run.start_skew_us, 0)

    def test_what_fails_is_raised_with_its_code(self) -> None:
        with self.assertRaises(keystorm.Failed) as said:
            keystorm.run("-t nosuch")
        self.assertEqual((said.exception.code, said.exception.run), (2, None))
        self.assertIn("nosuch", str(said.exception))
        with self.assertRaises(keystorm.Failed) as said:
            keystorm.run("-p 1 -n 5")
        self.assertTrue(str(said.exception).startswith("error: could not connect"), said.exception)
        with self.assertRaises(TypeError):
            keystorm.run(LINE, clients=3)
        with self.assertRaisesRegex(TypeError, "clients"):
            keystorm.run(LINE, on="local:2", clients=3)

    def test_what_is_no_run_is_refused_and_sends_nothing(self) -> None:
        for word in ["sweep", "search", "compare", "memtier", "memtier_benchmark", "ycsb", "rpc-perf", "help"]:
            with self.assertRaisesRegex(ValueError, word):
                keystorm.run(f"{word} -p 1 -t get")
            with self.assertRaisesRegex(ValueError, "subcommand"):
                keystorm.run([word])
        for word in ["--json", "--json=a", "--print-plan", "--help", "--version"]:
            with self.assertRaisesRegex(ValueError, word.partition("=")[0]):
                keystorm.run(f"{LINE} {word}")
        completions = subprocess.run([keystorm.program(), "completions", "bash"], capture_output=True, check=True)
        offered = re.search(r'opts="(-h -p [^"]*)"', completions.stdout.decode()).group(1).split()
        subcommands = {word for word in offered if re.fullmatch("[a-z-]*[a-z]", word) and word[0] != "-"}
        self.assertIn("deliver", subcommands)
        self.assertLessEqual(subcommands, _SUBCOMMANDS)
        # Behind two hyphens everything is the command.
        run = keystorm.run(["-n", "5", "--spawn", "--", "echo", "--help"])
        self.assertEqual((run.requests, run.errors), (5, 0))

    def test_a_launcher_is_written_with_its_settings(self) -> None:
        self.assertEqual(on_option("local", {"clients": 4}), "local:4")
        self.assertEqual(on_option("ray", {"clients": 4, "cpus": 8}), "ray:clients=4,cpus=8")
        self.assertEqual(on_option("ssh", {"hosts": ["a", "b"], "program": "/k"}), "ssh:a,b,program=/k")
        self.assertEqual((on_option("ray", {}), on_option("local:2", {})), ("ray", "local:2"))


class Tables(unittest.TestCase):
    """Runs as rows, and what pandas and Arrow make of them."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.directory = tempfile.TemporaryDirectory()
        for _ in range(2):
            cls.found = keystorm.run(f"-t set,get -n 2000 -c 4 --spawn --keep {cls.directory.name}")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.directory.cleanup()

    def test_rows_are_the_documents(self) -> None:
        rows = keystorm.tests([self.found, self.found])
        self.assertEqual([row["test"] for row in rows], ["SET", "GET", "SET", "GET"])
        self.assertEqual(rows[0]["p99_ms"], self.found.ms("response", 99))
        history = keystorm.history(self.directory.name)
        kept = next(row for row in history if row["throughput_rps"] == rows[0]["throughput_rps"])
        for name in ["client_cpu_us_per_request", "server_cpu_us_per_request"]:
            self.assertAlmostEqual(rows[0][name], kept[name])
        self.assertEqual(sum(row["count"] for row in keystorm.histogram(self.found)), 2000)
        self.assertEqual(keystorm.histogram(self.found)[-1]["share"], 1.0)
        self.assertEqual(set(keystorm.timeline(self.found)[0]), {"t_s", "rps", "errors", "p50", "p99", "max"})

    def test_a_history_has_a_row_for_each_test_of_each_run(self) -> None:
        rows = keystorm.history(self.directory.name)
        self.assertEqual(sorted(row["test"] for row in rows), ["GET", "GET", "SET", "SET"])
        self.assertEqual(len({row["file"] for row in rows}), 2)
        self.assertGreater(min(row["throughput_rps"] for row in rows), 0)

    @unittest.skipUnless(HAS_PANDAS, "pandas and pyarrow are not installed")
    def test_pandas_and_arrow_take_them(self) -> None:
        frame = keystorm.to_pandas(keystorm.tests(self.found))
        self.assertEqual(list(frame["requests"]), [2000, 2000])
        self.assertEqual(str(frame["started_at"].dtype.tz), "UTC")
        table = keystorm.to_arrow(keystorm.timeline(self.found))
        self.assertIn("p99", table.column_names)
        runs = keystorm.to_arrow(keystorm.tests(self.found))
        self.assertEqual(runs["started_at"].to_pandas()[0], frame["started_at"][0].floor("us"))
        # Whatever the first row lacks.
        table = keystorm.to_arrow([{"a": 1}, {"b": 2}])
        self.assertEqual(table.to_pylist(), [{"a": 1, "b": None}, {"a": None, "b": 2}])
        history = keystorm.to_pandas(keystorm.history(self.directory.name))
        self.assertEqual(list(history["throughput_rps_step"]), [False] * 4)


@unittest.skipUnless(HAS_PYTEST, "pytest is not installed")
class Fixture(unittest.TestCase):
    """The pytest fixture, in a pytest of its own."""

    def test_a_target_fails_the_test_that_holds_a_server_to_it(self) -> None:
        test = """
            def test_kept(keystorm):
                run = keystorm.assert_within(LINE, p50_ms=30_000, errors=0.5)
                assert run.requests > 0 and keystorm.runs == [run]

            def test_missed(keystorm):
                keystorm.assert_within(LINE, max_ms=0.001)
        """
        line = 'LINE = "-t get --spawn --rps 500 --duration 1"\n'
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "test_it.py"
            file.write_text(line + textwrap.dedent(test))
            ran = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "keystorm.pytest_plugin", str(file)],
                capture_output=True,
                text=True,
                check=False,
                # One that is installed beside would be the same plugin once more.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            )
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn("test_missed", ran.stdout)
        self.assertNotIn("FAILED test_it.py::test_kept", ran.stdout.replace(directory + "/", ""))

    def test_a_target_is_written_as_slo_reads_it(self) -> None:
        from keystorm.pytest_plugin import _target

        self.assertEqual(_target({"p99_ms": 2}, None), "p99<2000us")
        self.assertEqual(_target({"p99_9_ms": 0.5, "max_ms": 10}, 0.001), "p99.9<500us,max<10000us,errors<0.1%")
        for bad in [{"p99": 2}, {}]:
            with self.assertRaises(TypeError):
                _target(bad, None)


class Wheel(unittest.TestCase):
    """What build_wheel.py makes."""

    def test_a_wheel_is_installed_and_brings_the_program(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            program, site = Path(directory) / "program", Path(directory) / "site"
            program.write_text('#!/bin/sh\necho "keystorm 1.2.3"\n')
            program.chmod(0o755)
            builder = Path(__file__).parent.parent / "build_wheel.py"
            build = [sys.executable, str(builder), str(program), directory]
            wheel = subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip()
            self.assertRegex(Path(wheel).name, r"^keystorm-1\.2\.3-py3-none-\w+\.whl$")
            pip = [sys.executable, "-m", "pip"]
            if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode != 0:
                _skip("a wheel is installed", "this Python has no pip")
            # With nothing but what is in it: no index is asked.
            install = [*pip, "install", "--quiet", "--no-index", "--target", str(site), wheel]
            quiet = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            subprocess.run(install, env=quiet, check=True)
            for name in ["keystorm", "keystorm-on-ray"]:
                self.assertTrue((site / "bin" / name).is_file(), name)
            command = [str(site / "bin" / "keystorm"), "--version"]
            ran = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True, check=True
            )
            self.assertEqual(ran.stdout, "keystorm 1.2.3\n")


class Settings(unittest.TestCase):
    """What keystorm-on-ray is told, and which nodes it takes."""

    def test_settings_are_read(self) -> None:
        read = on_ray.settings_of("clients=4,cpus=8,label=role:load,address=h:6390")
        self.assertEqual(read, (4, 8.0, ("role", "load"), "h:6390"))
        self.assertEqual(on_ray.settings_of(""), (None, None, None, None))
        for text in ["clients=0", "clients=x", "cpus=-1", "label=x", "what=1", "x"]:
            with self.assertRaises(on_ray.Unfit, msg=text):
                on_ray.settings_of(text)

    def test_nodes_are_those_that_fit(self) -> None:
        def node(name: str, cpus: int, role: str, alive: bool = True) -> dict:
            resources = {"CPU": cpus} if cpus else {}
            return {"NodeID": name, "Alive": alive, "Resources": resources, "Labels": {"role": role}}

        class Ray:
            @staticmethod
            def nodes() -> list:
                return [
                    node("a", 2, "load"),
                    node("b", 8, "load"),
                    node("c", 8, "db"),
                    node("d", 8, "load", alive=False),
                    node("e", 0, "load"),
                ]

        def taken(text: str) -> str:
            return "".join(n["NodeID"] for n in on_ray.nodes_for(Ray, on_ray.settings_of(text)))

        self.assertEqual(taken(""), "bca")
        self.assertEqual(taken("label=role:load"), "ba")
        self.assertEqual(taken("clients=1,label=role:load"), "b")
        self.assertEqual(taken("cpus=4"), "bc")
        for text in ["clients=4", "clients=2,cpus=4,label=role:load", "label=role:none"]:
            with self.assertRaisesRegex(on_ray.Unfit, "fit"):
                taken(text)

    def test_without_ray_it_says_what_to_install(self) -> None:
        blocked = "import sys; sys.modules['ray'] = None; sys.argv[1:] = []\n"
        script = f"{blocked}from keystorm import on_ray; on_ray.main()"
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("pip install 'keystorm[ray]'", json.loads(ran.stdout)["unfit"])


class OnRay(unittest.TestCase):
    """Three raylets on this machine, and one taken away while load runs."""

    @classmethod
    def setUpClass(cls) -> None:
        if importlib.util.find_spec("ray") is None:
            _skip("clients on Ray", "Ray is not installed here, and `make setup-test` could not fetch it")
        from ray.cluster_utils import Cluster

        cls.directory = tempfile.TemporaryDirectory()
        launcher = Path(cls.directory.name) / "keystorm-on-ray"
        launcher.write_text(f"#!/bin/sh\nexec {sys.executable} -m keystorm.on_ray \"$@\"\n")
        launcher.chmod(0o755)
        os.environ["PATH"] = os.pathsep.join([cls.directory.name, os.environ["PATH"]])
        os.environ["KEYSTORM_PROGRAM"] = keystorm.program()
        # Packages lie beside the tests, and workers need them as we do.
        os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(at).resolve()) for at in sys.path if at)
        os.environ["RAY_worker_niceness"] = "0"
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        cls.nodes = [cls.cluster.add_node(num_cpus=1) for _ in range(2)]
        os.environ["RAY_ADDRESS"] = cls.cluster.address
        # Ray's actors are no children of ours, so the server is one that stays.
        cls.server = Server("--requirepass", "hunter2")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.stop()
        cls.cluster.shutdown()
        cls.directory.cleanup()

    def run_on_ray(self, line: str, **settings: object) -> keystorm.Run:
        line = f"-p {self.server.port} -t set -c 6 {line}"
        return keystorm.run(line, on="ray", password="hunter2", **settings)

    def test_1_clients_are_spread_and_keep_secrets(self) -> None:
        run = self.run_on_ray("-n 3000")
        self.assertEqual((run.requests, len(run.clients)), (3000, 3))
        self.assertEqual(self.server.calls("set"), 3000)
        self.assertEqual([row["nice"] for row in run.clients], [os.nice(0)] * 3)
        # Lines travel as arguments of calls, which Ray writes down nowhere.
        logs = Path(self.cluster.head_node.get_session_dir_path())
        written = [log for log in logs.rglob("*") if log.is_file() and b"hunter2" in log.read_bytes()]
        self.assertEqual(written, [])

    def test_2_what_cannot_be_placed_is_told_before_anything_starts(self) -> None:
        for settings, says in [
            ({"clients": 4}, "4 clients need as many nodes, and the cluster has 3 of 3 that are fit"),
            ({"address": "127.0.0.1:1"}, "no Ray cluster answers at 127.0.0.1:1"),
            ({"nodes": 2}, "'nodes=2' is not a setting"),
        ]:
            with self.assertRaises(keystorm.Failed, msg=says) as said:
                self.run_on_ray("-n 3000", **settings)
            self.assertEqual(said.exception.code, 2)
            self.assertIn(says, str(said.exception))

    def test_3_a_node_that_goes_takes_its_client_along(self) -> None:
        self.server.ask("CONFIG", "RESETSTAT")

        def remove() -> None:
            while self.server.calls("set") == 0:
                time.sleep(0.1)
            # As a machine goes, without a word: Ray then prints on standard output that it has.
            self.cluster.remove_node(self.nodes[0], allow_graceful=False)

        remover = threading.Thread(target=remove)
        remover.start()
        with self.assertRaises(keystorm.Failed) as said:
            self.run_on_ray("--duration 300", clients=3)
        remover.join()
        self.assertEqual(said.exception.code, 1)
        run = said.exception.run
        lost = [row for row in run.clients if row.get("lost")]
        self.assertEqual((len(lost), run.complete), (1, False))
        self.assertGreater(run.requests, 0)


class Server:
    """A redis-server of the tests' own."""

    def __init__(self, *arguments: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._password = arguments[1] if arguments else None
        self._process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--save", "", *arguments],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(500):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("redis-server does not start")

    def ask(self, *words: str) -> str:
        """What it answers, as redis-cli prints it."""
        environment = {**os.environ, "REDISCLI_AUTH": self._password or ""}
        command = ["redis-cli", "-p", str(self.port), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    def calls(self, command: str) -> int:
        """How often it carried out a command."""
        found = re.search(rf"cmdstat_{command}:calls=(\d+)", self.ask("INFO", "commandstats"))
        return int(found[1]) if found else 0

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


def _skip(check: str, why: str) -> None:
    """Skips a test by name, and has `make test` count it."""
    if file := os.environ.get("KEYSTORM_SKIPPED_CHECKS"):
        with open(file, "a") as skipped:
            skipped.write(f"skipped: {check} ({why})\n")
    raise unittest.SkipTest(why)


if __name__ == "__main__":
    unittest.main()
