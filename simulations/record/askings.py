"""The record of who may ask hosts: what masters let go of, take and lend, and what slaves hear of their sessions."""

from __future__ import annotations

from ..kernel.moments import COMES, LEAVES, Moment, Moments
from ..model.loans import Loans
from ..model.members.claims import Claims
from ..model.permissions import Permissions
from ..model.stores import host_in
from ..model.work.borrowed import Borrowed
from ..model.work.meetings import Meetings
from .heard.requests import Requests, in_order, opened


class Askings:
    """Takes down, by the moments of a run, what decides who may ask which host."""

    def __init__(
        self, moments: Moments, permissions: Permissions, loans: Loans, borrowed: Borrowed, meetings: Meetings,
        claims: Claims,
    ) -> None:  # fmt: skip
        self._permissions = permissions
        self._loans = loans
        self._borrowed = borrowed
        self._meetings = meetings
        self._repeated = claims
        self._claims = Requests()
        self._requests, self._wishes, self._calls = Requests(), Requests(), Requests()
        """What has come to lenders, what borrowers have asked for, and what they are to give back."""
        for recorder, kind, phase in (
            (self._borrow, "Borrow", COMES), (self._lent, "Lent", LEAVES), (self._hello, "Hello", LEAVES),
            (self._welcome, "Welcome", COMES), (self._beat, "Beat", LEAVES), (self._renewed, "Renewed", COMES),
            (self._halt, "Halt", COMES), (self._renews, "Renewed", LEAVES), (self._repay, "Repay", COMES),
            (self._welcomes, "Welcome", LEAVES),
            (self._grant, "Grant", LEAVES), (self._borrows, "Borrow", LEAVES), (self._hears, "Lent", COMES),
            (self._is_called_in, "CallIn", COMES), (self._gives_back, "CalledIn", LEAVES),
            (self._report, "Report", COMES), (self._returned, "Returned", COMES), (self._offered, "Offer", COMES),
            (self._claims_of, "Claim", LEAVES), (self._released, "Released", COMES), (self._taken, "Taken", LEAVES),
        ):  # fmt: skip
            moments.record(recorder, [(kind, phase)])

    def _borrow(self, moment: Moment) -> None:
        self._requests.came(moment.node, moment.peer, moment.what.id, moment.at, (moment.what.host, moment.what.number))
        self._loans.asked(moment.node, moment.peer, moment.what.host)

    def _lent(self, moment: Moment) -> None:
        answer = opened(moment.what)
        asked = self._requests.answered(moment.node, moment.peer, answer.id)
        if asked is not None and answer.granted:
            host, number = asked[1]
            self._permissions.lent(moment.node, moment.peer, host, moment.at, answer.term_s)
            self._loans.lends(moment.node, moment.peer, host, number, moment.at, answer.term_s)
            self._loans.says(moment.node, moment.peer, host, answer.asked_s)
            if answer.delay_s > 0.0:
                self._loans.lent(moment.node, moment.peer, host, number, moment.at, answer.term_s)

    def _repay(self, moment: Moment) -> None:
        self._loans.says(moment.peer, moment.node, moment.what.host, moment.what.asked_s)
        self._loans.repaid(moment.node, moment.peer, moment.what.host, moment.what.number)
        self._permissions.repaid(moment.node, moment.peer, moment.what.host, moment.at)

    def _grant(self, moment: Moment) -> None:
        pages = [(task.job, host_in(task.link.url)) for task in opened(moment.what).tasks]
        self._loans.granted(moment.node, moment.peer, pages, moment.at)
        records = [(task.job, task.record, host_in(task.link.url)) for task in opened(moment.what).tasks]
        self._borrowed.granted(moment.node, moment.peer, records)
        self._meetings.granted(moment.node, moment.peer, pages)

    def _offered(self, moment: Moment) -> None:
        self._meetings.offers(moment.peer, moment.node, in_order(moment.what.buckets))

    def _claims_of(self, moment: Moment) -> None:
        claim = opened(moment.what)
        buckets = in_order(claim.buckets)
        self._claims.came(moment.peer, moment.node, claim.id, moment.at, buckets)
        self._meetings.claims(moment.node, moment.peer, buckets)
        self._repeated.claims(moment.node, moment.peer, claim.id)
        self._repeated.claims_in(moment.node, moment.peer, buckets, claim.view)

    def _released(self, moment: Moment) -> None:
        asked = self._claims.answered(moment.peer, moment.node, moment.what.id)
        if asked is not None and moment.what.agreed:
            self._meetings.hears(moment.node, moment.peer, asked[1])
        elif asked is not None:
            self._repeated.is_refused(moment.node, moment.peer, moment.what.id, asked[1])

    def _taken(self, moment: Moment) -> None:
        self._meetings.tells(moment.node, in_order(opened(moment.what).buckets))

    def _borrows(self, moment: Moment) -> None:
        wish = opened(moment.what)
        self._wishes.came(moment.peer, moment.node, wish.id, moment.at, (wish.host, wish.number))
        self._borrowed.asks(moment.node, moment.peer, wish.host, wish.number)
        self._loans.says(moment.node, moment.peer, wish.host, wish.asked_s)

    def _hears(self, moment: Moment) -> None:
        answer = moment.what
        asked = self._wishes.answered(moment.peer, moment.node, answer.id)
        if asked is not None and answer.granted:
            host, number = asked[1]
            self._loans.hears(moment.peer, moment.node, host)
            loan = moment.peer, number, answer.count, answer.slots, answer.waited_s + answer.term_s
            self._borrowed.lent(moment.node, host, asked[0], loan)

    def _is_called_in(self, moment: Moment) -> None:
        call = moment.what
        self._calls.came(moment.node, moment.peer, call.id, moment.at, (call.host, call.number))

    def _gives_back(self, moment: Moment) -> None:
        if (asked := self._calls.answered(moment.node, moment.peer, opened(moment.what).id)) is not None:
            self._borrowed.called_in(moment.node, moment.peer, *asked[1])

    def _report(self, moment: Moment) -> None:
        ended = [page.record for page in moment.what.pages if page.outcome is not None]
        self._borrowed.ended(moment.node, moment.peer, ended)

    def _returned(self, moment: Moment) -> None:
        self._borrowed.ended(moment.node, moment.peer, moment.what.records)

    def _hello(self, moment: Moment) -> None:
        self._permissions.greets(moment.node, moment.at)

    def _welcome(self, moment: Moment) -> None:
        self._permissions.welcomed(moment.node, moment.what.fence_s, moment.at)

    def _beat(self, moment: Moment) -> None:
        self._permissions.beats(moment.node, opened(moment.what).number, moment.at)

    def _renewed(self, moment: Moment) -> None:
        self._permissions.renewed(moment.node, moment.what.beat, moment.at)

    def _renews(self, moment: Moment) -> None:
        self._permissions.renews(moment.node, moment.peer, opened(moment.what).session, moment.at)
        self._borrowed.renews(moment.node, moment.peer)

    def _welcomes(self, moment: Moment) -> None:
        # A session that nobody renews lasts from its beginning.
        self._borrowed.renews(moment.node, moment.peer)

    def _halt(self, moment: Moment) -> None:
        self._permissions.halted(moment.node, moment.at)
