"""A job that is made can be sent and stored."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.submission import Submission

HALF = "\udcff"


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("name", {"name": HALF}),
        ("place", {"spider": SpiderRef(file=f"/{HALF}.py")}),
        ("argument", {"arguments": {"a": HALF}}),
        ("argument", {"arguments": {HALF: "a"}}),
        ("setting", {"settings": {"user_agent": HALF}}),
        ("setting", {"settings": {"default_request_headers": {"a": HALF}}}),
        ("setting", {"settings": {"retry_http_codes": [10**40]}}),
        ("code", {"code": f"# {HALF}"}),
    ],
)
def test_what_has_no_form_that_others_can_read_is_refused_in_one_line(what: str, fields: dict[str, Any]) -> None:
    given: dict[str, Any] = {"name": "shop", "spider": SpiderRef(urls=("http://a.example/",))} | fields

    with pytest.raises(ConfigurationError, match=f"{what} .*cannot travel") as refused:
        JobSpec(JobId(1), **given)

    str(refused.value).encode()


def test_job_of_any_text_can_be_made() -> None:
    JobSpec(
        JobId(1), "Lädchen 🛒", SpiderRef(module="a.b"), {"ü": "\0\x1b"}, {"retry_http_codes": [500], "slaves": None}
    )


def test_submission_whose_code_is_no_text_is_refused_as_any_other() -> None:
    submission = Submission.read({"name": "shop", "file": "shop.py", "code": f"# {HALF}"})

    with pytest.raises(ConfigurationError):
        submission.spec()
