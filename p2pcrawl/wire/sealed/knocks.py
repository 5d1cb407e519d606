"""First contacts: nothing is said to a process, and nothing is believed of it, before a round trip.

A recorded datagram that was sealed for ANYONE is new to whoever has not seen it, so none may change anything. A peer
that does not know the process at an address holds back what it has to say, and *knocks*:

    A -> R  ``?``  where A takes datagrams, A's cookie for R's address           sealed for anyone
    R -> A  ``!``  where R takes datagrams, A's cookie, R's cookie for A's        sealed for A
    A -> R  ``=``  where A takes datagrams, R's cookie                           sealed for R, and then what was held

"Where it takes datagrams" is :attr:`DatagramSeal.here`, eight bytes that are new with each process. A cookie is made
from a secret of this process and the address, so nothing is remembered of whoever knocks; who says it hears what is
sent to that address. So:

* *Freshness.* All that reaches anybody was sealed for this very process. A repeated knock gets an answer, and that is
  all; who it seems to come from did not ask, and drops it.
* *Addresses.* What is known of an address comes from a process that answered there. Somebody who repeats datagrams from
  an invented source cannot make us write to anyone in place of who is there.
* *No amplification.* An answer is not longer than a knock, and a knock not longer than the shortest datagram for which
  one is sent.

A process that restarted cannot open what is sealed for its former life, though it sees that a member sealed it: it
knocks in its turn, at most once in KNOCK_S at an address, and so the other end learns of it within two round trips.
What it had said last is said once more then.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from p2pcrawl.model.cluster.node import BOOT_BYTES
from p2pcrawl.wire.sealed.datagrams import ANYONE, DATAGRAM_OVERHEAD, DatagramSeal, Opened

KNOCKING: Final = 0
"""The channel of these datagrams."""
KNOCK_S: Final = 0.2
"""An address is knocked at this often at most: several round trips of most networks."""
HELD_S: Final = 1.0
"""What could not be said for so long is news no more; whoever wants an answer asks again."""
HELD_MAX: Final = 8
"""Payloads held back for one address; the oldest one goes first."""
WAITING_MAX: Final = 1024
"""Addresses that did not answer yet."""
KNOWN_MAX: Final = 4096
RETORTS_MAX: Final = 256

_COOKIE: Final = 4
_KNOCK, _ANSWER, _PROOF = b"?", b"!", b"="
_SIZE: Final = 1 + BOOT_BYTES + 2 * _COOKIE
KNOCK_BYTES: Final = DATAGRAM_OVERHEAD + _SIZE
SECRET_BYTES: Final = 16

Source = tuple[str, int]
"""Host and port of the other end."""
Sending = tuple[bytes, Source]
"""A datagram, and where to send it."""
Payload = tuple[int, bytes]
"""A channel, and what is said on it."""


@dataclass(slots=True)
class _Known:
    """The process at an address."""

    takes: bytes
    last: Payload | None = None
    """What was said to it last, while nothing came back."""
    sent_at: float = 0.0


@dataclass(slots=True)
class _Unmet:
    """An address at which nobody is known."""

    cookie: bytes
    knocked_at: float
    held: deque[tuple[float, Payload]] = field(default_factory=lambda: deque(maxlen=HELD_MAX))


class Knocks:
    """Seals and opens all datagrams of one process, and knocks where it has to. Every method returns what is to be
    sent; no socket is touched here."""

    def __init__(self, seal: DatagramSeal, secret: bytes) -> None:
        """``secret`` is SECRET_BYTES fresh random bytes."""
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"a secret has {SECRET_BYTES} bytes")
        self._seal = seal
        self._secret = secret
        self._known: OrderedDict[Source, _Known] = OrderedDict()
        self._waiting: OrderedDict[Source, _Unmet] = OrderedDict()
        self._asked: dict[bytes, Source] = {}
        """The addresses of ``_waiting`` by their cookies: a machine may answer from another of its addresses."""
        self._retorts: OrderedDict[Source, float] = OrderedDict()
        """When it was knocked at addresses from where datagrams for a former life came."""
        self.counters = {"knocks": 0, "answered": 0, "unaddressed": 0, "malformed": 0}

    def send(self, channel: int, payload: bytes, to: Source, now: float) -> list[Sending]:
        """Seals one payload for the process that is known at ``to``; for an unknown one knocks, and the payload
        waits.
        """
        known = self._known.get(to)
        if known is not None:
            known.last, known.sent_at = (channel, payload), now
            return [(self._seal.seal(channel, payload, known.takes), to)]
        waiting = self._waiting.get(to) or self._wait(to)
        waiting.held.append((now, (channel, payload)))
        if now - waiting.knocked_at < KNOCK_S:
            return []
        waiting.knocked_at = now
        return [self._knock(to)]

    def receive(self, data: bytes, source: Source, now: float) -> tuple[Opened | None, list[Sending]]:
        """Opens a datagram. Returns what a member sealed for this very process, if it is to be handed on, and what to
        send.
        """
        opened = self._seal.open(data)
        if opened is None:
            # Not for shorter ones: the answer would be longer than what it is an answer to.
            for_another = len(data) >= KNOCK_BYTES and self._seal.meant_for_another(data)
            return None, self._retort(source, now) if for_another else []
        if opened.channel == KNOCKING:
            return None, self._met(opened, source, now)
        if not opened.addressed:
            self.counters["unaddressed"] += 1
            return None, []
        known = self._known.get(source)
        if known is not None:
            known.last = None
            self._known.move_to_end(source)
        return opened, []

    def addresses(self) -> dict[str, int]:
        """Counts the addresses that are kept, by why: known, knocked at, asked there, told who is here."""
        return {
            "known": len(self._known),
            "waiting": len(self._waiting),
            "asked": len(self._asked),
            "told": len(self._retorts),
        }

    def _met(self, opened: Opened, source: Source, now: float) -> list[Sending]:
        said = opened.payload
        takes, rest = said[1 : 1 + BOOT_BYTES], said[1 + BOOT_BYTES :]
        first, second = rest[:_COOKIE], rest[_COOKIE:]
        match said[:1]:
            case b"?" if len(said) == _SIZE and takes != ANYONE:
                self.counters["answered"] += 1
                answer = _ANSWER + self._seal.here + first + self._cookie(source)
                return [(self._seal.seal(KNOCKING, answer, takes), source)]
            case b"!" if len(said) == _SIZE and opened.addressed and (asked := self._whom(first, source)) is not None:
                proof = self._seal.seal(KNOCKING, _PROOF + self._seal.here + second, takes)
                return [(proof, source), *self._learn(asked, takes, now)]
            case b"=" if opened.addressed and rest == self._cookie(source):
                return self._learn(source, takes, now)
        self.counters["malformed"] += 1
        return []

    def _whom(self, cookie: bytes, source: Source) -> Source | None:
        """Returns the address at which it was knocked, for an answer with this cookie."""
        asked = self._asked.get(cookie)
        return source if asked is None and cookie == self._cookie(source) else asked

    def _learn(self, address: Source, takes: bytes, now: float) -> list[Sending]:
        """Remembers the process that proved that it hears us, and tells it what waits for it."""
        before = self._known.pop(address, None)
        self._known[address] = _Known(takes)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
        waiting = self._waiting.pop(address, None)
        held = list(waiting.held) if waiting is not None else []
        if waiting is not None:
            self._asked.pop(waiting.cookie, None)
        if before is not None and before.takes != takes and before.last is not None:
            held.append((before.sent_at, before.last))
        fresh = [payload for sent_at, payload in held if now - sent_at < HELD_S]
        return [(self._seal.seal(channel, payload, takes), address) for channel, payload in fresh]

    def _wait(self, address: Source) -> _Unmet:
        cookie = self._cookie(address)
        waiting = self._waiting[address] = _Unmet(cookie, -math.inf)
        self._asked[cookie] = address
        if len(self._waiting) > WAITING_MAX:
            _, given_up = self._waiting.popitem(last=False)
            self._asked.pop(given_up.cookie, None)
        return waiting

    def _retort(self, source: Source, now: float) -> list[Sending]:
        """Tells a member that wrote to whoever was here before who is here now."""
        if now - self._retorts.get(source, -math.inf) < KNOCK_S:
            return []
        self._retorts[source] = now
        self._retorts.move_to_end(source)
        if len(self._retorts) > RETORTS_MAX:
            self._retorts.popitem(last=False)
        return [self._knock(source)]

    def _knock(self, to: Source) -> Sending:
        self.counters["knocks"] += 1
        return self._seal.seal(KNOCKING, _KNOCK + self._seal.here + self._cookie(to) + bytes(_COOKIE)), to

    def _cookie(self, address: Source) -> bytes:
        return blake2b(f"{address[0]} {address[1]}".encode(), key=self._secret, digest_size=_COOKIE).digest()
