"""Answers are told apart by what they answer, where a number was given twice."""

from __future__ import annotations

import pytest

from simulations.record.heard.requests import Requests


@pytest.mark.parametrize(("kinds", "is_it"), [(("Taken",), True), (("Claim", "Taken"), True), (("Claim",), False)])
def test_an_answer_of_another_kind_leaves_a_request_open(kinds: tuple[str, ...], *, is_it: bool) -> None:
    """Its peer has begun anew, and numbers its requests from the first on; what it asked before is answered late."""
    requests = Requests()
    requests.came("m0", "m1", 4, 10.0, ("Taken", [32]))

    assert requests.answered_as("m0", "m1", 4, kinds) == ((10.0, ("Taken", [32])) if is_it else None)
    assert requests.answered("m0", "m1", 4) == (None if is_it else (10.0, ("Taken", [32])))


def test_nobody_is_answered_who_has_asked_for_nothing() -> None:
    assert Requests().answered_as("m0", "m1", 4, ("Taken",)) is None
