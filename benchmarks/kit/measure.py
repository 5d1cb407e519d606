"""The tools that the scenarios share: sites and crawls in processes of their own, watched, killed and weighed."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks.kit.parent import ends_with_us

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).resolve().parents[2]
SPIDERS = Path(__file__).with_name("spiders.py")
PARTS = "parts"
"""The folder of outputs that are part files."""
POLL_S = 0.01
_PEAK = re.compile(rb"^VmHWM:\s*(\d+)", re.MULTILINE)


class Overdue(Exception):
    """Raised when something that was waited for did not come about in time."""


def until(condition: Callable[[], Any], timeout_s: float, what: str = "", *, every_s: float = POLL_S) -> Any:
    """Asks again and again until the answer is true, and returns it. Raises Overdue."""
    deadline = time.monotonic() + timeout_s
    while True:
        if found := condition():
            return found
        if time.monotonic() > deadline:
            raise Overdue(f"not within {timeout_s:.0f} s: {what or condition}")
        time.sleep(every_s)


# -- claims ---------------------------------------------------------------------------------------


@dataclass
class Claims:
    """The measurements of a scenario, and whether they are as they must be."""

    title: str
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def note(self, name: str, value: object) -> None:
        """Adds a figure that nothing is claimed of."""
        self.rows.append((name, str(value), ""))

    def claim(self, name: str, value: object, holds: bool, wanted: str = "") -> None:
        self.rows.append((name, str(value), f"{'ok' if holds else 'BROKEN'}{': ' + wanted if wanted else ''}"))
        if not holds:
            self.broken.append(f"{name}: {value}{', wanted ' + wanted if wanted else ''}")

    def print(self) -> int:
        """Prints a table; returns the exit code."""
        names = max(len(name) for name, _, _ in self.rows)
        values = min(24, max(len(value) for _, value, _ in self.rows))
        print(f"\n{self.title}")
        for name, value, verdict in self.rows:
            print(f"  {name:{names}}  {value:>{values}}  {verdict}".rstrip(), flush=True)
        return 1 if self.broken else 0


# -- processes ------------------------------------------------------------------------------------


def descendants(pid: int) -> list[int]:
    """Returns the process and all below it, in whatever session they are."""
    found, stack = [], [pid]
    while stack:
        each = stack.pop()
        found.append(each)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{each}/task"):
                children = Path(f"/proc/{each}/task/{task}/children").read_text()
                stack.extend(map(int, children.split()))
    return found


def alive(pid: int) -> bool:
    """Tells whether a process runs: it is neither gone nor a zombie that nobody has asked after."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def peak_rss_bytes(pids: Sequence[int]) -> int:
    """Sums the most resident memory that each ever had; what processes share counts for each of them."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            if found := _PEAK.search(Path(f"/proc/{pid}/status").read_bytes()):  # a zombie has none
                total += int(found[1]) * 1024
    return total


def is_slave(pid: int) -> bool:
    try:
        return b"p2pcrawl.slave" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


@dataclass(frozen=True)
class Ended:
    """The remains of a crawl's process: CPU is user and system of the whole tree."""

    code: int
    out: str
    said: str
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int

    @property
    def certificate(self) -> dict[str, Any]:
        """Raises RuntimeError, with what the process said, when it gave none."""
        try:
            return dict(json.loads(self.out))
        except ValueError:
            raise RuntimeError(f"exit code {self.code} and no certificate\n{self.said[-4000:]}") from None


class Watched:
    """A command's process tree, weighed while it is waited for. Ends with the block, whatever happens."""

    def __init__(self, command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._out, self._err = folder / "stdout", folder / "stderr"
        with open(self._out, "wb") as out, open(self._err, "wb") as err:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=ends_with_us(),
                env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            )
        self.pid = self._process.pid
        self._began_s = time.monotonic()
        self._ended_s = 0.0
        self._weighed_s = 0.0
        self._cpu_s = 0.0
        self.peak_rss_bytes = 0

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        if self.running:
            self.kill()

    @property
    def running(self) -> bool:
        """Also takes the weight of the tree, ten times a second at most."""
        if self._process.returncode is not None:
            return False
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid:
            self._ended_s = time.monotonic()
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self._cpu_s = usage.ru_utime + usage.ru_stime
            return False
        now = time.monotonic()
        if now - self._weighed_s > 0.1:
            self._weighed_s = now
            self.peak_rss_bytes = max(self.peak_rss_bytes, peak_rss_bytes(descendants(self.pid)))
        return True

    def slaves(self) -> list[int]:
        return [pid for pid in descendants(self.pid) if is_slave(pid) and alive(pid)]

    def kill(self) -> None:
        """Kills the whole tree with -9; returns when nothing of it runs.

        The root is stopped first, so that it can start no more slaves while they are counted.
        """
        if self._process.returncode is not None:
            return
        os.kill(self.pid, signal.SIGSTOP)
        pids = descendants(self.pid)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not self.running, 30, "the killed process is gone")
        until(lambda: not any(map(alive, pids)), 30, "the killed slaves are gone")

    def wait(self, timeout_s: float) -> Ended:
        """Raises Overdue, with what the process said."""
        try:
            until(lambda: not self.running, timeout_s, "the crawl ends")
        except Overdue as error:
            raise Overdue(f"{error}\n{self.said()[-4000:]}") from None
        assert self._process.returncode is not None
        return Ended(
            self._process.returncode,
            self._out.read_text(errors="replace"),
            self.said(),
            self._ended_s - self._began_s,
            self._cpu_s,
            self.peak_rss_bytes,
        )

    def said(self) -> str:
        """Reads all that went to standard error so far."""
        return self._err.read_text(errors="replace")


@dataclass
class Setup:
    """The way to start a crawl, again and again."""

    folder: Path
    target: str = str(SPIDERS)
    outputs: Sequence[Path | str] = ()
    """Files, or addresses of other sinks."""
    data: Path | None = None
    slaves: int | None = 2
    settings: Mapping[str, object] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    program: Sequence[str] = ("-m", "p2pcrawl")
    """What Python runs; tests put a broken one in its place."""

    @classmethod
    def of_site(cls, folder: Path, site: SiteProcess, outputs: Sequence[str] = ("items.jsonl",), **more: Any) -> Setup:
        """Sets up a resumable crawl of all pages of a site."""
        arguments = {"start_urls": site.start, "allowed_domains": " ".join(site.hosts)}
        return cls(
            folder, outputs=[folder / name for name in outputs], data=folder / "data", arguments=arguments, **more
        )

    def command(self) -> list[str]:
        command = [sys.executable, *self.program, "crawl", self.target, "--json"]
        for output in self.outputs:
            command += ["-o", f"file://{output}?linger=0.3" if Path(output).parent.name == PARTS else str(output)]
        if self.data is not None:
            command += ["--data", str(self.data)]
        if self.slaves is not None:
            command += ["--slaves", str(self.slaves)]
        for name, value in self.settings.items():
            command += ["-s", f"{name}={value}"]
        for name, text in self.arguments.items():
            command += ["-a", f"{name}={text}"]
        return command

    def begin(self) -> Watched:
        return Watched(self.command(), self.folder)

    def run(self, timeout_s: float = 120.0) -> Ended:
        with self.begin() as crawl:
            return crawl.wait(timeout_s)


class SiteProcess:
    """A site in a process of its own; ends with the block."""

    def __init__(self, module: str, *arguments: object, python: str = sys.executable) -> None:
        self._process = subprocess.Popen(
            [python, "-m", module, "--until-eof", *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.stop()
            raise RuntimeError(f"the site {module} ended before it was ready")
        self.ready: dict[str, Any] = json.loads(line)
        self.start: str = self.ready["start"]
        self.hosts: list[str] = self.ready.get("hosts", [])

    def __enter__(self) -> SiteProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def ask(self, path: str) -> Any:
        """Reads one of the site's control pages."""
        with urllib.request.urlopen(self.ready["control"] + path, timeout=30) as answer:
            return json.loads(answer.read())

    def stats(self) -> dict[str, Any]:
        return dict(self.ask("/_stats"))

    def hits(self) -> Counter[str]:
        return Counter(self.ask("/_hits"))


# -- what a crawl left behind ---------------------------------------------------------------------


def ask_frontier(data: Path, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
    """Reads a data folder without changing it."""
    with contextlib.closing(sqlite3.connect(f"file:{data / 'frontier.db'}?mode=ro", uri=True)) as frontier:
        return frontier.execute(sql, parameters).fetchall()


def open_leases(data: Path) -> dict[tuple[int, int], str]:
    """Returns the pages that were in a slave's hands, by record and attempt; none when there is no frontier yet."""
    sql = "SELECT lease.record, lease.attempt, r.url FROM lease JOIN record AS r ON r.id = lease.record"
    try:
        return {(record, attempt): url for record, attempt, url in ask_frontier(data, sql)}
    except sqlite3.OperationalError:
        return {}


def items_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the items of an output file, whatever its format. Raises ValueError for a damaged one."""
    if path.parent.name == PARTS:
        manifests = [json.loads(manifest.read_text()) for manifest in (path / "_manifests").glob("*.json")]
        for part in (part for manifest in manifests for part in manifest["parts"]):
            yield from items_of(path / part["name"])
        return
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        yield from pq.read_table(path).to_pylist()
        return
    opened: Any = {".gz": gzip.open, ".zst": zstd.open}.get(path.suffix, open)
    kind = path.name.removesuffix(".gz").removesuffix(".zst").rpartition(".")[2]
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        match kind:
            case "jsonl":
                yield from map(json.loads, file)
            case "json":
                yield from json.load(file)
            case "csv":
                yield from csv.DictReader(file)
            case "xml":
                for item in ElementTree.parse(file).getroot():
                    yield {child.tag: child.text for child in item}
            case _:
                raise ValueError(f"what is {path.name}?")


def claim_items(claims: Claims, path: Path, expected: Mapping[str, int] | Sequence[str]) -> None:
    """Claims that there is one item for each URL, and no other."""
    found, wanted = Counter(item["url"] for item in items_of(path)), Counter(expected)
    missing, extra = wanted - found, found - wanted
    value = f"{found.total()} of {wanted.total()}"
    if missing or extra:
        value += f", missing {missing.total()} {list(missing)[:3]}, extra {extra.total()} {list(extra)[:3]}"
    claims.claim(f"items in {path.name}", value, found == wanted, "one for each page")
