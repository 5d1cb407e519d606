"""What this node stores of the directory: signed records, each valid, the newest of its name, until it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha1

from kademlia.storage import IStorage

from p2pcrawl.wire.signed import SignedRecord

RECORDS_MAX = 50_000


def key_of(kind: str, name: str) -> bytes:
    """The place of a record in the directory."""
    return sha1(f"{kind}/{name}".encode()).digest()


def _may_say(record: SignedRecord) -> bool:
    """A node speaks for itself: nobody else may say where it is."""
    return record.kind != "peer" or record.name == record.signer


class RecordStore(IStorage):  # type: ignore[misc] # kademlia has no types
    """The library's storage, strict: what is not a valid newer record is not stored.

    Iterating yields nothing. The library would use it to send all that we hold to every new node and to publish
    it anew every hour, which costs more than the crawl; owners refresh their own records instead.
    """

    def __init__(self, clock: Callable[[], float], records_max: int = RECORDS_MAX) -> None:
        self._clock = clock
        self._records_max = records_max
        self._records: dict[bytes, tuple[float, SignedRecord]] = {}
        self.refused = 0

    def offer(self, key: bytes, data: object) -> bool:
        """Stores a record if it is one; True if it, or the very same, is now held."""
        record = SignedRecord.decode(data) if isinstance(data, bytes) else None
        if record is None or key != key_of(record.kind, record.name) or not _may_say(record):
            self.refused += 1
            return False
        held = self._live(key)
        if held is not None and held != record and not record.supersedes(held):
            return False
        if held != record and not record.verify(0.0):
            self.refused += 1
            return False
        if key not in self._records and len(self._records) >= self._records_max and not self._make_room():
            return False
        self._records[key] = (self._clock() + record.expires_s, record)
        return True

    def record(self, key: bytes) -> SignedRecord | None:
        return self._live(key)

    def __len__(self) -> int:
        return len(self._records)

    def __bool__(self) -> bool:
        # The library takes a storage that is false, as an empty one would be, for none.
        return True

    # -- as the library calls it --------------------------------------------------------------

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self.offer(key, value)

    def __getitem__(self, key: bytes) -> bytes:
        record = self._live(key)
        if record is None:
            raise KeyError(key)
        return record.encode()

    def get(self, key: bytes, default: bytes | None = None) -> bytes | None:
        record = self._live(key)
        return default if record is None else record.encode()

    def iter_older_than(self, seconds_old: float) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    # -- inside -------------------------------------------------------------------------------

    def _live(self, key: bytes) -> SignedRecord | None:
        held = self._records.get(key)
        if held is None:
            return None
        if held[0] <= self._clock():
            del self._records[key]
            return None
        return held[1]

    def _make_room(self) -> bool:
        now = self._clock()
        ended = [key for key, (until, _) in self._records.items() if until <= now]
        for key in ended:
            del self._records[key]
        return bool(ended)
