"""The guard of the networks: decides which addresses a crawl may reach.

Public addresses always pass. Link-local, metadata, multicast and reserved addresses never pass, whoever asks. Loopback
and private ones pass for a *host* that is open:

* A start URL opens its own host, if that is written as such an address, or is ``localhost`` or a name below it
  (RFC 6761: these are of this machine and of nobody else). What it opens is read from the URL alone
  (:func:`opened_by`), so it is a fact of the job, the same at all peers, before anything is fetched. A name never opens
  anything by what it resolves to: that is for whoever answers for the name to say.
* The user's setting opens everything, or the names, addresses and networks that it lists.

Judged are the address that the socket connects to, after DNS, together with the host that the URL names, so that
neither a name, a redirect nor another spelling of an address gets around it. The ports of peers are closed to every
crawl, whatever is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from p2pcrawl.fetch.connection.addresses import (
    LOOPBACK,
    NEVER_OPEN,
    PRIVATE,
    Address,
    Blocked,
    is_of_this_machine,
    judged,
    one_spelling,
    unwrapped,
)
from p2pcrawl.model.cluster.node import parse_address
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import ConfigurationError

__all__ = ["Blocked", "Networks", "endpoints_of", "is_private", "opened_by"]

Network = IPv4Network | IPv6Network
Endpoint = tuple[str, int]

_OPENED_BY_SEEDS: Final = frozenset({LOOPBACK, PRIVATE})


def opened_by(url: str) -> str:
    """Returns the host that this URL opens to its job if it is a start URL, in one spelling; "" when it opens
    nothing.
    """
    if not url.startswith(("http://", "https://")):
        return ""
    host = one_spelling(host_of(url))
    if _is_name_of_this_machine(host):
        return host
    return host if _kind_of(host) in _OPENED_BY_SEEDS else ""


def is_private(ip: str) -> bool:
    """Tells whether the address is one that a start URL can open: of this machine, or private."""
    return _kind_of(ip) in _OPENED_BY_SEEDS


def endpoints_of(addresses: Iterable[str]) -> frozenset[Endpoint]:
    """Returns the endpoints among the addresses that peers give for themselves. Names are left out: what a name leads
    to no guard could know.
    """
    found = set()
    for address in addresses:
        with suppress(ConfigurationError, Blocked):
            host, port = parse_address(address)
            found.add((str(unwrapped(host)), port))
    return frozenset(found)


class Networks:
    """The networks that are open to a job: ``opened`` are hosts of its start URLs, ``allowed`` is the user's setting,
    ``closed`` are endpoints that stay closed whatever is open.
    """

    def __init__(
        self, opened: Iterable[str] = (), allowed: bool | Sequence[str] = False, closed: Iterable[Endpoint] = ()
    ) -> None:
        self._opened = set(opened)
        self._all = allowed is True
        self._names: set[str] = set()
        self._below: tuple[str, ...] = ()
        self._allowed: list[Network] = []
        for each in allowed if not isinstance(allowed, bool) else ():
            self._allow(each)
        self.close(closed)

    def open(self, host: str) -> None:
        """Opens a host: a start URL names it."""
        self._opened.add(host)

    def close(self, endpoints: Iterable[Endpoint]) -> None:
        """Closes these endpoints, and no others, whatever is open: peers listen there."""
        self._closed = frozenset((unwrapped(ip), port) for ip, port in endpoints)
        self._closed_ports = frozenset(port for _, port in self._closed)

    def check(self, ip: str, *, host: str = "", port: int | None = None) -> None:
        """Raises Blocked unless a connection to ``ip`` is allowed for a URL with this ``host``; "": it names the
        address itself."""
        address, kind = judged(ip)
        if port in self._closed_ports and self._is_closed(address, port):
            raise Blocked(f"{ip} port {port} belongs to a peer of p2pcrawl")
        if not kind:
            return
        if kind in NEVER_OPEN:
            raise Blocked(f"{ip} is {kind}: such addresses are never fetched")
        if self._all or any(address in network for network in self._allowed):
            return
        host = one_spelling(host or ip)
        if kind in _OPENED_BY_SEEDS and (self._is_opened(host, kind) or self._is_allowed(host)):
            return
        named = f"{host} is {kind}" if host == str(address) else f"{host} leads to {ip}, {kind}"
        raise Blocked(f"{named}, and neither a start URL nor ALLOW_PRIVATE_NETWORKS names it")

    def _allow(self, text: str) -> None:
        """Allows a name, ``*.name`` for all below it, an address or a network."""
        if text.startswith("*."):
            self._below += (text[1:],)
            return
        try:
            self._allowed.append(ip_network(text, strict=False))
        except ValueError:
            self._names.add(text)

    def _is_opened(self, host: str, kind: str) -> bool:
        return host in self._opened and (kind == LOOPBACK or not _is_name_of_this_machine(host))

    def _is_allowed(self, host: str) -> bool:
        return host in self._names or (bool(self._below) and host.endswith(self._below))

    def _is_closed(self, address: Address, port: int | None) -> bool:
        for closed, closed_port in self._closed:
            if closed_port != port:
                continue
            # A peer that listens on one loopback address, or on all, is reached by every loopback address.
            if address == closed or (address.is_loopback and (closed.is_loopback or closed.is_unspecified)):
                return True
            if closed.is_unspecified and is_of_this_machine(address):
                return True
        return False


def _is_name_of_this_machine(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _kind_of(host: str) -> str:
    try:
        return judged(host)[1]
    except Blocked:
        return ""
