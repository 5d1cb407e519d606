"""What is wrong with a certificate is read from its parts, and from nothing that whoever made it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulations.record.job_rows import flaw_of


def body(master: str, **change: Any) -> dict[str, Any]:
    counts = {"queued": 0, "leased": 0, "done": 5}
    return {"master": master, "view": "1", "missing": [], "incomplete": [], "counts": counts, **change}


def end(*bodies: dict[str, Any], **change: Any) -> dict[str, Any]:
    parts = [{"body": json.dumps(each)} for each in bodies]
    return {"parts": parts, "members": ["a", "b"], "missing": [], "incomplete": [], "final": True, **change}


def test_certificate_that_all_have_signed_with_nothing_left_holds() -> None:
    assert flaw_of(end(body("a"), body("b")), early=False) == ""


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (end(body("a")), "1 of its 2 members have not signed it"),
        (end(body("a"), body("b", view="2")), "who signed it acted in several views"),
        (
            end(body("a"), body("b", counts={"queued": 2, "leased": 1})),
            "who signed it had 2 URLs queued and 1 leased",
        ),
        (end(body("a"), body("b", missing=["c"])), "who signed it say that ['c'] are missing, and it says []"),
        (
            end(body("a", missing=["c"]), body("b"), missing=["c"]),
            "it is final, though it names what is not there",
        ),
    ],
)
def test_flaw_is_told_in_words(certificate: dict[str, Any], said: str) -> None:
    assert flaw_of(certificate, early=False) == said


def test_job_that_was_closed_early_has_something_queued() -> None:
    certificate = end(body("a"), body("b", counts={"queued": 2, "leased": 0}))

    assert flaw_of(certificate, early=True) == ""
