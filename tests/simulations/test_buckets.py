"""The simulated object store: what it compares, what counts as being in it, and what is brought there."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from random import Random

import pytest

from p2pcrawl.stores.parts.manifest import Manifest, Part
from p2pcrawl.stores.parts.part_store import Overtaken
from p2pcrawl.stores.sink import SinkAway
from simulations.play.options import Options
from simulations.whole.simulation import Simulation
from simulations.world import sinks
from simulations.world.sinks import Bucket, contents

LINES = b'{"url": "http://a.test/"}\n{"url": "http://b.test/"}\n'


def bucket(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    monkeypatch.setattr(sinks, "WRITE_S", 0.0)
    return Bucket(Random(1), unconfirmed_share=0.0)


def test_a_file_that_was_changed_meanwhile_is_not_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    place = bucket(monkeypatch)

    async def exchange() -> None:
        first = await place.exchange("name", b"1", None)
        with pytest.raises(Overtaken):
            await place.exchange("name", b"2", None)
        await place.exchange("name", b"2", first)
        with pytest.raises(Overtaken):
            await place.exchange("name", b"3", first)

    asyncio.run(exchange())

    assert place.files["name"][0] == b"2"


def test_only_whole_parts_count_that_a_manifest_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    place = bucket(monkeypatch)
    part = Part("part-1.jsonl", 2, len(LINES), sha256(LINES).hexdigest())

    async def bring() -> None:
        await place.put("part-1.jsonl", LINES)
        await place.put("part-2.jsonl", LINES)
        before = contents(place)
        await place.put("_manifests/w.json", Manifest("job", "w", parts=(part,)).encode())
        listed = contents(place)
        await place.put("part-1.jsonl", LINES[:10])

        assert (before.total(), sorted(listed), contents(place).total()) == (0, ["http://a.test/", "http://b.test/"], 0)
        assert await place.names("") == ["part-1.jsonl", "part-2.jsonl"]

    asyncio.run(bring())


def test_an_answer_gets_lost_only_when_a_job_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    place = bucket(monkeypatch)
    place.unconfirmed_share = 1.0

    async def write() -> None:
        await place.put("_probe", b"?")
        with pytest.raises(SinkAway):
            await place.put("_manifests/w.json", Manifest("job", "w").encode())

    asyncio.run(write())

    assert sorted(place.files) == ["_manifests/w.json", "_probe"]


@pytest.mark.slow
def test_each_item_is_in_one_part_though_masters_lose_their_disks() -> None:
    report = Simulation(Options(scenario="wiped", seed=8, masters=4, pages=60, hosts=20, buckets=1)).run()

    assert report.violations == []
