"""Sealed datagrams: one packet, encrypted and authenticated, accepted once.

    version 1 | channel 1 | key id 4 | sender 20 | boot 8 | to 8 | counter 8 | ciphertext | tag 16

The head is readable and all of it is bound to the payload, together with the cluster's name
(ChaCha20-Poly1305, the head and the name as associated data).

* **A nonce is used once.** The key is made from the cluster key, the sender and its boot id, eight
  bytes drawn at each start; the nonce is a counter that never goes back. A restart draws a new boot
  id, so nothing has to be stored. (A process must not be forked, nor its memory restored from a
  snapshot, and go on sealing in both copies.)
* **A datagram is accepted once.** Each (key, sender, boot) has a window over the last WINDOW
  counters; what is in it already, or older than it, is dropped.
* **Neither elsewhere nor later.** The window is memory of one process, so a recorded datagram would
  be new to another peer, or to this one after a restart. A datagram is therefore *addressed* to where
  its receiver takes datagrams (:attr:`DatagramSeal.here`, at first its boot id): no other
  process opens it. Only a knock at an unknown door goes to ANYONE (:mod:`p2pcrawl.wire.sealed.knocks`); the
  receiver can tell (``Opened.addressed``) and changes nothing on its word. The memory of senders is
  bounded: when one is forgotten, ``here`` is changed, and what was addressed to the place before is opened
  from those alone that are still remembered. So nothing ever opens twice.
* **Strangers cost little and leave nothing.** Without a key's id a datagram is dropped after a
  look at its head; with it, after one derivation and one failed check. Nothing is remembered
  of what does not open, and nothing is ever answered from here.

A holder of the cluster key can claim any sender here: signatures would double the size of gossip. What
must not be forged by members is signed (:mod:`p2pcrawl.wire.sealed.signed`) or said on a link.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from hashlib import blake2b
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from p2pcrawl.model.cluster.node import BOOT_BYTES, NODE_ID_BYTES, NodeId
from p2pcrawl.wire.sealed.keys import DEFAULT_CLUSTER, KEY_ID_BYTES, KeyRing, cluster_bytes, derive

DATAGRAM_VERSION: Final = 3
DATAGRAM_OVERHEAD: Final = 66
"""What sealing adds to a payload."""
DATAGRAM_MAX: Final = 1472
"""What fits an Ethernet frame over IPv4; more is neither sealed nor opened."""
WINDOW: Final = 2048
"""Counters back that are still told apart. They count what a sender sends to all, not to us."""
ANYONE: Final = bytes(BOOT_BYTES)
"""The address of a knock: it is not known yet who is there."""
FORMERLY_MAX: Final = 64
"""Places at which this process took datagrams before, and still does from those that it remembers."""

REASONS: Final = (
    "opened", "short", "long", "version", "unknown-key", "own", "misaddressed", "replayed", "stale", "forged"
)  # fmt: skip

_KEY_ID = slice(2, 2 + KEY_ID_BYTES)
_SENDER = slice(6, 6 + NODE_ID_BYTES)
_ORIGIN = slice(6, 34)
_WHO = slice(2, 34)
_TO = slice(34, 42)
_COUNTER = slice(42, 50)
_HEAD: Final = 50
_NONCE_HEAD: Final = bytes(4)


class Opened(NamedTuple):
    """A datagram that a holder of the cluster key sealed, seen for the first time."""

    channel: int
    sender: NodeId
    boot: bytes
    payload: bytes
    addressed: bool
    """It was sealed for this very process; else it may be an old one, or one meant for another peer."""


class DatagramSeal:
    """Seals and opens all datagrams of one process.

    ``counters`` tells how many datagrams were opened, and how many dropped for each of REASONS.
    It remembers ``senders_max`` senders that addressed us, the longest silent ones forgotten first, and
    apart from them a quarter as many that did not, so that replayed first contacts cannot push out
    the windows of living peers.
    """

    def __init__(
        self,
        ring: KeyRing,
        sender: NodeId,
        boot: bytes,
        cluster: str = DEFAULT_CLUSTER,
        *,
        senders_max: int = 4096,
        datagram_max: int = DATAGRAM_MAX,
    ) -> None:
        """``boot`` must be fresh random bytes for every process: nonces depend on it."""
        if len(boot) != BOOT_BYTES or boot == ANYONE:
            raise ValueError(f"a boot id has {BOOT_BYTES} random bytes")
        self._ring = ring
        self._origin = bytes.fromhex(sender) + boot
        if len(self._origin) != NODE_ID_BYTES + BOOT_BYTES:
            raise ValueError(f"not a node id: {sender!r:.60}")
        self.here = boot
        """Where this process takes datagrams: what others address to it."""
        self._formerly: deque[bytes] = deque(maxlen=FORMERLY_MAX)
        self._cluster = cluster_bytes(cluster)
        self._datagram_max = datagram_max
        self._counter = 0
        self._sealing_key = b""
        self._sealing = ChaCha20Poly1305(bytes(32))
        self._head = b""
        self._known: OrderedDict[bytes, _KnownSender] = OrderedDict()
        self._strangers: OrderedDict[bytes, _KnownSender] = OrderedDict()
        self._known_max = senders_max
        self._strangers_max = max(1, senders_max // 4)
        self.counters: dict[str, int] = dict.fromkeys(REASONS, 0)

    def seal(self, channel: int, payload: bytes, to: bytes = ANYONE) -> bytes:
        """Seals one datagram with the key in use, for the process that takes datagrams at ``to``.

        Raises ValueError for a payload that is too long, a channel that is not a byte, a wrong ``to``.
        """
        size = len(payload) + DATAGRAM_OVERHEAD
        if size > self._datagram_max or len(to) != BOOT_BYTES or not 0 <= channel <= 255:
            raise ValueError(f"cannot seal {len(payload)} bytes on channel {channel} to {to!r:.40}")
        if self._ring.in_use is not self._sealing_key:
            self._change_key()
        self._counter += 1
        count = self._counter.to_bytes(8, "big")
        head = bytes((DATAGRAM_VERSION, channel)) + self._head + to + count
        return head + self._sealing.encrypt(_NONCE_HEAD + count, payload, head + self._cluster)

    def open(self, data: bytes) -> Opened | None:
        """Opens what a member sealed for us; returns None for everything else, which is counted and forgotten."""
        opened = self._judge(data)
        if isinstance(opened, str):
            self.counters[opened] += 1
            return None
        self.counters["opened"] += 1
        return opened

    def meant_for_another(self, data: bytes) -> bool:
        """Tells whether a member sealed ``data`` for another process than this one, or for a former life of this one;
        who it was, or when, is not known. Nothing is remembered.
        """
        if self._refuse(data) != "misaddressed":
            return False
        try:
            self._stranger(data).key.decrypt(_NONCE_HEAD + data[_COUNTER], data[_HEAD:], data[:_HEAD] + self._cluster)
        except InvalidTag:
            return False
        return True

    @property
    def senders(self) -> int:
        """The number of senders that are remembered."""
        return len(self._known) + len(self._strangers)

    def _judge(self, data: bytes) -> Opened | str:
        """Opens a datagram, or returns the reason to drop it."""
        if (refused := self._refuse(data)) is not None:
            return refused
        who = data[_WHO]
        counter = int.from_bytes(data[_COUNTER], "big")
        sender = self._known.get(who) or self._strangers.get(who) or self._stranger(data)
        if (refused := sender.window.refuse(counter)) is not None:
            return refused
        try:
            payload = sender.key.decrypt(_NONCE_HEAD + data[_COUNTER], data[_HEAD:], data[:_HEAD] + self._cluster)
        except InvalidTag:
            return "forged"
        addressed = data[_TO] != ANYONE
        sender.window.accept(counter)
        self._remember(who, sender, addressed)
        return Opened(data[1], sender.node_id, sender.boot, payload, addressed)

    def _refuse(self, data: bytes) -> str | None:
        """Returns what is wrong with a head, as far as it can be told without any cryptography; None if nothing is."""
        size = len(data)
        if size < DATAGRAM_OVERHEAD:
            return "short"
        if size > self._datagram_max:
            return "long"
        if data[0] != DATAGRAM_VERSION:
            return "version"
        if data[_KEY_ID] not in self._ring:
            return "unknown-key"
        if data[_ORIGIN] == self._origin:
            return "own"  # sent back to us by someone else
        to = data[_TO]
        if to == self.here or to == ANYONE or (to in self._formerly and data[_WHO] in self._known):
            return None
        return "misaddressed"

    def _stranger(self, data: bytes) -> _KnownSender:
        """Makes a sender not heard of before; not remembered until something of it opens."""
        key = self._ring.named(data[_KEY_ID])
        assert key is not None
        origin = data[_ORIGIN]
        return _KnownSender(_datagram_key(key, origin), NodeId(data[_SENDER].hex()), origin[NODE_ID_BYTES:])

    def _remember(self, who: bytes, sender: _KnownSender, addressed: bool) -> None:
        if who in self._known:
            self._known.move_to_end(who)
        elif addressed:
            self._strangers.pop(who, None)
            self._known[who] = sender
            if len(self._known) > self._known_max:
                self._known.popitem(last=False)
                self._formerly.append(self.here)
                self.here = blake2b(self.here, digest_size=BOOT_BYTES).digest()
        else:
            self._strangers[who] = sender
            self._strangers.move_to_end(who)
            if len(self._strangers) > self._strangers_max:
                self._strangers.popitem(last=False)

    def _change_key(self) -> None:
        """Seals with another key from now on; the counter goes on, which no key minds."""
        key = self._ring.in_use
        self._sealing = _datagram_key(key, self._origin)
        self._head = self._ring.in_use_id + self._origin
        self._sealing_key = key


class ReplayWindow:
    """The counters of one sender that were accepted: the highest, and a bit for each of the WINDOW below."""

    __slots__ = ("_seen", "_top")

    def __init__(self) -> None:
        self._top = 0
        self._seen = 1  # counter 0 is never sent

    def refuse(self, counter: int) -> str | None:
        """Returns why a counter cannot be accepted, if so: "replayed", or "stale" when it is too old to tell."""
        age = self._top - counter
        if age < 0:
            return None
        if age >= WINDOW:
            return "stale"
        return "replayed" if self._seen >> age & 1 else None

    def accept(self, counter: int) -> None:
        """Remembers one that :meth:`refuse` did not refuse and whose datagram opened."""
        ahead = counter - self._top
        if ahead <= 0:
            self._seen |= 1 << -ahead
            return
        self._top = counter
        self._seen = 1 if ahead >= WINDOW else (self._seen << ahead | 1) & _WINDOW_MASK


_WINDOW_MASK: Final = (1 << WINDOW) - 1


class _KnownSender:
    """One process that sends under one cluster key."""

    __slots__ = ("boot", "key", "node_id", "window")

    def __init__(self, key: ChaCha20Poly1305, node_id: NodeId, boot: bytes) -> None:
        self.key = key
        self.node_id = node_id
        self.boot = boot
        self.window = ReplayWindow()


def _datagram_key(key: bytes, origin: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(derive(key, "datagram 1", origin))
