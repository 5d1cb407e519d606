"""Makes, opens, checks and locks the files of a data folder.

``frontier.tables`` says what is in them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from p2pcrawl.frontier.database.integrity import OPENING_S, Nonsense, look_through
from p2pcrawl.frontier.database.log_integrity import broken_log
from p2pcrawl.frontier.database.shape import other_shape
from p2pcrawl.frontier.database.tables import FRONTIER, READ_AS_UPGRADED, Layout
from p2pcrawl.model.errors import ConfigurationError, DamagedError, DiskFullError, StorageError
from p2pcrawl.private.folders import close_file, make_folder, new_file, private, sync_folder

FILE = FRONTIER.file
LOCK = "lock"
OURS = frozenset({FILE, LOCK, "identity", "token"})
"""Any of these shows that a folder is a data folder."""


def open_database(folder: Path, layout: Layout = FRONTIER) -> sqlite3.Connection:
    """Opens the folder's database, made if it is not there, and brought to this format if it is of an older one.

    Raises DamagedError for a damaged one, as far as that shows in ``OPENING_S``, ConfigurationError for one of a newer
    format or someone else's, StorageError when the disk refuses.
    """
    path = folder / layout.file
    with MappedErrors(folder, layout.file):
        if not path.exists():
            _make(path, layout)
        _check_size(path)
        if how := broken_log(path):
            raise damaged(path, how)
        for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            close_file(file)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
    try:
        with MappedErrors(folder, layout.file):
            _prepare(connection, path, layout)
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """Opens the frontier for questions beside a live crawl, or after it."""
    path = folder / FILE
    if not path.is_file():
        raise ConfigurationError(f"{folder} is not a p2pcrawl data folder (there is no {FILE} in it)")
    with MappedErrors(folder):
        _check_size(path)
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
        try:
            view = READ_AS_UPGRADED.get(_format(connection, path, FRONTIER))
            if view is not None:
                connection.execute(view)
        except BaseException:
            connection.close()
            raise
    return connection


class Transaction:
    """A block of which everything is written, durably, or nothing. One object serves any number, one after the
    other.
    """

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
        finally:
            # The transaction is still open when what was inside has failed, or the commit has.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _prepare(connection: sqlite3.Connection, path: Path, layout: Layout) -> None:
    execute = connection.execute
    # Before anything is changed: it may be someone else's.
    version = _format(connection, path, layout)
    if how := look_through(connection, OPENING_S).damage:
        raise damaged(path, how)
    execute("PRAGMA journal_mode=WAL")
    execute("PRAGMA synchronous=FULL")
    execute("PRAGMA cache_size=-65536")
    execute("PRAGMA wal_autocheckpoint=8000")
    execute("PRAGMA temp_store=MEMORY")
    # Behind what is written into the log that a crash has left, the rest of a torn transaction would lie on. Beside the
    # next one that is torn, it looks like damage.
    execute("PRAGMA wal_checkpoint(TRUNCATE)")
    while version < layout.format:
        with Transaction(connection):
            for statement in layout.upgrades[version]:
                execute(statement)
            version += 1
            execute(f"PRAGMA user_version={version}")
    if how := other_shape(connection, layout):
        raise damaged(path, how)


def _make(path: Path, layout: Layout) -> None:
    """Makes a new database. It gets its name when it is whole, so that an empty one is always a damaged one."""
    new = path.with_name(f"{path.name}.new")
    if path.with_name(f"{path.name}-wal").exists():
        raise damaged(path, f"it is missing, and {path.name}-wal is there")
    for left in (new, new.with_name(f"{new.name}-journal")):
        left.unlink(missing_ok=True)
    # SQLite gives what it makes beside a database the mode of that.
    new_file(new)
    connection = sqlite3.connect(new, isolation_level=None)
    try:
        with Transaction(connection):
            layout.make(connection)
            layout.fill(connection)
            connection.execute(f"PRAGMA application_id={layout.application}")
            connection.execute(f"PRAGMA user_version={layout.format}")
    finally:
        connection.close()
    os.replace(new, path)
    # Or a power cut may leave its log without it.
    sync_folder(path.parent)


def _check_size(path: Path) -> None:
    """Refuses an empty file, which SQLite takes for a new database."""
    if not path.stat().st_size:
        raise damaged(path, "it is empty")


def _format(connection: sqlite3.Connection, path: Path, layout: Layout) -> int:
    """Returns the database's format, if this version knows what to do with it."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application != layout.application:
        raise ConfigurationError(f"{path} was not written by p2pcrawl; use another --data folder")
    if version != layout.format and version not in layout.upgrades:
        raise ConfigurationError(
            f"{path.parent} has data format {version} in {path.name}, this p2pcrawl reads format {layout.format}; "
            "use the version that wrote it, or another --data folder"
        )
    return version


class MappedErrors:
    """SQLite's errors inside ``with`` as ours. One object serves any number."""

    __slots__ = ("_file", "_folder")

    def __init__(self, folder: Path, file: str = FILE) -> None:
        self._folder = folder
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.DatabaseError):
            raise _mapped(error, self._folder / self._file) from error
        if isinstance(error, UnicodeDecodeError | Nonsense):
            raise damaged(self._folder / self._file, str(error)) from error
        if isinstance(error, OSError):
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFullError(_full(self._folder)) from error
            raise StorageError(f"{self._folder}: {error.strerror}") from error


def damaged(path: Path, how: str) -> DamagedError:
    """Makes the error for a file of a data folder that does not hold what was written there."""
    return DamagedError(f"{path} is damaged ({how}); restore it, or use another --data folder", path.name, how)


def _full(folder: Path) -> str:
    return f"the disk that holds {folder} is full; nothing is lost: free some space, then run the same command again"


def _mapped(error: sqlite3.DatabaseError, path: Path) -> Exception:
    text = str(error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or _no_room(path.parent):
        return DiskFullError(_full(path.parent))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or text.startswith(_NO_TEXT):
        return damaged(path, text)
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return ConfigurationError(f"cannot write the data folder {path.parent}: {text}")
    return StorageError(f"{path}: {text}")


_NO_TEXT = "Could not decode to UTF-8"
"""What the module says, without a code of SQLite's, of a text that is none."""


def _no_room(folder: Path) -> bool:
    """Tells whether the disk is full: some file systems report that as an I/O error."""
    try:
        stat = os.statvfs(folder)
    except OSError:
        return False
    return stat.f_bavail * stat.f_frsize < 64 * 1024


class FolderLock:
    """One process at a time in a data folder. The lock dies with its holder."""

    def __init__(self, folder: Path) -> None:
        try:
            make_folder(folder, OURS)
            self._file = open(folder / LOCK, "a+", opener=private)  # noqa: SIM115 - held until release
        except (FileExistsError, NotADirectoryError) as error:
            raise ConfigurationError(f"cannot use the data folder {folder}: it, or what it is in, is a file") from error
        except OSError as error:
            raise ConfigurationError(f"cannot use the data folder {folder}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            raise ConfigurationError(
                f"the data folder {folder} is in use by process {holder}; stop it or use another --data folder"
            ) from error
        try:
            self._file.truncate(0)
            self._file.write(str(os.getpid()))
            self._file.flush()
        except OSError as error:
            with suppress(OSError):
                self._file.close()
            raise ConfigurationError(f"cannot use the data folder {folder}: {error.strerror}") from error

    def release(self) -> None:
        self._file.close()
