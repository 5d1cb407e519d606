"""Kinds of IP addresses: of the public network, of this machine, private, or nothing that a crawler has to do with.

An IPv6 spelling of an IPv4 address is that address, for every spelling that a kernel or a gateway would unwrap.
"""

from __future__ import annotations

import re
import socket
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from p2pcrawl.model.errors import P2PCrawlError

Address = IPv4Address | IPv6Address

PUBLIC: Final = ""
LOOPBACK: Final = "a loopback address"
PRIVATE: Final = "a private address"
SHARED: Final = "a carrier's shared address"
METADATA: Final = "a cloud metadata address"
LINK_LOCAL: Final = "a link-local address"
MULTICAST: Final = "a multicast address"
UNSPECIFIED: Final = "an unspecified address"
RESERVED: Final = "a reserved address"
NEVER_OPEN: Final = frozenset({METADATA, LINK_LOCAL, MULTICAST, UNSPECIFIED, RESERVED})
"""Kinds that nobody opens, not even the user."""


class Blocked(P2PCrawlError):
    """An address is out of bounds; the message names it and says why."""


@lru_cache(maxsize=4096)
def judged(ip: str) -> tuple[Address, str]:
    """Returns the address behind ``ip``, and its kind. Raises Blocked for what is no address."""
    address = unwrapped(ip)
    if isinstance(address, IPv4Address):
        # The first match decides; what matches nothing is public.
        return address, next((kind for kind, network in _KINDS_V4 if address in network), PUBLIC)
    for kind, v6 in _KINDS_V6:
        if address in v6:
            return address, kind
    return address, PUBLIC if address in _GLOBAL_UNICAST else RESERVED


def unwrapped(ip: str) -> Address:
    """Returns the address that is reached by ``ip``. Raises Blocked for what is none."""
    try:
        address = ip_address(ip.strip("[]").partition("%")[0])
    except ValueError:
        raise Blocked(f"{ip!r} is not an IP address") from None
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


@lru_cache(maxsize=4096)
def one_spelling(host: str) -> str:
    """Returns a URL's host in one spelling: addresses in full, also from 127.1 and 2130706433, names in lower case."""
    name = host.lower().rstrip(".")
    try:
        return str(unwrapped(name))
    except Blocked:
        pass
    if _NUMBERS(name) is not None:
        try:
            return str(IPv4Address(socket.inet_aton(name)))
        except OSError:
            pass
    return name


@lru_cache(maxsize=4096)
def is_of_this_machine(address: Address) -> bool:
    """Tells whether one of this machine's interfaces has the address."""
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


_NUMBERS: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}\Z").match
"""What the C library takes for an IPv4 address."""
_KINDS_V4: Final = [
    (kind, IPv4Network(cidr))
    for kind, cidr in (
        (LOOPBACK, "127.0.0.0/8"),
        (PRIVATE, "10.0.0.0/8"),
        (PRIVATE, "172.16.0.0/12"),
        (PRIVATE, "192.168.0.0/16"),
        (METADATA, "169.254.169.254/32"),
        (METADATA, "169.254.170.2/32"),
        (METADATA, "100.100.100.200/32"),
        (METADATA, "192.0.0.192/32"),
        (LINK_LOCAL, "169.254.0.0/16"),
        (SHARED, "100.64.0.0/10"),
        (UNSPECIFIED, "0.0.0.0/8"),
        (MULTICAST, "224.0.0.0/4"),
        (RESERVED, "192.0.0.0/24"),
        (RESERVED, "192.0.2.0/24"),
        (RESERVED, "192.88.99.0/24"),
        (RESERVED, "198.18.0.0/15"),
        (RESERVED, "198.51.100.0/24"),
        (RESERVED, "203.0.113.0/24"),
        (RESERVED, "240.0.0.0/4"),
    )
]
_KINDS_V6: Final = [
    (kind, IPv6Network(cidr))
    for kind, cidr in (
        (LOOPBACK, "::1/128"),
        (METADATA, "fd00:ec2::254/128"),
        (METADATA, "fd20:ce::254/128"),
        (PRIVATE, "fc00::/7"),
        (UNSPECIFIED, "::/128"),
        (LINK_LOCAL, "fe80::/10"),
        (MULTICAST, "ff00::/8"),
        # Teredo, ORCHID, documentation and benchmarks: nothing that serves pages.
        (RESERVED, "2001::/23"),
        (RESERVED, "2001:db8::/32"),
        (RESERVED, "3fff::/20"),
    )
]
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")
