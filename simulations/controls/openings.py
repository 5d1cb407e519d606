"""Controls of what start URLs open to their job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.openings import Openings

from ..play.options import Options
from .making.control import LIMIT_S, Control
from .making.swaps import swap

# -- opened-unnoted: a start URL's link is taken in, and nobody sees what it opens -------------


def _note_nothing(self: Openings, job: Job, seeds: Iterable[str]) -> None:
    pass


# -- opened-untold: what one master has learnt is news to nobody else --------------------------


def _learn_nothing(self: Openings, opened: Mapping[int, Collection[str]]) -> bool:
    return False


# -- opened-wide: what a start URL opens, it opens with all its neighbours ---------------------


def _open_all(self: Networks, host: str, kind: str) -> bool:
    return True


CONTROLS = {
    "opened-unnoted": Control(
        "nobody notes what a start URL opens",
        "coverage",
        Options(masters=3, pages=40, hosts=6, private=1.0, limit_s=LIMIT_S),
        (swap(Openings.note, _note_nothing),),
    ),
    "opened-untold": Control(
        "masters do not believe each other what start URLs have opened",
        "coverage",
        Options(masters=3, pages=40, hosts=3, private=1.0, key="url", limit_s=LIMIT_S),
        (swap(Openings.learn, _learn_nothing),),
    ),
    "opened-wide": Control(
        "private hosts are open that no start URL names",
        "coverage",
        Options(masters=2, pages=40, hosts=6, private=1.0, limit_s=LIMIT_S),
        (swap(Networks._is_opened, _open_all),),
    ),
}
