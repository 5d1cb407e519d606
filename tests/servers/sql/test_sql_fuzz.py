"""Whatever items hold, each is a row or refused, and no other one of its batch for its sake."""

from __future__ import annotations

import asyncio
import json
import uuid
from datetime import datetime

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ..conftest import opened
from .conftest import brought, key, page

NAMES = st.sampled_from(["a", "b", "url", "_visit", "A", "select"]) | st.text(max_size=70)
ODD = st.sampled_from(["\0", "\\", "'", "%s", "\u2028", "\U0001f9c0", "true", "", " ", "2026-01-01", "1e5", "'; --"])
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    LEAVES | ODD | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)
ITEMS = st.dictionaries(NAMES, VALUES, max_size=6)
PAGES = st.lists(st.lists(ITEMS | st.binary(max_size=20), max_size=4), min_size=1, max_size=5)
TYPED = st.fixed_dictionaries(
    {},
    optional={
        name: VALUES
        | st.sampled_from(
            ["2026-11-19T08:00:00Z", "9999-12-31T23:59:59.999999", "0001-01-01", "12.50", "99999.995", "AA=="]
        )
        for name in ("t", "s", "i", "f", "d", "b", "m", "day", "raw", "j")
    },
)
COLUMNS = "t:text,s:text(3),i:integer,f:float,d:decimal(7.2),b:boolean,m:datetime,day:date,raw:bytes,j:json"
FUZZED = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
EXAMPLES = {"sqlite": 40, "postgresql": 10, "mysql": 15}


async def check_all(database, table, options, batch):
    """Brings a batch twice; each item is a row or refused, the same ones both times."""
    sink = database.sink(options, table=table)
    pages = [page(n, *items) for n, items in enumerate(batch)]
    async with opened(sink):
        refused = await brought(sink, *pages)
        assert await brought(sink, *pages) == refused

    keys = {key(n, place) for n, items in enumerate(batch) for place in range(len(items))}
    there = {name for (name,) in database.ask(f"SELECT _key FROM {table}")}
    assert there <= keys
    assert len(there) + len(refused) == len(keys)
    assert all("\n" not in reason and len(reason) < 400 for _, reason in refused)


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "add_columns=true"])
async def test_items_of_any_shape(database, options):
    loop = asyncio.get_running_loop()

    @settings(FUZZED, max_examples=EXAMPLES[database.family])
    @given(PAGES)
    def fuzzed(batch):
        coroutine = check_all(database, f"t{uuid.uuid4().hex}", options, batch)
        asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)

    await asyncio.to_thread(fuzzed)


@pytest.mark.slow
async def test_items_for_columns_of_a_type(database):
    loop = asyncio.get_running_loop()

    @settings(FUZZED, max_examples=EXAMPLES[database.family])
    @given(st.lists(st.lists(TYPED, max_size=3), min_size=1, max_size=4))
    def fuzzed(batch):
        table = f"t{uuid.uuid4().hex}"
        asyncio.run_coroutine_threadsafe(check_all(database, table, f"columns={COLUMNS}", batch), loop).result(60)
        for name, text, number, moment in database.ask(f"SELECT _key, t, f, m FROM {table}"):
            item = batch[int(name.split("-")[1], 16)][int(name.split("-")[2])]
            wanted = item.get("t")
            assert text == (wanted if isinstance(wanted, str | None) else text)
            assert wanted is None or isinstance(wanted, str) or json.loads(text) == wanted
            assert number == item.get("f")
            assert (moment is None) == (item.get("m") is None)
            if moment is not None:
                given_moment = datetime.fromisoformat(item["m"]).replace(tzinfo=None)
                assert datetime.fromisoformat(str(moment)).replace(tzinfo=None) == given_moment

    await asyncio.to_thread(fuzzed)
