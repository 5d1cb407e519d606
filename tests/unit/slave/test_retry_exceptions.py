"""RETRY_EXCEPTIONS: which failures without an answer are tried again."""

from __future__ import annotations

import pytest

from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import ConfigurationError, FetchError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.spiders.loading.retried_kinds import retried_kinds
from tests.unit.slave.test_run import Plain, answer_of, pages_of

LOST = FetchError(Failure.LOST_CONNECTION, "gone")
NOT_LOST = FetchError(Failure.CONNECT_TIMEOUT, "no connection in time")
SCRAPYS = (
    "twisted.internet.defer.TimeoutError",
    "twisted.internet.error.TimeoutError",
    "twisted.internet.error.DNSLookupError",
    "twisted.internet.error.ConnectionRefusedError",
    "twisted.internet.error.ConnectionDone",
    "twisted.internet.error.ConnectError",
    "twisted.internet.error.ConnectionLost",
    "twisted.internet.error.TCPTimedOutError",
    "twisted.web.client.ResponseFailed",
    "OSError",
    "scrapy.core.downloader.handlers.http11.TunnelError",
)


class Again(Exception):
    """Raised by a middleware of one's own."""


OWN = f"{__name__}.Again"


@pytest.mark.parametrize(
    ("raised", "named", "phase"),
    [
        (LOST, SCRAPYS, Phase.QUEUED),
        (NOT_LOST, SCRAPYS, Phase.QUEUED),
        (LOST, ("twisted.internet.error.ConnectionLost",), Phase.QUEUED),
        (NOT_LOST, ("twisted.internet.error.ConnectionLost",), Phase.FAILED),
        (LOST, ("scrapy.exceptions.DownloadFailedError",), Phase.QUEUED),
        (LOST, (OWN,), Phase.FAILED),
        (Again("busy"), (OWN,), Phase.QUEUED),
        (Again("busy"), (), Phase.FAILED),
        (Again("busy"), SCRAPYS, Phase.FAILED),
    ],
)
async def test_what_is_named_is_tried_again(raised: Exception, named: tuple[str, ...], phase: Phase) -> None:
    (page,) = await pages_of(Plain, raised, retry_exceptions=named)

    assert page.outcome.phase == phase


async def test_exception_of_ones_own_is_told_with_its_words() -> None:
    (page,) = await pages_of(Plain, Again("busy"), retry_exceptions=(OWN,))

    assert page.outcome.reason == Failure.MIDDLEWARE
    assert "Again: busy" in page.outcome.detail
    assert page.outcome.retry_in_s > 0


async def test_statuses_are_for_another_setting() -> None:
    (page,) = await pages_of(Plain, answer_of(503), retry_exceptions=(OWN,))

    assert page.outcome.phase == Phase.QUEUED


@pytest.mark.parametrize("name", ["json.dumps", "no_such_module.Again", "builtins.int"])
def test_name_of_no_exception_is_refused_by_the_setting(name: str) -> None:
    with pytest.raises(ConfigurationError, match="RETRY_EXCEPTIONS"):
        retried_kinds([name])
