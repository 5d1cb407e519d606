"""Which networks a crawl may reach.

Public addresses always pass. Loopback and private ones pass when their network is open: the user
said so, or a start URL lives there. Link-local, metadata, multicast and reserved addresses never
pass, whoever asks. Judged is the address that the socket connects to, after DNS, so that a name, a
redirect or an IPv6 spelling of an IPv4 address cannot get around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from p2pcrawl.model.errors import P2PCrawlError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Blocked(P2PCrawlError):
    """An address is out of bounds; the message names it and says why."""


class Networks:
    """What is open, and which single endpoints are closed (the peers' own ports)."""

    def __init__(
        self,
        open: Iterable[str] = (),
        allow_private: bool = False,
        closed: Iterable[tuple[str, int]] = (),
    ) -> None:
        self._allow_private = allow_private
        self._open = [ip_network(cidr, strict=False) for cidr in open]
        self._closed = frozenset((_unwrapped(ip), port) for ip, port in closed)
        self._closed_ports = frozenset(port for _, port in self._closed)

    def open(self, cidr: str) -> None:
        """Let addresses of ``cidr`` pass from now on, except those that never do."""
        network = ip_network(cidr, strict=False)
        if network not in self._open:
            self._open.append(network)

    def check(self, ip: str, *, seed: bool = False, port: int | None = None) -> None:
        """Raise Blocked unless a connection to ``ip`` is allowed.

        ``seed``: a start URL asked, which may enter loopback and private networks.
        """
        address, kind, opens = _judged(ip)
        if port in self._closed_ports and self._is_closed(address, port):
            raise Blocked(f"{ip} port {port} belongs to a peer of this cluster")
        if not kind:
            return
        if kind in _NEVER_OPEN:
            raise Blocked(f"{ip} is {kind}: such addresses are never fetched")
        if self._allow_private or (seed and opens) or any(address in network for network in self._open):
            return
        raise Blocked(f"{ip} is {kind}, and no start URL opened its network (see ALLOW_PRIVATE_NETWORKS)")

    def opened_by(self, ip: str) -> str | None:
        """The network that a start URL at ``ip`` opens; None when it needs none or may open none."""
        return _judged(ip)[2]

    def _is_closed(self, address: Address, port: int | None) -> bool:
        for closed, closed_port in self._closed:
            # A peer that listens on one loopback address, or on all, is reached by every loopback address.
            same = address == closed or (address.is_loopback and (closed.is_loopback or closed.is_unspecified))
            if same and closed_port == port:
                return True
        return False


_LOOPBACK: Final = "a loopback address"
_PRIVATE: Final = "a private address"
_SHARED: Final = "a carrier's shared address"
_METADATA: Final = "a cloud metadata address"
_LINK_LOCAL: Final = "a link-local address"
_MULTICAST: Final = "a multicast address"
_UNSPECIFIED: Final = "an unspecified address"
_RESERVED: Final = "a reserved address"
_NEVER_OPEN: Final = frozenset({_METADATA, _LINK_LOCAL, _MULTICAST, _UNSPECIFIED, _RESERVED})

# Kind, network, and what a start URL there opens. The first match decides; what matches nothing is public.
_KINDS_V4: Final = [
    (kind, IPv4Network(cidr), opens)
    for kind, cidr, opens in (
        (_LOOPBACK, "127.0.0.0/8", "127.0.0.0/8"),
        (_PRIVATE, "10.0.0.0/8", "10.0.0.0/8"),
        (_PRIVATE, "172.16.0.0/12", "172.16.0.0/12"),
        (_PRIVATE, "192.168.0.0/16", "192.168.0.0/16"),
        (_METADATA, "169.254.169.254/32", None),
        (_METADATA, "169.254.170.2/32", None),
        (_METADATA, "100.100.100.200/32", None),
        (_METADATA, "192.0.0.192/32", None),
        (_LINK_LOCAL, "169.254.0.0/16", None),
        (_SHARED, "100.64.0.0/10", None),
        (_UNSPECIFIED, "0.0.0.0/8", None),
        (_MULTICAST, "224.0.0.0/4", None),
        (_RESERVED, "192.0.0.0/24", None),
        (_RESERVED, "192.0.2.0/24", None),
        (_RESERVED, "192.88.99.0/24", None),
        (_RESERVED, "198.18.0.0/15", None),
        (_RESERVED, "198.51.100.0/24", None),
        (_RESERVED, "203.0.113.0/24", None),
        (_RESERVED, "240.0.0.0/4", None),
    )
]
_KINDS_V6: Final = [
    (kind, IPv6Network(cidr), opens)
    for kind, cidr, opens in (
        (_LOOPBACK, "::1/128", "::1/128"),
        (_METADATA, "fd00:ec2::254/128", None),
        (_METADATA, "fd20:ce::254/128", None),
        (_PRIVATE, "fc00::/7", "fc00::/7"),
        (_UNSPECIFIED, "::/128", None),
        (_LINK_LOCAL, "fe80::/10", None),
        (_MULTICAST, "ff00::/8", None),
        # Teredo, ORCHID, documentation and benchmarks: nothing that serves pages.
        (_RESERVED, "2001::/23", None),
        (_RESERVED, "2001:db8::/32", None),
        (_RESERVED, "3fff::/20", None),
    )
]
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")


@lru_cache(maxsize=4096)
def _judged(ip: str) -> tuple[Address, str, str | None]:
    """The address behind ``ip``, its kind ("" for public), and what it opens."""
    address = _unwrapped(ip)
    if isinstance(address, IPv4Address):
        for kind, v4, opens in _KINDS_V4:
            if address in v4:
                return address, kind, opens
        return address, "", None
    for kind, v6, opens in _KINDS_V6:
        if address in v6:
            return address, kind, opens
    return address, "" if address in _GLOBAL_UNICAST else _RESERVED, None


def _unwrapped(ip: str) -> Address:
    """The IPv4 address inside an IPv6 one, for all spellings that a kernel or gateway would unwrap."""
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
