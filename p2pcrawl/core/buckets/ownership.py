"""The ownership of buckets, as one master sees it.

The theory. The living members and their weights are the view; the ring says, the same for all that share the view,
which R of them hold each bucket, the first being its owner. A bucket that comes to us is first *syncing*: we take in
what is discovered in it but grant nothing, until everyone who may have owned it has let go and handed over what it
knew; then we *serve* it, under an epoch greater than any that was heard of. A bucket that leaves us is not served
from the moment our view changes. In which state each bucket is on its way tells ``core.buckets.bucket_states``; this
says which events come to which buckets, and of whom what is awaited.

Views differ for a while, after a false alarm or beyond a partition: then somebody else may have owned what is ours
all along in our own view. Who loses a bucket that nobody claims offers it to its owner, which claims it then, and
goes on serving it.

A bucket *lacks* an epoch when what that epoch's owner knew is not among what we have of it; it is *whole* when it
lacks none. Whoever serves a bucket without having found its last owner, or a copy that was synced with it or has
followed it from the beginning, lacks that epoch, until somebody comes who has it: see ``core.standings``.

Invariants: a bucket is served only by the one that its own view calls owner; the epoch of a bucket only grows.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from p2pcrawl.core.buckets.bucket_states import BucketEvent, BucketState, BucketStates
from p2pcrawl.core.buckets.standings import (
    Standing,
    dropped,
    following,
    joined,
    left_behind,
    parted,
    standing_at,
    standing_of,
    without,
)
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.core.ring.ring_choice import table_after
from p2pcrawl.model.cluster.epoch import AUTHORS, Span, are_rivals, epoch_after, epoch_turn, is_by
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.model.cluster.placement import RingName

COUNTER_MAX = (1 << 32) - 1
STANDINGS_MAX = 64


class Fork(NamedTuple):
    """The epochs of a bucket of which ours knows nothing, or knew nothing when it began."""

    sure: int
    """All up to this one it knew."""
    rivals: frozenset[int] = frozenset()
    """Those behind that which others have begun, as far as we have heard."""


@dataclass(frozen=True, slots=True)
class Change:
    """The consequences of a new view for this master."""

    gained: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    ask: tuple[NodeId, ...] = ()
    """The others that have to let go of something of ours, and hand over what they know of it."""
    ready: frozenset[int] = frozenset()
    """Of the gained: those that nobody has to let go of, so that they may be served at once."""
    bereft: frozenset[int] = frozenset()
    """Of the gained: those whose owner is gone, so that nobody tells what it knew of their hosts."""


class Router(Protocol):
    """The interface that says to whom a bucket's links go."""

    def owner(self, bucket: int) -> NodeId | None:
        """Returns the master to which a bucket's links go; None: this master itself."""
        ...

    def serves(self, bucket: int) -> bool: ...

    def misses(self, bucket: int) -> bool:
        """Tells whether others may have known more of a bucket than there is here."""
        ...


class SoleOwner:
    """A master without an overlay owns everything."""

    def owner(self, bucket: int) -> NodeId | None:
        return None

    def serves(self, bucket: int) -> bool:
        return True

    def misses(self, bucket: int) -> bool:
        return False


@dataclass(slots=True)
class Ownership:
    """Decides which buckets this master owns, may serve, and lacks something of; a Router."""

    me: NodeId
    copies: int = 2
    ring: RingName = RingName.RENDEZVOUS
    """The same for all members."""
    table: Sequence[tuple[NodeId, ...]] = ()
    view: int = 0
    """The digest of the view that the table was made from."""
    generation: int = 0
    """How often the view has changed, or all was claimed anew: an answer to what was asked before is none."""
    counters: array[int] = field(default_factory=lambda: array("I", bytes(4 * BUCKETS)))
    lacks: array[int] = field(default_factory=lambda: array("I", bytes(4 * BUCKETS)))
    """The last epoch that is missing of each bucket, or 0."""
    bases: array[int] = field(default_factory=lambda: array("I", bytes(4 * BUCKETS)))
    """Where something is missing: up to which epoch nothing is."""
    pieces: dict[int, tuple[Span, ...]] = field(default_factory=dict)
    """Where something is missing: what is not, between these two."""
    keeps: bool = False
    """We hold copies: they are taken in, like what others hand over, before a bucket is served."""
    new_here: bool = False
    """We are new here, and may not have heard of all the others: whoever appears has to let go of what is ours."""
    patient: bool = False
    """Only what is whole is served: who has the rest may still come back."""
    paused: bool = False
    """Nothing is served: we are looking for others, or most of them do not agree with us, where that is asked for."""
    consent: Callable[[], bool] | None = None
    """Whether most of the masters agree with us at this moment, where that is asked for."""
    unconfirmed: frozenset[int] = frozenset()
    """What became ours in views in which most do not agree with us yet: nothing of it is served."""
    states: BucketStates = field(default_factory=BucketStates)
    """How far each bucket is on its way to us, or from us."""
    _known: dict[int, set[Standing]] = field(default_factory=dict)
    """What all that were heard of have of a bucket that we are about to serve."""
    _since: dict[int, int] = field(default_factory=dict)
    """Of buckets that we are about to serve: the last epoch under which anything may have been acknowledged,"""
    _forks: dict[int, Fork] = field(default_factory=dict)
    """and where others may have begun epochs beside ours."""
    _alone: dict[int, Standing] = field(default_factory=dict)
    """What we had ourselves of buckets of ours that are not served yet, before what others have was joined to it."""
    _named: dict[int, tuple[int, frozenset[int]]] = field(default_factory=dict)
    """The last epoch of a bucket with which we were told of rivals, and these: what we say to have since counts for
    them."""
    withdrawn: set[int] = field(default_factory=set)
    """Buckets of which we may have less than we have written down."""
    untold: set[int] = field(default_factory=set)
    """Buckets that we serve all along, and go on with under a later epoch since somebody who had more has let go, of
    which not all have heard: nothing is settled under that."""
    _late: set[int] = field(default_factory=set)
    """Buckets of which something came here when their owner had our word for them already."""
    _begun: dict[int, int] = field(default_factory=dict)
    """The last epoch of each bucket that we have served it under."""
    _promised: set[int] = field(default_factory=set)
    """Buckets for which another one has had our word since then: it may say that it has all of that epoch."""
    _owners: list[NodeId | None] = field(default_factory=list)
    weights: Mapping[NodeId, int] = field(default_factory=dict)
    """What the table was made from: who takes part, and with what weight."""
    _parting: tuple[NodeId, ...] = ()
    """Who is there, and takes part no more."""
    _mine: frozenset[int] = frozenset()
    """The buckets of which we are the owner."""
    _broken: tuple[frozenset[int], list[int]] | None = None
    """The buckets that were served when somebody last asked what is missing, and those of which something was; None
    when the latter has changed since.
    """
    _asked: dict[NodeId, set[int]] = field(default_factory=dict)
    """Whose release of which buckets is still awaited."""

    def owner(self, bucket: int) -> NodeId | None:
        return self._owners[bucket] if self._owners else None

    def owner_id(self, bucket: int) -> NodeId:
        return self.owner(bucket) or self.me

    def holders(self, bucket: int) -> tuple[NodeId, ...]:
        """Returns all masters that hold the bucket by the ring, its owner first."""
        return self.table[bucket] if self.table else (self.me,)

    def followers(self, bucket: int) -> tuple[NodeId, ...]:
        """Returns the masters besides the owner that are sent all that is acknowledged under an epoch of the bucket:
        its other holders and, where those that stay are too few to hold it, those that leave, till they are gone.
        """
        holders = self.holders(bucket)
        return holders[1:] if len(holders) >= self.copies else (*holders[1:], *self._parting)

    def serves(self, bucket: int) -> bool:
        if not self.states.serves(bucket) or self.paused or (self.patient and self.lacks[bucket]):
            return False
        return self.consent is None or (bucket not in self.unconfirmed and self.consent())

    def serving(self) -> frozenset[int]:
        """Returns all buckets that are served at this moment."""
        served = self.states.those(BucketState.SERVED)
        if not served or self.paused or not (self.consent is None or self.consent()):
            return frozenset()
        if self.patient:
            served = frozenset([bucket for bucket in served if not self.lacks[bucket]])
        return served if self.consent is None else served - self.unconfirmed

    def misses(self, bucket: int) -> bool:
        return self.lacks[bucket] != 0

    def confirm(self) -> frozenset[int]:
        """Takes in that most agree with us in this view; returns what may be served because of that."""
        confirmed, self.unconfirmed = self.unconfirmed, frozenset()
        return confirmed

    def in_service(self, bucket: int) -> bool:
        """Tells whether all that there is of a bucket of ours has come, so that it is served."""
        return self.states.serves(bucket)

    def recall(self, standings: Mapping[int, Standing]) -> None:
        """Takes in the standings that an earlier run had."""
        for bucket, standing in standings.items():
            self._stand(bucket, standing)

    def join_standing(self, bucket: int, theirs: Standing) -> None:
        """Takes in that what somebody with the standing ``theirs`` has of a bucket has been joined to what we have."""
        if theirs.epoch <= 0:
            return  # Who never heard of an epoch of it adds nothing.
        ours = self.standing(bucket)
        if self._is_rival(bucket, theirs.epoch):
            self._remember(bucket, ours, theirs.epoch)
            self._join_rival(bucket, ours, theirs)
            return
        if not ours.lack and theirs.epoch <= ours.epoch:
            return  # As it is nearly always.
        self._remember(bucket, ours)
        if not theirs.lack and ours.epoch <= theirs.epoch <= COUNTER_MAX:
            self._stand(bucket, Standing(theirs.epoch))
        else:
            self._join(bucket, ours, theirs)
        if self.counters[bucket] > ours.epoch:
            # Somebody served it under that epoch.
            self._since.pop(bucket, None)
            self._forks.pop(bucket, None)
            if self.states.serves(bucket):
                # Ours has to be another.
                self.counters[bucket] = self._next(self.counters[bucket])
                self.untold.add(bucket)

    def _remember(self, bucket: int, ours: Standing, rival: int = 0) -> None:
        """Remembers what we had alone, which says nothing of a rival, whatever it covers."""
        if not self.states.serves(bucket):
            had = self._alone.setdefault(bucket, ours)
            if rival:
                self._alone[bucket] = standing_of(had.epoch, without(had.spans, [rival]))

    def _withdraw(self, buckets: Iterable[int]) -> None:
        """Takes back of buckets that leave us before they were served what others had of the last epochs that are not
        ours: whose these are may not have let go yet, goes on under them then, and need not tell us.
        """
        for bucket in buckets:
            if (had := self._alone.pop(bucket, None)) is None:
                continue
            last = {self.since(bucket), *self.rivals(bucket)}
            unsure = [each for each in last if not is_by(each, self.me) and not had.has(each)]
            now = self.standing(bucket)
            self._known.pop(bucket, None)
            self._stand(bucket, standing_of(now.epoch, without(now.spans, unsure)))
            self.withdrawn.add(bucket)

    def _is_rival(self, bucket: int, epoch: int) -> bool:
        """Tells whether an epoch of which somebody knows was begun by another one that knew nothing of ours, nor we of
        it, and was not heard of yet.
        """
        ours, fork = self.counters[bucket], self._forks.get(bucket)
        if fork is None:
            return are_rivals(epoch, ours)
        is_new = epoch not in fork.rivals and not is_by(epoch, self.me)
        return is_new and (are_rivals(epoch, ours) or fork.sure < epoch < ours)

    def _join_rival(self, bucket: int, ours: Standing, theirs: Standing) -> None:
        """Joins the standing of one that knows of a rival of our epoch, and begins another one, which knows of both. In
        ours, where it was not served, nothing was acknowledged; under the rival something may be.
        """
        fork = self._forks.get(bucket) or Fork(epoch_turn(ours.epoch) * AUTHORS - 1)
        is_empty = bucket in self._since and is_by(ours.epoch, self.me)
        new = frozenset((theirs.epoch,) if is_empty or ours.epoch in fork.rivals else (theirs.epoch, ours.epoch))
        rivals, last = fork.rivals | new, max(ours.epoch, theirs.epoch)
        epoch = self._next(last)
        spans = (
            *without(ours.spans, [theirs.epoch]),
            *without(theirs.spans, [each for each in (*rivals, ours.epoch) if each != theirs.epoch]),
            (last, epoch),
        )
        self._known.pop(bucket, None)
        self._stand(bucket, standing_of(epoch, ((max(before, 0), last) for before, last in spans)))
        self._forks[bucket] = Fork(fork.sure, rivals)
        if self.states.serves(bucket):
            self.untold.add(bucket)
        else:
            self._since[bucket] = max(rivals)

    def told(self, epochs: Mapping[int, int]) -> None:
        """Takes in that all have heard of these epochs, under which buckets go on."""
        self.untold.difference_update(b for b, epoch in epochs.items() if self.counters[b] == epoch)

    def _next(self, epoch: int) -> int:
        """Returns the number of an epoch that we begin."""
        return min(epoch_after(epoch, self.me), COUNTER_MAX)

    def _join(self, bucket: int, ours: Standing, theirs: Standing) -> None:
        """Joins our standing with one that lacks something, or that has what ours lacks: together they may have it
        all.
        """
        # What they say may be anything.
        epoch = min(theirs.epoch, COUNTER_MAX)
        known = self._known.setdefault(bucket, set())
        if len(known) < STANDINGS_MAX:
            known.update((ours, standing_of(epoch, ((max(before, 0), last) for before, last in theirs.spans))))
        self._stand(bucket, joined({*known, ours}))

    def synced(self, bucket: int, counter: int) -> None:
        """Takes in that our copy has been brought to what the owner of that epoch has, which is whole."""
        if counter >= self.counters[bucket]:
            self._stand(bucket, Standing(min(counter, COUNTER_MAX)))

    def handed_over(
        self, epochs: Mapping[int, tuple[int, int]], rivals: Mapping[int, Collection[int]] | None = None
    ) -> None:
        """Records that another master has all that we had of these buckets, and serves them under new epochs. By
        bucket: the epoch, and the last one before it under which anything may have been acknowledged; and which
        epochs were begun beside others that we may have heard of.
        """
        for bucket, (epoch, since) in epochs.items():
            self._known.pop(bucket, None)
            self._since.pop(bucket, None)
            self._forks.pop(bucket, None)
            if self.counters[bucket] < epoch <= COUNTER_MAX:
                had = self._without_rivals(bucket, epoch, since, rivals.get(bucket, ()) if rivals else ())
                follows = self.me in self.followers(bucket)
                self._stand(bucket, (following if follows else left_behind)(had, epoch, max(since, 0)))

    def _without_rivals(self, bucket: int, epoch: int, since: int, named: Collection[int]) -> Standing:
        """Returns what we had of a bucket of which we are told that it goes on under an epoch, with these rivals. What
        we were told of them before, with the last epoch that we know, has been taken into account then.
        """
        had = self.standing(bucket)
        known, of_them = self._named.pop(bucket, (0, frozenset[int]()))
        if named:
            self._named[bucket] = epoch, frozenset(named)
        news = set(named) - of_them if known == had.epoch else named
        return _without_rivals(had, epoch, since, news)

    def unheard(self, epochs: Mapping[int, int]) -> frozenset[int]:
        """Returns those of these buckets of which we have something, and have not heard of the epoch that is served:
        whoever began it may not have heard what we have.
        """
        return frozenset(
            b for b, epoch in epochs.items() if epoch != self.counters[b] and not self.standing(b).is_nothing
        )

    def part(self) -> dict[int, Standing]:
        """Records that we are gone from now on, and are sent no more of what we followed because too few stay. Returns
        the standings that change. In an epoch that we began ourselves nobody else acknowledges anything.
        """
        followed = [b for b in range(BUCKETS) if self.me in self.followers(b) and self.me not in self.holders(b)]
        followed = [b for b in followed if self._begun.get(b) != self.counters[b]]
        changed = {bucket: parted(standing) for bucket, standing in self.standings(followed).items()}
        for bucket, standing in changed.items():
            self._stand(bucket, standing)
        return changed

    def dropped(self, buckets: Iterable[int]) -> dict[int, Standing]:
        """Records that our copies of these buckets are about to go, since others have enough. Returns the standings
        that change.
        """
        changed = {b: left for b, had in self.standings(buckets).items() if (left := dropped(had)) != had}
        for bucket, standing in changed.items():
            self._stand(bucket, standing)
        return changed

    def standing(self, bucket: int) -> Standing:
        """Returns our standing in a bucket: of which epochs we have everything."""
        if not self.lacks[bucket]:
            return standing_at(self.counters[bucket])
        return standing_at(self.counters[bucket], self.lacks[bucket], self.bases[bucket], self.pieces.get(bucket, ()))

    def standings(self, buckets: Iterable[int]) -> dict[int, Standing]:
        counters, lacks, bases, pieces = self.counters, self.lacks, self.bases, self.pieces
        return {
            b: standing_at(counters[b], lack, bases[b], pieces.get(b, ()))
            if (lack := lacks[b])
            else standing_at(counters[b])
            for b in buckets
        }

    def since(self, bucket: int) -> int:
        """Returns the last epoch of a bucket of ours under which anything may have been acknowledged."""
        return self._since.get(bucket, self.counters[bucket])

    def rivals(self, bucket: int) -> frozenset[int]:
        """Returns the epochs of a bucket that others began beside those which we know, as far as they are joined to
        ours by now.
        """
        fork = self._forks.get(bucket)
        return frozenset() if fork is None else fork.rivals

    def _stand(self, bucket: int, standing: Standing) -> None:
        self.counters[bucket], lack, self.bases[bucket], pieces = standing
        if lack != self.lacks[bucket]:
            self.lacks[bucket] = lack
            self._broken = None
        if pieces:
            self.pieces[bucket] = pieces
        elif self.pieces:
            self.pieces.pop(bucket, None)

    def broken(self) -> list[int]:
        """Returns the buckets that we serve though something of them is missing."""
        # What is not ours is not served. Asked many times a second, and nearly always as before.
        served = self.states.those(BucketState.SERVED)
        if self._broken is None or self._broken[0] is not served:
            self._broken = served, sorted(filter(self.lacks.__getitem__, served))
        return [*self._broken[1]]

    def claim_anew(self) -> Change:
        """Claims every bucket of ours again: we stood still for so long that others may serve them, so none is served
        until the others have let go of it.
        """
        self.generation += 1
        mine = self._mine
        claimed = self.states.take(BucketEvent.DOUBTED, mine)
        for node, waiting in self._asked.items():
            if node != self.me:
                waiting |= claimed
        return Change(mine, frozenset(), tuple(node for node in self._asked if self._asked[node]), self._ready(mine))

    def change(self, members: Iterable[Member], view: int) -> Change:
        """Takes in a new view. What is gained is served after ``released`` by all in ``ask``."""
        members = list(members)
        before, had = self._owners, self._mine if self._owners else frozenset()
        self._share_out(members)
        self.view = view
        self.generation += 1
        mine = self._mine
        gained, lost = mine - had, had - mine
        self._pass_on(before, gained, lost)
        if had and not any(before) and len(self.weights) > 1:
            # Whoever was alone may be the one that joins: what it keeps has been another's until now.
            gained = mine
            self.states.take(BucketEvent.DOUBTED, mine)
        elif untold := self.states.among(self.untold, BucketState.SERVED):
            # Who had more of them may be gone, and whoever is new has heard of no epoch.
            gained |= untold
            self.states.take(BucketEvent.DOUBTED, untold)
        if self.consent is not None:
            self.unconfirmed = (self.unconfirmed | gained) & mine
        others = tuple(sorted({m.id for m in members} - (set() if self.keeps else {self.me})))
        self._wait_for(others, gained)
        asked = tuple(node for node in others if self._asked[node])
        return Change(gained, lost, asked, self._ready(mine), _bereft(gained, before, others))

    def _pass_on(self, before: Sequence[NodeId | None], gained: frozenset[int], lost: frozenset[int]) -> None:
        """Moves buckets to the owners of a new view. ``before``: who they were."""
        self.states.take(BucketEvent.LOST, lost)
        self.untold -= lost
        self._withdraw(lost)
        self.states.take(BucketEvent.KEPT, self._mine - gained)
        self.states.take(BucketEvent.GAINED, gained)
        passed = frozenset(
            b for b, (was, now) in enumerate(zip(before, self._owners, strict=False)) if was and now and was != now
        )
        self.states.take(BucketEvent.PASSED, passed)
        # The next owner has not asked yet.
        self._late -= passed | gained

    def _share_out(self, members: Sequence[Member]) -> None:
        """Computes the table for these members, and what of it is ours."""
        living = [m for m in members if not m.leaving] or members
        weights = {m.id: m.weight for m in living} or {self.me: 1}
        self.table = table_after(self.ring, self.table, self.weights, weights, self.copies)
        self.weights = weights
        self._parting = tuple(m.id for m in members if m.id not in weights)
        self._owners = [None if row[0] == self.me else row[0] for row in self.table]
        self._mine = frozenset(b for b, owner in enumerate(self._owners) if owner is None)

    def _wait_for(self, others: Collection[NodeId], gained: frozenset[int]) -> None:
        """Waits for these, and nobody else, to let go of what is ours and of what is gained."""
        for node in list(self._asked):
            if node not in others:
                del self._asked[node]
            else:
                self._asked[node] &= self._mine
        for node in others:
            if node not in self._asked:
                # A newcomer was not asked for what came to us before it was known: it may be serving that.
                self._asked[node] = {b for b in self._mine if self.new_here or not self.states.serves(b)}
                self.states.take(BucketEvent.DOUBTED, self._asked[node])
                # One that was cut off, and whose view never changed, does not offer what it holds and others lack.
                self._asked[node] |= self.states.take(BucketEvent.OFFERED, self.broken())
            self._asked[node] |= gained

    def offered(self, node: NodeId, buckets: Iterable[int]) -> bool:
        """Takes in that ``node`` holds something of these. Tells whether some are ours, so that it has to let go of
        them.
        """
        ours = {bucket for bucket in buckets if self._owners and self._owners[bucket] is None}
        if not ours or node not in self._asked:
            return False
        self._asked[node] |= self.states.take(BucketEvent.OFFERED, ours)
        return True

    def awaited(self, node: NodeId) -> frozenset[int]:
        """Returns the buckets that ``node`` has not yet let go of."""
        waiting = frozenset(self._asked.get(node, ()))
        # Our own copies of what is still being given up are not all there.
        return waiting - self.states.those(BucketState.RETURNING) if node == self.me else waiting

    def released(self, node: NodeId, buckets: Iterable[int]) -> frozenset[int]:
        """Takes in that ``node`` has let go of these and handed over; returns which of them may be served now."""
        waiting = self._asked.get(node, set())
        asked = set(buckets) & waiting
        waiting -= asked
        return self._ready(asked)

    def vouch(self, theirs: Mapping[int, Standing]) -> None:
        """Takes in the standings of somebody who has let go. Where the last epoch that it knows is ours, nobody has
        begun another one: it would have been told before, in its own view, which is ours by now. Nobody can vouch for
        what we have given our word for: who had that may have everything, and have written that down.
        """
        begun, mine = self._begun, self._mine - self._promised
        same = [b for b, standing in theirs.items() if b in mine and standing.epoch == begun.get(b)]
        self.states.take(BucketEvent.ASSURED, same)

    def resumable(self, silent: Collection[NodeId]) -> frozenset[int]:
        """Returns the buckets that we served and may go on with under the same epoch: nobody has served them after us,
        and all have let go of them but ``silent``, who do not answer.
        """
        awaited: set[int] = set()
        for node, waiting in self._asked.items():
            if node not in silent:
                awaited |= waiting
        vouched = self.states.those(BucketState.VOUCHED)
        return frozenset(b for b in vouched - awaited if self._begun.get(b) == self.counters[b])

    def resume(self, buckets: Iterable[int]) -> frozenset[int]:
        """Goes on with what is resumable; returns what is served because of that. Who has not let go of it is still
        asked what it knows.
        """
        resumed = self.states.take(BucketEvent.RESUMED, buckets)
        for bucket in resumed:
            self._alone.pop(bucket, None)
        return resumed

    def succeed(self, ready: Collection[int]) -> dict[int, int]:
        """Begins new epochs with what is ready still, before anybody hears of them; returns which.

        Should somebody else be the owner before all have heard, what they lack is found here: all of it.
        """
        begun = self.states.take(BucketEvent.FREED, self._ready(ready))
        for bucket in begun:
            # Epochs that were begun and never served, because the view changed, are empty.
            self._since.setdefault(bucket, self.counters[bucket])
            self._forks.setdefault(bucket, Fork(self.counters[bucket]))
            self.counters[bucket] = self._next(self.counters[bucket])
        return {bucket: self.counters[bucket] for bucket in begun}

    def serve(self, epochs: Mapping[int, int]) -> frozenset[int]:
        """Begins to serve what all have heard of under these epochs; returns which buckets that are. Where the view
        has changed meanwhile, or another epoch has begun, nothing comes of it.
        """
        served = self.states.take(BucketEvent.HEARD, self._beginning(epochs))
        for bucket in served:
            self._begun[bucket] = self.counters[bucket]
            self._promised.discard(bucket)
            self.untold.discard(bucket)
            self._since.pop(bucket, None)
            self._forks.pop(bucket, None)
            self._alone.pop(bucket, None)
            if not self.lacks[bucket]:
                # Else what somebody has yet may make it whole only together with what came before.
                self._known.pop(bucket, None)
        return served

    def ask_again(self, nodes: Collection[NodeId], epochs: Mapping[int, int]) -> frozenset[int]:
        """Waits again for these, who did not hear of epochs of ours: they may not have let go. Returns the buckets that
        they are asked for.
        """
        missed = self.states.take(BucketEvent.MISSED, self._beginning(epochs))
        for node in nodes:
            if node in self._asked:
                self._asked[node] |= missed
        return missed

    def _beginning(self, epochs: Mapping[int, int]) -> list[int]:
        """Returns the buckets of which exactly these epochs are beginning."""
        begins = self.states.among(epochs, BucketState.BEGINNING)
        return [bucket for bucket in begins if self.counters[bucket] == epochs[bucket]]

    # -- buckets that leave -------------------------------------------------------------------

    def may_have(self, claimer: NodeId, buckets: Collection[int]) -> bool:
        """Tells whether these are another's in our view, too, and nothing of them is just being given up."""
        if not self._owners or any(self._owners[bucket] != claimer for bucket in buckets):
            return False
        return not self.states.among(buckets, BucketState.GIVING)

    def let_go(self, buckets: Iterable[int]) -> None:
        """Records that their owner has our word that it may have these: under the epochs that they have now we
        acknowledge nothing more.
        """
        self._promised.update(buckets)
        self.states.take(BucketEvent.ASKED, buckets)

    def promised(self, claimer: NodeId, buckets: Iterable[int] | None = None) -> frozenset[int]:
        """Returns those of the buckets, or of all, that ``claimer`` owns, and has our word for."""
        told, owners = self.states.those(BucketState.AGREED, BucketState.LET_GO), self._owners
        asked = told if buckets is None else told.intersection(buckets)
        return frozenset([bucket for bucket in asked if owners[bucket] == claimer])

    def taken(self, claimer: NodeId, buckets: Iterable[int]) -> frozenset[int]:
        """Takes in that ``claimer`` says that it has everything of these. Returns those that are to be given up here:
        it has our word for them, and they did not come back to us since.
        """
        return self.states.take(BucketEvent.TAKEN, self.promised(claimer, buckets))

    def given_up(self, buckets: Iterable[int], *, done: bool = True) -> frozenset[int]:
        """Takes in that these were given up, or could not be. Returns those that have come back meanwhile, so that
        we are asked for our own copies.
        """
        back = self.states.take(BucketEvent.GIVEN if done else BucketEvent.SPARED, buckets)
        late = self.states.among(self._late, BucketState.AWAY)
        self.states.take(BucketEvent.FOUND, late)
        self._late -= late
        return back

    def vacant(self, buckets: Iterable[int]) -> None:
        """Records of buckets that were ours that nothing of them was ever here: nobody need take it."""
        self.states.take(BucketEvent.VACANT, self.states.among(buckets, BucketState.LEFT_OVER))

    def found(self, buckets: Collection[int]) -> None:
        """Records that something of these, which are others', is here that their owners may not have. What was ours,
        and its owner has our word for, it is to claim once more when it has taken it: it may have pulled already.
        """
        self._late |= self.states.among(buckets, BucketState.LET_GO, BucketState.GIVING)
        kept = BucketState.AWAY, BucketState.AGREED, BucketState.LEFT_OVER
        self.states.take(BucketEvent.FOUND, self.states.among(buckets, *kept))

    @property
    def left_over(self) -> frozenset[int]:
        """The buckets that were ours, and that nobody has taken from us yet."""
        return self.states.those(BucketState.LEFT_OVER, BucketState.LET_GO, BucketState.GIVING)

    @property
    def let_go_of(self) -> frozenset[int]:
        """The part of what is left over that its owner has our word for: it is asking for it, or has everything."""
        return self.states.those(BucketState.LET_GO, BucketState.GIVING)

    # -- sums ---------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """True if all others have let go of everything that is ours."""
        return not any(self._asked.values())

    @property
    def syncing(self) -> int:
        """The number of our buckets that are not served yet."""
        # What is not ours is not served.
        return len(self._mine) - self.states.count(BucketState.SERVED)

    @property
    def owned(self) -> int:
        return len(self._mine)

    def _ready(self, buckets: Iterable[int]) -> frozenset[int]:
        """Returns those of the buckets that nobody has to let go of any more, and that are not served yet."""
        free = set(self.states.among(buckets, BucketState.CLAIMED, BucketState.VOUCHED, BucketState.BEGINNING))
        for waiting in self._asked.values():
            if not free:
                break
            free -= waiting
        return frozenset(free)


def _without_rivals(had: Standing, epoch: int, since: int, rivals: Collection[int]) -> Standing:
    """Returns what somebody has who is told of rivals for the first time: of the last epoch that he knows, or of those
    which the one that tells him began in vain.
    """
    of_one = had.epoch % AUTHORS == epoch % AUTHORS and epoch_turn(had.epoch) > 0
    unknown = [each for each in rivals if each < had.epoch and of_one]
    unknown += [each for each in (since, *rivals) if are_rivals(each, had.epoch)]
    return standing_of(had.epoch, without(had.spans, unknown)) if unknown else had


def _bereft(gained: Iterable[int], before: Sequence[NodeId | None], living: Collection[NodeId]) -> frozenset[int]:
    """Returns those of the gained buckets whose owner is gone."""
    return frozenset(b for b in gained if before and before[b] is not None and before[b] not in living)
