"""Each item is in one part that counts, whatever breaks, and whoever brings it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.parts.part_formats import part_format
from p2pcrawl.stores.parts.part_sink import PartPlan, PartSink
from p2pcrawl.stores.parts.told_beside import Beside
from p2pcrawl.stores.sink import SinkAway, SinkPage
from tests.unit.stores.parts.memory_store import CarelessStore, MemoryStore
from tests.unit.stores.parts.reading import counting, globbed, items_of, numbers

JOB = "1b" * 16


def page(n: int, *, again: bool = False, visit: int = 0, job: str = JOB, **fields: Any) -> SinkPage:
    item = json.dumps({"n": n, "title": f"title {n}", **fields}).encode()
    return SinkPage(job, f"{n:032x}", f"http://example.com/{n}", visit, 1_700_000_000, [item], again=again)


def pages(wanted: Iterable[int], *, again: bool = False) -> list[SinkPage]:
    return [page(n, again=again) for n in wanted]


def sink(store: MemoryStore, writer: str = "a1", ending: str = ".jsonl", **plan: Any) -> PartSink:
    plan = {"where": "memory://items", "ending": ending, "format": part_format(ending, "here"), "job": JOB, **plan}
    return PartSink(store, PartPlan(store=writer, **plan))


async def brought(store: MemoryStore, given: Sequence[SinkPage], **how: Any) -> PartSink:
    """A sink that was opened and has been brought these."""
    opened = sink(store, **how)
    await opened.open(None)
    await opened.write(given)
    return opened


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst", ".csv", ".csv.gz", ".parquet"])
async def test_items_are_there_once_in_every_format(ending: str) -> None:
    store = MemoryStore()

    written = await brought(store, pages(range(10)), ending=ending)
    await written.write(pages(range(10, 15)))
    await written.finish()

    assert numbers(store.files, counting(store.files)) == list(range(15))
    assert all(name.endswith(ending) for name in globbed(store.files))


@pytest.mark.parametrize("later", [1, 3, 5])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("fails_at", range(16))
async def test_crash_at_any_step_leaves_each_item_once(fails_at: int, done: bool, later: int) -> None:
    """Batches of 4 pages; after the crash they are cut otherwise, as the pages that came meanwhile demand."""
    files: dict[str, bytes] = {}
    store = MemoryStore(files, fails_at, done=done)
    position, brought_so_far, size = None, 0, 4

    while brought_so_far < 12:
        try:
            writer = sink(store)
            position = await writer.open(position)
            while brought_so_far < 12:
                written = await writer.write(pages(range(brought_so_far, min(brought_so_far + size, 12))))
                position, brought_so_far = written.position, brought_so_far + size
            await writer.finish()
        except SinkAway:
            store, size = MemoryStore(files), later

    assert numbers(files, counting(files)) == list(range(12))
    assert sorted(globbed(files)) == sorted(counting(files))


async def test_repeat_of_a_batch_has_the_same_name() -> None:
    first, second = MemoryStore(), MemoryStore()

    await brought(first, pages(range(5)))
    await brought(second, pages(range(5)))

    assert globbed(first.files) == globbed(second.files)


async def test_heir_leaves_out_what_the_dead_one_had_brought() -> None:
    store = MemoryStore()
    await brought(store, pages(range(8)), writer="a1")

    await brought(store, pages(range(4, 12), again=True), writer="b2")

    assert numbers(store.files, counting(store.files)) == list(range(12))


async def test_page_that_comes_back_to_its_first_master_is_left_out() -> None:
    store = MemoryStore()
    first = await brought(store, pages(range(8)), writer="a1")

    await first.write(pages(range(4, 10), again=True))

    assert numbers(store.files, counting(store.files)) == list(range(10))


@pytest.mark.parametrize("step", ["_keys/", "part-", "_manifests/"])
async def test_of_two_masters_with_the_same_page_one_is_first(step: str) -> None:
    """The heir of a master that is not dead comes between the steps of that master's write."""
    files: dict[str, bytes] = {}
    slow = MemoryStore(files)
    believed_dead = sink(slow, "a1")
    await believed_dead.open(None)

    async def inherit() -> None:
        await brought(MemoryStore(files), pages(range(3, 9), again=True), writer="b2")

    slow.before = (step, inherit)
    await believed_dead.write(pages(range(6)))
    await believed_dead.write(pages(range(6, 12)))
    await believed_dead.finish()

    assert numbers(files, counting(files)) == list(range(12))
    assert sorted(globbed(files)) == sorted(counting(files))


async def test_place_that_compares_nothing_may_have_what_two_masters_bring_at_once_twice() -> None:
    """What docs/sinks.md says of FTP; and that the test above would notice."""
    files: dict[str, bytes] = {}
    slow = CarelessStore(files)
    believed_dead = sink(slow, "a1")
    await believed_dead.open(None)

    async def inherit() -> None:
        await brought(CarelessStore(files), pages(range(3, 9), again=True), writer="b2")

    slow.before = ("part-", inherit)
    await believed_dead.write(pages(range(6)))

    assert numbers(files, counting(files)) == [0, 1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8]


async def test_place_that_compares_nothing_has_once_what_two_masters_bring_one_after_another() -> None:
    files: dict[str, bytes] = {}
    believed_dead = await brought(CarelessStore(files), pages(range(3)), writer="a1")

    await brought(CarelessStore(files), pages(range(9), again=True), writer="b2")
    await believed_dead.write(pages(range(3, 12)))

    assert numbers(files, counting(files)) == list(range(12))


async def test_strays_of_a_dead_master_are_removed_by_whoever_finishes() -> None:
    files: dict[str, bytes] = {}
    dying = MemoryStore(files, fails_at=5)  # After the probe, its manifest, the keys and the part of a first batch.
    writer = sink(dying, "a1")
    await writer.open(None)
    with pytest.raises(SinkAway):
        await writer.write(pages(range(6)))
    assert len(globbed(files)) == 1

    heir = await brought(MemoryStore(files), pages(range(6), again=True), writer="b2")
    await heir.finish()

    assert numbers(files, globbed(files)) == list(range(6))


async def test_master_goes_on_after_its_strays_were_taken_away() -> None:
    files: dict[str, bytes] = {}
    slow = MemoryStore(files)
    writer = sink(slow, "a1")
    await writer.open(None)

    async def finish_elsewhere() -> None:
        other = sink(MemoryStore(files), "b2")
        await other.open(None)
        await other.finish()

    slow.before = ("_manifests/", finish_elsewhere)
    await writer.write(pages(range(6)))
    slow.before = ("_manifests/", finish_elsewhere)
    await writer.write(pages(range(6, 9)))

    assert numbers(files, counting(files)) == numbers(files, globbed(files)) == list(range(9))


async def test_replacing_removes_other_jobs_and_no_master_of_this_one() -> None:
    store = MemoryStore()
    earlier = "2c" * 16
    old = [replace(each, job=earlier) for each in pages(range(100, 110))]
    await brought(store, old, writer="a1", job=earlier, ending=".csv")

    await brought(store, pages(range(3)), writer="a1", replace=True, ending=".csv")
    await brought(store, pages(range(3, 6)), writer="b2", replace=True, ending=".csv")

    assert numbers(store.files, counting(store.files)) == numbers(store.files, globbed(store.files)) == list(range(6))


async def test_a_trial_of_a_place_that_is_to_be_replaced_leaves_it_alone() -> None:
    store = MemoryStore()
    await brought(store, pages(range(3)), writer="a1", job="other")
    before = dict(store.files)

    trial = sink(store, "b2", replace=True)
    await trial.open(None)
    await trial.close()

    assert store.files == before


async def test_replacing_by_a_job_without_items_leaves_nothing() -> None:
    store = MemoryStore()
    await brought(store, pages(range(3)), writer="a1", job="other")

    empty = sink(store, "b2", replace=True)
    await empty.open(None)
    await empty.finish()

    assert globbed(store.files) == counting(store.files) == []


async def test_two_jobs_in_one_folder_stand_beside_each_other() -> None:
    store = MemoryStore()
    await brought(store, [page(1, job="other")], writer="a1", job="other")

    await brought(store, [page(1), page(2, again=True)], writer="a1")

    assert numbers(store.files, counting(store.files)) == [1, 1, 2]


async def test_visits_stand_beside_each_other_and_can_be_told() -> None:
    store = MemoryStore()

    await brought(store, [page(1), page(1, visit=1)], beside=Beside("url,visit"))

    [name] = counting(store.files)
    assert items_of(name, store.files[name]) == [
        {"_url": "http://example.com/1", "_visit": visit, "n": 1, "title": "title 1"} for visit in (0, 1)
    ]


async def test_item_that_a_column_cannot_hold_is_refused_and_comes_in_when_it_was_mended() -> None:
    store = MemoryStore()
    writer = await brought(store, [page(1, price=5)], ending=".parquet")

    written = await writer.write([page(2, price="five"), page(3, price=7)])
    mended = await writer.write([page(2, price=5, again=True)])

    [refused] = written.refused
    assert (refused.page.fingerprint, refused.place) == (f"{2:032x}", 0)
    assert "price" in refused.reason and "integer" in refused.reason and "?types=" in refused.reason
    assert not mended.refused
    assert numbers(store.files, counting(store.files)) == [1, 2, 3]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
async def test_all_parts_know_the_columns_of_all_writers(ending: str) -> None:
    store = MemoryStore()
    first = await brought(store, [page(1, price=1.5)], writer="a1", ending=ending)
    await brought(store, [page(2, stock=True)], writer="b2", ending=ending)

    await first.write([page(3)])

    last = counting(store.files)[1]
    assert list(items_of(last, store.files[last])[0]) == ["n", "title", "price", "stock"]


async def test_item_without_fields_is_refused_where_there_are_no_columns_yet() -> None:
    store = MemoryStore()
    writer = sink(store, ending=".parquet")
    await writer.open(None)

    written = await writer.write([SinkPage(JOB, "00", "http://example.com/", 0, 0, [b"{}"])])

    assert [each.place for each in written.refused] == [0]
    assert globbed(store.files) == []


async def test_place_that_lost_the_parts_of_a_crawl_is_refused() -> None:
    store = MemoryStore()
    writer = await brought(store, pages(range(3)))
    position = (await writer.write([])).position
    store.files.clear()

    with pytest.raises(ConfigurationError, match="had 1 parts of this crawl"):
        await sink(store).open(position)


async def test_damaged_manifest_is_refused_by_name() -> None:
    store = MemoryStore()
    writer = await brought(store, pages(range(3)))
    [name] = [name for name in store.files if name.startswith("_manifests/")]
    store.files[name] = store.files[name][:40]

    with pytest.raises(ConfigurationError, match=r"_manifests/.*damaged"):
        await writer.open(None)
