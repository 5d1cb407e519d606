"""Looks into members while they hear, and at each turn: what each knows of the others then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from p2pcrawl.core.membership.output import MembershipOutput
from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.model.cluster.gossip import (
    Ack,
    Alive,
    Dead,
    Gossip,
    Left,
    Message,
    Ping,
    PingRequest,
    PushPull,
    Suspect,
    Update,
)
from p2pcrawl.model.cluster.node import Address, Member, Status

from ..kernel.life import LIFE
from ..model.members.doubts import Doubts
from ..model.members.duties import Duties, Step, Told
from ..model.members.known import ALIVE, DEAD, FARTHEST, LEFT, SUSPECT, Facts, Known, Line, Table

Call = Callable[[], Any]


class Minds:
    """Hands what members know, and do, to models, in their words. ``ids`` has those of the nodes."""

    def __init__(self, known: Known, duties: Duties, doubts: Doubts, ids: Mapping[str, str]) -> None:
        self._known = known
        self._duties = duties
        self._doubts = doubts
        self._condemned: dict[tuple[str, int], int] = {}
        """The last incarnation under which each has heard in a life that it is dead; before that, the one before it."""
        self._ids = ids
        self._names = {of: name for name, of in ids.items()}
        self._memberships: dict[str, Membership] = {}
        """Each one's own, as it was seen last."""

    def hears(self, membership: Membership, message: Message, receive: Call) -> Any:
        """Lets a member take in a datagram, and has judged what it makes of it."""
        here = self._here(membership)
        if here is None or message.source == here[0]:
            return receive()
        me, life = here
        if not membership.joined:
            out = receive()
            self._duties.wants(me, life, map(str, out.sync_with))
            return out
        words: dict[str, list[Line]] = defaultdict(list)
        for update in message.updates:
            words[update.id].append(_line(update))
        before, revision, was_quiet = _table(membership), membership.revision, membership.quiet
        out = receive()
        after = before if revision == membership.revision else _table(membership)
        if isinstance(message, Ack):
            self._known.answered(me, life, message.source, message.seq)
        if words:
            self._known.hears(me, words, before, after)
        if after is not before:
            self._misses(me, after)
        self._is_condemned(here, membership, words.get(me, ()))
        heard = {of: [line.verdict for line in lines] for of, lines in words.items()}
        self._duties.does(me, life, _step(before, after, out), heard)
        # News that this message brought may have been told as often as it has to be in the same step.
        is_quiet = was_quiet and membership.quiet and after is before and membership.me.status is Status.ALIVE
        is_marked = isinstance(message, Ack) and message.source in after and message.view != membership.view_digest
        if is_marked and is_quiet:
            self._duties.hears_a_mark(me, life, message.source, out.sync_with)
        return out

    def compares(self, membership: Membership, sender: Address, view: PushPull, receive: Call) -> Any:
        """Lets a member take in another one's view, and has judged what it makes of it."""
        here = self._here(membership)
        if here is None or view.source == here[0]:
            return receive()
        is_new, before = not membership.joined, _table(membership)
        out = receive()
        after = _table(membership)
        self._misses(here[0], after)
        # Whose death was known already is away for as long as it was.
        news = {told: age_s for told, age_s in _ages(view).items() if _status(before, told[0]) != told[1][1]}
        if is_new:
            self._duties.wants(*here, map(str, out.sync_with))
            self._duties.joined(*here, str(sender), before)
            self._duties.was_told(*here, news, after)
            return out
        words = {str(entry.member.id): Line((entry.incarnation, int(entry.status))) for entry in view.entries
                 if not (view.joining and entry.member.id == view.source)}  # fmt: skip
        self._known.compares(here[0], words, before, after)
        self._duties.does(*here, _step(before, after, out), {})
        self._duties.was_told(*here, news, after)
        return out

    def thinks(self, membership: Membership, tick: Call) -> Any:
        """Lets a member do what is due, and has it judged."""
        here = self._here(membership)
        if here is None:
            return tick()
        if not membership.joined:
            out = tick()
            self._duties.wants(*here, map(str, out.sync_with))
            return out
        before, revision = _table(membership), membership.revision
        out = tick()
        after = before if revision == membership.revision else _table(membership)
        said = [message for _, message in out.datagrams]
        for request in (each for each in said if isinstance(each, PingRequest)):
            self._known.has_help(*here, request.target)
        if after is not before:
            self._known.thinks(*here, before, after)
        # Whom it has just come to suspect, it may ask again at once.
        for ping in (each for each in said if isinstance(each, Ping)):
            self._known.questions(*here, ping.target, ping.seq)
        self._known.goes_on(*here, after)
        self._duties.does(*here, _step(before, after, out))
        self._duties.looks(*here, membership.view_digest, out.sync_with)
        self._is_condemned(here, membership, ())
        suspect, dead = self._held(here[0], after, SUSPECT), self._misses(here[0], after)
        self._doubts.holds(self._names[here[0]], suspect, dead)
        return out

    def says(self, message: Message) -> None:
        """Has judged what somebody is about to say."""
        life = LIFE.get()
        me = "" if life is None or life.dead else self._ids.get(life.node.name, "")
        membership = self._memberships.get(me)
        if life is None or membership is None:
            return
        self._duties.says(me, life.number, map(_told, message.updates), _table(membership))
        if message.source != me:
            return
        for update in message.updates:
            if isinstance(update, Alive) and update.id == me:
                self._known.describes(me, update.incarnation, _facts(update.member))
        if isinstance(message, Ping) and message.target != me:
            held = membership.members.get(message.target)
            verdict = None if held is None else (held.incarnation, int(held.status))
            told = [update.id for update in message.updates]
            self._known.asks(me, life.number, message.target, verdict, told)
        elif isinstance(message, Ack):
            living = frozenset((str(m.id), m.weight, m.leaving) for m in membership.alive())
            self._known.marks(me, message.view, living)

    def tells(self, view: PushPull) -> None:
        """Has judged a view that somebody is about to tell."""
        for entry in view.entries:
            if entry.member.id == view.source and entry.member.incarnation == entry.incarnation:
                self._known.describes(view.source, entry.incarnation, _facts(entry.member))
        life = LIFE.get()
        if life is not None and not life.dead and self._ids.get(life.node.name) == view.source:
            self._duties.tells_ages(view.source, life.number, _ages(view))

    def _is_condemned(self, here: tuple[str, int], membership: Membership, words: Iterable[Line]) -> None:
        """Takes in words on a member itself."""
        last = self._condemned.setdefault(here, membership.me.incarnation - 1)
        worst = max((line.verdict[0] for line in words if line.verdict[1] >= DEAD), default=last)
        if last < worst <= membership.me.incarnation + FARTHEST and membership.me.living:
            self._condemned[here] = worst
            self._doubts.is_held_dead(self._names[here[0]])

    def _misses(self, me: str, table: Table) -> list[str]:
        """Takes in whom a member holds for dead from now on; returns their names."""
        dead = self._held(me, table, DEAD)
        self._doubts.misses(self._names[me], dead)
        return dead

    def _held(self, me: str, table: Table, status: int) -> list[str]:
        """Returns the names of the others that a member holds for this."""
        return [self._names[of] for of in table if of in self._names and of != me and table[of].verdict[1] == status]

    def _here(self, membership: Membership) -> tuple[str, int] | None:
        life = LIFE.get()
        if life is None or life.dead or (me := self._ids.get(life.node.name)) != membership.me.id or me is None:
            return None
        self._memberships[me] = membership
        return me, life.number


def _table(membership: Membership) -> Table:
    return {
        str(id): Line((member.incarnation, int(member.status)), _facts(member))
        for id, member in membership.members.items()
    }


def _line(update: Alive | Suspect | Dead | Left) -> Line:
    match update:
        case Alive(member):
            return Line((member.incarnation, ALIVE), _facts(member))
        case Suspect():
            return Line((update.incarnation, SUSPECT))
        case Dead():
            return Line((update.incarnation, DEAD))
        case Left():
            return Line((update.incarnation, LEFT))


def _facts(member: Member) -> Facts:
    return Facts(member.boot, str(member.address), member.weight, member.leaving, member.store)


def _step(before: Table, after: Table, out: MembershipOutput) -> Step:
    news = [(str(to), tuple(map(_told, message.updates))) for to, message in out.datagrams
            if isinstance(message, Gossip)]  # fmt: skip
    return Step(before, after, [str(address) for address in out.sync_with], news)


def _told(update: Update) -> Told:
    return str(update.id), _line(update).verdict


def _ages(view: PushPull) -> dict[Told, float]:
    """Returns for how long those are away whom a view holds dead or gone."""
    away = [entry for entry in view.entries if entry.status >= Status.DEAD]
    return {(str(entry.member.id), (entry.incarnation, int(entry.status))): entry.age_s for entry in away}


def _status(table: Table, of: str) -> int | None:
    line = table.get(of)
    return None if line is None else line.verdict[1]
