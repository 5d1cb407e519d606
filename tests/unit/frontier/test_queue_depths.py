"""The lengths of hosts' queues, read beside the store that writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.frontier.reading.queue_depths import names_of, queue_depths
from p2pcrawl.frontier.records.store import Store
from tests.unit.frontier.batches import batch_of, link, store_with_job

A, B = host_key("http://a.example/"), host_key("http://b.example/")


@pytest.fixture
def store(tmp_path: Path):
    store = store_with_job(tmp_path / "data", young_max=5)
    store.add_job(2, "other", b"spec", None, batch_of())
    for job, host, count in ((1, "a", 7), (1, "b", 2), (2, "a", 3)):
        store.commit(batch_of([link(f"http://{host}.example/{n}", job) for n in range(count)]))
    yield store
    store.close()


def test_both_generations_of_queues_are_counted_by_job_and_over_all(store: Store) -> None:
    found = queue_depths(store.folder)

    assert (found.of(1)[A], found.of(1)[B], found.of(2)[A], found.of(None)[A]) == (7, 2, 3, 10)
    # The host of the job's start is one, too.
    assert (found.total_of(1), found.total_of(2), found.total_of(None), found.total_of(3)) == (3, 1, 3, 0)


def test_host_is_named_by_a_page_that_is_queued(store: Store) -> None:
    assert names_of(store.folder, [(1, A), (2, A), (2, B)]) == {A: "a.example"}
