"""The ledger of copies: says on which copies of its buckets an owner may count.

The theory. A copy counts from the moment at which its holder has been brought to what the owner has, while all that
happens meanwhile goes to it too. It stops counting when its holder is another process than then (it may have lost what
it had not yet answered), has another store, or is not a holder any more; and when something came into its bucket in
another way. Where that happens while the holder is being brought to what we have, it does not count then. What a
bucket's copies are worth to whoever asks for an acknowledgement follows: with R synced stores, the owner's own among
them, a fact is *settled*; with fewer it is *provisional*.

``docs/copies.md`` tells the whole protocol.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from p2pcrawl.model.cluster.node import Member, NodeId


@dataclass(slots=True)
class _Holder:
    boot: bytes
    store: bytes
    generation: int = 0
    """Raised when something of what was begun with it before does not count."""
    void_at: int = 0
    """The generation from which on anything counts that was begun with it,"""
    doubted_at: dict[int, int] = field(default_factory=dict)
    """and that of buckets of which less does."""
    held: set[int] = field(default_factory=set)
    """Buckets of ours that it is to hold."""
    synced: set[int] = field(default_factory=set)
    """Of these: those that count."""

    @property
    def lacking(self) -> int:
        return len(self.held) - len(self.synced)

    def counts(self, bucket: int, generation: int) -> bool:
        """Tells whether its copy of a bucket counts, if it was brought to what we have from that generation on."""
        return bucket in self.held and generation >= max(self.void_at, self.doubted_at.get(bucket, 0))


@dataclass(slots=True)
class Copying:
    """Keeps, for each of an owner's buckets, which of its holders have a synced copy, and which of them lack what."""

    me: NodeId
    copies: int = 2
    known: int = 1
    """The members that live or may come back: there cannot be more copies."""
    changes: int = 0
    """How often who lives, or what they are, has changed."""
    _holders: dict[NodeId, _Holder] = field(default_factory=dict)
    _of: dict[int, tuple[NodeId, ...]] = field(default_factory=dict)
    """Our buckets, with the living others that are to hold them."""
    _parting: tuple[NodeId, ...] = ()
    """Living others that leave."""
    _lacking: int | None = None
    """How many copies are not there yet, once it was asked for, till something changes."""

    def change(self, members: Iterable[Member], owned: Mapping[int, tuple[NodeId, ...]], known: int) -> list[NodeId]:
        """Takes in a new view: ``owned`` are our buckets with the others that are to hold them. Returns who has
        left.
        """
        living = {m.id: m for m in members if m.id != self.me}
        self.changes += 1
        self.known = max(known, len(living) + 1)
        gone = self._look_who_lives(living)
        held: dict[NodeId, set[int]] = {node: set() for node in living}
        # Thousands of buckets have the same few holders.
        present = {nodes: tuple(node for node in nodes if node in living) for nodes in set(owned.values())}
        self._of = {bucket: present[nodes] for bucket, nodes in owned.items()}
        for bucket, nodes in self._of.items():
            for node in nodes:
                held[node].add(bucket)
        for node, holder in self._holders.items():
            if came := held[node] - holder.held:
                # They may have been ours before, and another's meanwhile.
                self._void(holder, came)
            holder.held = held[node]
            holder.synced &= held[node]
            holder.doubted_at = {bucket: at for bucket, at in holder.doubted_at.items() if bucket in held[node]}
        self._parting = tuple(sorted(node for node, member in living.items() if member.leaving))
        self._lacking = None
        return gone

    def _look_who_lives(self, living: Mapping[NodeId, Member]) -> list[NodeId]:
        """Takes in which others live, and as what. Returns who has left."""
        gone = [node for node in self._holders if node not in living]
        for node in gone:
            del self._holders[node]
        for node, member in living.items():
            holder = self._holders.get(node)
            if holder is None:
                self._holders[node] = _Holder(member.boot, member.store)
            elif (holder.boot, holder.store) != (member.boot, member.store):
                holder.boot, holder.store = member.boot, member.store
                self._void(holder)
        return gone

    def holders(self, bucket: int) -> tuple[NodeId, ...]:
        """Returns the living others that hold a bucket of ours."""
        return self._of.get(bucket, ())

    def is_ours(self, bucket: int) -> bool:
        """Tells whether a bucket is ours by the view that was taken in last."""
        return bucket in self._of

    def followers(self, bucket: int) -> tuple[NodeId, ...]:
        """Returns the living others that are sent all that changes in a bucket of ours: who holds it and, where those
        that stay are too few, who leaves. These do not count: what they have goes with them.
        """
        nodes = self._of.get(bucket)
        if nodes is None or not self._parting or len(nodes) + 1 >= self.copies:
            return nodes or ()
        return (*nodes, *(node for node in self._parting if node not in nodes))

    def generation(self, node: NodeId) -> int | None:
        """Returns the generation of a holder, to be given back with ``brought`` and ``synced``; None when it does not
        live.
        """
        holder = self._holders.get(node)
        return None if holder is None else holder.generation

    def held(self, node: NodeId) -> frozenset[int]:
        """Returns the buckets of ours that a holder is to hold."""
        holder = self._holders.get(node)
        return frozenset() if holder is None else frozenset(holder.held)

    def unsynced(self, node: NodeId) -> frozenset[int]:
        """Returns the buckets that have to be brought to this holder."""
        holder = self._holders.get(node)
        return frozenset() if holder is None or not holder.lacking else frozenset(holder.held - holder.synced)

    def synced(self, node: NodeId, buckets: Iterable[int], generation: int) -> frozenset[int]:
        """Takes in that all of these had been brought to a holder; returns which of them count from now on."""
        if counted := self.brought(node, buckets, generation):
            self._holders[node].synced |= counted
            self._lacking = None
        return counted

    def brought(self, node: NodeId, buckets: Iterable[int], generation: int) -> frozenset[int]:
        """Returns those of these buckets of which a holder has what we have, as it was brought to it."""
        holder = self._holders.get(node)
        return frozenset() if holder is None else frozenset(b for b in buckets if holder.counts(b, generation))

    def counted(self, node: NodeId) -> frozenset[int]:
        """Returns the buckets of ours of which a holder's copies count."""
        holder = self._holders.get(node)
        return frozenset() if holder is None else frozenset(holder.synced)

    def doubt(self, buckets: Collection[int]) -> None:
        """Voids all copies of these buckets, to be compared again, and those that are being compared: something came
        into them otherwise than through us.
        """
        if not buckets:
            return
        for holder in self._holders.values():
            if concerned := holder.held.intersection(buckets):
                self._void(holder, concerned)

    def provisional(self, bucket: int, known: int = 0) -> bool:
        """Tells whether a fact of this bucket has fewer stores than it should, once all living holders have
        answered. ``known``: so many masters there are at least, as whoever asks for the acknowledgement says.
        """
        counted = 1 + sum(1 for node in self.holders(bucket) if bucket in self._holders[node].synced)
        return counted < min(self.copies, max(self.known, known))

    def behind(self) -> list[NodeId]:
        """Returns the living holders that lack something."""
        return [node for node, holder in self._holders.items() if holder.lacking] if self.lacking() else []

    @property
    def alone(self) -> bool:
        """True if nobody lives who could have a copy of anything, though there should be some."""
        return self.copies > 1 and not self._holders

    @property
    def short(self) -> bool:
        """Fewer masters live than there should be stores: no fact can be settled till others come, or are forgotten."""
        return 1 + len(self._holders) < min(self.copies, self.known)

    def lacking(self) -> int:
        """Counts the copies that living holders are to have and that are not there yet."""
        if self._lacking is None:
            self._lacking = sum(holder.lacking for holder in self._holders.values())
        return self._lacking

    def complete(self) -> frozenset[int]:
        """Returns the buckets of ours with as many synced copies as there should be."""
        wanted = min(self.copies, self.known) - 1
        return frozenset(
            bucket
            for bucket, nodes in self._of.items()
            if len(nodes) >= wanted and all(bucket in self._holders[node].synced for node in nodes)
        )

    def owned(self) -> frozenset[int]:
        """Returns the buckets of ours."""
        return frozenset(self._of)

    def _void(self, holder: _Holder, buckets: Collection[int] | None = None) -> None:
        holder.generation += 1
        self._lacking = None
        if buckets is None:
            holder.void_at = holder.generation
            holder.synced.clear()
        else:
            holder.doubted_at.update(dict.fromkeys(buckets, holder.generation))
            holder.synced.difference_update(buckets)
