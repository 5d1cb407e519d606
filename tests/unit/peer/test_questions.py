"""What is asked of a peer about jobs that cannot be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.questions import Questions


@pytest.mark.parametrize("value", [None, "", "x", "9" * 5000, -1, 10**40, 1e400, float("nan"), [], {}, "\ud800"])
def test_job_that_cannot_be_is_one_clear_line(value: Any) -> None:
    asked = SimpleNamespace(_master=SimpleNamespace(jobs={}))

    with pytest.raises(
        ConfigurationError, match=r"is not the number of a job|there is no job|no job is named"
    ) as caught:
        Questions.job_of(asked, {"job": value})  # type: ignore[arg-type]

    assert len(str(caught.value)) < 150
