"""What packaging/ has for other programs: read by a reader of each format, and held against what keystorm serves.

Prometheus is a real one, where scripts/test-servers.sh could fetch it. No Kubernetes, Grafana, GitHub or GitLab is
asked: that they take these files is not tested here.
"""

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import keystorm

PACKAGING = Path(__file__).parent.parent.parent / "packaging"
HAS_YAML = importlib.util.find_spec("yaml")
PROMETHEUS = PACKAGING.parent / "target/test-servers/prometheus"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program, which is stopped at the end."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    run = subprocess.Popen(words, **quiet)
    try:
        yield run
    finally:
        run.terminate()
        run.communicate()


def answer(address: str) -> str:
    """What an address answers; nothing if it does not."""
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return ""


@contextmanager
def mix_with_errors() -> Iterator[tuple[int, str]]:
    """A run of a mix with errors, on one connection of which a request waits: the port and the text of its metrics."""
    port = free_port()
    words = ["--spawn", "--mix", "--rps", "200", "--duration", "120", "--on-error", "count", "--metrics", str(port)]
    with started(keystorm.program(), *words, "1", "get", "a", ";", "1", "lpush", "a", "b") as run:
        for _ in range(600):
            text = answer(f"http://127.0.0.1:{port}/metrics")
            if "keystorm_operations_total" in text:
                yield port, text
                return
            if run.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"no metrics: {run.stderr.read().decode() if run.poll() is not None else text}")


def served() -> set[str]:
    """The names of the metrics that a run of a mix with errors serves."""
    with mix_with_errors() as (_, text):
        return set(re.findall(r"^(keystorm_[a-z_]+?)\{", text, re.MULTILINE)) | set(
            re.findall(r"^# TYPE (keystorm_[a-z_]+) ", text, re.MULTILINE)
        )


class Dashboard(unittest.TestCase):
    """packaging/grafana/keystorm.json."""

    def test_every_metric_that_it_shows_is_served(self) -> None:
        dashboard = json.loads((PACKAGING / "grafana/keystorm.json").read_text())
        text = json.dumps(dashboard["panels"]) + json.dumps(dashboard["templating"])
        shown = set(re.findall(r"keystorm_[a-z_]+", text))
        self.assertGreater(len(shown), 10)
        self.assertEqual(shown - served() - {"keystorm_errors_total"}, set())
        source = Path(__file__).parent.parent.parent / "crates/report/src/openmetrics.rs"
        self.assertIn('("errors", "counter"', source.read_text(), "only a run with errors serves them")

    def test_panels_are_apart_and_have_names_of_their_own(self) -> None:
        panels = json.loads((PACKAGING / "grafana/keystorm.json").read_text())["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        self.assertEqual(len({panel["title"] for panel in panels}), len(panels))
        cells = [
            (x, y)
            for panel in panels
            for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
            for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
        ]
        self.assertEqual(len(set(cells)), len(cells), "panels overlap")
        self.assertLess(max(x for x, _ in cells), 24)


@unittest.skipUnless(PROMETHEUS.exists(), "Prometheus could not be fetched")
class ScrapedByPrometheus(unittest.TestCase):
    """packaging/compose/prometheus.yaml and the dashboard's queries, in a Prometheus that scrapes a run."""

    def test_every_query_of_the_dashboard_has_an_answer(self) -> None:
        panels = json.loads((PACKAGING / "grafana/keystorm.json").read_text())["panels"]
        queries = {target["expr"] for panel in panels for target in panel.get("targets", [])}
        self.assertGreater(len(queries), 10)
        settings = (PACKAGING / "compose/prometheus.yaml").read_text()
        with tempfile.TemporaryDirectory() as directory, mix_with_errors() as (metrics, _):
            place, port = Path(directory), free_port()
            (place / "prometheus.yaml").write_text(settings.replace("keystorm:9121", f"127.0.0.1:{metrics}"))
            words = [f"--config.file={place}/prometheus.yaml", f"--storage.tsdb.path={place}/data"]
            words.append(f"--web.listen-address=127.0.0.1:{port}")
            with started(str(PROMETHEUS), *words) as server:
                # A rate needs two scrapes.
                for _ in range(600):
                    queries = {query for query in queries if not self.values(port, query)}
                    if not queries or server.poll() is not None:
                        break
                    time.sleep(0.2)
                why = server.stderr.read().decode() if server.poll() is not None else ""
        self.assertEqual(queries, set(), f"without an answer; {why}")

    def values(self, port: int, query: str) -> list[float]:
        """The values of the dashboard's query now, each of a series."""
        for name, value in [("$__rate_interval", "20s"), ("$job", ".*"), ("$test", ".*")]:
            query = query.replace(name, value)
        text = answer(f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': query})}")
        found = json.loads(text)["data"]["result"] if text else []
        return [float(series["value"][1]) for series in found]


@unittest.skipUnless(HAS_YAML, "PyYAML is not installed")
class Manifests(unittest.TestCase):
    """Files of YAML."""

    def read(self, name: str) -> list:
        import yaml

        return list(yaml.safe_load_all((PACKAGING / name).read_text()))

    def test_options_of_manifests_are_options_of_keystorm(self) -> None:
        known = subprocess.run([keystorm.program(), "--help", "all"], capture_output=True, text=True, check=True).stdout
        lines = []
        for name in ["kubernetes/job.yaml", "kubernetes/indexed-job.yaml"]:
            job = next(part for part in self.read(name) if part["kind"] == "Job")
            pod = job["spec"]["template"]
            self.assertEqual(pod["spec"]["restartPolicy"], "Never")
            self.assertEqual(job["spec"]["backoffLimit"], 0, "a load is not put on twice")
            for container in pod["spec"]["containers"]:
                self.assertEqual(container["resources"]["requests"], container["resources"]["limits"])
                lines.append(" ".join(map(str, container["args"])))
        compose = self.read("compose/compose.yaml")[0]
        lines.append(" ".join(compose["services"]["keystorm"]["command"]))
        for line in lines:
            for option in re.findall(r"(?<!\S)--[a-z-]+", line):
                self.assertIn(option, known, line)

    def test_a_service_finds_the_pods_of_the_fleet(self) -> None:
        service, job = self.read("kubernetes/indexed-job.yaml")
        labels = job["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(service["spec"]["selector"], labels)
        self.assertEqual(service["metadata"]["name"], job["spec"]["template"]["spec"]["subdomain"])
        self.assertEqual(job["spec"]["completions"], job["spec"]["parallelism"])
        shares = re.findall(r'/(\d+)"', job["spec"]["template"]["spec"]["containers"][0]["args"][0])
        self.assertEqual(shares, [str(job["spec"]["completions"])])

    def test_what_compose_mounts_is_there(self) -> None:
        compose = self.read("compose/compose.yaml")[0]
        for service in compose["services"].values():
            for volume in service.get("volumes", []):
                self.assertTrue((PACKAGING / "compose" / volume.split(":")[0]).is_file(), volume)
            for port in service.get("ports", []):
                self.assertTrue(port.startswith("127.0.0.1:"), port)
        for name in ["compose/prometheus.yaml", "compose/datasource.yaml"]:
            self.assertEqual(len(self.read(name)), 1)

    def test_inputs_of_the_action_are_declared_and_used(self) -> None:
        action = self.read("ci/github/action.yml")[0]
        text = (PACKAGING / "ci/github/action.yml").read_text()
        used = set(re.findall(r"inputs\.([a-z-]+)", text))
        self.assertEqual(used, set(action["inputs"]))
        for step in action["runs"]["steps"]:
            # What somebody else wrote comes in as a variable, never as a part of a script.
            self.assertNotIn("${{", step.get("run", ""), step["name"])
            self.assertTrue("uses" in step or step["shell"] == "bash")

    def test_variables_of_the_template_are_those_of_the_script(self) -> None:
        template = self.read("ci/gitlab.yml")[0][".keystorm"]
        script = (PACKAGING / "ci/measure.sh").read_text()
        for name in template["variables"]:
            if not name.startswith("KEYSTORM_"):
                self.assertRegex(script, rf"\b{name}\b")


class Script(unittest.TestCase):
    """packaging/ci/measure.sh, in an empty folder."""

    def measure(self, directory: str, **variables: str) -> tuple[int, str]:
        path = os.pathsep.join([str(Path(keystorm.program()).parent), os.environ["PATH"]])
        ran = subprocess.run(
            ["bash", str(PACKAGING / "ci/measure.sh")],
            capture_output=True,
            text=True,
            check=False,
            cwd=directory,
            env={"PATH": path, "HOME": directory, "OUT": f"{directory}/out", "REPEAT": "2", **variables},
        )
        return ran.returncode, ran.stdout

    def test_two_servers_are_compared(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            load = "-t get --duration 0.2 --warmup 0.1"
            code, comment = self.measure(directory, SERVER="redis-server", BASE="redis-server", LOAD=load)
            self.assertNotIn(code, (1, 2), comment)
            self.assertIn("redis-server beside redis-server", comment)
            self.assertLessEqual(len(comment.splitlines()), 16)
            for name in ["page.html", "result.json", "comment.md"]:
                self.assertTrue((Path(directory) / "out" / name).stat().st_size > 0, name)

    def test_a_run_is_no_part_of_its_own_baseline_and_means_are_told(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            runs = Path(directory) / "runs"
            for earlier in range(2):
                load = "-n 500 -c 2 -t ping,set"
                _, comment = self.measure(directory, SERVER="redis-server", LOAD=load, HISTORY=str(runs))
                # The table of the judgement counts the runs before, and nothing where there are none.
                self.assertEqual(len(list(runs.glob("[!.]*.json"))), earlier + 1)
                told = (Path(directory) / "out/result.txt").read_text()
                self.assertNotRegex(told, rf"last {earlier + 2} runs")
                for test in ["PING_INLINE", "PING_MBULK", "SET"]:
                    self.assertRegex(comment, rf"(?m)^{test}, mean of 2 repeats: ")

    def test_the_workflow_of_the_documents_runs(self) -> None:
        text = (PACKAGING.parent / "docs/automation.md").read_text()
        steps = text.split("```yaml\nname: performance\n")[1].split("```")[0]
        given = dict(re.findall(r"^ {10}([a-z-]+): (.*)$", steps.split("packaging/ci/github@")[1], re.MULTILINE))
        action = (PACKAGING / "ci/github/action.yml").read_text()
        declared = action.split("inputs:\n")[1].split("outputs:")[0]
        self.assertLessEqual(set(given), set(re.findall(r"^  ([a-z-]+):$", declared, re.MULTILINE)))
        variables = re.findall(r"^ {8}([A-Z]+): \$\{\{ inputs\.([a-z-]+) \}\}$", action, re.MULTILINE)
        values = {name: given[key].strip('"') for name, key in variables if key in given}
        self.assertEqual(set(values), {"SERVER", "BASE", "LOAD", "REPEAT", "PERCENT"})
        with tempfile.TemporaryDirectory() as directory:
            # What the workflow builds.
            program = shutil.which("redis-server")
            for name in [values["SERVER"], values["BASE"]]:
                (Path(directory) / name).parent.mkdir(parents=True)
                (Path(directory) / name).symlink_to(program)
            values["LOAD"] = values["LOAD"].replace("--duration 2 --warmup 1", "--duration 0.2")
            code, comment = self.measure(directory, **{**values, "REPEAT": "2"})
            self.assertIn(code, (0, 3, 4), comment)
            self.assertIn("./src/valkey-server beside ./base/src/valkey-server", comment)

    def test_one_is_judged_by_its_history_and_nothing_of_a_load_is_run(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            load = "-n 500 -c 2 set key 'a $(touch found) b'"
            code, comment = self.measure(directory, SERVER="redis-server", LOAD=load, HISTORY=f"{directory}/runs")
            self.assertEqual(code, 4, comment)
            self.assertIn("undecided", comment)
            self.assertEqual(len(list((Path(directory) / "runs").glob("[!.]*.json"))), 1)
            self.assertFalse((Path(directory) / "found").exists())

    def test_a_server_that_is_not_there_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            code, comment = self.measure(directory, SERVER="/nowhere/redis-server", LOAD="-t get")
            self.assertEqual(code, 1, comment)
            self.assertIn("error: --spawn=/nowhere/redis-server: not an executable file", comment)
            self.assertNotIn("page", comment)


if __name__ == "__main__":
    unittest.main()
