"""The pages of a job that a callback got."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from p2pcrawl.frontier.reading.crawled_pages import crawled_after
from p2pcrawl.model.outcome import NoPage
from tests.unit.frontier.batches import batch_of, end, grant, link, store_with_job


@pytest.mark.parametrize(("reason", "pages"), [("", 1), (NoPage.UNCHANGED, 1), (NoPage.REDIRECT, 0)])
def test_page_that_a_later_visit_found_unchanged_is_one_that_was_had(reason: str, pages: int, tmp_path: Path) -> None:
    with closing(store_with_job(tmp_path)) as store:
        (candidate,) = store.commit(batch_of([link("http://a.example/1")])).fresh
        batch = batch_of()
        grant(batch, candidate)
        end(batch, candidate, reason=reason)
        store.commit(batch)

    assert len(crawled_after(tmp_path, 1, 0)) == pages
