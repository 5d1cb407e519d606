"""Which process is at an address, so that datagrams can be sealed for it alone.

The boot id of a receiver is learnt from what it sends. A datagram that was addressed to us is surely
of now, and tells its sender's boot id for HEARD_S. A first contact may be an old one that somebody
repeats: it is a guess, good for an answer within GUESS_S and where nothing else is known. Where it
contradicts what is known (a peer that restarted, or a repetition), datagrams go to ANYONE until one
that is addressed to us decides. So repeated datagrams can make us write openly for a moment, and
cannot cut us off from who is there. A peer that fell silent is written to openly, too: it may have
restarted without knowing us.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, NamedTuple

from p2pcrawl.wire.datagrams import ANYONE, Opened

HEARD_S: Final = 10.0
"""Some probes long: a peer that is alive is heard again by then."""
GUESS_S: Final = 1.0
ADDRESSES_MAX: Final = 4096


class BootBook:
    """The boot ids behind addresses; the longest silent ones are forgotten first."""

    def __init__(self, heard_s: float = HEARD_S, addresses_max: int = ADDRESSES_MAX) -> None:
        self._heard_s = heard_s
        self._addresses_max = addresses_max
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def heard(self, address: Hashable, opened: Opened, now: float) -> None:
        """Learns from a datagram that came from ``address``; call it before answering."""
        known = self._entries.get(address)
        if opened.addressed:
            entry = _Entry(opened.boot, now + self._heard_s)
        elif known is None or now >= known.until:
            entry = _Entry(opened.boot, now + GUESS_S)
        elif known.boot != opened.boot:
            entry = _Entry(ANYONE, now + self._heard_s)
        else:
            return
        self._entries[address] = entry
        self._entries.move_to_end(address)
        if len(self._entries) > self._addresses_max:
            self._entries.popitem(last=False)

    def boot_at(self, address: Hashable, now: float) -> bytes:
        """Whom to seal for: the process last heard there, or ANYONE."""
        entry = self._entries.get(address)
        return entry.boot if entry is not None and now < entry.until else ANYONE

    def __len__(self) -> int:
        return len(self._entries)


class _Entry(NamedTuple):
    boot: bytes
    until: float
