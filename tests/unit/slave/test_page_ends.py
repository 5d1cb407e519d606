"""What errbacks are told of pages that are left out."""

from __future__ import annotations

import pytest

from p2pcrawl.fetch.components.standard import Disallowed
from p2pcrawl.model.errors import CannotResolveHostError, DownloadConnectionRefusedError, FetchError
from p2pcrawl.model.outcome import Drop
from p2pcrawl.slave.pages.page_ends import error_to_tell

URL = "http://a.example/"


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        pytest.param("connect: [Errno 111] refused", DownloadConnectionRefusedError, id="refused"),
        pytest.param("no-such-name: a.example", CannotResolveHostError, id="no-such-name"),
    ],
)
def test_errback_hears_why_a_host_was_not_reached_even_for_robots_txt(why: str, kind: type[FetchError]) -> None:
    told = error_to_tell(Disallowed(Drop.ROBOTS_UNREACHABLE, URL), why)

    assert type(told) is kind
    assert str(told) == why.partition(": ")[2]


@pytest.mark.parametrize(
    ("drop", "why"),
    [
        pytest.param(Drop.ROBOTS, "connect: of another time", id="forbidden"),
        pytest.param(Drop.ROBOTS_UNREACHABLE, "status 503", id="answered"),
        pytest.param(Drop.ROBOTS_UNREACHABLE, "", id="forgotten"),
    ],
)
def test_errback_hears_of_robots_txt_where_its_host_was_reached(drop: Drop, why: str) -> None:
    error = Disallowed(drop, URL)

    assert error_to_tell(error, why) is error
