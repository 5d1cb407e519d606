"""The part of the directory that this node stores: signed records, each valid, the one of its name that counts most,
until it ends.

An owner record by a node that does not live gives way to one by a node that does, whatever their epochs: the dead own
nothing, and who takes a bucket over from them cannot always know how far they had counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha1

from kademlia.storage import IStorage

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.overlay.bodies import HOST, OWNER, body_of
from p2pcrawl.wire.sealed.signed import SignedRecord

RECORDS_MAX = 50_000
HOSTS_MAX = 40_000
"""Of these: peers and buckets are counted, hosts are not, and shall not take the room of the others."""
SWEEP_S = 10.0
"""A store that is full looks for what has ended no more often."""


def key_of(kind: str, name: str) -> bytes:
    """Returns the place of a record in the directory."""
    return sha1(f"{kind}/{name}".encode(), usedforsecurity=False).digest()


@dataclass(frozen=True, slots=True)
class Aged:
    """A record, and how long ago it came from its author to who holds it."""

    record: SignedRecord
    age_s: float


@dataclass(frozen=True, slots=True)
class _Held:
    record: SignedRecord
    since: float

    @property
    def until(self) -> float:
        return self.since + self.record.expires_s


class RecordStore(IStorage):  # type: ignore[misc] # kademlia has no types
    """The library's storage, strict: what is not a valid record that counts more is not stored.

    Iterating yields nothing. The library would use it to send all that we hold to every new node and to publish
    it anew every hour, which costs more than the crawl; authors store their records anew instead.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        lives: Callable[[NodeId], bool],
        records_max: int = RECORDS_MAX,
        hosts_max: int = HOSTS_MAX,
    ) -> None:
        """``lives`` says whether a node is a living member, as far as is known here."""
        self._clock = clock
        self._lives = lives
        self._records_max = records_max
        self._hosts_max = hosts_max
        self._records: dict[bytes, _Held] = {}
        self._hosts = 0
        self._sweep_at = 0.0
        self.refused = 0

    def offer(self, key: bytes, data: object) -> bool:
        """Stores a record if it is one; True if it, or the very same, is now held."""
        record = SignedRecord.decode(data) if isinstance(data, bytes) else None
        if record is None or key != key_of(record.kind, record.name) or body_of(record) is None:
            self.refused += 1
            return False
        held = self.held(key)
        if held is not None and held.record != record and not self.counts_more(record, held.record):
            return False
        if (held is None or held.record != record) and not record.verify(0.0):
            self.refused += 1
            return False
        if held is None and not self._has_room(record):
            return False
        self._hosts += held is None and record.kind == HOST
        self._records[key] = _Held(record, self._clock())
        return True

    def counts_more(self, record: SignedRecord, other: SignedRecord) -> bool:
        """Tells whether ``record`` is to be believed rather than ``other``, of the same name."""
        if record.kind == OWNER and record.signer != other.signer:
            lives, lived = self._lives(record.signer), self._lives(other.signer)
            if lives != lived:
                return lives
        return record.supersedes(other)

    def held(self, key: bytes) -> Aged | None:
        held = self._records.get(key)
        if held is None:
            return None
        now = self._clock()
        if held.until <= now:
            self._drop(key)
            return None
        return Aged(held.record, now - held.since)

    def __len__(self) -> int:
        return len(self._records)

    def __bool__(self) -> bool:
        # The library takes a storage that is false, as an empty one would be, for none.
        return True

    # -- as the library calls it --------------------------------------------------------------

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self.offer(key, value)

    def __getitem__(self, key: bytes) -> bytes:
        held = self.held(key)
        if held is None:
            raise KeyError(key)
        return held.record.encode()

    def get(self, key: bytes, default: bytes | None = None) -> bytes | None:
        held = self.held(key)
        return default if held is None else held.record.encode()

    def iter_older_than(self, seconds_old: float) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    # -- inside -------------------------------------------------------------------------------

    def _has_room(self, record: SignedRecord) -> bool:
        return self._fits(record) or (self._sweep() and self._fits(record))

    def _fits(self, record: SignedRecord) -> bool:
        return len(self._records) < self._records_max and (record.kind != HOST or self._hosts < self._hosts_max)

    def _sweep(self) -> bool:
        """Drops what has ended; returns whether it looked. Costs a pass."""
        now = self._clock()
        if now < self._sweep_at:
            return False
        self._sweep_at = now + SWEEP_S
        for key in [key for key, held in self._records.items() if held.until <= now]:
            self._drop(key)
        return True

    def _drop(self, key: bytes) -> None:
        self._hosts -= self._records.pop(key).record.kind == HOST
