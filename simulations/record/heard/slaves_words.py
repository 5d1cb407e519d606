"""The record of what slaves say and hear: their sessions, grants, reports, and what they bring to the next master."""

from __future__ import annotations

from typing import Any

from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.texts.imprint_url import is_imprint

from ...kernel.moments import COMES, LEAVES, Moment, Moments
from ...model.stores import Key
from ...model.work.adopted import Adoptions, Brought
from ...model.work.reports import Reports
from .requests import opened


class SlavesWords:
    """Has the words of slaves judged, by the moments of a run."""

    def __init__(self, moments: Moments, reports: Reports, adoptions: Adoptions) -> None:
        self._reports = reports
        self._adoptions = adoptions
        for recorder, kind, phase in (
            (self._greets, "Hello", LEAVES), (self._beats, "Beat", LEAVES), (self._goes_on, "Renewed", COMES),
            (self._welcome, "Welcome", COMES), (self._grant, "Grant", COMES), (self._returned, "Returned", LEAVES),
            (self._report, "Report", LEAVES), (self._durable, "ReportsDurable", COMES),
            (self._orphans, "Orphans", LEAVES), (self._adopted, "Adopted", COMES), (self._stop, "Stop", COMES),
            (self._leaving, "Leaving", LEAVES), (self._bye, "Bye", LEAVES), (self._renews, "Renewed", LEAVES),
            (self._renews, "Welcome", LEAVES), (self._comes, "Report", COMES),
            (self._acknowledges, "ReportsDurable", LEAVES), (self._brings, "Orphans", COMES),
            (self._adopts, "Adopted", LEAVES), (self._merges, "Merge", LEAVES), (self._grants, "Grant", LEAVES),
            (self._is_back, "Returned", COMES), (self._is_over, "Hello", COMES), (self._is_over, "Bye", COMES),
            (self._is_over, "Halt", LEAVES),
        ):  # fmt: skip
            moments.record(recorder, [(kind, phase)])

    # -- slaves --------------------------------------------------------------------------------

    def _greets(self, moment: Moment) -> None:
        self._reports.greets(moment.node)

    def _beats(self, moment: Moment) -> None:
        beat = opened(moment.what)
        self._reports.beats(moment.node, beat.session, beat.number)

    def _goes_on(self, moment: Moment) -> None:
        self._reports.goes_on(moment.node, moment.what.session, moment.what.beat)

    def _welcome(self, moment: Moment) -> None:
        self._reports.welcomed(moment.node, moment.peer, outlives=moment.what.fence_s > 0.0)

    def _grant(self, moment: Moment) -> None:
        self._reports.granted(moment.node, [(task.record, task.lease) for task in moment.what.tasks])

    def _returned(self, moment: Moment) -> None:
        self._reports.gives_back(moment.node, set(opened(moment.what).records))

    def _report(self, moment: Moment) -> None:
        message = opened(moment.what)
        pages = [(page.record, page.lease, *_says(page)) for page in message.pages]
        self._reports.reports(moment.node, message.sequence, pages)

    def _durable(self, moment: Moment) -> None:
        self._reports.is_safe(moment.node, moment.what.sequence)

    def _orphans(self, moment: Moment) -> None:
        message = opened(moment.what)
        pages = [((each.page.record, each.page.lease), *_says(each.page)) for each in message.pages]
        self._reports.brings(moment.node, message.sequence, pages)

    def _adopted(self, moment: Moment) -> None:
        self._reports.is_adopted(moment.node, moment.what.sequence)

    def _stop(self, moment: Moment) -> None:
        self._reports.is_to_leave(moment.node, on_its_own=False)

    def _leaving(self, moment: Moment) -> None:
        self._reports.is_to_leave(moment.node, on_its_own=True)

    def _bye(self, moment: Moment) -> None:
        if not opened(moment.what).reason:
            self._reports.leaves(moment.node)

    # -- masters -------------------------------------------------------------------------------

    def _renews(self, moment: Moment) -> None:
        self._reports.renews(moment.node, moment.peer)

    def _comes(self, moment: Moment) -> None:
        ended = {page.record for page in moment.what.pages if page.outcome is not None}
        self._reports.comes(moment.node, moment.peer, moment.what.sequence, ended)

    def _grants(self, moment: Moment) -> None:
        self._reports.grants(moment.node, moment.peer, [task.record for task in opened(moment.what).tasks])

    def _is_back(self, moment: Moment) -> None:
        self._reports.is_back(moment.node, moment.peer, set(moment.what.records))

    def _is_over(self, moment: Moment) -> None:
        self._reports.is_over(moment.node, moment.peer)

    def _brings(self, moment: Moment) -> None:
        pages = [
            Brought(_key(each.task.link, each.page.job), each.page.outcome is not None and each.page.outcome.phase > 0,
                    tuple(_key(link, each.page.job) for links in each.page.links for link in links.each()),
                    is_imprint(each.task.link.url))
            for each in moment.what.pages
        ]  # fmt: skip
        self._adoptions.comes(moment.node, moment.peer, moment.what.sequence, pages)

    def _adopts(self, moment: Moment) -> None:
        self._adoptions.adopts(moment.node, moment.peer, opened(moment.what).sequence)

    def _merges(self, moment: Moment) -> None:
        rows = opened(moment.what).rows
        self._adoptions.ends(moment.node, [_key(row.link, row.job) for row in rows])

    def _acknowledges(self, moment: Moment) -> None:
        self._reports.acknowledges(moment.node, moment.peer, opened(moment.what).sequence)


def _key(link: Any, job: int) -> Key:
    return (*halves(link.fingerprint), job)


def _says(page: Any) -> tuple[bool, bool]:
    return page.outcome is not None, bool(page.links)
