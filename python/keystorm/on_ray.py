"""``keystorm-on-ray``: places clients on a Ray cluster, carries their lines and tells of death.

Nothing else: clocks, the start, loss and results are keystorm's. The contract is in docs/fleet.md.
Settings, between commas: ``clients=4`` (default: one on every node), ``cpus=8`` (default: all of its
node), ``label=KEY:VALUE`` (only nodes with that label), ``address=`` (default: RAY_ADDRESS, or ``auto``).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from typing import Any, NamedTuple

from ._program import program


class Settings(NamedTuple):
    """What was asked for."""

    clients: int | None = None
    cpus: float | None = None
    label: tuple[str, str] | None = None
    address: str | None = None


class Unfit(Exception):
    """Why there are no clients, in words for a person."""


def settings_of(text: str) -> Settings:
    """Reads ``clients=4,cpus=8,label=role:load``."""
    found: dict[str, Any] = {}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        try:
            if name == "clients" and int(value) > 0:
                found[name] = int(value)
            elif name == "cpus" and float(value) > 0:
                found[name] = float(value)
            elif name == "label" and ":" in value:
                key, _, wanted = value.partition(":")
                found[name] = (key, wanted)
            elif name == "address" and value:
                found[name] = value
            else:
                raise ValueError
        except ValueError:
            raise Unfit(
                f"{word!r} is not a setting; expected clients=4, cpus=8, label=KEY:VALUE or address="
            ) from None
    return Settings(**found)


class Client:
    """A client, in the actor that holds it. Its load ends with the actor: its input does."""

    def __init__(self, path: str | None) -> None:
        self._process = subprocess.Popen(
            [path or program(), "--hold"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tell(self, line: str) -> None:
        """Hands it a line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # Its end is told by what it no longer says.

    def say(self):
        """Everything that it says, a line at a time, and at the end why it ended."""
        assert self._process.stdout is not None and self._process.stderr is not None
        for line in self._process.stdout:
            yield {"line": line.rstrip("\n")}
        said = self._process.stderr.read().strip().splitlines()[-3:]
        code = self._process.wait()
        how = f"killed by signal {-code}" if code < 0 else f"exited with code {code}"
        yield {"lost": ": ".join([how, "; ".join(said)]) if said else how}

    def cut(self) -> None:
        """Ends it."""
        self._process.kill()


class Lines:
    """What was standard output, shared by threads, and for lines of the contract alone.

    Ray prints to standard output too, such as that a node has died, whatever it is told of logs. That goes to
    standard error from here on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def put(self, message: dict[str, Any]) -> None:
        """Writes an object as a line."""
        with self._lock:
            self._out.write(json.dumps(message) + "\n")
            self._out.flush()


def check_answers(address: str) -> None:
    """Fails where nothing listens: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or "/" in address:
        return  # "auto" and the like, which Ray resolves.
    # Of a cluster on this machine Ray listens on the address of its network.
    hosts = [host, socket.gethostname()] if host in ("127.0.0.1", "localhost") else [host]
    failure = ""
    for name in hosts:
        try:
            socket.create_connection((name.strip("[]"), int(port)), timeout=5).close()
            return
        except (OSError, ValueError) as error:
            failure = failure or str(error)
    raise Unfit(f"no Ray cluster answers at {address}: {failure}")


def nodes_for(ray: Any, settings: Settings) -> list[dict[str, Any]]:
    """The nodes that get a client each: those alive that have the label, the roomiest first."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    if settings.label is not None:
        key, wanted = settings.label
        alive = [node for node in alive if node.get("Labels", {}).get(key) == wanted]
    cpus = lambda node: node["Resources"].get("CPU", 0)  # noqa: E731
    fit = [node for node in alive if cpus(node) >= (settings.cpus or 1)]
    fit.sort(key=lambda node: (-cpus(node), node["NodeID"]))
    count = settings.clients or len(fit)
    if count == 0 or len(fit) < count:
        wanted_cpus = f" with {settings.cpus:g} CPUs" if settings.cpus else ""
        raise Unfit(
            f"{count or 1} clients need as many nodes{wanted_cpus}, and the cluster has "
            f"{len(fit)} of {len(alive)} that are fit; take fewer, or lower cpus="
        )
    return fit[:count]


def place(ray: Any, settings: Settings) -> tuple[list[str], list[Any]]:
    """Starts an actor on each node and reserves its CPUs."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    names, actors = [], []
    # Lines are told one after another, in their order; what a client says and its end wait for none.
    groups = {"say": 1, "cut": 1}
    remote = ray.remote(max_restarts=0, max_task_retries=0, concurrency_groups=groups)(Client)
    for node in nodes_for(ray, settings):
        cpus = settings.cpus or node["Resources"].get("CPU", 1)
        where = NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
        actor = remote.options(num_cpus=cpus, scheduling_strategy=where)
        actors.append(actor.remote(os.environ.get("KEYSTORM_PROGRAM")))
        names.append(node["NodeManagerHostname"])
    return names, actors


def carry(ray: Any, out: Lines, number: int, actor: Any) -> None:
    """Passes on what a client says until it ends."""
    try:
        for said in actor.say.options(num_returns="streaming", concurrency_group="say").remote():
            said = ray.get(said)
            if "line" in said:
                out.put({"from": number, "line": said["line"]})
            else:
                out.put({"lost": number, "why": said["lost"]})
                return
    except Exception as error:  # noqa: BLE001 - whatever Ray says is why the client is gone
        why = str(error).strip().splitlines()
        out.put({"lost": number, "why": f"{type(error).__name__}: {why[0] if why else ''}"})


def main() -> None:
    """The launcher."""
    out = Lines()
    try:
        settings = settings_of(sys.argv[1] if len(sys.argv) > 1 else "")
        try:
            import ray
        except ImportError:
            raise Unfit("Ray is not installed here: pip install 'keystorm[ray]'") from None
        # What Ray prints is not ours to say on standard output.
        address = settings.address or os.environ.get("RAY_ADDRESS") or "auto"
        check_answers(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # noqa: BLE001
            first = (str(error).strip().splitlines() or [""])[0]
            raise Unfit(f"no Ray cluster answers at {address}: {first}") from None
        names, actors = place(ray, settings)
    except Unfit as error:
        out.put({"unfit": str(error)})
        sys.exit(2)
    out.put({"placed": names})
    for number, actor in enumerate(actors):
        threading.Thread(target=carry, args=(ray, out, number, actor), daemon=True).start()
    for line in sys.stdin:
        told = json.loads(line)
        if "cut" in told:
            actors[told["cut"]].cut.options(concurrency_group="cut").remote()
        else:
            actors[told["to"]].tell.remote(told["line"])
    for actor in actors:
        ray.kill(actor)


if __name__ == "__main__":
    main()
