"""Taking in what is said about members: merge it, pass it on, start or end suspicions, tell what changed.

The theory is in :mod:`p2pcrawl.core.membership.view`. Rumours on datagrams are fresh and are merged as they are. A
push/pull tells old things too: there a DEAD about a member that lives here may be the view of the other half of
a healed partition, so it is taken as an accusation, which the member can still refute.

Invariants: a suspicion runs for a member iff its verdict is SUSPECT, and it is bound to the verdict's incarnation;
only what changed the view or confirmed a suspicion is passed on, so that rumours die out.
"""

from __future__ import annotations

from p2pcrawl.core.membership.comparing import Exchanges
from p2pcrawl.core.membership.courier import Courier
from p2pcrawl.core.membership.dissemination import News
from p2pcrawl.core.membership.output import MembershipOutput, changes
from p2pcrawl.core.membership.self_defence import Claims
from p2pcrawl.core.membership.suspicion import Suspicions
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.gossip import Alive, Dead, Entry, Left, Suspect, Update
from p2pcrawl.model.cluster.node import Member, NodeId, Status


class Hearsay:
    """Takes in what is said about members: all that changes the view goes through here."""

    def __init__(
        self, courier: Courier, view: View, news: News, suspicions: Suspicions, exchanges: Exchanges, claims: Claims,
        forget_s: float,
    ) -> None:  # fmt: skip
        self._courier = courier
        self._view = view
        self._news = news
        self._suspicions = suspicions
        self._exchanges = exchanges
        self._claims = claims
        self._forget_s = forget_s
        self.hurry = False
        """News about this node itself should go out at once."""

    def take(self, update: Update, now: float, out: MembershipOutput) -> None:
        """Takes in one rumour: merges it, passes it on if it is news, starts or ends a suspicion."""
        id = update.id
        if id == self._courier.me.id:
            self.hurry |= self._claims.hear(update, now, out)
            return
        view = self._view
        before = view.members.get(id)
        match update:
            case Alive(member):
                changed = view.merge_facts(member, now)
            case Suspect(id, incarnation, by):
                view.merge_verdict(id, incarnation, Status.SUSPECT, now)
                changed = self._accuse(id, incarnation, by, now)
            case Dead(id, incarnation):
                changed = view.merge_verdict(id, incarnation, Status.DEAD, now)
            case Left(id, incarnation):
                changed = view.merge_verdict(id, incarnation, Status.LEFT, now)
        if changed and id in view.members:
            self._news.spread(update)
        self._report(before, id, now, out)

    def take_entry(self, entry: Entry, by: NodeId, now: float, out: MembershipOutput, *, news: bool = True) -> None:
        """Takes in one line of another's view. ``news``: what changes ours is passed on."""
        id = entry.member.id
        view = self._view
        before = view.members.get(id)
        lives_here = before is not None and before.living
        status, incarnation = entry.status, entry.incarnation
        if status >= Status.DEAD and entry.age_s >= self._forget_s and not lives_here:
            return
        if status is Status.DEAD and lives_here:
            status = Status.SUSPECT
        update: Update | None = None
        if status is Status.SUSPECT:
            view.merge_verdict(id, incarnation, status, now)
            if self._accuse(id, incarnation, by, now):
                update = Suspect(id, incarnation, by)
        elif view.merge_verdict(id, incarnation, status, now, entry.age_s) and status is Status.LEFT and lives_here:
            update = Left(id, incarnation)
        if view.merge_facts(entry.member, now) and status is Status.ALIVE:
            update = Alive(entry.member)
        if news and update is not None:
            self._news.spread(update)
        self._report(before, id, now, out)

    def witness(self, id: NodeId, incarnation: int, now: float, out: MembershipOutput) -> None:
        """Takes in that the member itself spoke, under this incarnation."""
        before = self._view.members.get(id)
        if self._view.merge_verdict(id, incarnation, Status.ALIVE, now):
            self._news.drop(id)
            self._report(before, id, now, out)

    def silent(self, id: NodeId, now: float, out: MembershipOutput) -> None:
        """Suspects a living member, because our own probe of it had no answer."""
        member = self._view.members.get(id)
        if member is not None and member.living:
            self.take(Suspect(id, member.incarnation, self._courier.me.id), now, out)

    def condemn(self, now: float, out: MembershipOutput) -> None:
        """Declares dead whose suspicion nobody refuted in time."""
        for suspicion in self._suspicions.due(now):
            self.take(Dead(suspicion.id, suspicion.incarnation, self._courier.me.id), now, out)
            self._suspicions.end(suspicion.id)

    def _accuse(self, id: NodeId, incarnation: int, by: NodeId, now: float) -> bool:
        if self._view.verdict(id) != (incarnation, Status.SUSPECT) or id not in self._view.members:
            return False
        return self._suspicions.accuse(id, incarnation, by, now, len(self._view.living()))

    def _report(self, before: Member | None, id: NodeId, now: float, out: MembershipOutput) -> None:
        after = self._view.members.get(id)
        if after is None or after is before:
            return
        if after.status is Status.SUSPECT:
            # The rumour may have come before the member was known.
            self._suspicions.watch(id, after.incarnation, now, len(self._view.living()))
        else:
            self._suspicions.end(id)
        if before is not None and not before.living and after.living:
            # The member may come from the other side of a partition, with others behind it.
            self._exchanges.want(now, after.address, out)
            # It may never have heard that it was held dead: what it said since has overruled that.
            if before.boot == after.boot and (charge := self._courier.last_charge(before)) is not None:
                out.datagrams.append((after.address, charge))
        out.events.extend(changes(before, after))
