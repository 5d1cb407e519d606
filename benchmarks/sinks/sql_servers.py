"""Real servers of PostgreSQL and MariaDB on loopback, each in a temporary folder, ended by their ids."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from benchmarks.kit.measure import until
from benchmarks.kit.parent import ends_with_us

USER, PASSWORD = "keeper", "p/ss:w@rd%"
START_S = 60.0
STOP_S = 30.0
ASK_S = 20.0
_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec")


class NoServer(Exception):
    """Raised where a server is not installed; the message says what to do."""


def _beside(function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
    """Runs a coroutine on a loop of its own, also where one is running already."""

    async def run() -> Any:
        return await function(*arguments)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()


def _stands_still(pid: int) -> bool:
    states = [each.read_text().rpartition(")")[2].split()[0] for each in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(state in "TZX" for state in states)


class SqlServer:
    """One server, which can be killed and started again on the same folder and port. Ends with the block."""

    scheme: ClassVar[str]
    package: ClassVar[str]
    accounts: ClassVar[Sequence[str]]
    """Of the system, by preference: these servers do not run as root."""

    def __init__(self) -> None:
        self._account = self._unprivileged()
        self._folder = Path(tempfile.mkdtemp(prefix=f"p2pcrawl-{self.scheme}-"))
        self._data = self._folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        # Its processes end with the thread that has started them.
        self._starter = ThreadPoolExecutor(1)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])

    @property
    def host(self) -> str:
        """The address with the port."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The id of its process, 0 when there is none."""
        return self._process.pid if self._process is not None else 0

    def url(self, database: str = "shop", table: str = "books", *, user: str = USER, options: str = "") -> str:
        """Returns the address of a sink there, without a password."""
        return f"{self.scheme}://{user}@{self.host}/{database}?table={table}{'&' + options if options else ''}"

    def start(self) -> None:
        """Starts it; returns when it answers."""
        deadline = time.monotonic() + START_S
        self._process = self._run(self._command())
        while not self.answers():
            if self._process.poll() is not None:
                # What a killed one left running has not seen yet that it is gone.
                time.sleep(0.1)
                self._process = self._run(self._command())
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.package} does not answer: {self._log_end()}")
            time.sleep(0.02)

    def answers(self) -> bool:
        """Tells whether it takes connections."""
        try:
            _beside(self._ask, "SELECT 1")
        except Exception:
            return False
        return True

    def ask(self, statement: str, database: str = "") -> list[tuple[Any, ...]]:
        """Runs one statement as its keeper; returns the rows."""
        return _beside(self._ask, statement, database)

    async def _ask(self, statement: str, database: str = "") -> list[tuple[Any, ...]]:
        from sqlalchemy.ext.asyncio import create_async_engine
        from sqlalchemy.pool import NullPool

        engine = create_async_engine(self.driver_url(database), poolclass=NullPool, isolation_level="AUTOCOMMIT")
        async with asyncio.timeout(ASK_S), engine.connect() as connection:
            result = await connection.exec_driver_sql(statement)
            rows = [tuple(row) for row in result] if result.returns_rows else []
        await engine.dispose()
        return rows

    def driver_url(self, database: str = "") -> str:
        """Returns the address as SQLAlchemy takes it, with the password."""
        raise NotImplementedError

    def kill(self) -> None:
        """Kills it with -9; returns when it is gone."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends it in order; returns when it is gone."""
        self._end(signal.SIGINT)

    def pause(self) -> None:
        """Stops it as it is: it keeps its connections and answers nothing. Returns when all its threads stand still."""
        pids = self._signal_all(signal.SIGSTOP)
        until(lambda: all(map(_stands_still, pids)), STOP_S, "the server stands still")

    def go_on(self) -> None:
        """Lets it go on after a pause."""
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> list[int]:
        """Signals it and its children, of which PostgreSQL has one for each connection; returns their ids."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        pids = [self.pid, *map(int, children)]
        for pid in pids:
            os.kill(pid, number)
        return pids

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def __enter__(self) -> SqlServer:
        try:
            if self._account is not None:
                os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
            self._set_up()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._starter.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _set_up(self) -> None:
        raise NotImplementedError

    def _command(self) -> list[str]:
        raise NotImplementedError

    def _run(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        account: dict[str, Any] = {}
        if self._account is not None:
            account = {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}
        with (self._folder / "log").open("ab") as log:
            return self._starter.submit(
                subprocess.Popen[bytes],
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._surroundings(),
                preexec_fn=self._starter.submit(ends_with_us).result(),
                **account,
            ).result()

    def _surroundings(self) -> dict[str, str]:
        # A MariaDB that starts deletes temporary tables as what a dead one has left: not those of its neighbours.
        own = str(self._folder)
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": own, "TMPDIR": own, "LC_ALL": "C.UTF-8"}

    def _run_to_its_end(self, command: Sequence[str]) -> None:
        if self._run(command).wait(START_S):
            raise RuntimeError(f"{command[0]}: {self._log_end()}")

    def _log_end(self) -> str:
        log = self._folder / "log"
        return log.read_text(errors="replace")[-2000:] if log.exists() else "no log"

    def _find(self, *names: str, folders: Sequence[str] = _FOLDERS) -> str:
        for name in names:
            for folder in (None, *folders):
                if found := shutil.which(name, path=folder):
                    return found
        raise NoServer(f"no {names[0]}: apt-get install {self.package}")

    def _unprivileged(self) -> pwd.struct_passwd | None:
        if os.geteuid():
            return None
        for name in (*self.accounts, "nobody"):
            try:
                return pwd.getpwnam(name)
            except KeyError:
                continue
        raise NoServer(f"{self.package} does not run as root, and there is no other account")


class PostgresqlServer(SqlServer):
    """A server of PostgreSQL."""

    scheme = "postgresql"
    package = "postgresql"
    accounts = ("postgres",)

    def _set_up(self) -> None:
        password = self._folder / "password"
        password.write_text(PASSWORD)
        os.chmod(password, 0o644)
        self._run_to_its_end(
            [
                *(self._program("initdb"), "-D", str(self._data), "-U", USER, "--pwfile", str(password)),
                *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"),
            ]
        )

    def _program(self, name: str) -> str:
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name.zfill(4))
        return self._find(name, folders=[str(path) for path in reversed(versions)])

    def _command(self) -> list[str]:
        return [
            *(self._program("postgres"), "-D", str(self._data), "-p", str(self.port)),
            *("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "shared_buffers=32MB"),
        ]

    def driver_url(self, database: str = "") -> str:
        return f"postgresql+asyncpg://{USER}:{quote(PASSWORD, safe='')}@{self.host}/{database or 'postgres'}"


class MariadbServer(SqlServer):
    """A server of MariaDB."""

    scheme = "mysql"
    package = "mariadb-server"
    accounts = ("mysql",)

    def _set_up(self) -> None:
        self._find("mariadbd", "mysqld")
        self._run_to_its_end(
            [
                *(self._find("mariadb-install-db"), "--no-defaults", f"--datadir={self._data}"),
                *("--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-flush-log-at-trx-commit=0"),
            ]
        )
        (self._folder / "accounts.sql").write_text(
            f"CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION;\n"
        )
        os.chmod(self._folder / "accounts.sql", 0o644)

    def _command(self) -> list[str]:
        return [
            *(self._find("mariadbd", "mysqld"), "--no-defaults", f"--datadir={self._data}", f"--port={self.port}"),
            *("--bind-address=127.0.0.1", f"--socket={self._folder / 'socket'}", "--skip-name-resolve"),
            *("--innodb-buffer-pool-size=64M", f"--init-file={self._folder / 'accounts.sql'}"),
        ]

    def driver_url(self, database: str = "") -> str:
        return f"mysql+asyncmy://{USER}:{quote(PASSWORD, safe='')}@{self.host}/{database or 'mysql'}"

    def stop(self) -> None:
        self._end(signal.SIGTERM)
