"""Masters that believe each other dead bring the same pages at the same time, over a network that fails."""

from __future__ import annotations

import asyncio
import random
from collections import deque

import pytest

from p2pcrawl.stores.sink import SinkAway, SinkPage
from tests.unit.stores.parts.memory_store import RestlessStore
from tests.unit.stores.parts.reading import counting, globbed, numbers
from tests.unit.stores.parts.test_part_sink import page, sink

PAGES = 60


class Bringer:
    """A master with pages to bring, as a queue that survives its crashes."""

    def __init__(self, name: str, files: dict[str, bytes], dice: random.Random) -> None:
        self.waiting: deque[SinkPage] = deque()
        self._name, self._files, self._dice = name, files, dice

    async def bring_all(self) -> None:
        position = None
        while True:
            try:
                writer = sink(RestlessStore(self._files, self._dice), self._name)  # type: ignore[arg-type]
                position = await writer.open(position)
                while self.waiting:
                    batch = [self.waiting[at] for at in range(min(self._dice.randint(1, 6), len(self.waiting)))]
                    position = (await writer.write(batch)).position
                    for _ in batch:
                        self.waiting.popleft()
                await writer.finish()
                return
            except SinkAway:
                continue


@pytest.mark.parametrize("seed", range(15))
async def test_every_page_is_there_once_whoever_brought_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed)
    monkeypatch.setattr("secrets.randbelow", dice.randrange)
    files: dict[str, bytes] = {}
    masters = [Bringer(name, files, dice) for name in ("a1", "b2", "c3")]
    for n in range(PAGES):
        owner, *heirs = dice.sample(masters, dice.randint(1, 3))
        owner.waiting.append(page(n))
        for heir in heirs:
            heir.waiting.append(page(n, again=True))

    async with asyncio.timeout(60):
        await asyncio.gather(*(master.bring_all() for master in masters))
        await masters[0].bring_all()

    assert numbers(files, counting(files)) == list(range(PAGES))
    assert sorted(globbed(files)) == sorted(counting(files))
