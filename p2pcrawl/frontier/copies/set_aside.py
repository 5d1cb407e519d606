"""Databases that are damaged give way to new ones, and are kept under another name.

A master that begins with a new frontier, or with new copies, is one whose disk was replaced: it has a new store id, and
the others bring what they have copies of. Of two files one may be whole, and what it says of the other is true no more:

* With the frontier go the records of all buckets that were owned here. The copies stay, and are facts; but that a
  bucket was complete here is forgotten: each is taken to lack its last epoch, until somebody comes who has that whole.
* With the copies go these, the standing of each bucket, and the links that were kept for owners with too few copies.
  The frontier stays, and its records are facts.

The same is true of one that is not there any more: it was deleted, or only the other one was restored.
"""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from pathlib import Path

from p2pcrawl.frontier.copies import copy_store as copies
from p2pcrawl.frontier.database.schema import FolderLock, MappedErrors, Transaction, open_database
from p2pcrawl.frontier.database.tables import FRONTIER
from p2pcrawl.model.errors import DamagedError
from p2pcrawl.private.folders import sync_folder

STORES = (FRONTIER.file, copies.LAYOUT.file)


def set_aside(folder: Path, file: str) -> Path:
    """Gives a damaged database of a folder, with its log, another name; which one.

    Nobody may have it open. What the other one says of it is put right first, durably: if this is interrupted, it is
    done again. Raises StorageError, and ConfigurationError for a folder in use.
    """
    lock = FolderLock(folder)
    try:
        with suppress(DamagedError):  # Then it will be set aside, too.
            if file == FRONTIER.file:
                _doubt_standings(folder)
            else:
                _change_store(folder)
        with MappedErrors(folder, file):
            return rename_damaged(folder / file)
    finally:
        lock.release()


def note_missing(folder: Path) -> str:
    """Puts right what one database says of the other when that is gone; its name, nothing where none is missing.

    Called before any of them is made. Raises as ``set_aside`` does.
    """
    there = [file for file in STORES if (folder / file).exists()]
    if len(there) != 1:
        return ""
    lock = FolderLock(folder)
    try:
        with suppress(DamagedError):  # It will be set aside.
            if there == [copies.LAYOUT.file]:
                _doubt_standings(folder)
            else:
                _change_store(folder)
        return next(file for file in STORES if file not in there)
    finally:
        lock.release()


def _doubt_standings(folder: Path) -> None:
    if not (folder / copies.LAYOUT.file).exists():
        return
    with closing(open_database(folder, copies.LAYOUT)) as db, MappedErrors(folder, copies.LAYOUT.file), Transaction(db):
        db.execute("UPDATE standing SET lack = epoch, base = 0, pieces = ''")


def _change_store(folder: Path) -> None:
    if not (folder / FRONTIER.file).exists():
        return
    with closing(open_database(folder)) as db, MappedErrors(folder), Transaction(db):
        db.execute("UPDATE meta SET value = ? WHERE name = 'store'", (os.urandom(16).hex(),))


def rename_damaged(path: Path) -> Path:
    """Gives a file, and the log beside it if it is a database, another name; which one. Durable. Raises OSError."""
    name = kept = f"{path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    number = 1
    while os.path.exists(kept):
        number += 1
        kept = f"{name}-{number}"
    # The log last: a database that is missing beside its log is taken for damaged, too.
    for end in ("", "-wal"):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{end}", f"{kept}{end}")
    Path(f"{path}-shm").unlink(missing_ok=True)
    sync_folder(path.parent)
    return Path(kept)
