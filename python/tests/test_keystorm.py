"""The package against a real server, and its parts. Run by `make test-python`.

Ray's tests need Ray, and are skipped by name where it is not installed.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import keystorm
from keystorm import on_ray
from keystorm._run import buckets, on_option

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
        interval_s = run.test["timeline_interval_s"]
        self.assertAlmostEqual(sum(line["rps"]) * interval_s, run.requests)

    def test_it_is_saved_shown_and_drawn(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "run.json"
            self.found.save(file)
            self.assertEqual(keystorm.load(file).document, self.found.document)
            page = Path(directory) / "run.html"
            self.found.report(page)
            self.assertIn("<html", page.read_text())
        self.assertIn("3000 requests completed", self.found.text())
        self.assertIn("<pre>", self.found._repr_html_())

    def test_several_clients_have_rows(self) -> None:
        run = keystorm.run("-t set -n 900 -c 6 --spawn", on="local", clients=3)
        self.assertEqual(sum(row["requests"] for row in run.clients), 900)
        self.assertGreaterEqual(run.start_skew_us, 0)

    def test_what_fails_is_raised_with_its_code(self) -> None:
        with self.assertRaises(keystorm.Failed) as said:
            keystorm.run("-t nosuch")
        self.assertEqual((said.exception.code, said.exception.run), (2, None))
        self.assertIn("nosuch", str(said.exception))
        with self.assertRaises(TypeError):
            keystorm.run(LINE, clients=3)

    def test_a_launcher_is_written_with_its_settings(self) -> None:
        self.assertEqual(on_option("local", {"clients": 4}), "local:4")
        self.assertEqual(on_option("ray", {"clients": 4, "cpus": 8}), "ray:clients=4,cpus=8")
        self.assertEqual(on_option("ssh", {"hosts": ["a", "b"], "program": "/k"}), "ssh:a,b,program=/k")
        self.assertEqual((on_option("ray", {}), on_option("local:2", {})), ("ray", "local:2"))


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


@unittest.skipUnless(importlib.util.find_spec("ray"), "Ray is not installed here")
class OnRay(unittest.TestCase):
    """Three raylets on this machine, and one taken away while load runs."""

    @classmethod
    def setUpClass(cls) -> None:
        from ray.cluster_utils import Cluster

        cls.directory = tempfile.TemporaryDirectory()
        launcher = Path(cls.directory.name) / "keystorm-on-ray"
        launcher.write_text(f"#!/bin/sh\nexec {sys.executable} -m keystorm.on_ray \"$@\"\n")
        launcher.chmod(0o755)
        os.environ["PATH"] = os.pathsep.join([cls.directory.name, os.environ["PATH"]])
        os.environ["KEYSTORM_PROGRAM"] = keystorm.program()
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        cls.nodes = [cls.cluster.add_node(num_cpus=1) for _ in range(3)]
        os.environ["RAY_ADDRESS"] = cls.cluster.address

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cluster.shutdown()
        cls.directory.cleanup()

    def test_clients_are_spread_and_a_lost_node_is_told(self) -> None:
        # Ray's actors are no children of ours, so the server is one that stays.
        port, server = _server()
        try:
            run = keystorm.run(f"-p {port} -t set -n 3000 -c 6", on="ray", clients=3)
            self.assertEqual((run.requests, len(run.clients)), (3000, 3))
            timer = threading.Timer(8, lambda: self.cluster.remove_node(self.nodes[0]))
            timer.start()
            with self.assertRaises(keystorm.Failed) as said:
                keystorm.run(f"-p {port} -t set --duration 120 -c 6", on="ray", clients=3)
            self.assertEqual(said.exception.code, 1)
            lost = [row for row in said.exception.run.clients if row.get("lost")]
            self.assertEqual(len(lost), 1)
        finally:
            server.terminate()
            server.wait()


def _server() -> tuple[int, subprocess.Popen]:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    redis = shutil.which("redis-server")
    server = subprocess.Popen(
        [redis, "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL
    )
    for _ in range(500):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return port, server
        time.sleep(0.02)
    raise AssertionError("redis-server does not start")


if __name__ == "__main__":
    unittest.main()
