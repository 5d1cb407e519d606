"""What comes back through the door to the others is what was due, or an error of the link."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from msgspec.json import Decoder

from p2pcrawl.model.errors import LinkError
from p2pcrawl.overlay.door import decoded


class Stamp(TypedDict):
    view: str
    settled: bool


def test_answer_that_is_due_is_taken_without_what_a_later_version_adds() -> None:
    answer = decoded("it", "ask:stamp", b'{"view": "1f", "settled": true, "more": 1}', Decoder(Stamp))

    assert answer == {"view": "1f", "settled": True}


@pytest.mark.parametrize(
    "answer", [b"", b"{", b"[]", b"null", b"7", b'{"view": 3, "settled": true}', b'{"view": "1f"}', b"[" * 100_000]
)
def test_answer_that_is_anything_else_is_an_error_of_the_link(answer: bytes) -> None:
    due: Decoder[Any] = Decoder(Stamp)

    with pytest.raises(LinkError, match="it answered ask:stamp with what cannot be"):
        decoded("it", "ask:stamp", answer, due)
