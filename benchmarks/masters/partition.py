"""A partition between machines: ten masters, each in a network namespace of its own, cut in halves and healed.

Needs root and ``ip`` (Debian's iproute2). The namespaces hang on a bridge; half of them are moved to a second bridge,
which no packet leaves, and later moved back. Every namespace is removed at the end, whatever happens.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import ROOT, until
from benchmarks.kit.parent import ends_with_us
from benchmarks.kit.peers import reading_token

NET = "10.213.7"
"""A private network that exists only between the namespaces and this one."""
BRIDGE, ISLAND = "p2pc-br", "p2pc-is"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py partition", description=__doc__)
    parser.add_argument("--masters", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long the partition lasts")
    parser.add_argument("--limit", type=float, default=60.0, help="how long healing may take")
    asked = parser.parse_args(arguments)
    if os.geteuid() or not shutil.which("ip"):
        print("partition: needs root and the command ip (Debian's iproute2); not run", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, _network(asked.masters), _peers(asked.masters, Path(folder)):
        return _run(asked.masters, asked.seconds, asked.limit, Path(folder))


def _run(masters: int, seconds: float, limit_s: float, folder: Path) -> int:
    until(lambda: _views(folder, masters) == {masters}, 60.0, "all masters agree")
    print(f"{masters} masters, one view; cutting {masters // 2} of them off for {seconds:g} s", flush=True)
    for number in range(masters // 2):
        _ip("link", "set", f"p2pc{number}", "master", ISLAND)
    cut = time.monotonic()
    near = range(masters // 2, masters)
    until(lambda: _views(folder, masters, near) == {len(near)}, seconds, "the halves declare each other dead")
    print(f"  the near half counts only itself after {time.monotonic() - cut:.1f} s", flush=True)
    time.sleep(max(0.0, seconds - (time.monotonic() - cut)))
    for number in range(masters // 2):
        _ip("link", "set", f"p2pc{number}", "master", BRIDGE)
    healed = time.monotonic()
    until(lambda: _views(folder, masters) == {masters}, limit_s, "one view after healing")
    view_s = time.monotonic() - healed
    until(lambda: _directories(folder, masters) == 1, limit_s, "one directory after healing")
    directory_s = time.monotonic() - healed
    print(f"  one membership view {view_s:.1f} s after healing, one directory {directory_s:.1f} s  (claimed: <= 60)")
    return 0 if max(view_s, directory_s) <= 60.0 else 1


def _status(folder: Path, number: int) -> dict[str, Any]:
    asked = urllib.request.Request(
        f"http://{NET}.{number + 10}:7300/v1/status", headers=reading_token(folder / str(number))
    )
    with urllib.request.urlopen(asked, timeout=5) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found


def _views(folder: Path, masters: int, numbers: range | None = None) -> set[int]:
    """Returns how many masters each counts as alive, if those asked agree on one view digest."""
    try:
        told = [_status(folder, n) for n in (numbers or range(masters))]
    except OSError:
        return set()
    if len({t["view"] for t in told}) != 1:
        return set()
    return {sum(m["state"] == "alive" for m in t["members"]) for t in told}


def _directories(folder: Path, masters: int) -> int:
    try:
        return len({_status(folder, n)["directory"] for n in range(masters)})
    except OSError:
        return 0


@contextlib.contextmanager
def _network(masters: int) -> Iterator[None]:
    try:
        for bridge in (BRIDGE, ISLAND):
            _ip("link", "add", bridge, "type", "bridge")
            _ip("link", "set", bridge, "up")
        _ip("addr", "add", f"{NET}.1/24", "dev", BRIDGE)
        for number in range(masters):
            name = f"p2pc{number}"
            _ip("netns", "add", name)
            _ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", name, "master", BRIDGE, "up")
            _ip("-n", name, "addr", "add", f"{NET}.{number + 10}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for number in range(masters):
            _ip("netns", "del", f"p2pc{number}", check=False)
            _ip("link", "del", f"p2pc{number}", check=False)
        for bridge in (BRIDGE, ISLAND):
            _ip("link", "del", bridge, check=False)


@contextlib.contextmanager
def _peers(masters: int, folder: Path) -> Iterator[None]:
    env = os.environ | {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
    env["PYTHONPATH"] = str(ROOT)
    key = folder / "cluster.key"
    subprocess.run(
        [sys.executable, "-m", "p2pcrawl", "keygen", "-o", str(key)], env=env, check=True, capture_output=True
    )
    running = []
    try:
        for number in range(masters):
            own = f"{NET}.{number + 10}"
            command = [
                "ip",
                "netns",
                "exec",
                f"p2pc{number}",
                sys.executable,
                "-m",
                "p2pcrawl",
                "peer",
                "--role",
                "master",
            ]
            command += ["--bind", f"{own}:7200", "--api", f"{own}:7300", "--key-file", str(key), "--slaves", "0"]
            command += ["--data", str(folder / str(number))] + ([] if not number else ["--join", f"{NET}.10:7200"])
            with open(folder / f"{number}.log", "w") as log:
                running.append(subprocess.Popen(command, env=env, stdout=log, stderr=log, preexec_fn=ends_with_us()))
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
