"""Dead letters: the items that a sink will never take as they are, each with its reason, in a file of the data folder.

One line of JSON for each. An item may stand there twice, after a crash or when it was refused again: its line is
written before it is stored that its page was brought.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

import msgspec

from p2pcrawl.frontier.database.schema import MappedErrors
from p2pcrawl.model.errors import StorageError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.private.folders import inner_folder, private, sync_folder
from p2pcrawl.stores.sink import RefusedItem, SinkPage

FOLDER = "dead-letters"
FILE = "items.jsonl"
SENDING = "items.sending.jsonl"
"""Those that are being sent again by a master that runs."""
REASON_MAX = 500


class DeadLetter(msgspec.Struct, omit_defaults=True):
    """An item that was refused, with all that is needed to bring it again."""

    sink: str
    url: str
    """Of its page."""
    reason: str
    time: int
    key: str
    """Of the item: what its sink knows it by."""
    job: str
    """The job's name in the world."""
    page: str
    """The page's fingerprint."""
    number: int
    """Of the item, on its page."""
    visit: int
    fetched_at: int
    item: msgspec.Raw
    """As it was; a text where it is no JSON."""


_decoded = msgspec.json.Decoder(DeadLetter).decode


def letter_of(sink: str, refused: RefusedItem) -> DeadLetter:
    """Writes a dead letter for an item that was refused just now."""
    page, item = refused.page, bytes(refused.page.items[refused.place])
    try:
        msgspec.json.decode(item)
        kept = item
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        kept = msgspec.json.encode(item.decode("utf-8", "replace"))
    return DeadLetter(
        sink,
        page.url,
        on_one_line(refused.reason)[:REASON_MAX],
        int(time.time()),
        page.key(refused.place),
        page.job,
        page.fingerprint,
        page.number_of(refused.place),
        page.visit,
        page.fetched_at,
        msgspec.Raw(kept),
    )


def page_of_letters(letters: Sequence[DeadLetter]) -> SinkPage:
    """Makes a page of letters that are of one page and one visit, to be brought again."""
    first = letters[0]
    items = [bytes(each.item) for each in letters]
    numbers = [each.number for each in letters]
    return SinkPage(first.job, first.page, first.url, first.visit, first.fetched_at, items, numbers, again=True)


class DeadLetters:
    """The dead letters of one data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._appending = Lock()
        """Letters are written in threads."""

    @property
    def there(self) -> bool:
        """A sign that the folder has letters."""
        file = self._folder / FOLDER / FILE
        return file.is_file() and file.stat().st_size > 0

    @contextmanager
    def taken(self) -> Iterator[Iterator[DeadLetter]]:
        """Gives the letters that are there, to be sent again; what is added meanwhile stays. When the block ends, what
        was not added again has gone; if it raises, or a crash ends it, all are taken once more by the next who asks.
        Raises StorageError.
        """
        folder = self._folder / FOLDER
        with MappedErrors(self._folder):
            with self._appending:
                if self.there:
                    begins = not (folder / SENDING).exists()
                    # What an earlier sending has left is sent with the rest.
                    with open(folder / SENDING, "ab", opener=private) as file:
                        with open(folder / FILE, "rb") as letters:
                            shutil.copyfileobj(letters, file)
                        file.flush()
                        os.fsync(file.fileno())
                    if begins:
                        # Its name is to be there before the other one is gone.
                        sync_folder(folder)
                    (folder / FILE).unlink()
            yield self.read(SENDING)
            (folder / SENDING).unlink(missing_ok=True)

    def read(self, name: str = FILE) -> Iterator[DeadLetter]:
        """Yields the letters, as long as they are; a last line that a crash has cut off is left out. Raises
        StorageError.
        """
        with MappedErrors(self._folder), suppress(FileNotFoundError), open(self._folder / FOLDER / name, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield _decoded(line)
                except msgspec.MsgspecError as error:
                    if line.endswith(b"\n"):
                        raise StorageError(f"{file.name}, line {number}, is no dead letter: {error}") from None

    @contextmanager
    def rewritten(self) -> Iterator[Callable[[Iterable[DeadLetter]], None]]:
        """Gives what adds letters to a file that takes the place of the one that is there when the block ends, durably;
        if it raises, that one stays as it is. Raises StorageError.
        """
        with MappedErrors(self._folder):
            folder = inner_folder(self._folder / FOLDER)
            new = folder / f"{FILE}.new"
            with open(new, "wb", opener=private) as file:
                yield lambda letters: file.writelines(msgspec.json.encode(each) + b"\n" for each in letters)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, folder / FILE)
            sync_folder(folder)

    async def add(self, sink: str, refused: Sequence[RefusedItem]) -> None:
        """Adds what a sink has refused; durable when this returns. Raises StorageError."""
        await self.put_back([letter_of(sink, each) for each in refused])

    async def put_back(self, letters: Iterable[DeadLetter]) -> None:
        """Adds letters; durable when this returns. Raises StorageError."""
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in letters)
        await asyncio.get_running_loop().run_in_executor(None, self._append, lines)

    def _append(self, lines: bytes) -> None:
        with MappedErrors(self._folder), self._appending:
            folder = inner_folder(self._folder / FOLDER)
            begins = not (folder / FILE).exists()
            with open(folder / FILE, "ab", opener=private) as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
            if begins:
                sync_folder(folder)
