"""The items of a job by pages, read beside the store that writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.frontier.reading import job_items as items
from p2pcrawl.frontier.reading.job_items import pages_after
from p2pcrawl.frontier.records.batch import ItemRow
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.errors import ConfigurationError
from tests.unit.frontier.batches import batch_of, end, grant, link, store_with_job


@pytest.fixture
def store(tmp_path: Path):
    store = store_with_job(tmp_path / "data")
    yield store
    store.close()


def crawl(store: Store, *urls: str, staged: int = 0) -> None:
    """Each page gives an item with its URL, after ``staged`` parts that came ahead of its end."""
    candidates = store.commit(batch_of([link(url) for url in urls])).fresh
    batch = batch_of()
    for candidate in candidates:
        grant(batch, candidate)
        for part in range(staged):
            batch.staged.append(ItemRow(candidate.record, 1, 1, b"part %d" % part))
    store.commit(batch)
    batch = batch_of()
    for candidate in candidates:
        end(batch, candidate, items=[candidate.link.url.encode()], staged=staged > 0)
    store.commit(batch)


def gathered(folder: Path, job: int = 1) -> list[tuple[bytes, bytes]]:
    found, after = [], 0
    while pages := pages_after(folder, job, after):
        found += [(print_, data) for _, print_, data, *_ in pages]
        after = pages[-1][0]
    return found


def test_each_page_comes_once_with_its_fingerprint(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "PAGES_MAX", 3)
    urls = [f"http://a.example/{n}" for n in range(10)]
    crawl(store, *urls)

    assert gathered(store.folder) == [(fingerprint(url), url.encode()) for url in urls]


def test_parts_of_a_page_come_together_also_where_others_lie_between(store: Store) -> None:
    urls = [f"http://a.example/{n}" for n in range(3)]
    crawl(store, *urls, staged=2)

    found = gathered(store.folder)

    assert [print_ for print_, _ in found] == [fingerprint(url) for url in urls]
    assert [sorted(data.split(b"\n")) for _, data in found] == [[url.encode(), b"part 0", b"part 1"] for url in urls]


def test_answer_ends_behind_so_many_bytes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "BYTES_MAX", 1)
    crawl(store, "http://a.example/1", "http://a.example/2")

    assert len(pages_after(store.folder, 1, 0)) == 1
    assert len(gathered(store.folder)) == 2


def test_other_jobs_and_pages_without_items_are_not_there(store: Store) -> None:
    crawl(store, "http://a.example/1")
    store.commit(batch_of([link("http://a.example/2")]))

    assert len(gathered(store.folder)) == 1
    assert gathered(store.folder, job=2) == []


def test_folder_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not a p2pcrawl data folder"):
        pages_after(tmp_path, 1, 0)
