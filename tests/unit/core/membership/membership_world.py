"""Many memberships over a tiny network in virtual time: seeded loss, delay, cuts, pauses and crashes.

One heap of (time, number, action). Messages travel as their real bytes. Nothing reads a clock; the same seed
gives the same run.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from p2pcrawl.core.membership.swim import Event, EventKind, Membership, MembershipConfig, MembershipOutput
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status
from p2pcrawl.wire.messages.gossip import decode_gossip, decode_push_pull, encode_gossip, encode_push_pull

SEALED = 80
"""What sealing adds to each datagram, counted into bytes."""


def member(number: int, rng: Random, **fields: Any) -> Member:
    """A fresh member; its number is in its id and address."""
    return replace(
        Member(
            id=NodeId(f"{number:040x}"),
            address=Address(f"10.0.0.{number}:7117"),
            incarnation=1,
            status=Status.ALIVE,
            weight=4,
            boot=rng.randbytes(8),
            store=rng.randbytes(16),
            api=Address(f"10.0.0.{number}:7180"),
        ),
        **fields,
    )


class Node:
    """One process: a membership, its timer, and what happened to it."""

    def __init__(self, world: World, me: Member) -> None:
        self.world = world
        self.address = me.address
        self.machine = Membership(me, world.config, Random(world.rng.getrandbits(64)))
        self.running = True
        self.paused = False
        self.waiting: list[Callable[[], None]] = []
        self.events: list[tuple[float, Event]] = []
        self.sent: Counter[str] = Counter()
        self.largest = 0
        self.timer_at = float("inf")

    def happened(self, *kinds: EventKind) -> list[tuple[float, Event]]:
        return [(at, event) for at, event in self.events if event.kind in kinds]

    def do(self, action: Callable[[], MembershipOutput]) -> None:
        """Runs a call of the machine and performs its output; a paused process does it when it goes on."""
        if not self.running:
            return
        if self.paused:
            self.waiting.append(lambda: self.do(action))
            return
        self.world.perform(self, action())
        self.arm()

    def arm(self) -> None:
        at = self.machine.next_at
        if at < self.timer_at or self.timer_at <= self.world.now:
            self.timer_at = at
            self.world.at(at, lambda: self.fire(at))

    def fire(self, at: float) -> None:
        if self.timer_at != at or not self.running:
            return
        self.timer_at = float("inf")
        if self.paused:
            # The timer of a stopped process is the first thing it sees when it goes on: the worst order.
            self.waiting.insert(0, lambda: self.do(lambda: self.machine.tick(self.world.now)))
        elif self.machine.next_at > self.world.now:
            self.arm()
        else:
            self.do(lambda: self.machine.tick(self.world.now))

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        waiting, self.waiting = self.waiting, []
        for action in waiting:
            action()
        self.arm()

    def kill(self) -> None:
        self.running = False


class World:
    """The network and all nodes."""

    def __init__(self, seed: int, *, loss: float = 0.0, config: MembershipConfig | None = None) -> None:
        self.rng = Random(seed)
        self.config = config or MembershipConfig()
        self.loss = loss
        self.now = 0.0
        self.nodes: dict[Address, Node] = {}
        self.groups: dict[Address, int] = {}
        self.cuts: set[tuple[Address, Address]] = set()
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, when: float, action: Callable[[], None]) -> None:
        if when < float("inf"):
            self._number += 1
            heapq.heappush(self._heap, (when, self._number, action))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        at_once = 0
        while self._heap and self._heap[0][0] <= end:
            at, _, action = heapq.heappop(self._heap)
            at_once = at_once + 1 if at == self.now else 0
            assert at_once < 10_000, "time stands still"
            self.now = at
            action()
        self.now = end

    def run_until(self, condition: Callable[[], bool], within: float) -> float:
        """Virtual seconds until the condition held; fails the test when it never did."""
        start = self.now
        while self.now - start < within:
            self.run(0.25)
            if condition():
                return self.now - start
        raise AssertionError(f"not within {within} s of virtual time")

    def spawn(self, me: Member, join: Iterable[Address] = ()) -> Node:
        node = self.nodes[me.address] = Node(self, me)
        node.machine.start(self.now)
        node.do(lambda: node.machine.join(self.now, list(join)))
        node.arm()
        return node

    def cluster(self, size: int, **fields: Any) -> list[Node]:
        """A cluster that has found itself."""
        first = Address("10.0.0.1:7117")
        nodes = [self.spawn(member(n, self.rng, **fields), [first] if n > 1 else []) for n in range(1, size + 1)]
        self.run_until(lambda: all(len(node.machine.alive()) == size for node in nodes), 90.0)
        self.run(10.0)
        for node in nodes:
            node.events.clear()
            node.sent.clear()
        return nodes

    def partition(self, *groups: Iterable[Node]) -> None:
        self.groups = {node.address: number for number, group in enumerate(groups) for node in group}

    def cut(self, source: Node, target: Node) -> None:
        """Lets nothing through from ``source`` to ``target`` any more; the way back stays open."""
        self.cuts.add((source.address, target.address))

    def heal(self) -> None:
        self.groups = {}
        self.cuts = set()

    def connected(self, a: Address, b: Address) -> bool:
        return (a, b) not in self.cuts and self.groups.get(a, 0) == self.groups.get(b, 0)

    def perform(self, node: Node, out: MembershipOutput) -> None:
        node.events.extend((self.now, event) for event in out.events)
        for address, message in out.datagrams:
            data = encode_gossip(message)
            node.sent["datagrams"] += 1
            node.sent["bytes"] += len(data) + SEALED
            node.largest = max(node.largest, len(data) + SEALED)
            if self.connected(node.address, address) and self.rng.random() >= self.loss:
                self.at(self.now + self._delay(), partial(self._deliver, node.address, address, data))
        for address in out.sync_with:
            self.at(self.now + 3 * self._delay(), partial(self._request, node, address))

    def _delay(self) -> float:
        return 0.0005 + self.rng.expovariate(500.0)

    def _deliver(self, sender: Address, address: Address, data: bytes) -> None:
        node = self.nodes.get(address)
        if node is not None:
            node.do(lambda: node.machine.receive(self.now, sender, decode_gossip(data)))

    def _request(self, node: Node, address: Address) -> None:
        """A stream exchange: TCP repairs loss, not cuts."""
        other = self.nodes.get(address)
        if other is None or not node.running or node.paused or not self.connected(node.address, address):
            return
        sent = encode_push_pull(node.machine.push_pull_message(self.now))
        node.sent["stream bytes"] += len(sent)
        node.sent["exchanges"] += 1

        def answer() -> MembershipOutput:
            reply = encode_push_pull(other.machine.push_pull_message(self.now))
            other.sent["stream bytes"] += len(reply)
            if self.connected(address, node.address):
                self.at(self.now + self._delay(), lambda: node.do(lambda: finish(reply)))
            return other.machine.receive_push_pull(self.now, node.address, decode_push_pull(sent))

        def finish(reply: bytes) -> MembershipOutput:
            return node.machine.receive_push_pull(self.now, address, decode_push_pull(reply))

        other.do(answer)


def deaths(nodes: Iterable[Node]) -> list[tuple[float, Event]]:
    return [found for node in nodes for found in node.happened(EventKind.DIED)]


def stall_at_random(
    world: World, nodes: Iterable[Node], until: float, stall_s: float = 5.0, gap_s: float = 10.0
) -> None:
    """Each node is stopped for up to ``stall_s``, again and again, with gaps up to ``gap_s``."""
    for node in nodes:

        def stop(node: Node = node) -> None:
            if world.now < until:
                node.pause()
                world.at(world.now + world.rng.uniform(0.0, stall_s), lambda: go_on(node))

        def go_on(node: Node) -> None:
            node.resume()
            world.at(world.now + world.rng.uniform(0.0, gap_s), lambda: stop(node))

        world.at(world.now + world.rng.uniform(0.0, gap_s), stop)
