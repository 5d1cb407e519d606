"""Failures of pages are of the classes that errbacks ask for."""

from __future__ import annotations

import pytest

from p2pcrawl import Request
from p2pcrawl.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
)
from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.spiders.failure import PageFailure


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (Failure.NO_NAME, CannotResolveHostError),
        (Failure.CONNECT, DownloadConnectionRefusedError),
        (Failure.FIRST_BYTE_TIMEOUT, DownloadTimeoutError),
        (Failure.TOO_LARGE, DownloadCancelledError),
        (Failure.LOST_CONNECTION, DownloadFailedError),
        (Failure.BAD_REDIRECT, FetchError),
    ],
)
def test_failure_is_what_errbacks_ask_for(kind: Failure, asked: type[FetchError]) -> None:
    error = FetchError(kind, "it failed")

    assert type(error) is asked
    assert (error.kind, str(error)) == (kind, "it failed")
    assert PageFailure(Request("http://a.example/"), error).check(StatusError, asked) is asked


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (DownloadTimeoutError(), Failure.TOTAL_TIMEOUT, "total-timeout"),
        (DownloadConnectionRefusedError("banned", 5), Failure.CONNECT, "banned 5"),
        (DownloadFailedError([ValueError("odd")]), Failure.LOST_CONNECTION, "[ValueError('odd')]"),
        (CannotResolveHostError(Failure.NO_NAME, "no such"), Failure.NO_NAME, "no such"),
    ],
)
def test_failure_may_be_raised_by_people_with_a_message_or_without(
    raised: FetchError, kind: Failure, message: str
) -> None:
    assert (raised.kind, str(raised)) == (kind, message)
