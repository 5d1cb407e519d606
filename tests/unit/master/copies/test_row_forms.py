"""Records in the form in which copies keep them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.frontier.records.batch import Ending
from p2pcrawl.master.copies.row_forms import copy_of_candidate, copy_of_ending, copy_of_row, row_of_copy
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import CopyRow, Row

LINK = Link("http://a.example/", b"f" * 16, 3, 2, "detail", "parse_it", True, "http://b.example/", b"extra")
STATE = (Phase.DONE, 2, 1, 200, "redirect", 55)


def copied(packed: Any) -> CopyRow:
    return CopyRow(9, LINK.fingerprint, 7, 1, msgspec.msgpack.encode(packed), 2, b"a\nb")


def test_record_that_is_queued_comes_back_from_its_copy() -> None:
    candidate = Candidate(1, LINK, 7, 5, 9, 0, 1, attempts=2, losses=1, visit=4)

    copy = copy_of_candidate(candidate)

    row = Row(7, LINK, Phase.QUEUED, 2, 1, 0, "", 0, visit=4)
    assert (copy.bucket, copy.stamp) == (9, row.stamp)
    assert row_of_copy(copy) == row


def test_record_whose_turn_has_ended_comes_back_with_its_items() -> None:
    candidate = Candidate(1, LINK, 7, 5, 9, 0, 1, visit=4)
    ending = Ending(candidate, Phase.DONE, 2, 1, "redirect", 200, 55)

    copy = copy_of_ending(ending, (2, b"a\nb"))

    assert row_of_copy(copy) == Row(7, LINK, *STATE, items=2, data=b"a\nb", visit=4, told=4)


def test_marks_of_a_record_are_beside_it_and_come_back_with_it() -> None:
    copy = copy_of_row(Row(7, LINK, *STATE, items=2, data=b"a\nb", visit=4, marks=5), 9)

    assert copy.marks == 5
    assert copy.row == copy_of_row(Row(7, LINK, *STATE, visit=4), 9).row
    assert row_of_copy(copy).marks == 5


def test_items_of_a_record_are_beside_it_and_not_in_it() -> None:
    told = Row(7, LINK, *STATE, items=2, data=b"a\nb" * 1000, visit=4)

    copy = copy_of_row(told, 9)

    assert len(copy.row) < 200
    assert row_of_copy(copy).data == b"a\nb" * 1000


@pytest.mark.parametrize("more", [(), (0, b""), (0, b"", 4)])
def test_copies_of_older_versions_that_had_no_link_are_read(more: tuple[Any, ...]) -> None:
    row = row_of_copy(copied((7, *LINK, *STATE, *more)))

    assert row == Row(7, LINK, *STATE, items=2, data=b"a\nb", visit=4 if len(more) > 2 else 0)


@pytest.mark.parametrize(
    "packed",
    [
        None,
        [],
        [7],
        [7, *LINK],
        [7, LINK],
        [7, LINK._replace(fingerprint=b"f" * 15), *STATE],
        [7, LINK._replace(depth=1 << 63), *STATE],
        [7, *LINK._replace(depth=1 << 63), *STATE],
        [7, *LINK, 4, *STATE[1:]],
        [8, LINK, *STATE],
        [7, LINK._replace(fingerprint=b"g" * 16), *STATE],
    ],
    ids=str,
)
def test_copy_that_holds_no_row_or_another_is_refused(packed: Any) -> None:
    with pytest.raises(LinkError, match="a copy of bucket 9 holds"):
        row_of_copy(copied(packed))
