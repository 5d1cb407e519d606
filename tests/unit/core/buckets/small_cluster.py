"""A cluster that is small enough to go through all that can happen to it: the real ownership of three masters (or of
four, where somebody has to be silent while another one vouches) and two buckets, and around it a shell of the fewest
words, in which each message and each step of giving up stands for itself.

The shell does in the same order what ``master.buckets.takeover`` does: it claims from whom something is awaited,
takes over what was let go of, tells the followers of an epoch and then the rest, and gives up what was taken. What is
decided is decided by the ownership. A whole cluster is one value of bytes, so that it is known again.
"""

from __future__ import annotations

import io
import pickle
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from p2pcrawl.core.buckets.bucket_states import BucketState, BucketStates
from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status

IDS = tuple(NodeId(name) for name in "abcd")
TABLES = (IDS, tuple(NodeId(name) for name in "bacd"))
"""The order in which masters are to hold each bucket."""
COPIES = 2
BUCKETS = range(len(TABLES))
_MEMBERS = {id: Member(id, Address("127.0.0.1:1"), 1, Status.ALIVE, 1, bytes(8), bytes(16)) for id in IDS}

Action = tuple[Any, ...]


def small_table(_ring: object, _table: object, _before: object, after: Any, copies: int) -> list[tuple[NodeId, ...]]:
    """Stands in for the ring: the table of two buckets."""
    return [tuple(id for id in order if id in after)[:copies] for order in TABLES]


def digest(view: frozenset[NodeId]) -> int:
    return sum(1 << IDS.index(id) for id in view)


@dataclass(slots=True)
class Beginning:
    """Epochs of which all are being told, and who has yet to answer: those that follow them before the rest."""

    epochs: dict[int, int]
    waiting: list[NodeId] = field(default_factory=list)
    missed: list[NodeId] = field(default_factory=list)
    rounds: list[bool] = field(default_factory=lambda: [True, False])
    """Whether those follow them who are to be told next, and after that."""


@dataclass(slots=True)
class Giving:
    """Buckets that are being given up for who has taken them."""

    claimer: NodeId
    number: int
    generation: int
    free: frozenset[int]
    epochs: dict[int, tuple[int, int]]
    rivals: dict[int, frozenset[int]]


@dataclass(slots=True)
class Place:
    """One master: what is in its memory, and what is on its disk."""

    me: NodeId
    noted: dict[int, Standing] = field(default_factory=dict)
    rows: list[int] = field(default_factory=lambda: [0] * len(TABLES))
    """Facts in the frontier, as bits, by bucket."""
    held: list[int] = field(default_factory=lambda: [0] * len(TABLES))
    """Facts in copies."""
    up: bool = True
    asleep: bool = False
    ownership: Ownership | None = None
    beginnings: dict[int, Beginning] = field(default_factory=dict)
    givings: list[Giving] = field(default_factory=list)

    @property
    def o(self) -> Ownership:
        assert self.ownership is not None
        return self.ownership

    @property
    def acts(self) -> bool:
        return self.up and not self.asleep

    @property
    def view(self) -> frozenset[NodeId]:
        return frozenset(self.o.weights)

    def has(self, bucket: int) -> int:
        return self.rows[bucket] | self.held[bucket]

    def start(self) -> None:
        """Comes up with what is on its disk, and knows of nobody yet."""
        numbers = (array("I", bytes(4 * len(TABLES))) for _ in range(3))
        counters, lacks, bases = numbers
        states = BucketStates(len(TABLES))
        self.up, self.asleep, self.beginnings, self.givings = True, False, {}, []
        self.ownership = Ownership(
            self.me, COPIES, counters=counters, lacks=lacks, bases=bases, states=states, keeps=True, new_here=True
        )
        self.o.recall(self.noted)
        self.o.change([_MEMBERS[self.me]], digest(frozenset([self.me])))

    def note(self, standings: dict[int, Standing]) -> None:
        self.noted.update((b, s) for b, s in standings.items() if b not in self.noted or s.epoch >= self.noted[b].epoch)


Taken = tuple[NodeId, NodeId, int, int, tuple[tuple[int, int, int, frozenset[int]], ...]]
"""From, to, which beginning (0: none waits for the answer), the view; and of each bucket epoch, since and rivals."""


@dataclass(slots=True)
class SmallCluster:
    """A few masters, and the words of new epochs that are on their way between them."""

    places: list[Place]
    taken: list[Taken] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    """How often each may still happen."""
    facts: list[int] = field(default_factory=lambda: [0] * len(TABLES))
    """The facts of each bucket that were acknowledged, as bits."""
    writes: int = 0
    """How many more may be."""

    # -- as one value -------------------------------------------------------------------------

    def packed(self) -> bytes:
        self.taken.sort()
        out = io.BytesIO()
        pickler = pickle.Pickler(out, pickle.HIGHEST_PROTOCOL)
        # Values only: which of them are one object, and which are equal ones, is nobody's concern.
        pickler.fast = True
        pickler.dump(self)
        return out.getvalue()

    def place(self, id: NodeId) -> Place:
        return self.places[IDS.index(id)]

    @property
    def ids(self) -> list[NodeId]:
        return [place.me for place in self.places]

    @property
    def truth(self) -> frozenset[NodeId]:
        """The view that all come to at last."""
        return frozenset(p.me for p in self.places if p.acts)

    # -- what can happen now ------------------------------------------------------------------

    def steps(self) -> Iterator[Action]:
        """Yields all that may happen next without a fault."""
        for number, _ in enumerate(self.taken):
            yield "deliver", number
        for p in self.places:
            if p.acts:
                yield from self._own_steps(p)

    def _own_steps(self, p: Place) -> Iterator[Action]:
        if p.view != self.truth:
            yield "view", p.me, self.truth
        elif p.o.new_here:
            yield "settle", p.me
        if p.givings:
            yield "give", p.me
        if p.o.awaited(p.me):
            yield "promote", p.me
        yield from (("claim", p.me, id) for id in self.ids if id != p.me and self._agrees(p, id))
        silent = {id for id in p.view if not self.place(id).acts}
        if silent and p.o.resumable(silent):
            yield "resume", p.me
        if not self.taken and not any(each.givings for each in self.places):
            # When nothing else goes on: they come a while after a view. Earlier ones are mishaps.
            yield from (("offer", p.me, id) for id in self.ids if self._offers(p, id))
        if self.writes:
            yield from (("write", p.me, bucket) for bucket in BUCKETS if self._writes(p, bucket))

    def _agrees(self, p: Place, other: NodeId) -> bool:
        """Tells whether another one would let go of what it is asked for; if not, nothing happens."""
        buckets, q = p.o.awaited(other), self.place(other)
        return bool(buckets) and q.acts and p.o.view == q.o.view and q.o.may_have(p.me, buckets)

    def _offers(self, p: Place, owner: NodeId) -> bool:
        theirs = self._left_over(p, owner)
        return bool(theirs) and self.place(owner).acts and not theirs <= self.place(owner).o.awaited(p.me)

    def _left_over(self, p: Place, owner: NodeId) -> frozenset[int]:
        left = p.o.states.those(BucketState.LEFT_OVER, BucketState.LET_GO)
        return frozenset(bucket for bucket in left if p.o.owner(bucket) == owner)

    def _writes(self, p: Place, bucket: int) -> bool:
        followers = p.o.followers(bucket)
        return p.o.serves(bucket) and bool(followers) and all(self.place(id).acts for id in followers)

    def mishaps(self) -> Iterator[Action]:
        """Yields the faults that may happen next."""
        left = {name for name, times in self.faults.items() if times}
        if "loss" in left:
            yield from (("lose", number) for number, _ in enumerate(self.taken))
            yield from (("unheard", number) for number, _ in enumerate(self.taken))
        for p in self.places:
            if not p.up:
                yield "return", p.me
            elif p.asleep:
                yield "wake", p.me
            else:
                if "death" in left and len(self.truth) > 1:
                    yield "death", p.me
                if "pause" in left and len(self.truth) > 1:
                    yield "pause", p.me
                if "offer" in left:
                    yield from (("offer", p.me, id) for id in self.ids if self._offers(p, id))
                if "view" in left and p.view == self.truth:
                    yield from (("doubt", p.me, id) for id in sorted(p.view - {p.me}))

    # -- what happens -------------------------------------------------------------------------

    def do(self, action: Action) -> None:
        name, *rest = action
        match name:
            case "death" | "pause" | "doubt" | "lose" | "unheard":
                self.faults[{"doubt": "view", "lose": "loss", "unheard": "loss"}.get(name, name)] -= 1
            case "offer" if self.faults.get("offer") and action not in self.steps():
                self.faults["offer"] -= 1
        getattr(self, f"do_{name}")(*rest)

    def do_death(self, id: NodeId) -> None:
        p = self.place(id)
        p.up, p.ownership, p.beginnings, p.givings = False, None, {}, []
        self._unanswered()

    def do_return(self, id: NodeId) -> None:
        self.place(id).start()

    def do_pause(self, id: NodeId) -> None:
        self.place(id).asleep = True

    def do_wake(self, id: NodeId) -> None:
        p = self.place(id)
        p.asleep = False
        self._claim(p, p.o.claim_anew())

    def do_doubt(self, id: NodeId, other: NodeId) -> None:
        self.do_view(id, self.place(id).view - {other})

    def do_view(self, id: NodeId, view: frozenset[NodeId]) -> None:
        p = self.place(id)
        change = p.o.change([_MEMBERS[other] for other in sorted(view)], digest(view))
        if not (p.o.new_here and view == {id}):
            self._claim(p, change)

    def do_settle(self, id: NodeId) -> None:
        """Looks for others no longer."""
        p = self.place(id)
        p.o.new_here = False
        if p.view == {id}:
            self._claim(p, p.o.claim_anew())

    def _claim(self, p: Place, change: Change) -> None:
        p.beginnings.clear()
        self._begin(p, p.o.succeed(change.ready))

    def do_promote(self, id: NodeId) -> None:
        p = self.place(id)
        for bucket in (buckets := p.o.awaited(id)):
            p.rows[bucket] |= p.held[bucket]
            p.held[bucket] = 0
        self._begin(p, p.o.succeed(p.o.released(id, buckets)))

    def do_claim(self, id: NodeId, other: NodeId) -> None:
        """Claims from another one; takes over what it lets go of."""
        p, q = self.place(id), self.place(other)
        buckets = p.o.awaited(other)
        q.o.let_go(buckets)
        theirs = q.o.standings(buckets)
        for bucket in buckets:
            p.rows[bucket] |= q.has(bucket)
        self._join(p, other, theirs)
        self._begin(p, p.o.succeed(p.o.released(other, buckets)))

    def _join(self, p: Place, other: NodeId, theirs: dict[int, Standing]) -> None:
        p.o.vouch(theirs)
        for bucket, standing in theirs.items():
            p.o.join_standing(bucket, standing)
        running = [bucket for bucket in theirs if p.o.in_service(bucket)]
        if running:
            p.note(p.o.standings(running))
            self._tell(p, other, 0, {bucket: p.o.counters[bucket] for bucket in running})

    def _begin(self, p: Place, epochs: dict[int, int]) -> None:
        if not epochs:
            return
        p.note(p.o.standings(epochs))
        # One that nothing under way is the answer to.
        asked = {0, *p.beginnings, *(word[2] for word in self.taken if word[0] == p.me)}
        asked.update(giving.number for q in self.places for giving in q.givings if giving.claimer == p.me)
        number = min(set(range(len(asked) + 1)) - asked)
        p.beginnings[number] = Beginning(epochs)
        self._go_on(p, number)

    def _go_on(self, p: Place, number: int) -> None:
        """Tells the next ones of an epoch when all before them have answered."""
        b = p.beginnings[number]
        while not b.waiting:
            if b.missed:
                del p.beginnings[number]
                p.o.ask_again(b.missed, b.epochs)
                return
            if not b.rounds:
                del p.beginnings[number]
                p.note(p.o.standings(p.o.serve(b.epochs)))
                return
            follows = b.rounds.pop(0)
            for id in sorted(p.view - {p.me}):
                if theirs := {k: e for k, e in b.epochs.items() if (id in p.o.followers(k)) == follows}:
                    (b.waiting if self.place(id).up else b.missed).append(id)
                    self._tell(p, id, number, theirs)

    def _tell(self, p: Place, id: NodeId, number: int, epochs: dict[int, int]) -> None:
        word = tuple((bucket, e, p.o.since(bucket), p.o.rivals(bucket)) for bucket, e in sorted(epochs.items()))
        if self.place(id).up:
            self.taken.append((p.me, id, number, p.o.view, word))

    def _unanswered(self) -> None:
        """Lets nobody wait for the dead."""
        for word in [word for word in self.taken if not self.place(word[1]).up]:
            self.taken.remove(word)
            self._answer(word[0], word[1], word[2], heard=False)

    def do_lose(self, number: int) -> None:
        word = self.taken.pop(number)
        self._answer(word[0], word[1], word[2], heard=False)

    def do_unheard(self, number: int) -> None:
        """Loses the answer: what was asked is done, and nobody hears of it."""
        source, target, which, view, word = self.taken[number]
        self.taken[number] = (source, target, 0, view, word)
        self._answer(source, target, which, heard=False)

    def do_deliver(self, number: int) -> None:
        source, target, which, view, word = self.taken[number]
        q = self.place(target)
        if not q.acts:
            return
        self.taken.pop(number)
        if view != q.o.view:
            self._answer(source, target, which, heard=False)
            return
        told = {bucket: (epoch, since) for bucket, epoch, since, _ in word}
        rivals = {bucket: rivals for bucket, *_, rivals in word if rivals}
        free = q.o.taken(source, told)
        theirs = {bucket: each for bucket, each in told.items() if q.o.owner(bucket) == source}
        q.givings.append(Giving(source, which, q.o.generation, free, theirs, rivals))
        for bucket in free:
            q.held[bucket] |= q.rows[bucket]

    def do_give(self, id: NodeId) -> None:
        """Forgets the first that is given up, which is here as copies by now, and says so; nothing in another view."""
        p = self.place(id)
        giving = p.givings.pop(0)
        done = giving.generation == p.o.generation
        if done:
            for bucket in giving.free:
                p.rows[bucket] = 0
            p.o.handed_over(giving.epochs, giving.rivals)
            p.note(p.o.standings(giving.epochs))
        p.o.given_up(giving.free, done=done)
        self._answer(giving.claimer, id, giving.number, heard=done)

    def _answer(self, source: NodeId, target: NodeId, number: int, *, heard: bool) -> None:
        p = self.place(source)
        b = p.beginnings.get(number)
        if b is None or target not in b.waiting:
            return
        b.waiting.remove(target)
        if not heard:
            b.missed.append(target)
        self._go_on(p, number)

    def do_resume(self, id: NodeId) -> None:
        p = self.place(id)
        silent = {other for other in p.view if not self.place(other).acts}
        p.o.resume(p.o.resumable(silent))

    def do_offer(self, id: NodeId, owner: NodeId) -> None:
        p = self.place(id)
        self.place(owner).o.offered(id, self._left_over(p, owner))

    def do_write(self, id: NodeId, bucket: int) -> None:
        """Acknowledges a fact, which is with all that follow the bucket."""
        p = self.place(id)
        self.writes -= 1
        fact = 1 << sum(self.facts).bit_length()
        p.rows[bucket] |= fact
        for other in p.o.followers(bucket):
            self.place(other).held[bucket] |= fact
        self.facts[bucket] |= fact

    # -- how it is ----------------------------------------------------------------------------

    @property
    def healed(self) -> bool:
        """True when all who live act in one view, and each bucket is served by its owner, with all facts, or with a
        word of what is lacking; nobody has anything left over.
        """
        awake = [p for p in self.places if p.acts]
        return all(p.view == self.truth and not p.o.left_over and p.o.complete for p in awake) and all(
            any(p.o.serves(bucket) and (p.o.lacks[bucket] or p.rows[bucket] == self.facts[bucket]) for p in awake)
            for bucket in BUCKETS
        )


def at_rest(writes: int = 0, masters: int = 3, **faults: int) -> SmallCluster:
    """Returns a cluster in which all is served, with a fact in each bucket."""
    cluster = SmallCluster([Place(id) for id in IDS[:masters]], faults=faults)
    for p in cluster.places:
        p.start()
    order = ("view", "settle", "deliver", "give", "promote", "claim")
    while steps := [step for step in cluster.steps() if step[0] in order]:
        cluster.do(min(steps, key=lambda step: order.index(step[0])))
    for bucket in BUCKETS:
        cluster.writes = 1
        cluster.do_write(TABLES[bucket][0], bucket)
    cluster.writes = writes
    return cluster
