"""Consent: a master grants only in a view in which most of the voters act, and have promised to act in no other.

The theory. Two masters ask one host at once only if they act in two views of the members: within one, each bucket has
one owner, and what moves is moved by consent. So every master asks every voter, about once a second, to stand by the
view that it acts in. Who acts in that view agrees, and promises by that: for ``promise_s`` it agrees to no other view.
Whom more than half of the voters have agreed with grants for ``grant_s`` from when it *sent* the question, by its own
clock; what it has open then is given up at ``halt_s``. That is earlier than any promise ends, whatever clocks and
packets do. Any two majorities have a voter in common, and that one stands by one view at a time: so all that grant at
any moment do so in the same view. What a majority counts is for :mod:`p2pcrawl.core.majority.electorate` to say.

It does not matter why anybody is out of reach, what is suspected, or how slowly it is probed: without answers nothing
is granted. A change of the view stops nobody who keeps what it has. When both the asker and the voter have come to a
new view, a promise for the last one is void, for within one view buckets are handed over by consent; and what a master
serves in the old view *and* in the new one is its own in both, so it goes on with the old agreement till it has the new
one. What it gains waits for the new one.

Invariants:

* A voter that has agreed with anybody in a view agrees to no other view until its promise has ended, or that one has
  come to the other view too, or has said that it is through. A voter that has restarted does not know what it
  promised: it agrees to nothing for as long as a promise lasts.
* An answer counts from the sending of the question that it answers; one that comes late counts for less, or nothing.
* A voter agrees to no question of somebody who counts by an older electorate than it has accepted itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from p2pcrawl.core.majority.electorate import Electorate
from p2pcrawl.model.cluster.consent import ConsentAnswer, ConsentQuestion
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.timings import Timings


class Consent:
    """One master's side, as asker and as voter."""

    def __init__(self, me: NodeId, electorate: Electorate, timings: Timings, now: float) -> None:
        """``electorate`` changes while this is used; :meth:`recount` when it has."""
        self._me = me
        self._electorate = electorate
        self._timings = timings
        self._agrees_from = now if electorate.unused else now + timings.promise_s
        self._view = 0
        self._held: dict[NodeId, tuple[int, float]] = {}
        """To which view each asker holds us, and until when."""
        self._sent: dict[int, tuple[float, int]] = {}
        self._last = 0
        self._agreed: dict[NodeId, tuple[bytes, int, float]] = {}
        """Who agreed last, from which seat, to which view, and when it was asked."""
        self._heard: dict[NodeId, float] = {}
        """When whoever answered last, yes or no, was asked."""
        self._before_until = -inf
        """Until when what was agreed to in the views before counts."""
        self._until = -inf
        self._stood = False
        self.lapses = 0
        """How often there was a time without agreement after one with it."""

    # -- asking -------------------------------------------------------------------------------

    def act(self, view: int, now: float) -> None:
        """Acts in another view from now on; the caller has given up what is not ours in it. 0: we are through."""
        if view == self._view:
            return
        self._notice(now)
        self._before_until = max(self._before_until, self._until) if view else -inf
        self._view, self._until = view, -inf
        self._agreed.clear()

    def ask(self, now: float) -> ConsentQuestion:
        """Returns the question of this moment, for all voters; we answer it ourselves at once."""
        self._last += 1
        self._sent[self._last] = now, self._view
        for number in [n for n, (sent_at, _) in self._sent.items() if now - sent_at > self._timings.grant_s]:
            del self._sent[number]
        question = ConsentQuestion(self._last, self._view, self._electorate.version, self._electorate.seat)
        if self._view:
            self.heard(self._me, self.answer(self._me, question, now), now)
        return question

    def heard(self, node: NodeId, answer: ConsentAnswer, now: float) -> None:
        """Takes in a voter's answer; anything that answers no question of ours, or one of long ago, counts for
        nothing.
        """
        sent_at, view = self._sent.get(answer.number, (-inf, 0))
        if sent_at == -inf:
            return
        self._heard[node] = max(sent_at, self._heard.get(node, -inf))
        if not answer.agrees or not view or view != self._view:
            return
        _, _, before_at = self._agreed.get(node, (b"", 0, -inf))
        if sent_at > before_at:
            self._agreed[node] = answer.seat, view, sent_at
            self.recount(now)

    def recount(self, now: float) -> None:
        """Answers have come, or the electorate is another one."""
        self._notice(now)
        voters = self._electorate.voters
        times = sorted((at for node, (seat, _, at) in self._agreed.items() if voters.get(node) == seat), reverse=True)
        needed = len(voters) // 2 + 1
        self._until = times[needed - 1] + self._timings.grant_s if len(times) >= needed else -inf
        self._stood = self._stood or now < self.until

    @property
    def until(self) -> float:
        """The time until which we may grant what has been ours all along."""
        return max(self._until, self._before_until)

    def stands(self, now: float) -> bool:
        """Tells whether we may grant what has been ours since the view in which most agreed with us last."""
        return now < self._until or now < self._before_until

    def confirmed(self, now: float) -> bool:
        """Tells whether most agree with us in the very view in which we act."""
        return now < self._until

    def silent(self, now: float) -> list[NodeId]:
        """Returns the voters of which nothing has been heard for so long that it counts for nothing."""
        return sorted(
            node
            for node in self._electorate.voters
            if node != self._me and now - self._heard.get(node, -inf) >= self._timings.grant_s
        )

    def due(self, node: NodeId) -> bool:
        """Tells whether this voter has not answered the last question."""
        sent_at, _ = self._sent.get(self._last, (inf, 0))
        return self._heard.get(node, -inf) < sent_at

    def agreeing(self, now: float) -> int:
        """Counts the voters that agree with us at this moment."""
        voters = self._electorate.voters
        return sum(
            1
            for node, (seat, _, at) in self._agreed.items()
            if voters.get(node) == seat and now < at + self._timings.grant_s
        )

    def _notice(self, now: float) -> None:
        if self._stood and not self.stands(now):
            self._stood = False
            self.lapses += 1

    # -- answering ----------------------------------------------------------------------------

    def answer(self, asker: NodeId, question: ConsentQuestion, now: float) -> ConsentAnswer:
        """Answers as a voter, and promises what the answer promises."""
        agrees = False
        if not question.view:
            self._held.pop(asker, None)
        elif question.view == self._view:
            self._held[asker] = self._view, now + self._timings.promise_s
            agrees = (
                now >= self._agrees_from
                and self._electorate.admits(question.version)
                and all(view == self._view for view in self._promised(now).values())
            )
        return ConsentAnswer(question.number, agrees, self._electorate.accepted_version, self._electorate.seat)

    def _promised(self, now: float) -> Mapping[NodeId, int]:
        """Returns the views that we are held to at this moment, by the master that we promised them to."""
        self._held = {node: (view, until) for node, (view, until) in self._held.items() if now < until}
        return {node: view for node, (view, _) in self._held.items()}
