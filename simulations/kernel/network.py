"""The network between the nodes: addresses, names, laws, cuts, and the way of every packet.

Every direction between two machines is a :class:`Path` with its own law and dice.
Faults are said in words: ``cut``, ``partition``, ``heal``, ``set_law``. What a fault does to packets that
are on their way is decided when they arrive, as on a real wire that was pulled.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from .connections import End, Pipe, os_error
from .events import EventLog
from .life import Life, current_life
from .paths import LOOPBACK, Law, Path
from .sockets import SocketAddress, is_numeric, socket_address

if TYPE_CHECKING:
    from .datagrams import DatagramTransport
    from .loop import SimLoop
    from .node import Node
    from .servers import Server

Where = tuple[str, int]
AddressInfo = tuple[socket.AddressFamily, socket.SocketKind, int, str, SocketAddress]
T = TypeVar("T")

_ANY = ("0.0.0.0", "::")
_LOCAL = {"localhost": ["127.0.0.1"], "127.0.0.1": ["127.0.0.1"], "::1": ["::1"]}


@dataclass(slots=True)
class Traffic:
    """The traffic of one node or of all, and what became of datagrams."""

    datagrams: int = 0
    datagram_bytes: int = 0
    segments: int = 0
    segment_bytes: int = 0
    retransmitted: int = 0
    delivered: int = 0
    lost: int = 0
    duplicated: int = 0
    unheard: int = 0
    """Nobody listened, nobody had that address, or a sleeping program's queue was full."""


class Network:
    """The network of a world: carries every packet by the law of its path. Made by the world."""

    def __init__(self, loop: SimLoop, seed: object, log: EventLog, law: Law | None = None) -> None:
        self.loop = loop
        self.log = log
        self.traffic = Traffic()
        self.stream_patience_s = 924.6
        """How long a sender repeats itself before its connection breaks; Linux' 15 retransmissions."""
        self.connect_patience_s = 127.0
        """How long a connection attempt without any answer lasts; Linux' 6 retransmissions."""
        self.hash_payloads = True
        """Let the trace depend on what packets say, not only on their sizes. Off for TLS, whose dice are its own."""
        self.filters: list[Callable[[Node, Node, bytes], bool]] = []
        """Asked about each datagram: from whom, to whom, what. False drops it."""
        self.taps: list[Callable[[Node, Node, bytes], None]] = []
        """Told of each piece of a stream that arrives: from whom, to whom, what."""
        self._seed = seed
        self._law = law or Law()
        self._laws: dict[tuple[str | None, str | None], Law] = {}
        self._paths: dict[tuple[str, str], Path] = {}
        self._cuts: set[tuple[str, str]] = set()
        self._sides: dict[str, int] = {}
        self._owners: dict[str, Node] = {}
        self._names: dict[str, list[str]] = dict(_LOCAL)

    # -- addresses and names

    def assign(self, node: Node, address: str) -> None:
        """Gives a node one more address."""
        if address in self._owners:
            raise ValueError(f"{address} belongs to {self._owners[address].name} already")
        self._owners[address] = node
        node.addresses.append(address)

    def name(self, host: str, *addresses: str) -> None:
        """Lets a host name resolve to these addresses; to nothing if there are none."""
        self._names[host.lower()] = list(addresses)

    def resolve(self, host: str) -> list[str]:
        """Returns the addresses of a host name. Raises socket.gaierror if there are none."""
        found = self._names.get(host.lower().rstrip("."))
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, f"Name or service not known: {host}")
        return found

    def getaddrinfo(
        self,
        host: str | None,
        port: bytes | str | int | None,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[AddressInfo]:
        """Resolves names as socket.getaddrinfo does."""
        if not host:
            addresses = ["0.0.0.0" if flags & socket.AI_PASSIVE else "127.0.0.1"]
        else:
            addresses = [host] if is_numeric(host) else self.resolve(host)
        kinds = [socket.SocketKind(type)] if type else [socket.SOCK_STREAM, socket.SOCK_DGRAM]
        found: list[AddressInfo] = []
        for address in addresses:
            own = socket.AF_INET6 if ":" in address else socket.AF_INET
            if family in (0, own):
                found += [(own, kind, proto, "", socket_address(address, int(port or 0))) for kind in kinds]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, f"no address of that family: {host}")
        return found

    # -- faults

    @property
    def law(self) -> Law:
        """The law of the whole network, where no closer one holds."""
        return self._law

    def set_law(self, law: Law, *, source: Node | None = None, target: Node | None = None) -> None:
        """Gives a law to one direction, to all that leaves or reaches a node, or to the whole network.

        The closest wins: both ends, then the source, then the target, then the whole.
        """
        if source is None and target is None:
            self._law = law
        else:
            self._laws[_key(source, target)] = law
        self._review()
        self._note(f"law {_name(source)} -> {_name(target)}: {law}")

    def change_law(self, *, source: Node | None = None, target: Node | None = None, **changes: Any) -> None:
        """Changes some values of a law, as in ``change_law(loss=0.3)``."""
        old = self._laws.get(_key(source, target), self._law)
        self.set_law(replace(old, **changes), source=source, target=target)

    def cut(self, source: Node, target: Node, *, both_ways: bool = False) -> None:
        """Lets nothing through from source to target, until healed."""
        self._cuts.add((source.name, target.name))
        if both_ways:
            self._cuts.add((target.name, source.name))
        self._review()
        self._note(f"cut {source.name} {'<->' if both_ways else '->'} {target.name}")

    def partition(self, *groups: Iterable[Node]) -> None:
        """Lets nothing through between different groups. A node in no group reaches all: a bridge."""
        self._sides = {node.name: side for side, group in enumerate(groups) for node in group}
        self._review()
        self._note(f"partition into {len(groups)} groups: {self._sides}")

    def isolate(self, node: Node) -> None:
        """Cuts a node from all others, both ways."""
        for other in dict.fromkeys(self._owners.values()):
            if other is not node:
                self._cuts.update(((node.name, other.name), (other.name, node.name)))
        self._review()
        self._note(f"isolate {node.name}")

    def heal(self, source: Node | None = None, target: Node | None = None) -> None:
        """Undoes the cuts from source to target; without arguments all cuts and the partition."""
        if source is None and target is None:
            self._sides = {}
        self._cuts = {
            (left, right)
            for left, right in self._cuts
            if (source is not None and left != source.name) or (target is not None and right != target.name)
        }
        self._review()
        self._note(f"heal {_name(source)} -> {_name(target)}")

    def path(self, source: Node, target: Node) -> Path:
        """Returns the direction from one node to another."""
        key = (source.name, target.name)
        path = self._paths.get(key)
        if path is None:
            path = Path(self._seed, source, target, self._law_of(key), self._is_cut(key))
            self._paths[key] = path
        return path

    @property
    def parted(self) -> bool:
        """True if anything is cut off from anything else."""
        return bool(self._cuts or self._sides)

    def _review(self) -> None:
        for key, path in self._paths.items():
            path.law = self._law_of(key)
            path.cut = self._is_cut(key)

    def _law_of(self, key: tuple[str, str]) -> Law:
        source, target = key
        if source == target:
            return LOOPBACK
        laws = self._laws
        return laws.get(key) or laws.get((source, None)) or laws.get((None, target)) or self._law

    def _is_cut(self, key: tuple[str, str]) -> bool:
        source, target = key
        if source == target:
            return False
        sides = self._sides
        return key in self._cuts or (source in sides and target in sides and sides[source] != sides[target])

    # -- datagrams

    def bind_datagrams(self, node: Node, local: Where, transport: DatagramTransport) -> None:
        node.datagram_ports[local] = transport

    def unbind_datagrams(self, node: Node, local: Where) -> None:
        node.datagram_ports.pop(local, None)

    def send_datagram(self, node: Node, local: Where, to: Where, data: bytes) -> None:
        """Puts a datagram on its way; it may never arrive."""
        traffic = self.traffic
        traffic.datagrams += 1
        traffic.datagram_bytes += len(data)
        node.traffic.datagrams += 1
        node.traffic.datagram_bytes += len(data)
        target = self._owner(node, to[0])
        if target is None:
            traffic.unheard += 1
            return
        source = (self._source_ip(node, local[0], to[0]), local[1])
        self._launch(self.path(node, target), source, to, data)

    def inject(self, source: Where, to: Where, data: bytes) -> None:
        """Sends a datagram in somebody's name. The source must be an address of a node, or it comes from the target."""
        target = self._owners[to[0]]
        self._launch(self.path(self._owners.get(source[0], target), target), source, to, data)

    def _launch(self, path: Path, source: Where, to: Where, data: bytes) -> None:
        loop = self.loop
        arrivals = path.arrivals(loop.now, len(data))
        if len(arrivals) != 1:
            if arrivals:
                self.traffic.duplicated += 1
            else:
                self.traffic.lost += 1
        if self.log.packets:
            fate = "" if arrivals else " (lost)"
            self._note(f"datagram {_text(source)} -> {_text(to)} {len(data)} bytes{fate}", path.source.name)
        for when in arrivals:
            loop.world_at(when, self._datagram_arrives, path, source, to, data)

    def _datagram_arrives(self, path: Path, source: Where, to: Where, data: bytes) -> None:
        if self.hash_payloads:
            self.loop.witness_bytes(data)
        target = path.target
        if path.closed or not all(passes(path.source, target, data) for passes in self.filters):
            self.traffic.lost += 1
            return
        port = _bound(target.datagram_ports, to)
        if port is None:
            self.traffic.unheard += 1
            self.loop.world_at(self.loop.now + path.law.latency_s, self._refusal_arrives, path.source, source, to)
        elif port.deliver(data, source):
            self.traffic.delivered += 1
        else:
            self.traffic.unheard += 1

    def _refusal_arrives(self, node: Node, local: Where, remote: Where) -> None:
        port = _bound(node.datagram_ports, local)
        if port is not None and port.remote == remote and not self.path(port.node, node).closed:
            port.refused()

    # -- streams

    def bind_server(self, server: Server, addresses: list[Where]) -> Node:
        """Lets a server listen. Raises OSError if an address is taken or not the node's own."""
        node = current_life().node
        for address in addresses:
            node.check_own(address[0])
            if _bound(node.listeners, address) is not None:
                raise OSError(errno.EADDRINUSE, f"error while attempting to bind on address {address}: in use")
        for address in addresses:
            node.listeners[address] = server
        return node

    def unbind_server(self, node: Node, addresses: list[Where]) -> None:
        for address in addresses:
            node.listeners.pop(address, None)

    def pair(self, left: Life, right: Life) -> tuple[End, End]:
        """Connects two ends, as socketpair() does."""
        one = (left.node.addresses[0], left.node.free_port())
        other = (right.node.addresses[0], right.node.free_port())
        return self._join(left, one, right, other)

    async def connect(self, to: Where, bound: Where | None = None) -> End:
        """Connects the running life. Raises OSError as connect() does, after as long as it would take."""
        life, loop = current_life(), self.loop
        node = life.node
        local = (bound or ("", 0))[1] or node.free_port()
        source = (self._source_ip(node, (bound or _ANY)[0], to[0]), local)
        answer: asyncio.Future[End] = loop.create_future()
        started, wait_s = loop.now, 1.0
        try:
            while not answer.done():
                left_s = started + self.connect_patience_s - loop.now
                if left_s <= 0:
                    raise os_error(errno.ETIMEDOUT)
                self._knock(life, source, to, answer)
                await asyncio.wait([answer], timeout=min(wait_s, left_s))
                wait_s *= 2
            return answer.result()
        except asyncio.CancelledError:
            if answer.done() and answer.exception() is None:
                answer.result().close(polite=False)
            raise
        finally:
            # A connection that comes about all the same finds nobody and is reset.
            answer.cancel()

    def _knock(self, life: Life, source: Where, to: Where, answer: asyncio.Future[End]) -> None:
        """Sends the first packet of a connection."""
        node = life.node
        if self.log.packets:
            self._note(f"connect {_text(source)} -> {_text(to)}", node.name)
        target = self._owner(node, to[0])
        if target is None:
            return
        path = self.path(node, target)
        if not path.cut and not path.loses():
            self.loop.world_at(self.loop.now + path.delay(), self._knocked, life, path, source, to, answer)

    def _knocked(self, life: Life, path: Path, source: Where, to: Where, answer: asyncio.Future[End]) -> None:
        back = self.path(path.target, path.source)
        if path.closed or back.closed or back.loses() or life.dead or answer.done():
            return
        when = self.loop.now + back.delay()
        server = _bound(path.target.listeners, to)
        if server is None:
            self.loop.node_at(when, life.context, _refuse, answer)
            return
        if server.queued >= max(server.backlog, 1):
            return
        assert path.target.life is not None
        ours, theirs = self._join(life, source, path.target.life, to)
        self.loop.node_at(when, life.context, _accept, answer, ours)
        server.offer(theirs)

    def _join(self, left: Life, source: Where, right: Life, to: Where) -> tuple[End, End]:
        ours, theirs = End(self, left, source, to), End(self, right, to, source)
        path, back = self.path(left.node, right.node), self.path(right.node, left.node)
        ours.out = theirs.into = Pipe(self, ours, theirs, path, back)
        theirs.out = ours.into = Pipe(self, theirs, ours, back, path)
        return ours, theirs

    def count_segment(self, path: Path, data: bytes) -> None:
        traffic, own = self.traffic, path.source.traffic
        traffic.segments += 1
        traffic.segment_bytes += len(data)
        own.segments += 1
        own.segment_bytes += len(data)

    def witness_segment(self, path: Path, data: bytes) -> None:
        if self.hash_payloads:
            self.loop.witness_bytes(data)
        else:
            self.loop.witness(len(data))
        for tap in self.taps:
            tap(path.source, path.target, data)
        if self.log.packets:
            self._note(f"stream to {path.target.name}: {f'{len(data)} bytes' if data else 'end'}", path.source.name)

    # -- routes

    def owner(self, ip: str) -> Node | None:
        """Returns the node that has this address; None if none has."""
        return self._owners.get(ip)

    def _owner(self, node: Node, ip: str) -> Node | None:
        if ip.startswith("127.") or ip == "::1" or ip in _ANY:
            return node
        return self._owners.get(ip)

    def _source_ip(self, node: Node, bound: str, to: str) -> str:
        if bound and bound not in _ANY:
            return bound
        if to.startswith("127.") or to == "::1":
            return to
        return next((ip for ip in node.addresses if (":" in ip) == (":" in to)), node.addresses[0])

    def _note(self, what: str, who: str = "network") -> None:
        self.log.add(self.loop.now, who, what)


def _bound(ports: dict[Where, T], to: Where) -> T | None:
    return ports.get(to) or ports.get(("0.0.0.0", to[1])) or ports.get(("::", to[1]))


def _accept(answer: asyncio.Future[End], end: End) -> None:
    if answer.done():
        end.close(polite=False)
    else:
        answer.set_result(end)


def _refuse(answer: asyncio.Future[End]) -> None:
    if not answer.done():
        answer.set_exception(os_error(errno.ECONNREFUSED))


def _key(source: Node | None, target: Node | None) -> tuple[str | None, str | None]:
    return (None if source is None else source.name, None if target is None else target.name)


def _name(node: Node | None) -> str:
    return "all" if node is None else node.name


def _text(where: Where) -> str:
    return f"{where[0]}:{where[1]}"
