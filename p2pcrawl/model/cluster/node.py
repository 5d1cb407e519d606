"""Peers by name and by address, and what a member of the overlay says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import NewType

from p2pcrawl.model.errors import ConfigurationError

NodeId = NewType("NodeId", str)
"""40 hex digits: the blake2b-160 of an Ed25519 public key."""

Address = NewType("Address", str)
"""``host:port``; an IPv6 host stands in brackets."""

DEFAULT_PORT = 7117
API_PORT = 7180
"""The port of a peer's API, unless it is told of another one, or has had another one before; taken, the next ones."""
NODE_ID_BYTES = 20
BOOT_BYTES = 8
STORE_BYTES = 16
"""A bitmap of 4,096 buckets."""
WEIGHT_MAX = 16
ADDRESS_CHARS_MAX = 261
"""A DNS name of 253 characters, a colon and a port, with room for brackets."""
INCARNATION_MAX = (1 << 63) - 1
"""Far above any that is in reach (:mod:`p2pcrawl.core.membership.leaps`)."""

_ADDRESS = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|(?P<host>[\w.-]+))(?::(?P<port>[0-9]{1,5}))?\Z", re.A
)
_NODE_ID = re.compile(r"[0-9a-f]{40}\Z")


class Status(IntEnum):
    """The cluster's verdict on a member. Of two verdicts on the same incarnation the greater one wins."""

    ALIVE = 0
    SUSPECT = 1
    DEAD = 2
    """It is away, and may know what nobody else knows: declared dead, or gone without having handed everything over."""
    LEFT = 3
    """It has said good-bye, and those that stay have confirmed that they have all that it had."""


@dataclass(frozen=True, slots=True)
class Member:
    """One master as the overlay knows it."""

    id: NodeId
    address: Address
    incarnation: int
    status: Status
    weight: int
    """Capacity in coarse steps, 1 to 16."""
    boot: bytes
    """Eight random bytes, new with each start of the process."""
    store: bytes
    """Sixteen random bytes, new with each new data folder: another one is an empty copy."""
    leaving: bool = False
    """The member gives its buckets away and takes none. Whether others have them already is not said with it."""
    api: Address | str = ""
    """Where its HTTP API listens; empty: nowhere."""

    @property
    def living(self) -> bool:
        """Counts for ownership: not declared dead and not gone. A suspect is living."""
        return self.status <= Status.SUSPECT

    def check(self) -> None:
        """Raises ValueError when a field is outside what may travel."""
        if not _NODE_ID.match(self.id):
            raise ValueError(f"a node id is {NODE_ID_BYTES * 2} lower-case hex digits, not {self.id!r}")
        if not is_address(self.address):
            raise ValueError(f"a member's address is host:port, not {self.address!r}")
        if self.api and not is_address(self.api):
            raise ValueError(f"a member's API address is host:port or empty, not {self.api!r}")
        if not 0 <= self.incarnation <= INCARNATION_MAX:
            raise ValueError(f"an incarnation is 0 to {INCARNATION_MAX}, not {self.incarnation}")
        if not 1 <= self.weight <= WEIGHT_MAX:
            raise ValueError(f"a weight is 1 to {WEIGHT_MAX}, not {self.weight}")
        if len(self.boot) != BOOT_BYTES or len(self.store) != STORE_BYTES:
            raise ValueError(f"a boot id has {BOOT_BYTES} bytes and a store id {STORE_BYTES}")


def parse_address(text: str, default_port: int | None = None) -> tuple[str, int]:
    """Reads a host (without brackets) and a port. Raises ConfigurationError with one clear line."""
    text = text.strip()
    match = _ADDRESS.match(text) if len(text) <= ADDRESS_CHARS_MAX else None
    if match is None:
        if "://" in text:
            raise ConfigurationError(f"{text}: a peer's address is host:port, without a scheme such as http://")
        if text.count(":") > 1 and not text.startswith("["):
            raise ConfigurationError(f"{text}: write an IPv6 address in brackets, such as [::1]:{DEFAULT_PORT}")
        raise ConfigurationError(f"{text or 'an empty text'} is not an address: write host:port")
    port = match["port"]
    if port is None:
        if default_port is None:
            raise ConfigurationError(f"{text}: the port is missing: write {text}:{DEFAULT_PORT}")
        return match["v6"] or match["host"], default_port
    if not 0 < int(port) < 65536:
        raise ConfigurationError(f"{text}: a port is 1 to 65535, not {port}")
    return match["v6"] or match["host"], int(port)


def format_address(host: str, port: int) -> Address:
    """Writes a host and a port in the one way in which they are written."""
    return Address(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def is_address(text: str) -> bool:
    """Tells whether ``text`` is a host with a port, as it may travel."""
    if len(text) > ADDRESS_CHARS_MAX:
        return False
    match = _ADDRESS.match(text)
    return match is not None and match["port"] is not None and 0 < int(match["port"]) < 65536
