"""Listens to which imprints of texts masters ask for, and which they send on."""

from __future__ import annotations

from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.texts.imprint_url import IMPRINT_URL
from p2pcrawl.wire.messages.imprints import imprint_of

from ...kernel.moments import LEAVES, Moment, Moments
from ...model.work.imprints import Asked, Imprints
from ...model.work.order import Order
from .requests import opened


class ImprintsAsked:
    """Hands imprints to models, by the moments of a run."""

    def __init__(self, moments: Moments, imprints: Imprints, order: Order) -> None:
        self._imprints = imprints
        self._order = order
        self._moments = moments
        self._listens = False
        moments.record(self._grants, [("Grant", LEAVES)])

    def _grants(self, moment: Moment) -> None:
        for task in opened(moment.what).tasks:
            if (imprint := imprint_of(task.link)) is not None:
                if not self._listens:
                    # Most runs have no imprints, and need nothing read for their sake.
                    self._listens = True
                    self._moments.record(self._sends, [("Discover", LEAVES)])
                key = (*halves(task.link.fingerprint), task.job)
                asked = Asked(key, _text(task.link, task.job), imprint.band, imprint.is_last, imprint.first)
                self._imprints.asks(moment.node, asked)

    def _sends(self, moment: Moment) -> None:
        message = opened(moment.what)
        for link in message.links:
            if (imprint := imprint_of(link)) is not None:
                text = _text(link, message.job)
                if (key := self._imprints.before(moment.node, text, imprint.band)) is not None:
                    self._order.goes_on(moment.node, key, text)


def _text(link: Link, job: int) -> str:
    """Returns what says which visit of which page of a job an imprint is of."""
    _, _, rest = link.url.removeprefix(IMPRINT_URL).partition(".")
    return f"{rest} of job {job}"
