"""Keys are found among others, few and many."""

from __future__ import annotations

import pytest

from p2pcrawl.stores.parts.item_keys import KEY_BYTES, keys_among, short_key, sorted_keys


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
@pytest.mark.parametrize("wanted", [0, 1, 3, 2000])
def test_those_that_are_there_are_found(count: int, wanted: int) -> None:
    there = [short_key(str(number)) for number in range(count)]
    asked = {short_key(str(number)) for number in range(count // 2, count // 2 + wanted)}

    assert keys_among(asked, sorted_keys(there)) == asked.intersection(there)


def test_keys_are_as_long_as_they_are_said_to_be() -> None:
    assert len(sorted_keys([short_key("a"), short_key("b")])) == 2 * KEY_BYTES
